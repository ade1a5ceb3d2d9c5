"""Parts of the executor of containers that need no engine: frames, answers of engines, requests, pulls, TLS."""

from __future__ import annotations

import base64
import io
import json
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace as changed
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.executors._attempts import Attempt, replace
from jobs.executors._commands import Ended
from jobs.executors._engine_client import Engine, EngineAddress, EngineAway, EngineRefused, connect
from jobs.executors._engine_container import command_words, container_request, input_files
from jobs.executors._engine_follow import judge_run
from jobs.executors._engine_images import ImageName, Progress, explain_pull, image_of, login_header, pull
from jobs.executors._engine_logs import keep_log, read_frames
from jobs.executors._engine_options import read_options
from jobs.executors._engine_patience import Patience
from jobs.executors._engine_record import BY_SSH, class_of, engine_facts, host_of, with_gpus_inside
from jobs.executors._engine_results import Left, judge
from jobs.executors._engine_setup import Site, asset_setup, note_start, ran_s, start
from jobs.protocols import ContainerLimits, JobOutcome, JobSpec

DIGEST = "sha256:" + "ab" * 32
IMAGE = ImageName(repository="nvcr.io/nvidia/tensorrt-llm/release", digest=DIGEST)
PODMAN = {"Version": "4.3.1", "ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}
DOCKER = {"Version": "29.0.1", "ApiVersion": "1.52", "MinAPIVersion": "1.44", "Components": [{"Name": "Engine"}]}


def job(**fields: Any) -> JobSpec:
    named = {"key": "run-1-1", "component": "tensorrt-llm", "version": "1.0", "build_kind": "image"}
    named |= {"build_location": f"{IMAGE.repository}:1.0.0", "build_digest": DIGEST, "program": "trtllm-bench"}
    return JobSpec(**{**named, **fields})


def engine(answer: Callable[[httpx.Request], httpx.Response]) -> Engine:
    return Engine(client=httpx.Client(transport=httpx.MockTransport(answer), base_url="http://engine"), address="test")


# --- frames ---


def frame(stream: int, payload: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4) + payload


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=8), st.lists(st.integers(1, 30)))
def test_a_log_is_the_same_however_its_stream_is_cut(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    whole = b"".join(frame(stream, payload) for stream, payload in frames)
    chunks, place = [], 0
    for cut in cuts:
        chunks.append(whole[place : place + cut])
        place += cut
    chunks.append(whole[place:])
    assert b"".join(read_frames(chunks)) == b"".join(payload for _, payload in frames)


def test_a_stream_without_frames_is_passed_on_as_it_is() -> None:
    assert b"".join(read_frames([b"plain ", b"text\n"])) == b"plain text\n"


def test_a_frame_that_is_cut_off_gives_what_came() -> None:
    assert b"".join(read_frames([frame(1, b"whole"), frame(2, b"cut off")[:-4]])) == b"wholecut"


@pytest.mark.parametrize(("size", "flooded"), [(10, False), (11, True), (5000, True)])
def test_a_log_is_cut_at_its_limit(tmp_path: Path, size: int, flooded: bool) -> None:
    path = tmp_path / "run.log"
    assert keep_log([b"x"] * size, path, limit_bytes=10) is flooded
    assert path.read_bytes() == b"x" * 10
    assert [file.name for file in tmp_path.iterdir()] == ["run.log"]


# --- the engine's answers ---


@pytest.mark.parametrize(
    ("version", "spoken"), [(PODMAN, "/v1.41/info"), (DOCKER, "/v1.47/info"), ({"ApiVersion": "new"}, "/info")]
)
def test_an_engine_is_spoken_to_in_a_version_that_both_know(version: dict[str, Any], spoken: str) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json=version if request.url.path == "/version" else {})

    engine(answer).info()
    assert asked == ["/version", spoken]


def answering(status: int, body: object) -> Engine:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=PODMAN) if request.url.path == "/version" else httpx.Response(status, json=body)

    return engine(answer)


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "No such container: x"), (500, "container x does not exist in database: no such container")],
)
def test_a_container_that_is_gone_is_none_whatever_the_status(status: int, message: str) -> None:
    gone = answering(status, {"message": message})
    assert gone.inspect("x") is None
    gone.stop("x", 1)
    gone.remove("x")


