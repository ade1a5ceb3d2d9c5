"""Enough of the Kubernetes API, on loopback, for Jobs: they run their container's command here, as a process.

It schedules nothing and pulls nothing. What a cluster may do to a pod (evict it, never pull its image) is said
beforehand in `fate`. It is no cluster, and does not check manifests as one does.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the-right-token"
_JOBS = re.compile(r"/apis/batch/v1/namespaces/([a-z0-9-]+)/jobs(?:/([a-z0-9.-]+))?")
_PODS = re.compile(r"/api/v1/namespaces/([a-z0-9-]+)/pods(?:/([a-z0-9.-]+)/log)?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@dataclass
class Pod:
    """One pod and the process that stands for its container."""

    name: str
    created: str
    log: Path
    process: subprocess.Popen[bytes] | None = None
    status: dict[str, Any] = field(default_factory=dict)
    """Set: said instead of what the process does."""

    def said(self) -> dict[str, Any]:
        """Return the pod's status as the API tells it."""
        if self.status:
            return self.status
        code = self.process.poll() if self.process else None
        if code is None:
            return {"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": self.created}}}]}
        code = code if code >= 0 else 128 - code
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "finishedAt": _now()}
        phase = "Succeeded" if code == 0 else "Failed"
        return {"phase": phase, "containerStatuses": [{"state": {"terminated": ended}}]}


@dataclass
class KubernetesServer:
    """What the cluster holds; set `fate` and `failures` to break it."""

    folder: Path
    base_url: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    """By the name of the Job."""
    created: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    fate: dict[str, Any] | None = None
    """The status of every pod made from now on, whose container then never runs."""
    failures: list[tuple[int, str]] = field(default_factory=list)
    """The next calls are answered with these."""
    cut_logs_at: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def create(self, namespace: str, manifest: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = manifest["metadata"]["name"]
        if not _NAME.fullmatch(name) or manifest["apiVersion"] != "batch/v1" or manifest["kind"] != "Job":
            return 422, {"message": f"Job.batch {name!r} is invalid"}
        if name in self.jobs:
            return 409, {"message": f'jobs.batch "{name}" already exists'}
        self.jobs[name] = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
        self.created.append(name)
        self.pods[name] = self._run(name, manifest["spec"]["template"]["spec"]["containers"][0])
        return 201, self.jobs[name]

    def _run(self, name: str, container: dict[str, Any]) -> Pod:
        pod = Pod(name=f"{name}-{next(self.numbers):05x}", created=_now(), log=self.folder / f"{name}.log")
        pod.log.touch()
        if self.fate is not None:
            pod.status = self.fate
            return pod
        variables = {one["name"]: one["value"] for one in container["env"]}
        variables["TRACKER_WORK"] = str(self.folder / f"{pod.name}-work")
        with pod.log.open("wb") as log:
            pod.process = subprocess.Popen(
                [*container["command"], *container.get("args", [])],
                env={"PATH": os.environ["PATH"], **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return pod

    def job(self, name: str) -> dict[str, Any]:
        """Return a Job with its status."""
        said = self.pods[name].said()
        kind = {"Succeeded": "Complete", "Failed": "Failed"}.get(said.get("phase", ""))
        conditions = [{"type": kind, "status": "True", "reason": said.get("jobReason", "")}] if kind else []
        return {**self.jobs[name], "status": {"conditions": conditions}}

    def pod(self, name: str) -> dict[str, Any]:
        """Return the pod of a Job."""
        pod = self.pods[name]
        metadata = {"name": pod.name, "creationTimestamp": pod.created, "labels": {"job-name": name}}
        return {"metadata": metadata, "spec": {"nodeName": "node-1"}, "status": pod.said()}

    def delete(self, name: str) -> tuple[int, dict[str, Any]]:
        if name not in self.jobs:
            return 404, {"message": f'jobs.batch "{name}" not found'}
        self.end(name)
        del self.jobs[name], self.pods[name]
        return 200, {"kind": "Status", "status": "Success"}

    def end(self, name: str) -> None:
        """Kill what stands for a Job's container and all that it started."""
        process = self.pods[name].process
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            for pid in _descendants(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def running(self) -> list[str]:
        """Return the Jobs whose container runs."""
        return [name for name, pod in self.pods.items() if pod.process and pod.process.poll() is None]

    def answer(self, method: str, url: str, body: Any) -> tuple[int, bytes]:
        """Return status and body for a request."""
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        selector = query.get("labelSelector", [""])[0]
        if match := _JOBS.fullmatch(parts.path):
            namespace, name = match.groups()
            if method == "POST":
                return _json(*self.create(namespace, body))
            if method == "DELETE":
                return _json(*self.delete(name))
            if name:
                known = name in self.jobs
                return _json(200, self.job(name)) if known else _json(404, {"message": "not found"})
            label, _, value = selector.partition("=")
            found = [self.job(n) for n, j in self.jobs.items() if j["metadata"]["labels"].get(label) == value]
            return _json(200, {"kind": "JobList", "items": found})
        if (match := _PODS.fullmatch(parts.path)) and match.group(2):
            pod = next((pod for pod in self.pods.values() if pod.name == match.group(2)), None)
            if pod is None:
                return _json(404, {"message": "pod not found"})
            limit = int(query["limitBytes"][0])
            return 200, pod.log.read_bytes()[: min(limit, self.cut_logs_at or limit)]
        if match:
            name = selector.partition("=")[2]
            return _json(200, {"kind": "PodList", "items": [self.pod(name)] if name in self.pods else []})
        return _json(404, {"message": f"no such path {parts.path}"})


def _json(status: int, value: object) -> tuple[int, bytes]:
    return status, json.dumps(value).encode()


def _descendants(root: int) -> list[int]:
    done = subprocess.run(["pgrep", "-P", str(root)], capture_output=True, text=True, check=False)
    children = [int(line) for line in done.stdout.split()]
    return [*children, *(one for child in children for one in _descendants(child))]


def _handler(server: KubernetesServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with server.lock:
                server.calls.append(f"{self.command} {self.path}")
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    status, body = _json(401, {"message": "Unauthorized"})
                elif server.failures:
                    code, text = server.failures.pop(0)
                    status, body = code, text.encode()
                else:
                    status, body = server.answer(self.command, self.path, json.loads(raw) if raw else None)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _serve

    return Handler


@contextmanager
def kubernetes_server(folder: Path) -> Iterator[KubernetesServer]:
    """Yield a running server; at the end nothing of it is left."""
    folder.mkdir(parents=True, exist_ok=True)
    state = KubernetesServer(folder=folder)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    http.daemon_threads = True
    state.base_url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
        for name in list(state.pods):
            state.end(name)
