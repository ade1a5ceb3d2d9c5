"""One name for a model, a GPU or a number format that many write differently; `names.toml` holds the aliases.

What is not listed keeps its name. To compare two names, compare their keys: case, separators and the organisation
before a slash do not count.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources

_SEPARATORS = re.compile(r"[\s_\-]+")
_VENDORS = ("nvidia", "amd")
_VENDOR = re.compile(r"^(?:nvidia|amd)(?=[a-z0-9])")


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """Return what two spellings of one name share: `openai/gpt-oss-120b` and `GPT-OSS 120B` give `gptoss120b`."""
    last = name.strip().rstrip("/").rpartition("/")[2]
    return _SEPARATORS.sub("", last).casefold()


def canonical_model(name: str) -> str:
    """Return the name that the service shows for a model; an unknown one as it is, without blanks around it."""
    return _aliases("models").get(name_key(name), name.strip())


def canonical_gpu(name: str) -> str:
    """Return the name that the service shows for a GPU; an unknown one as it is, without blanks around it."""
    known = _aliases("gpus")
    key = name_key(name)
    return known.get(key) or known.get(_VENDOR.sub("", key)) or name.strip()


def canonical_precision(name: str) -> str:
    """Return the name of a number format in small letters; an unknown one as it is."""
    return _aliases("precisions").get(name_key(name), name.strip().casefold())


def same_model(one: str, other: str) -> bool:
    """Return whether two names mean one model."""
    return name_key(canonical_model(one)) == name_key(canonical_model(other))


@lru_cache(maxsize=4096)
def gpu_key(name: str) -> str:
    """Return what all names of one kind of GPU share; empty where nothing but the vendor is named."""
    key = _VENDOR.sub("", name_key(canonical_gpu(name)))
    return "" if key in _VENDORS else key


def same_gpu(one: str, other: str) -> bool:
    """Return whether two names mean one kind of GPU."""
    return gpu_key(one) == gpu_key(other)


@cache
def _aliases(kind: str) -> Mapping[str, str]:
    """Return key -> canonical name of a kind; a key that stands for two names is an error of the file."""
    text = resources.files("jobs").joinpath("names.toml").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for canonical, others in tomllib.loads(text)[kind].items():
        for name in (canonical, *others):
            if found.setdefault(name_key(name), canonical) != canonical:
                raise ValueError(f"names.toml: {name!r} stands for {found[name_key(name)]} and for {canonical}")
    return found
