"""What executors say of commands and their files."""

from __future__ import annotations

import pytest

from jobs.executors._commands import size_text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (999_999, "999999 bytes"),
        (1_000_000, "1 MB"),
        (250_000_000, "250 MB"),
        (999_600_000, "1.0 GB"),
        (14_260_000_000, "14.3 GB"),
    ],
)
def test_sizes_are_decimal_as_in_the_settings(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text
