"""The shape of the house: who may import whom, one door a library, nothing read at import, short functions, READMEs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("jobs", "baselines", "alerts", "tracker")
GENERATED = "tracker/store/migrations/versions/"
LONGEST_FUNCTION = 60

#: Library -> the places that may import it.
DOORS = {
    "sqlmodel": ("tracker/store/",),
    "sqlalchemy": ("tracker/store/",),
    "alembic": ("tracker/store/migrations/",),
    "fastapi": ("tracker/web/",),
    "starlette": ("tracker/web/",),
    "uvicorn": ("tracker/cli/", "tracker/web/"),
    "typer": ("tracker/cli/",),
    "apscheduler": ("tracker/daemon.py",),
    "ruptures": ("baselines/detection/detectors.py",),
    "slack_sdk": ("alerts/sinks/slack.py",),
    "httpx": ("jobs/sources/", "jobs/release_notes/", "jobs/executors/", "alerts/sinks/"),
    "vl_convert": ("alerts/",),
    "pydantic_settings": ("tracker/settings.py", "tracker/setting_tables.py"),
}
#: Parts that must be importable without the heavy libraries.
LIGHT = ("jobs", "alerts", "baselines", "jobs.protocols", "alerts.protocol", "tracker.settings", "tracker.cli.__main__")
HEAVY = ("numpy", "pandas", "scipy", "ruptures", "vl_convert", "slack_sdk", "fastapi", "sqlalchemy")


@cache
def modules() -> list[str]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(str(path.relative_to(ROOT)) for path in found if GENERATED not in str(path))


def read(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"), module)


@cache
def imported(module: str) -> set[str]:
    """Return the top-level names of everything imported anywhere in a module."""
    tree = read(module)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield everything that runs when a module is imported: not the bodies of functions, not `if __name__ ...`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "__name__" in ast.unparse(child.test):
            continue
        yield child
        yield from at_import(child)


def test_imports_go_in_one_direction():
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("library", DOORS)
def test_a_library_has_one_door(library: str):
    outside = [module for module in modules() if library in imported(module) and not module.startswith(DOORS[library])]
    assert outside == []


@pytest.mark.parametrize("library", DOORS)
def test_every_door_is_used(library: str):
    assert any(library in imported(module) for module in modules() if module.startswith(DOORS[library]))


@pytest.mark.parametrize("module", modules())
def test_no_module_reads_the_environment_or_the_clock_when_it_is_imported(module: str):
    forbidden = ("os.environ", "os.getenv", "time.time", "time.monotonic", "datetime.now", "datetime.utcnow")
    found = [
        f"{module}:{node.lineno}: {ast.unparse(node)}"
        for node in at_import(read(module))
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(forbidden)
    ]
    assert found == []


@pytest.mark.parametrize("module", modules())
def test_no_function_is_longer_than_sixty_lines(module: str):
    long = [
        f"{module}:{node.lineno}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(read(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


@pytest.mark.parametrize("module", LIGHT)
def test_what_is_imported_often_is_light(module: str):
    program = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "folder",
    [
        ".",
        "jobs",
        "jobs/sources",
        "jobs/executors",
        "jobs/parsers",
        "jobs/suites",
        "baselines",
        "baselines/detection",
        "baselines/comparison",
        "baselines/verdicts",
        "baselines/cost",
        "baselines/frontier",
        "baselines/claims",
        "baselines/references",
        "alerts",
        "alerts/sinks",
        "tracker",
        "tracker/web",
        "docker",
    ],
)
def test_packages_and_folders_of_plugins_say_what_they_are_and_how_to_add_to_them(folder: str):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert len(text) > 200


def test_no_module_is_named_after_nothing():
    vague = {"utils", "helpers", "helper", "manager", "common", "misc"}
    assert [module for module in modules() if Path(module).stem.strip("_") in vague] == []
