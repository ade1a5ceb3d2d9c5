"""init with suites: the engine, the models and the configs that are here stand in the first settings file."""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path

import pytest

from jobs.suite import find_suite
from tests.fakes.nvidia_tools import host_nvidia_smi
from tests.tracker.cli.conftest import Tracker
from tracker.settings import load_settings

SUITE = "trtllm-throughput-fp8"
GPT_OSS = "openai/gpt-oss-20b"


@pytest.fixture
def one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvidia-smi").write_text(host_nvidia_smi(1, "NVIDIA H200"), encoding="utf-8")
    (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models" / GPT_OSS).mkdir(parents=True)
    (tmp_path / "models" / "onnx").mkdir()
    (tmp_path / "models" / "onnx" / "HF-ViT-Base-fp8.onnx").write_bytes(b"")
    return tmp_path / "models"


def written(home: Path) -> dict[str, object]:
    return tomllib.loads((home / "tracker.toml").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("one_gpu")
def test_suites_are_narrowed_to_the_models_that_lie_there(home: Path, tracker: Tracker, models: Path) -> None:
    answer = tracker("init", "--suite", SUITE, "--models", str(models), "--choose", "isl=1000,8192")
    assert answer.code == 0, answer.err
    assert f"{SUITE}: 2 configs x 3 repeats = 6 runs a release, about 3 h 0 min after set-up ({GPT_OSS})" in answer.out
    assert "next: `tracker doctor`" in answer.out
    found = written(home)
    assert found["suites"] == [SUITE]
    assert found["choices"] == {SUITE: {"isl": [1000, 8192], "model": [GPT_OSS]}}
    assert load_settings().docker.mounts == {"/models": models}
    assert tracker("suites", "check", SUITE).code == 0


@pytest.mark.usefixtures("one_gpu")
def test_models_of_trtexec_are_files(home: Path, tracker: Tracker, models: Path) -> None:
    said = tracker("init", "--suite", "tensorrt-vision", "--models", str(models), "--json").data
    assert said["settings"]["choices"] == {"tensorrt-vision": {"model": ["HF-ViT-Base"]}}
    assert written(home) == said["settings"]


def test_the_engine_that_is_here_is_written_down(
    home: Path, tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.cli.starting.DOCKER", str(tmp_path / "no-docker.sock"))
    monkeypatch.setattr("tracker.cli.starting.PODMAN", str(tmp_path / "podman.sock"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert "engine: none found" in tracker("init", "--suite", SUITE).out
    assert "docker" not in written(home)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "podman.sock"))
        assert tracker("init", "--suite", SUITE, "--force").code == 0
    assert written(home)["docker"] == {"engine": f"unix://{tmp_path}/podman.sock"}


@pytest.mark.usefixtures("one_gpu")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "FOLDER/none"], f"expected one of {GPT_OSS}, nvidia/Llama-3.1-8B-Instruct-FP8; for instance: hf"),
        (["--choose", "isl=100"], "choices.trtllm-throughput-fp8.isl: no config has '100'"),
        (["--choose", "isl"], "--choose: expected a label and values such as isl=1000 or model=a,b, found 'isl'"),
        (["--choose", "model=openai/gpt-oss-21b"], f"no config has 'openai/gpt-oss-21b'; did you mean '{GPT_OSS}'"),
        (["--suite", "trtllm-latncy"], "Did you mean 'trtllm-latency'?"),
    ],
)
def test_what_is_not_there_is_told_and_nothing_is_written(
    home: Path, tracker: Tracker, models: Path, words: list[str], said: str
) -> None:
    answer = tracker("init", "--suite", SUITE, *[word.replace("FOLDER", str(models)) for word in words])
    assert answer.code == 2
    assert said in answer.err
    assert not (home / "tracker.toml").exists()


def test_models_and_choices_are_of_a_suite(tracker: Tracker, models: Path) -> None:
    for words in (["--models", str(models)], ["--choose", "isl=1000"]):
        answer = tracker("init", *words)
        assert (answer.code, "of which suite?" in answer.err) == (2, True)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves the socket to the GC
