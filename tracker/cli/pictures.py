"""Charts as files: PNG, SVG, or a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tracker.errors import UserError

KINDS = ("png", "svg", "html")
STYLE = "body{font:15px system-ui;margin:2rem auto;max-width:60rem;color:#1f2933}svg{max-width:100%;height:auto}"


def check_picture(file: Path) -> str:
    """Return the kind of picture by the file's ending; UserError for another ending."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise UserError(f"--chart: expected a file that ends in .png, .svg or .html, found {file}")
    return kind


def save_picture(file: Path, spec: Mapping[str, Any], *, title: str, said: Sequence[str] = ()) -> None:
    """Draw a chart into a file; a page holds the lines of `said` under it. UserError where it cannot be written."""
    from alerts.charts import render

    kind = check_picture(file)
    content = render(dict(spec), "png" if kind == "png" else "svg")
    if kind == "html":
        told = "".join(f"<p>{escape(line)}</p>" for line in said)
        content = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(title)}</title><style>{STYLE}</style>{content.decode()}{told}</html>\n"
        ).encode()
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UserError(
            f"--chart: {file} cannot be written: {(error.strerror or '').lower()}; check the path"
        ) from error
