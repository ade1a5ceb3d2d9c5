"""Where the scripts that a suite names lie."""

from __future__ import annotations

from pathlib import Path

from jobs.errors import UserError

SHIPPED = Path(__file__).parent.parent / "suites"
PROGRAMS = "programs"


def is_script(name: str) -> bool:
    """Return whether the name means a Python script of ours rather than a command on PATH."""
    return name.endswith(".py")


def find_script(name: str, suite: Path) -> Path:
    """Return the script from `programs/` beside the suite file or among the shipped ones; raise UserError."""
    if Path(name).name != name:
        raise UserError(f"{name!r} must be the bare name of a script in {PROGRAMS}/, without a folder")
    folders = (suite.parent / PROGRAMS, SHIPPED / PROGRAMS)
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).resolve()
    looked = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise UserError(f"no script {name!r} in {looked}; put it there or correct the name")
