"""What is kept of notes is short, can be stored and shown anywhere, and is the same when it is read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.characters import find_unstorable
from jobs.release_notes._pages import NotAPage, read_page
from jobs.release_notes.note import (
    LONGEST_LINE,
    LONGEST_TITLE,
    MOST_LINES,
    ReleaseNote,
    clean_title,
    cut_notes,
    is_address,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    max_leaves=10,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "tag_name": JSON | st.just("v1.0.0"),
        "html_url": JSON | st.just("https://github.example.com/v1"),
        "name": JSON,
        "body": JSON,
        "draft": JSON | st.just(False),
        "prerelease": JSON,
        "published_at": JSON | st.sampled_from(["2026-01-02T03:04:05Z", "0001-01-01T00:00:00+23:59"]),
    },
)


@given(st.text(st.characters()))
def test_a_title_is_one_short_line(text: str):
    title = clean_title(text)
    assert len(title) <= LONGEST_TITLE
    assert title == " ".join(title.split())
    assert find_unstorable(title) is None
    assert clean_title(title) == title


@given(st.text(st.characters()) | st.lists(st.text(max_size=600), max_size=40).map("\n".join))
def test_notes_are_a_few_short_lines(text: str):
    notes = cut_notes(text)
    lines = notes.split("\n")
    assert len(lines) <= MOST_LINES + 1
    assert all(len(line) <= LONGEST_LINE for line in lines)
    assert find_unstorable(notes) is None


@given(st.binary() | st.lists(ENTRY | JSON, max_size=4).map(lambda page: json.dumps(page).encode()))
def test_any_answer_is_a_page_or_is_none(body: bytes):
    try:
        page = read_page(body, etag="", next_url=None)
    except NotAPage:
        return
    assert all(find_unstorable(note.title + note.excerpt + note.tag + note.url) is None for note in page.notes)
    assert all(find_unstorable(name + reason) is None for name, reason in page.unreadable)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("<!-- made by a machine -->\n\nOne\n\n\n\nTwo  \n", "One\n\nTwo"),
        ("One<!-- never closed\nTwo", "One"),
        ("\n".join("abcdefghijklmnop"), "\n".join("abcdefghijkl") + "\n…"),
        ("One\r\nTwo\rThree", "One\nTwo\nThree"),
        ("a\u202eb\u2066c\x1b[31m", "a b c [31m"),
    ],
)
def test_the_first_lines_are_kept(text: str, expected: str):
    assert cut_notes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://x.example/",
        "https://",
        "https:///path",
        "https://x.example/a b",
        'https://x.example/"onclick',
        "https://x.example/<",
        "https://[::1/",
        "https://x.example:99999/",
        "https://me@x.example/",
        "https://x.example/" + "a" * 500,
        "https://\u0445.example/",
    ],
)
def test_what_is_no_plain_https_address_is_none(text: str):
    assert not is_address(text)
    with pytest.raises(ValueError, match="https address"):
        ReleaseNote(tag="v1", url=text)
