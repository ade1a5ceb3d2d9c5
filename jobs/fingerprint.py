"""Stable short names for identities: the same labels give the same text on every machine, for ever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from jobs.measurements import Label


def _plain(value: Label) -> Label:
    """Return the value with numbers that are equal made alike (1.0 and 1), booleans kept apart."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def canonical_labels(labels: Mapping[str, Label]) -> str:
    """Return the labels as one line of JSON: keys sorted, equal numbers written alike."""
    plain = {key: _plain(value) for key, value in labels.items()}
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(kind: str, text: str) -> str:
    """Return 16 hexadecimal digits naming `text` among things of its `kind`."""
    return hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest()[:16]


def config_fingerprint(labels: Mapping[str, Label]) -> str:
    """Return the name of a config: identity labels only."""
    return fingerprint("config", canonical_labels(labels))
