"""The texts that the golden files hold; `python -m tests.alerts.golden_cases` writes them anew: read the diff."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from alerts import summary_formats, texts
from alerts.blocks import to_blocks
from alerts.message import AlertState, Message
from tests.alerts.samples import make_message, make_summary, missing_row, mixed_summary

FOLDER = Path(__file__).with_name("golden")


def _blocks(message: Message) -> str:
    return json.dumps(to_blocks(message), indent=1, ensure_ascii=False) + "\n"


def _data() -> str:
    return json.dumps(summary_formats.to_dict(mixed_summary()), indent=1, ensure_ascii=False) + "\n"


CASES: Mapping[str, Callable[[], str]] = {
    "alert_new.txt": lambda: texts.to_text(make_message()),
    "alert_new.md": lambda: texts.to_markdown(make_message()),
    "alert_new.slack.json": lambda: _blocks(make_message()),
    "alert_recovered.txt": lambda: texts.to_text(make_message(state=AlertState.RECOVERED, recovered_in="1.30.0")),
    "alert_environment.slack.json": lambda: _blocks(make_message(environment_differences=["driver 550 -> 570"])),
    "summary_slower.txt": lambda: texts.to_text(summary_formats.to_message(mixed_summary())),
    "summary_slower.md": lambda: summary_formats.to_markdown(mixed_summary(), base_url="https://perf.example.org"),
    "summary_slower.html": lambda: summary_formats.to_html(mixed_summary(), base_url="https://perf.example.org"),
    "summary_slower.json": _data,
    "summary_slower.slack.json": lambda: _blocks(summary_formats.to_message(mixed_summary())),
    "summary_all_missing.txt": lambda: texts.to_text(summary_formats.to_message(make_summary(missing_row()))),
}


def write_all() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in CASES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    write_all()
