"""Whatever an index answers, its page is read or refused, never a crash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.sources._index_pages import NotAPage, read_page
from jobs.sources.package_index import _choose_builds, _sort_files

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
names = st.one_of(
    st.sampled_from(["demo-1.0-py3-none-any.whl", "demo-1.0.tar.gz", "demo-x.whl", "demo-1.0.exe", "\ud800.whl"]),
    st.text(max_size=12),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner)), max_leaves=6
)
entries = st.one_of(
    values,
    st.fixed_dictionaries(
        {"filename": names},
        optional=dict.fromkeys(("hashes", "size", "upload-time", "yanked", "requires-python", "url"), values),
    ),
)


@given(st.lists(entries, max_size=5), values)
def test_any_json_page_gives_builds_and_unreadable_entries(files: list[object], meta: object) -> None:
    body = json.dumps({"files": files, "meta": {"api-version": "1.0", "more": meta}}).encode()
    read, unreadable = read_page(JSON_TYPE, body)
    assert len(read) + len(unreadable) == len(files)
    wheels, sources, odd = _sort_files({file.filename: file for file in read}.values(), "demo")
    builds = _choose_builds(wheels, sources)
    assert {build.tag for build in builds} <= {"1.0"}
    assert all(reason for _, reason in odd)


@given(st.sampled_from([JSON_TYPE, "text/html", "text/html; charset=x", "image/png", ""]), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content_type: str, body: bytes) -> None:
    try:
        files, _ = read_page(content_type, body)
    except NotAPage:
        return
    assert all(file.filename for file in files)


def test_a_broken_html_page_is_read_as_far_as_it_goes() -> None:
    files, _ = read_page("text/html", b"<a href=demo-1.0-py3-none-any.whl>\xff\xfe <a href=<b></html")
    assert [file.filename for file in files] == ["demo-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    "body", [b"<![x[y]]>", b"<!DOCTYPE html [<!X", b"<a href='demo-1.0-py3-none-any.whl'", b"<!-", b""]
)
def test_html_that_holds_no_files_is_refused(body: bytes) -> None:
    with pytest.raises(NotAPage, match="its answer"):
        read_page("text/html", body)
