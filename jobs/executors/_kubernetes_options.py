"""What can be set about a Kubernetes cluster, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jobs.errors import UserError
from jobs.executors._options import check_names, number

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KEY = re.compile(r"(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|[kMGTP]i?)?")
_PATH = re.compile(r"/[^\x00-\x1f\x7f]*")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesOptions:
    """All that is set; texts are empty where there is nothing to say."""

    server: str = ""
    """Address of the API: `https://10.0.0.1:6443`; empty for the cluster that the service itself runs in."""
    namespace: str = "default"
    token_file: str = ""
    """File with a bearer token, read at every call; empty for the service account's, where there is one."""
    ca_file: str = ""
    """Certificates to trust; empty for the service account's, or else the usual ones."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Each has some of `key`, `operator`, `value`, `effect`."""
    pull_secrets: tuple[str, ...] = ()
    service_account: str = ""
    gpu_resource: str = "nvidia.com/gpu"
    cpus: str = ""
    """Request and limit, `16`; empty leaves both out."""
    memory: str = ""
    """Request and limit, `64Gi`; empty leaves both out."""
    host_paths: tuple[str, ...] = ()
    """Folders of the nodes that containers may read, `SOURCE` or `SOURCE:TARGET`."""
    claims: tuple[str, ...] = ()
    """Persistent volume claims that containers may read, `CLAIM:TARGET`."""
    ttl_s: int = 86_400
    """How long a finished Job stays in the cluster."""
    ask_every_s: float = 10.0
    answer_within_s: float = 30.0
    queue_limit_s: float = 86_400.0
    """How long an attempt may wait for a node and for its image."""
    files_within_s: float = 120.0
    """How long the log of a finished pod may take to be whole."""


def read_options(values: Mapping[str, object]) -> KubernetesOptions:
    """Return the checked options; UserError names what is wrong."""
    check_names("kubernetes", values, tuple(one.name for one in fields(KubernetesOptions)))
    given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name, expression, example in _TEXTS:
        if name in given:
            _check(name, given[name], expression, example, empty=True)
    for name, expression, example in _LISTS:
        given[name] = _list(name, given.get(name, ()))
        for value in given[name]:
            _check(name, value, expression, example)
    given["node_selector"] = _labels(given.get("node_selector", {}))
    given["tolerations"] = _list("tolerations", given.get("tolerations", ()))
    for value in given["tolerations"]:
        _check_toleration(value)
    for name, low in _NUMBERS:
        number("kubernetes", given, name, low, low=low)
    if not isinstance(given.get("ttl_s", 1), int):
        raise UserError(f"executor kubernetes: ttl_s must be a whole number, found {given['ttl_s']!r}")
    _check_server(given.get("server", ""))
    return KubernetesOptions(**given)


_TEXTS = (
    ("namespace", _NAME, "benchmarks"),
    ("token_file", _PATH, "/etc/tracker/token"),
    ("ca_file", _PATH, "/etc/tracker/ca.crt"),
    ("service_account", _NAME, "benchmarks"),
    ("gpu_resource", _KEY, "nvidia.com/gpu"),
    ("cpus", _QUANTITY, "16"),
    ("memory", _QUANTITY, "64Gi"),
)
_LISTS = (
    ("pull_secrets", _NAME, "ngc"),
    ("host_paths", re.compile(r"/[^\x00-\x1f\x7f:]*(?::/[^\x00-\x1f\x7f:]*)?"), "/data/models:/models"),
    ("claims", re.compile(_NAME.pattern + r":/[^\x00-\x1f\x7f:]*"), "models:/models"),
)
_NUMBERS = (("ttl_s", 60), ("ask_every_s", 0), ("answer_within_s", 0.1), ("queue_limit_s", 1), ("files_within_s", 0))


def _check(name: str, value: object, expression: re.Pattern[str], example: str, *, empty: bool = False) -> None:
    fits = isinstance(value, str) and (expression.fullmatch(value) or (empty and not value))
    if not fits:
        raise UserError(f"executor kubernetes: {name} must look like {example!r}, found {value!r}")


def _list(name: str, values: object) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise UserError(f"executor kubernetes: {name} must be a list, found {values!r}")
    return tuple(values)


def _labels(values: object) -> dict[str, str]:
    fits = isinstance(values, Mapping) and all(
        isinstance(k, str) and isinstance(v, str) and _KEY.fullmatch(k) and _VALUE.fullmatch(v)
        for k, v in values.items()
    )
    if not isinstance(values, Mapping) or not fits:
        raise UserError(f"executor kubernetes: node_selector must be labels such as gpu = 'h200', found {values!r}")
    return dict(values)


def _check_toleration(value: object) -> None:
    fits = (
        isinstance(value, Mapping)
        and value.keys() <= {"key", "operator", "value", "effect"}
        and all(isinstance(one, str) for one in value.values())
        and _KEY.fullmatch(value.get("key", "x"))
        and _VALUE.fullmatch(value.get("value", ""))
        and value.get("operator", "Equal") in ("Equal", "Exists")
        and value.get("effect", "") in _EFFECTS
    )
    if not fits:
        raise UserError(
            "executor kubernetes: a toleration must look like {key = 'nvidia.com/gpu', operator = 'Exists', effect ="
            f" 'NoSchedule'}}, found {value!r}"
        )


def _check_server(value: object) -> None:
    parts = urlsplit(value) if isinstance(value, str) else None
    if value != "" and (parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.username):
        raise UserError(f"executor kubernetes: server must look like 'https://10.0.0.1:6443', found {value!r}")