@pytest.mark.usefixtures("one_gpu")
def test_the_service_does_not_start_where_every_container_would_fail(
    home: Path, tracker: Tracker, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three tries of each run would fail within seconds, and none be made again once the settings are right."""
    assert tracker("init", "--suite", SUITE, "--models", str(models)).code == 0
    file = home / "tracker.toml"
    right = file.read_text(encoding="utf-8")
    monkeypatch.setenv("TRACKER_DOCKER__ENGINE", f"unix://{home}/none.sock")
    for wrong, said in (
        (right.replace(str(models), f"{models}-moved"), f"found no folder {models}-moved"),
        (right.replace("[docker]", '[docker]\nsecrets = ["NO_SUCH_TOKEN"]'), "no variable NO_SUCH_TOKEN"),
    ):
        file.write_text(wrong, encoding="utf-8")
        for command in ("serve", "daemon"):
            answer = tracker(command)
            assert (answer.code, said in answer.err) == (2, True), answer.err
    assert tracker("runs", "list", "--json").data["items"] == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves the socket to the GC
@pytest.mark.usefixtures("one_gpu")
def test_the_doctor_says_which_models_are_not_there(
    home: Path, tracker: Tracker, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_DOCKER__ENGINE", f"unix://{home}/none.sock")
    monkeypatch.setenv("TRACKER_SUITE_FOLDERS", str(home / "suites"))
    (home / "suites").mkdir(parents=True)
    text = find_suite(SUITE).read_text(encoding="utf-8")
    nowhere = text.replace('kind = "oci_registry"', 'kind = "folder"')
    nowhere = nowhere.replace('repository = "nvcr.io/nvidia/tensorrt-llm/release"', f'path = "{models}"')
    (home / "suites" / f"{SUITE}.toml").write_text(nowhere, encoding="utf-8")
    assert tracker("init", "--suite", SUITE, "--models", str(models)).code == 0

    def told() -> tuple[str, str]:
        items = tracker("doctor", "--json").data["items"]
        return next((one["state"], one["found"]) for one in items if one["name"] == f"models of {SUITE}")

    assert told() == ("ok", "all there")
    (models / GPT_OSS).rename(models / "elsewhere")
    assert told() == ("fail", f"nothing at /models/{GPT_OSS}")
    models.rename(models.with_name("moved"))
    assert told()[0] == "fail"
    assert f"found no folder {models}" in told()[1]


def test_a_suite_of_this_machine_s_processor_needs_no_engine(home: Path, tracker: Tracker) -> None:
    answer = tracker("init", "--suite", "onnxruntime")
    assert "engine" not in answer.out
    assert written(home) == {"suites": ["onnxruntime"]}


@pytest.mark.usefixtures("one_gpu")
def test_more_releases_at_once_than_images_are_kept_is_told(
    home: Path, tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases take turns, so that each image would be pulled again for each repeat."""
    text = find_suite(SUITE).read_text(encoding="utf-8")
    text = text.replace('kind = "oci_registry"', 'kind = "folder"')
    text = text.replace('repository = "nvcr.io/nvidia/tensorrt-llm/release"', f'path = "{tmp_path}/releases"')
    (tmp_path / f"{SUITE}.toml").write_text(text, encoding="utf-8")
    for version in ("1.0.0", "1.1.0"):
        (tmp_path / "releases" / version).mkdir(parents=True)
        (tmp_path / "releases" / version / "version.txt").write_text(version, encoding="utf-8")
    monkeypatch.setenv("TRACKER_SUITE_FOLDERS", str(tmp_path))
    monkeypatch.setenv("TRACKER_SUITES", SUITE)
    monkeypatch.setenv("TRACKER_DOCKER__KEEP_IMAGES", "1")
    assert tracker("releases", "check").code == 0
    assert "docker.keep_images" not in tracker("runs", "trigger", SUITE, "1.0.0").err
    said = tracker("runs", "trigger", SUITE, "1.0.0", "1.1.0").err
    assert "2 releases take turns and 1 images are kept (docker.keep_images)" in said
