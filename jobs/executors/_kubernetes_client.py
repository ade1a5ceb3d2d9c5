"""The few calls of the Kubernetes API that are needed, over httpx."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from jobs.errors import TryLater, UserError
from jobs.executors._kubernetes_manifest import CONTAINER
from jobs.executors._kubernetes_options import IN_CLUSTER, KubernetesOptions

Thing = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One namespace of a cluster. Raises TryLater where asking again may help, UserError where the cluster refuses."""

    options: KubernetesOptions

    def create_job(self, manifest: Thing) -> None:
        """Make the Job; one of that name that is there already is left as it is."""
        self._call("POST", self._jobs(), json=manifest, fine=(409,), refuses=True)

    def job(self, name: str) -> Thing | None:
        """Return a Job, None where there is none of that name."""
        answer = self._call("GET", f"{self._jobs()}/{quote(name)}", fine=(404,))
        return None if answer.status_code == 404 else _object(answer)

    def jobs(self, selector: str) -> Sequence[Thing]:
        """Return the Jobs with a label."""
        return _items(self._call("GET", self._jobs(), params={"labelSelector": selector}))

    def pods(self, job_name: str) -> Sequence[Thing]:
        """Return the pods of a Job, the newest last."""
        found = _items(self._call("GET", self._core("pods"), params={"labelSelector": f"job-name={job_name}"}))
        return sorted(found, key=lambda pod: str(pod.get("metadata", {}).get("creationTimestamp", "")))

    def log(self, pod: str, *, limit_bytes: int) -> bytes | None:
        """Return what a pod printed, cut at a limit; None where there is nothing to be had any more."""
        params = {"container": CONTAINER, "limitBytes": str(limit_bytes)}
        answer = self._call("GET", f"{self._core('pods')}/{quote(pod)}/log", params=params, fine=(400, 404))
        return answer.content[:limit_bytes] if answer.status_code == 200 else None

    def delete_job(self, name: str) -> None:
        """Delete a Job with its pods; it stays until they are gone. None of that name is fine."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
        self._call("DELETE", f"{self._jobs()}/{quote(name)}", json=body, fine=(404,))

    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.options.namespace}/jobs"

    def _core(self, kind: str) -> str:
        return f"/api/v1/namespaces/{self.options.namespace}/{kind}"

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
        fine: tuple[int, ...] = (),
        refuses: bool = False,
    ) -> httpx.Response:
        """Return the answer where it is a success or one of `fine`; `refuses`: a no is the input's fault."""
        with self._client() as client:
            try:
                answer = client.request(method, path, params=params, json=json)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise TryLater(f"Kubernetes at {client.base_url} does not answer: {error}") from error
        if answer.is_success or answer.status_code in fine:
            return answer
        said = f"HTTP {answer.status_code}: {_message(answer)}"
        if refuses and answer.status_code < 500 and answer.status_code not in (408, 425, 429):
            raise UserError(f"Kubernetes refused the Job: {said}; check [kubernetes] and the rights of its token")
        raise TryLater(f"Kubernetes does not answer {method} {path}: {said}")

    def _client(self) -> httpx.Client:
        token = _read(self.options.token_file or str(IN_CLUSTER / "token"))
        ca = self.options.ca_file or (str(IN_CLUSTER / "ca.crt") if (IN_CLUSTER / "ca.crt").exists() else "")
        try:
            verify = ssl.create_default_context(cafile=ca) if ca else ssl.create_default_context()
        except (OSError, ssl.SSLError) as error:
            raise UserError(f"executor kubernetes: ca_file {ca} cannot be used: {error}") from error
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(
            base_url=self.options.server or _own_server(),
            headers=headers,
            verify=verify,
            timeout=self.options.answer_within_s,
            follow_redirects=False,
        )


def _own_server() -> str:
    """Return the API of the cluster that this process runs in."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise UserError(
            "executor kubernetes: this is no pod, so kubernetes.server must name the API: https://10.0.0.1:6443, or"
            " http://127.0.0.1:8001 with `kubectl proxy`"
        )
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise UserError(f"executor kubernetes: token_file {path} cannot be read: {error}") from error


def _object(answer: httpx.Response) -> Thing:
    try:
        value = answer.json()
    except ValueError as error:
        raise TryLater(f"Kubernetes answered something that is no JSON: {answer.text[:200]!r}") from error
    if not isinstance(value, dict):
        raise TryLater(f"Kubernetes answered something that is no object: {answer.text[:200]!r}")
    return value


def _items(answer: httpx.Response) -> list[Thing]:
    items = _object(answer).get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TryLater(f"Kubernetes answered a list without items: {answer.text[:200]!r}")
    return items


def _message(answer: httpx.Response) -> str:
    """Return what the API says about a failure, as one line."""
    try:
        said = answer.json().get("message", "")
    except (ValueError, AttributeError):
        said = answer.text
    return " ".join(str(said).split())[:300] or "nothing"