def test_an_engine_in_trouble_with_a_question_counts_as_away_and_one_that_says_no_does_not() -> None:
    with pytest.raises(EngineAway, match="database is locked"):
        answering(500, {"message": "database is locked"}).inspect("x")
    with pytest.raises(EngineRefused, match="no such network") as refused:
        answering(404, {"message": "no such network"}).start("x")
    assert refused.value.status == 404
    with pytest.raises(EngineRefused, match="status 502"):
        engine(lambda _: httpx.Response(502)).info()


@pytest.mark.parametrize("error", [httpx.ConnectError("refused"), httpx.ReadError(""), httpx.ReadTimeout("late")])
def test_no_answer_is_told_apart_from_no(error: httpx.TransportError) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(EngineAway, match="does not answer"):
        engine(answer).info()


def test_a_list_that_is_none_holds_nothing() -> None:
    assert answering(200, {"unexpected": 1}).list("a=b") == []


# --- addresses and options ---


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "unix://run/docker.sock"}, "expected unix:///path"),
        ({"engine": "docker.sock"}, "expected unix:///path"),
        ({"engine": "tcp://gpu-box"}, "expected unix:///path"),
        ({"engine": "tcp://gpu-box:2376"}, "needs TLS: set ca, certificate and key"),
        ({"engine": "http://gpu-box:2375"}, "anyone could use it without TLS"),
        ({"engine": "tcp://b:1", "ca": "/x", "certificate": "/x", "key": "/x"}, "cannot be used"),
        ({"engine": 7}, "engine must be text"),
        ({"gpu_driver": "rocm"}, "gpu_driver must be one of nvidia, cdi"),
        ({"keep_images": 0}, "keep_images must be a number from 1 on"),
        ({"mounts": {"/models": "data"}}, "must be an absolute path"),
        ({"mounts": {"/models": "/data/../etc"}}, "must be an absolute path"),
        ({"mounts": {"/tracker/work": "/data"}}, "needed by the service"),
        ({"mounts": {"/": "/data"}}, "needed by the service"),
        ({"mounts": ["/models"]}, "must be a table of texts"),
        ({"secrets": {"HF-TOKEN": "x"}}, "no name of a variable"),
        ({"secrets": {"HF_TOKEN": "a\nb"}}, "HF_TOKEN must be one line"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_what_was_expected(options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_options(options, uv=None)


def test_no_error_and_no_repr_shows_a_secret() -> None:
    options = read_options({"secrets": {"HF_TOKEN": "hf_0123"}}, uv=None)
    assert "hf_0123" not in repr(options)
    with pytest.raises(UserError) as refused:
        read_options({"secrets": {"HF_TOKEN": "hf_0123\n"}}, uv=None)
    assert "hf_0123" not in str(refused.value)


# --- images ---


@pytest.mark.parametrize(
    ("location", "repository"),
    [
        ("nvcr.io/nvidia/tensorrt-llm/release:1.0.0", "nvcr.io/nvidia/tensorrt-llm/release"),
        ("127.0.0.1:5000/bench/runtime:1.0", "127.0.0.1:5000/bench/runtime"),
        ("127.0.0.1:5000/bench/runtime", "127.0.0.1:5000/bench/runtime"),
        (f"docker.io/vllm/vllm-openai:v0.1@{DIGEST}", "docker.io/vllm/vllm-openai"),
        ("busybox:latest", "busybox"),
    ],
)
def test_an_image_is_named_by_its_repository_and_digest(location: str, repository: str) -> None:
    assert image_of(job(build_location=location)).reference == f"{repository}@{DIGEST}"


@pytest.mark.parametrize("location", ["", "nvcr.io/x y", "../images", "nvcr.io/x?tag=1", "-v/x"])
def test_what_is_no_reference_never_reaches_the_engine(location: str) -> None:
    with pytest.raises(UserError, match="expected an image's reference"):
        image_of(job(build_location=location))


@pytest.mark.parametrize(
    ("reason", "outcome", "said"),
    [
        ("manifest for nvcr.io/x@sha256:ab not found: manifest unknown", JobOutcome.TOOL_FAILED, "has no"),
        ("reading manifest in nvcr.io/x: name unknown: repository name not known", JobOutcome.TOOL_FAILED, "has no"),
        ("no matching manifest for linux/arm64/v8 in the manifest list", JobOutcome.TOOL_FAILED, "not for this"),
        ("pull access denied for x, repository does not exist or may require 'docker login'", None, "no login for it"),
        ("unable to retrieve auth token: invalid username/password: unauthorized", None, "no login for it"),
        ("toomanyrequests: You have reached your pull rate limit", None, "could not be pulled: toomanyrequests"),
        ('Get "https://nvcr.io/v2/": dial tcp: lookup nvcr.io: no such host', None, "no such host"),
        ("failed to register layer: write /usr/x: no space left on device", None, "disk of the engine is full"),
        ("unexpected EOF", None, "could not be pulled: unexpected EOF"),
    ],
)
def test_the_reason_of_a_pull_that_failed_says_whether_to_try_again(
    reason: str, outcome: JobOutcome | None, said: str
) -> None:
    ended = explain_pull(reason, IMAGE, logged_in=False)
    assert ended.outcome is (outcome or JobOutcome.INFRA_FAILED)
    assert said in ended.detail


def test_a_failed_pull_is_noticed_inside_an_answer_of_status_200() -> None:
    lines = [{"status": "Pulling from x", "id": "1.0"}, {"errorDetail": {"message": "denied"}, "error": "denied"}]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/version":
            return httpx.Response(200, json=DOCKER)
        assert request.url.params["fromImage"] == IMAGE.repository
        assert request.url.params["tag"] == DIGEST
        kept = json.loads(base64.urlsafe_b64decode(request.headers["X-Registry-Auth"]))
        assert kept == {"username": "$oauthtoken", "password": "nvapi-ü"}
        return httpx.Response(200, content="".join(json.dumps(line) + "\r\n" for line in lines))

    with pytest.raises(Ended, match="its login was refused"):
        pull(engine(answer), IMAGE, login_header("$oauthtoken", "nvapi-ü"), lambda _: None)


def test_a_pull_that_ends_without_the_image_is_none() -> None:
    with pytest.raises(Ended, match="has no image of that digest"):
        pull(
            engine(
                lambda request: httpx.Response(404 if request.method == "GET" and "images" in request.url.path else 200)
            ),
            IMAGE,
            None,
            lambda _: None,
        )


def test_progress_counts_layers_and_bytes() -> None:
    progress = Progress()
    for message in (
        {"status": "Pulling from nvidia/tensorrt-llm", "id": "a"},
        {"status": "Already exists", "id": "a"},
        {"status": "Downloading", "id": "b", "progressDetail": {"current": 50_000_000, "total": 100_000_000}},
        {"status": "Downloading", "id": "c", "progressDetail": {"current": "?", "total": None}},
        {"status": "Digest: sha256:..."},
    ):
        progress.take(message)
    assert progress.text() == "1 of 3 layers, 50 MB of 100 MB"


# --- containers ---


def test_a_request_holds_what_was_asked_for_and_nothing_else() -> None:
    options = read_options({"mounts": {"/models": "/data/models"}, "secrets": {"HF_TOKEN": "hf_0123"}}, uv=None)
    asked = job(gpus=2, environment={"B": "2", "A": "1"}, container=ContainerLimits(shm_bytes=1 << 30, cpus=1.5))
    image = {"Id": "sha256:1", "Config": {"Entrypoint": ["/opt/nvidia/entrypoint.sh"]}}
    body = container_request(asked, options, image, home="0f", cores=(2, 3))
    assert body["Entrypoint"] == ["/bin/sh", "/tracker/begin", "2", "/opt/nvidia/entrypoint.sh", "trtllm-bench"]
    assert body["Env"] == ["A=1", "B=2"]
    host = body["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["DeviceRequests"] == [{"Driver": "", "Count": 2, "Capabilities": [["gpu"]], "Options": {}}]
    assert host["Mounts"] == [{"Type": "bind", "Source": "/data/models", "Target": "/models", "ReadOnly": True}]
    assert (host["ShmSize"], host["NanoCpus"], host["CpusetCpus"]) == (1 << 30, 1_500_000_000, "2,3")
    assert not {"Memory", "PidsLimit", "Ulimits", "Privileged", "Binds"} & host.keys()
    assert "hf_0123" not in json.dumps(body)


def test_gpus_may_be_asked_for_by_cdi() -> None:
    options = read_options({"gpu_driver": "cdi"}, uv=None)
    body = container_request(job(gpus=2), options, {"Id": "x", "Config": None}, home="0f", cores=())
    assert body["HostConfig"]["DeviceRequests"] == [
        {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0", "nvidia.com/gpu=1"]}
    ]


def test_without_gpus_and_secrets_nothing_stands_around_the_program() -> None:
    options = read_options({}, uv=None)
    assert command_words(job(arguments=("--x",)), options, ["/entry"]) == ["/entry", "trtllm-bench", "--x"]
    bare = job(program="/suites/bench.py", container=ContainerLimits(entrypoint=False))
    assert command_words(bare, options, ["/entry"]) == ["python3", "/tracker/bench.py"]


def test_what_is_put_into_a_container_is_a_whole_tar(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("print()")
    options = read_options({"secrets": {"HF_TOKEN": "hf_0123"}}, uv=None)
    stream = b"".join(input_files(job(program=str(tmp_path / "bench.py")), options, ()))
    with tarfile.open(fileobj=io.BytesIO(stream)) as tar:
        found = {entry.name: (entry.mode, entry.isdir()) for entry in tar}
        assert tar.extractfile("secrets/HF_TOKEN").read() == b"hf_0123"
    assert found["work"] == (0o777, True)
    assert found["begin"] == (0o555, False)
    assert found["bench.py"] == (0o555, False)
    assert len(stream) % 512 == 0


@pytest.mark.parametrize(
    ("state", "detail"),
    [
        ({"ExitCode": 1, "OOMKilled": True}, "out of memory (the machine; exit code 1)"),
        ({"ExitCode": 137}, "ended by SIGKILL (most likely out of memory: the machine)"),
        ({"ExitCode": 134}, "exit code 134 (SIGABRT)"),
        ({"ExitCode": 255}, "exit code 255"),
        ({}, "the engine does not say how it ended"),
    ],
)
def test_an_end_is_put_into_words(tmp_path: Path, state: dict[str, object], detail: str) -> None:
    ended = judge(Attempt(tmp_path), job(), state, Left(missing="wrote no result.json", flooded=False, seen={}))
    assert (ended.outcome, ended.detail) == (JobOutcome.TOOL_FAILED, detail)


def test_a_container_whose_start_was_not_answered_is_not_started_again_when_it_has_run(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        asked.append(path.rpartition("/")[2])
        if path == "/version":
            return httpx.Response(200, json=PODMAN)
        if path.endswith("/start"):
            raise httpx.ReadError("the engine restarts")
        return httpx.Response(200, json={"State": {"Status": "exited" if "start" in asked else "created"}})

    site = site_of(tmp_path, engine(answer))
    start(site)
    assert asked.count("start") == 1
    assert site.attempt.started_at() is not None
    assert site.patience.was_away
    assert not site.attempt.file("away.json").exists()


@pytest.mark.parametrize(("boot", "outcome"), [(None, JobOutcome.TOOL_FAILED), ("another life", JobOutcome.LOST)])
def test_a_container_that_ended_with_its_machine_says_nothing_about_the_release(
    tmp_path: Path, boot: str | None, outcome: JobOutcome
) -> None:
    site = site_of(tmp_path, answering(200, {}))
    note_start(site.attempt)
    if boot is not None:
        replace(site.attempt.file("running.json"), {"started_at": "2026-01-01T00:00:00+00:00", "boot": boot})
    left = Left(missing="wrote no result.json", flooded=False, seen={})
    ended = judge_run(site, {"State": {"Status": "exited", "ExitCode": 255}}, left)
    assert ended.outcome is outcome
    assert "exit code 255" in ended.detail
    whole = judge_run(site, {"State": {"ExitCode": 0}}, Left(missing="", flooded=False, seen={}))
    assert whole.outcome is JobOutcome.OK


def site_of(folder: Path, spoken_to: Engine) -> Site:
    attempt = Attempt(folder)
    return Site(
        attempt=attempt,
        job=job(),
        engine=spoken_to,
        options=read_options({}, uv=None),
        name="tracker-0f-run-1-1",
        home="0f",
        login=None,
        setup=asset_setup(attempt, job(), cache=folder, uv=None, variables={}, check=lambda: None),
        patience=Patience(attempt=attempt, check=lambda: None),
    )


# --- where it ran ---


def test_docker_and_podman_are_told_apart() -> None:
    info = {"DefaultRuntime": "runc", "CgroupVersion": "2", "Driver": "overlay2"}
    assert engine_facts(PODMAN, {}) == {"engine": "podman", "version": "4.3.1", "api": "1.41"}
    assert engine_facts(DOCKER, info)["engine"] == "docker"
    assert engine_facts(DOCKER, info)["storage"] == "overlay2"


def test_of_another_machine_only_what_its_engine_says_is_written_down() -> None:
    info = {
        "NCPU": 128,
        "MemTotal": 10**12,
        "Architecture": "x86_64",
        "OperatingSystem": "Ubuntu",
        "KernelVersion": "6",
    }
    host = host_of(info, local=False)
    assert (host.cores_logical, host.memory_bytes, host.system, host.cpu_model) == (128, 10**12, "Ubuntu", "x86_64")
    assert host.cores_physical is None
    assert host_of({"NCPU": "many"}, local=False).cores_logical is None


B200 = {"gpu": "NVIDIA B200", "gpu_count": 8}


def smi(count: int, product: str = "NVIDIA B200") -> str:
    gpus = "".join(f'<gpu id="{n}"><product_name>{product}</product_name></gpu>' for n in range(count))
    return f"<nvidia_smi_log><driver_version>595.10</driver_version>{gpus}</nvidia_smi_log>"


def elsewhere(named: dict[str, str | int] | None = None) -> dict[str, Any]:
    """The record of a run on a machine that only its engine speaks for."""
    host = host_of({"NCPU": 128, "Architecture": "x86_64"}, local=False)
    hardware = class_of(host, seen="", named=named)
    return {"host": host.to_json(), "container": {"engine": "docker", "version": "29"}, "hardware_class": hardware}


def test_an_engine_alone_does_not_tell_what_hardware_it_runs_on() -> None:
    assert elsewhere()["hardware_class"] is None
    assert with_gpus_inside(elsewhere(), {"gpus.xml": "", "gpus.txt": ""})["hardware_class"] is None


def test_the_gpus_inside_tell_the_hardware_of_another_machine_and_what_its_environment_is() -> None:
    found = with_gpus_inside(elsewhere(), {"gpus.xml": smi(2)})
    assert found["hardware_class"]["labels"] == {"gpu": "NVIDIA B200", "gpu_count": 2}
    assert (len(found["host"]["gpus"]), found["host"]["gpu_note"]) == (2, "")
    older = with_gpus_inside(elsewhere(), {"gpus.xml": smi(2).replace("595.10", "590.05")})
    assert older["fingerprint"] != found["fingerprint"]


def test_named_hardware_stands_where_a_run_sees_a_part_of_it_and_falls_where_it_sees_another() -> None:
    part = with_gpus_inside(elsewhere(B200), {"gpus.xml": smi(2)})
    assert (part["hardware_class"]["slug"], part["hardware_class"]["labels"]) == ("8x-nvidia-b200", B200)
    for other in (smi(2, "NVIDIA H200"), smi(9)):
        found = with_gpus_inside(elsewhere(B200), {"gpus.xml": other})["hardware_class"]
        assert found["labels"] != B200
    assert elsewhere(B200)["hardware_class"]["labels"] == B200


def test_the_class_of_a_machine_that_was_seen_is_its_own_whatever_a_container_sees() -> None:
    host = changed(host_of({}, local=False), cpu_model="A CPU", cores_logical=4)
    record = {"host": host.to_json(), "hardware_class": class_of(host, seen=BY_SSH, named=B200)}
    assert record["hardware_class"]["slug"] == "a-cpu-4-cores"
    assert with_gpus_inside(record, {"gpus.xml": ""})["hardware_class"] == record["hardware_class"]
    seen = {**record, "host": {**record["host"], "gpus": [{"product": "NVIDIA B200"}]}}
    assert with_gpus_inside(seen, {"gpus.xml": smi(1)})["hardware_class"] == record["hardware_class"]


# --- TLS ---


class _Version(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(DOCKER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        return  # a client that shows no certificate is sent away


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A folder with ca.pem, and certificate and key of a server and of a client, each signed by it."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("server", "client"):
        openssl("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signing)
    return tmp_path


@pytest.fixture
def tls_engine(certificates: Path) -> Iterator[str]:
    """The address of a server that wants a client's certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "ca.pem"))
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    with _Quiet(("127.0.0.1", 0), _Version) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_an_engine_on_another_machine_is_spoken_to_with_certificates_on_both_sides(
    tls_engine: str, certificates: Path
) -> None:
    files = {name: str(certificates / f"client.{end}") for name, end in (("certificate", "pem"), ("key", "key"))}
    good = connect(EngineAddress(url=tls_engine, ca=str(certificates / "ca.pem"), **files))
    assert good.version()["Version"] == "29.0.1"
    good.close()
    strangers = connect(EngineAddress(url=tls_engine, ca=str(certificates / "server.pem"), **files))
    with pytest.raises(EngineAway, match=r"(?i)certificate.verify.failed"):
        strangers.version()
    strangers.close()


def test_how_long_a_program_has_run_does_not_depend_on_who_sets_the_clock(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    note_start(attempt)
    begun = json.loads(attempt.file("running.json").read_text())
    replace(attempt.file("running.json"), {**begun, "started_at": "2020-01-01T00:00:00+00:00"})
    assert 0 <= ran_s(attempt) < 60

    replace(attempt.file("running.json"), {"started_at": "2020-01-01T00:00:00+00:00", "boot": "another life"})
    assert ran_s(attempt) > 86_400


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('exec: "trtllm-bench": executable file not found in $PATH', "has no program 'trtllm-bench'; name one"),
        (r"exec: \"trtllm-bench\": executable file not found", "has no program 'trtllm-bench'; name one"),
        ('exec: "/opt/start.sh": stat /opt/start.sh: no such file', "has no program '/opt/start.sh'; that is its own"),
        ('exec: "trtllm-bench": permission denied', "cannot execute 'trtllm-bench'; name one"),
    ],
)
def test_a_program_that_an_image_lacks_is_named_with_what_to_do(tmp_path: Path, said: str, told: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/version":
            return httpx.Response(200, json=PODMAN)
        if request.url.path.endswith("/start"):
            return httpx.Response(400, json={"message": f"runc create failed: {said}"})
        return httpx.Response(200, json={"State": {"Status": "created"}})

    site = site_of(tmp_path, engine(answer))
    site = changed(site, job=changed(site.job, program="trtllm-bench"))
    with pytest.raises(Ended) as ended:
        start(site)
    assert ended.value.outcome is JobOutcome.TOOL_FAILED
    assert ended.value.detail.startswith(f"the image {image_of(site.job).reference[: -64 + 12]} {told}")
    assert ended.value.detail.endswith(f"The engine said: runc create failed: {said}")


@pytest.mark.parametrize(
    ("printed", "detail"),
    [("", "wrote no result.json"), ("a\nout of ideas\n", "wrote no result.json; it printed last: out of ideas")],
)
def test_a_program_that_ends_well_without_a_result_is_told_with_its_last_words(
    tmp_path: Path, printed: str, detail: str
) -> None:
    attempt = Attempt(tmp_path)
    attempt.file("run.log").write_text(printed)
    left = Left(missing="wrote no result.json", flooded=False, seen={})
    assert judge(attempt, job(), {"ExitCode": 0}, left).detail == detail
