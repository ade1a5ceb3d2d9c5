"""The Python of the tests as files of an image: interpreter, standard library and the libraries that they load.

    make_image(folder, {**python_files(), "bin/bench": "#!/bin/sh\\nexec python3 ..."})

Everything lies in the image where it lies here; `python3` is on the image's PATH. About 50 MB.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_LEFT_OUT = frozenset(
    {"__pycache__", "test", "tests", "idlelib", "tkinter", "site-packages", "lib2to3", "turtledemo", "pydoc_data"}
)


@cache
def python_files() -> dict[str, bytes]:
    """Return path in the image -> content."""
    interpreter = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    library = Path(sysconfig.get_path("stdlib"))
    modules = [path for path in library.rglob("*") if path.is_file() and _is_wanted(path.relative_to(library))]
    extensions = [path for path in modules if path.suffix == ".so"]
    files = {_inside(path): path.read_bytes() for path in (interpreter, *modules)}
    files |= shared_libraries((interpreter, *extensions))
    return {**files, "bin/python3": f'#!/bin/sh\nexec {interpreter} "$@"\n'.encode()}


def shared_libraries(programs: Iterable[Path]) -> dict[str, bytes]:
    """Return the libraries that programs and extension modules load, by their path in the image."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False)
    found = {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)}
    return {_inside(path): path.read_bytes() for path in found}


def folder_files(folder: Path, where: str) -> dict[str, bytes]:
    """Return the files of a folder as they lie under `where` in an image."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {f"{where.strip('/')}/{path.relative_to(folder)}": path.read_bytes() for path in paths}


def _is_wanted(path: Path) -> bool:
    return not _LEFT_OUT & set(path.parts) and not any(part.startswith("config-") for part in path.parts)


def _inside(path: Path) -> str:
    return str(path).lstrip("/")
