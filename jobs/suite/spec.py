"""From a config and a build to the job that an executor runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.protocols import Asset, ContainerLimits, JobSpec
from jobs.protocols import Nodes as JobNodes
from jobs.suite.document import Container, Nodes, Suite
from jobs.suite.expansion import Config, gpus_of
from jobs.suite.programs import find_script, is_script


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildUnderTest:
    """What is measured: one published build of one release."""

    version: str
    kind: str
    """`wheel`, `image` or `folder`."""
    location: str
    digest: str


def _fill(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: values[match.group(1)], text)


def job_spec(suite: Suite, config: Config, build: BuildUnderTest, *, key: str, python_minor: str) -> JobSpec:
    """Return everything an executor needs for one attempt `key` at one config of one build."""
    run = suite.run
    about = {"component": suite.component, "version": build.version}
    values = {**{label: str(value) for label, value in config.labels.items()}, **about}
    if run.warmup is not None:
        values["warmup"] = str(run.warmup)
    assets = tuple(
        Asset(name=a.name, maker=str(find_script(a.maker, suite.path)), requirements=a.requirements) for a in run.asset
    )
    return JobSpec(
        key=key,
        component=suite.component,
        version=build.version,
        build_kind=build.kind,
        build_location=build.location,
        build_digest=build.digest,
        program=str(find_script(run.program, suite.path)) if is_script(run.program) else run.program,
        arguments=tuple(_fill(argument, values) for argument in run.arguments),
        requirements=(*(_fill(text, about) for text in run.requirements), *run.pins.get(python_minor, ())),
        assets=assets,
        environment=dict(run.environment),
        pin_cores=run.pin_cores,
        gpus=gpus_of(suite, config),
        nodes=_job_nodes(run.nodes) if run.nodes else None,
        container=_container_limits(run.container or Container()),
        setup_timeout_s=run.setup_timeout_s,
        timeout_s=run.timeout_s,
        output_limit_bytes=run.output_limit_mb * 1_000_000,
        result_file=suite.output.file,
    )


def _container_limits(container: Container) -> ContainerLimits:
    return ContainerLimits(
        network=container.network,
        entrypoint=container.entrypoint,
        memory_bytes=_gigabytes(container.memory_gb),
        cpus=container.cpus,
        pids=container.pids,
        shm_bytes=_gigabytes(container.shm_gb),
        ulimits=dict(container.ulimits),
    )


def _job_nodes(nodes: Nodes) -> JobNodes:
    return JobNodes(
        count=nodes.count,
        ranks_per_node=nodes.ranks_per_node,
        launcher=nodes.launcher,
        result_rank=nodes.result_rank,
        environment=dict(nodes.environment),
    )


def _gigabytes(size_gb: float | None) -> int | None:
    return None if size_gb is None else int(size_gb * 1e9)
