"""Whether a Slurm cluster would take a suite's jobs: each kind of them is rehearsed, none is submitted."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.errors import JobsError, TryLater
from jobs.executors.slurm import rehearse
from jobs.suite import BuildUnderTest, Suite, choose, expand, gpus_of, job_spec
from tracker.pipeline.suites import PYTHON_MINOR
from tracker.settings import Settings

_ANY_IMAGE = BuildUnderTest(version="0", kind="image", location="any/image:0", digest="sha256:" + "0" * 64)


def rehearse_suite(settings: Settings, suite: Suite) -> Iterator[dict[str, str]]:
    """Yield a check for each kind of job that the chosen configs make, fewest GPUs first, with Slurm's own words."""
    chosen = choose(expand(suite, python_minor=PYTHON_MINOR), settings.choices.get(suite.name, {}), suite.name)
    kinds = {gpus_of(suite, config): config for config in chosen}
    for gpus, config in sorted(kinds.items(), key=lambda item: item[0]):
        name = f"slurm, {gpus} GPU{'' if gpus == 1 else 's'}"
        job = job_spec(suite, config, _ANY_IMAGE, key="rehearsal", python_minor=PYTHON_MINOR)
        try:
            said = rehearse(settings.slurm.model_dump(), job, folder=settings.home / "attempts")
        except TryLater as error:
            yield {"name": name, "state": "warn", "found": str(error), "cure": "runs wait until it answers"}
        except JobsError as error:
            cure = f"until then runs of {suite.name} fail; measure them again with `tracker runs trigger`"
            yield {"name": name, "state": "fail", "found": str(error), "cure": cure}
        else:
            yield {"name": name, "state": "ok", "found": said, "cure": ""}
