"""Finding and reading suite files. A file with mistakes gives one error that lists them all, each with its cure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from jobs.characters import find_unstorable
from jobs.errors import UserError
from jobs.suite.checks import Problem, problems_of
from jobs.suite.document import Asset, Document, Expectation, Gate, Suite
from jobs.suite.programs import SHIPPED

_LISTED: dict[tuple[str, ...], type[BaseModel]] = {
    ("expect",): Expectation,
    ("gate",): Gate,
    ("run", "asset"): Asset,
}


def _table_at(keys: tuple[str, ...]) -> type[BaseModel] | None:
    """Return the table that stands under `keys`; None where no fixed one does."""
    if keys in _LISTED:
        return _LISTED[keys]
    table: type[BaseModel] = Document
    for key in keys:
        field = table.model_fields.get(key)
        annotation = field.annotation if field else None
        inner = [t for t in (annotation, *getattr(annotation, "__args__", ())) if isinstance(t, type)]
        tables = [t for t in inner if issubclass(t, BaseModel)]
        if not tables:
            return None
        table = tables[0]
    return table


def _dotted(location: Sequence[str | int]) -> str:
    """Return a place in the file as people write it: `run.asset[1].name`, counted from 1."""
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _explain(error: ErrorDetails) -> Problem:
    """Return one finding of the validation as (key, what was expected, found and to do)."""
    keys = tuple(part for part in error["loc"] if isinstance(part, str))
    table = _table_at(keys[:-1]) if keys else None
    fields = table.model_fields if table else {}
    field = fields.get(keys[-1]) if keys else None
    about = f" ({field.description})" if field and field.description else ""
    if error["type"] == "extra_forbidden":
        near = get_close_matches(keys[-1], fields, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(fields)}"
        return _dotted(error["loc"]), f"unknown key; {hint}"
    if error["type"] == "missing":
        return _dotted(error["loc"]), f"this key is missing; add it{about}"
    found = json.dumps(error["input"], default=str, ensure_ascii=False)
    message = error["msg"][0].lower() + error["msg"][1:]
    return _dotted(error["loc"]), f"{message}{about}, found {found[:80]}"


def _read_toml(path: Path) -> dict[str, Any]:
    """Return what the file says; UserError also for texts that can be neither stored nor handed to a program."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        character = find_unstorable(raw)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise UserError(f"{path}: is not TOML: {error or 'nested too deeply'}") from error
    if character:
        raise UserError(f"{path}: a text in it holds the unusable character {character}; remove that")
    return raw


def _refuse(path: Path, problems: Sequence[Problem]) -> UserError:
    lines = [f"{path}: {key}: {text}" for key, text in dict.fromkeys(problems)]
    if len(lines) == 1:
        return UserError(lines[0])
    return UserError(f"{path}: {len(lines)} problems\n" + "\n".join(lines))


_STAND_INS: Mapping[str, Any] = {
    "name": "stand-in",
    "title": "stand-in",
    "component": "stand-in",
    "source": {"kind": "stand-in"},
    "matrix": {},
    "run": {"executor": "stand-in", "program": "stand-in", "timeout_s": 1},
    "output": {"tool": "stand-in", "parser": "stand-in"},
    "expect": [{"metrics": ["stand-in"]}],
}
"""In place of what cannot be read, so that the other tables of the file are checked all the same."""


def _problems_besides(raw: Mapping[str, Any], shape: ValidationError, path: Path) -> list[Problem]:
    """Return what is wrong with the tables that `shape` does not complain about."""
    broken = frozenset(str(detail["loc"][0]) for detail in shape.errors())
    whole = {key: value for key, value in raw.items() if key not in broken}
    return problems_of(Document.model_validate({**_STAND_INS, **whole}), path, broken)


def load_suite(path: Path) -> Suite:
    """Return the suite in that file; raise one UserError that names every problem with file, key and cure."""
    raw = _read_toml(path)
    try:
        document = Document.model_validate(raw)
    except ValidationError as error:
        shape = [_explain(detail) for detail in error.errors(include_url=False)]
        raise _refuse(path, [*shape, *_problems_besides(raw, error, path)]) from None
    if problems := problems_of(document, path):
        raise _refuse(path, problems)
    return Suite.model_validate({**raw, "path": path.resolve()})


def suites_in(folder: Path) -> list[Path]:
    """Return the suite files directly in a folder, by name; none where there is no folder."""
    return sorted(folder.glob("*.toml")) if folder.is_dir() else []


def shipped_suites() -> list[Path]:
    """Return the suite files that come with the product, ready to run where their hardware and models are."""
    return suites_in(SHIPPED)


def example_suites() -> list[Path]:
    """Return the suite files that come as examples for suites of your own: checked, never run by the tests."""
    return suites_in(SHIPPED / "examples")


def recorded_suites() -> Path:
    """Return the folder with suites that are played from recordings, and the recordings."""
    return SHIPPED / "recorded"


def find_suite(name: str, folders: Sequence[Path] = ()) -> Path:
    """Return the file of that suite: a path, or a name in `folders`, then among the shipped ones and the examples."""
    if name.endswith(".toml") and Path(name).is_file():
        return Path(name)
    known = {path.stem: path for path in reversed([*(p for f in folders for p in suites_in(f)), *shipped_suites()])}
    known = {**{path.stem: path for path in example_suites()}, **known}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UserError(f"no suite named {name!r}; known: {', '.join(sorted(known))}.{hint}")
