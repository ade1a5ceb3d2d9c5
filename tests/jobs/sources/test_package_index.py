"""A Python package index, on loopback: both page formats, what fits, and every kind of bad answer."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.tags import sys_tags

from jobs.errors import TryLater, UserError
from jobs.protocols import PublishedBuild
from jobs.releases import order_tags
from jobs.sources.package_index import create

IndexServer = Any
"""The fixture `index` of conftest.py."""

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HOST_TAG = next(iter(sys_tags()))
HASH = "a1" * 32


def list_demo() -> tuple[PublishedBuild, ...]:
    return create({"package": "demo"}).list_builds().builds


def wheel(version: str, tags: str = "py3-none-any", **more: object) -> dict[str, object]:
    name = f"demo-{version}-{tags}.whl"
    return {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": HASH}, **more}


def test_a_json_page_gives_name_digest_size_and_date(index: IndexServer) -> None:
    moment = "2026-07-25T01:21:59.151685Z"
    index.put_files("demo", [wheel("1.0.0", **{"size": 1234, "upload-time": moment, "yanked": False})])
    assert list_demo() == (
        PublishedBuild(
            tag="1.0.0",
            kind="wheel",
            digest=f"sha256:{HASH}",
            platform="py3-none-any",
            location="demo-1.0.0-py3-none-any.whl",
            published_at=datetime(2026, 7, 25, 1, 21, 59, 151685, tzinfo=UTC),
            size_bytes=1234,
        ),
    )


def test_an_html_page_gives_the_same_releases(index: IndexServer) -> None:
    page = f"""<!DOCTYPE html><html><body><h1>Links for demo</h1>
    <a href="../../files/demo-1.0.0-py3-none-any.whl#sha256={HASH}" data-requires-python="&gt;=3.8">demo-1.0.0</a>
    <a href="https://files.invalid/demo-1.1.0-py3-none-any.whl" data-yanked="">demo-1.1.0</a>
    <a href="demo-1.2.0-py3-none-any.whl#md5=00" data-yanked="too &amp; slow">demo-1.2.0</a>
    <a href="/about">about</a> <a name="x">no link</a> <a href="http://[bad/demo-9-py3-none-any.whl">bad</a>
    """
    index.put("/simple/demo/", page, "text/html; charset=utf-8")
    builds = list_demo()
    assert [(b.tag, b.yanked, b.misfit) for b in builds] == [
        ("1.0.0", None, None),
        ("1.1.0", "no reason given", None),
        ("1.2.0", "too & slow", None),
    ]
    assert builds[0].digest == f"sha256:{HASH}"


def test_the_index_is_asked_for_json_first_under_the_normal_name(index: IndexServer) -> None:
    index.put_files("my-demo", [])
    assert create({"package": "My_Demo"}).list_builds().builds == ()
    path, headers = index.requests[0]
    assert path == "/simple/my-demo/"
    assert headers["Accept"].startswith(JSON_TYPE + ",")
    assert "text/html" in headers["Accept"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05Z", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2024-01-02T03:04:05.5Z", datetime(2024, 1, 2, 3, 4, 5, 500000, tzinfo=UTC)),
        ("2024-01-02T05:04:05+02:00", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2024-01-02T03:04:05", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("0001-01-01T00:00:00+23:00", None),
        ("yesterday", None),
        (17, None),
        (None, None),
    ],
)
def test_a_date_is_read_or_unknown(index: IndexServer, text: object, expected: datetime | None) -> None:
    index.put_files("demo", [wheel("1.0.0", **{"upload-time": text})])
    assert list_demo()[0].published_at == expected


@pytest.mark.parametrize(
    ("yanked", "expected"), [(False, None), (None, None), ("", None), (True, "no reason given"), ("slow", "slow")]
)
def test_a_withdrawn_release_says_why(index: IndexServer, yanked: object, expected: str | None) -> None:
    index.put_files("demo", [wheel("1.0.0", yanked=yanked)])
    assert list_demo()[0].yanked == expected


def test_what_the_index_leaves_out_is_unknown_and_the_identity_is_the_files_name(index: IndexServer) -> None:
    bare = {"filename": "demo-1.0.0-py3-none-any.whl"}
    index.put_files("demo", [{**bare, "url": "https://one.invalid/x?signed=1"}])
    first = list_demo()[0]
    index.put_files("demo", [{**bare, "url": "https://two.invalid/x?signed=2", "size": -1, "hashes": {"md5": "0"}}])
    assert list_demo()[0] == first
    assert first.digest.startswith("name-sha256:")
    assert (first.size_bytes, first.published_at) == (None, None)


def test_releases_come_oldest_first_with_one_build_each_the_best_fitting(index: IndexServer) -> None:
    best = f"{HOST_TAG.interpreter}-{HOST_TAG.abi}-{HOST_TAG.platform}"
    index.put_files(
        "demo",
        [
            wheel("1.10.0"),
            wheel("1.9.0", "cp27-cp27m-win32"),
            wheel("1.9.0"),
            wheel("1.9.0", best),
            wheel("1.2.0rc1"),
            {"filename": "demo-1.9.0.tar.gz"},
        ],
    )
    assert [(b.tag, b.platform) for b in list_demo()] == [
        ("1.2.0rc1", "py3-none-any"),
        ("1.9.0", best),
        ("1.10.0", "py3-none-any"),
    ]


def test_a_wheel_that_is_not_withdrawn_is_preferred_and_then_the_later_build(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0-9", yanked=True), wheel("1.0-1"), wheel("1.0-2"), wheel("1.0")])
    assert [b.location for b in list_demo()] == ["demo-1.0-2-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("tags", "more", "reason"),
    [
        ("cp27-cp27mu-any", {}, r"built for cp27, this is cp3\d+"),
        ("py3-none-win_amd64", {}, r"built for win_amd64, this is \w+"),
        ("cp27-cp27m-win32", {}, r"built for cp27 on win32, this is cp3\d+ on \w+"),
        ("py3-none-any", {"requires-python": ">=4"}, r"needs Python >=4, this is 3\.\d+"),
    ],
)
def test_a_release_that_does_not_run_here_stays_listed_with_the_reason(
    index: IndexServer, tags: str, more: dict[str, object], reason: str
) -> None:
    index.put_files("demo", [wheel("1.0.0", tags, **more)])
    (build,) = list_demo()
    assert build.tag == "1.0.0"
    assert re.match(reason, build.misfit or "")


def test_many_wheels_that_do_not_fit_are_summed_up_in_number_order(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0", f"cp{n}-cp{n}-any") for n in (35, 27, 210, 26, 29, 28)])
    assert (list_demo()[0].misfit or "").startswith("built for cp26, cp27, cp28, cp29 and 2 more, this is cp3")


def test_a_requirement_on_python_that_cannot_be_read_excludes_nothing(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0.0", **{"requires-python": "three"})])
    assert list_demo()[0].misfit is None


def test_a_release_without_any_wheel_is_reported(index: IndexServer) -> None:
    index.put_files("demo", [{"filename": "demo-1.0.0.tar.gz", "hashes": {"sha256": HASH}, "size": 5}])
    (build,) = list_demo()
    assert (build.tag, build.misfit, build.digest) == ("1.0.0", "only a source distribution", f"sha256:{HASH}")


def test_two_spellings_of_one_version_are_one_release(index: IndexServer) -> None:
    index.put_files("demo", [wheel("4.0"), {"filename": "demo-4.0.0.tar.gz"}])
    assert [b.tag for b in list_demo()] == ["4.0"]


def test_entries_that_cannot_be_read_are_listed_and_do_not_hide_the_others(index: IndexServer) -> None:
    index.put_files(
        "demo",
        [
            wheel("1.0.0"),
            {"filename": "demo-1.0.0.exe"},
            {"filename": "demo-not.a.version-py3-none-any.whl"},
            {"filename": "other-1.0.0-py3-none-any.whl"},
            {"filename": "demo-1.0.0-py3-none-any/../../x.whl"},
            {"filename": None},
            "text",  # type: ignore[list-item]
        ],
    )
    answer = create({"package": "demo"}).list_builds()
    assert [b.tag for b in answer.builds] == ["1.0.0"]
    reasons = dict(answer.unreadable)
    assert len(reasons) == 6
    assert reasons["other-1.0.0-py3-none-any.whl"] == "belongs to other, not to demo"
    assert reasons["demo-1.0.0-py3-none-any/../../x.whl"] == "not a plain file name"


LOGIN = "<html><form action=/login><a href='/help'>Help</a><input name=user></form></html>"


@pytest.mark.parametrize(
    ("status", "content_type", "body", "reason"),
    [
        (200, "text/html", LOGIN, "lists no files"),
        (200, JSON_TYPE, '{"files": [{"filename": "demo-1.0', "no complete JSON"),
        (200, JSON_TYPE, "[" * 100_000, "no complete JSON"),
        (200, JSON_TYPE, '{"message": "hello"}', "lists no files"),
        (200, JSON_TYPE, '{"meta": {"api-version": "2.0"}, "files": []}', "version 2.0"),
        (200, JSON_TYPE, '{"meta": 7, "files": {}}', "lists no files"),
        (200, "text/plain", "hello", "content type 'text/plain'"),
        (200, "", "hello", "content type 'none'"),
        (204, JSON_TYPE, "", "HTTP 204"),
        (429, "text/html", "slow down", "HTTP 429"),
        (500, "text/html", "oops", "HTTP 500"),
        (503, JSON_TYPE, '{"files": []}', "HTTP 503"),
    ],
)
def test_rubbish_is_tried_again_later_and_never_taken_for_a_list(
    index: IndexServer, status: int, content_type: str, body: str, reason: str
) -> None:
    index.put("/simple/demo/", body, content_type, status)
    with pytest.raises(TryLater, match=reason) as caught:
        list_demo()
    assert index.url in str(caught.value)


@pytest.mark.parametrize(("status", "reason"), [(401, "user name"), (403, "user name"), (410, "HTTP 410")])
def test_a_refusal_is_for_the_user_to_fix(index: IndexServer, status: int, reason: str) -> None:
    index.put("/simple/demo/", "no", "text/html", status)
    with pytest.raises(UserError, match=reason):
        list_demo()


def test_a_package_that_does_not_exist_names_the_index(index: IndexServer) -> None:
    with pytest.raises(UserError, match=rf"no package named 'demo' on {index.url}: check the name"):
        list_demo()


def test_a_redirect_is_followed_and_one_without_end_is_given_up(index: IndexServer) -> None:
    index.put("/simple/demo/", "", "text/html", 302, Location="/elsewhere/demo/")
    index.put_files("demo", [wheel("1.0.0")], base="/elsewhere")
    assert [b.tag for b in list_demo()] == ["1.0.0"]
    index.put("/elsewhere/demo/", "", "text/html", 302, Location="/simple/demo/")
    with pytest.raises(TryLater, match="without end"):
        list_demo()


def test_a_redirect_to_something_that_is_no_web_address_is_refused(index: IndexServer) -> None:
    index.put("/simple/demo/", "", "text/html", 302, Location="ftp://files.invalid/")
    with pytest.raises(UserError, match="no address that can be asked"):
        list_demo()


def test_an_answer_that_breaks_off_is_tried_again_later(index: IndexServer) -> None:
    index.put("/simple/demo/", '{"files": []}', JSON_TYPE, 200, **{"Content-Length": "5000"})
    with pytest.raises(TryLater, match="cannot be reached"):
        list_demo()


def test_nobody_listening_is_tried_again_later(index: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(TryLater, match="cannot be reached"):
        list_demo()


def test_an_answer_over_the_size_limit_is_not_read_to_its_end(index: IndexServer) -> None:
    sent = []

    def endless() -> Iterator[bytes]:
        while len(sent) < 1000:
            sent.append(1)
            yield b" " * 1024 * 1024

    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"content-type": JSON_TYPE}, content=endless())
    )
    with pytest.raises(TryLater, match="longer than 64 MiB"):
        create({"package": "demo"}, transport=transport).list_builds()
    assert len(sent) < 100


def test_silence_is_tried_again_later(index: IndexServer) -> None:
    def stay_silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("silence", request=request)

    with pytest.raises(TryLater, match="no answer within 30 s"):
        create({"package": "demo"}, transport=httpx.MockTransport(stay_silent)).list_builds()


def test_an_extra_index_adds_its_files_and_a_local_one_is_passed_over(
    index: IndexServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = index.url.replace("/simple", "/more")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {more}")
    index.put_files("demo", [wheel("1.0.0")])
    assert [b.tag for b in list_demo()] == ["1.0.0"]
    index.put_files("demo", [wheel("1.0.0", hashes={"sha256": "b2" * 32}), wheel("1.1.0")], base="/more")
    builds = list_demo()
    assert [b.tag for b in builds] == ["1.0.0", "1.1.0"]
    assert builds[0].digest == f"sha256:{HASH}"


def test_an_extra_index_that_fails_is_no_shorter_list(index: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url.replace("/simple", "/more"))
    index.put_files("demo", [wheel("1.0.0")])
    index.put("/more/demo/", "oops", "text/html", 502)
    with pytest.raises(TryLater, match="HTTP 502"):
        list_demo()


def test_credentials_are_sent_and_never_shown(
    index: IndexServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("http://", "http://robot:s3cr%40t@"))
    index.put_files("demo", [wheel("1.0.0")])
    list_demo()
    assert index.requests[0][1]["Authorization"] == "Basic " + base64.b64encode(b"robot:s3cr@t").decode()
    seen = []
    for status in (401, 404, 500):
        index.put("/simple/demo/", "no", "text/html", status)
        with pytest.raises((UserError, TryLater)) as caught:
            list_demo()
        seen.append(str(caught.value))
    assert "127.0.0.1" in seen[0]
    assert not any(secret in text for text in (*seen, caplog.text) for secret in ("s3cr", "robot:"))


@pytest.mark.parametrize("url", ["packages.invalid/simple", "file:///srv/simple", "http://[::1/simple", "https://"])
def test_an_index_address_that_cannot_be_asked_is_named_without_being_shown(
    index: IndexServer, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", url)
    with pytest.raises(UserError, match="check PIP_INDEX_URL"):
        list_demo()


def test_a_package_may_have_an_index_of_its_own_but_no_password_in_its_options(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0.0")], base="/own")
    own = index.url.replace("/simple", "/own")
    assert len(create({"package": "demo", "index_url": own}).list_builds().builds) == 1
    with pytest.raises(UserError, match="options are stored and shown") as caught:
        create({"package": "demo", "index_url": "https://robot:s3cret@packages.invalid/simple"})
    assert "s3cret" not in str(caught.value)


def test_a_name_that_no_package_can_have_is_refused() -> None:
    with pytest.raises(UserError, match=r"'../etc' cannot be the name of a package"):
        create({"package": "../etc"})


def test_certificates_that_cannot_be_read_are_named(
    index: IndexServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "missing.pem"))
    with pytest.raises(UserError, match=r"missing\.pem cannot be read .* check PIP_CERT"):
        list_demo()
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("not a certificate")
    monkeypatch.setenv("PIP_CERT", str(rubbish))
    with pytest.raises(UserError, match=r"rubbish\.pem cannot be read"):
        list_demo()


def test_a_folder_of_certificates_is_taken_too(
    index: IndexServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path))
    index.put_files("demo", [wheel("1.0.0")])
    assert len(list_demo()) == 1


@pytest.mark.real("package index")
def test_the_machines_index_lists_onnxruntime_in_order() -> None:
    builds = create({"package": "onnxruntime"}).list_builds().builds
    tags = [build.tag for build in builds]
    assert [tag for tag in tags if tag in ("1.26.0", "1.28.0", "1.30.0")] == ["1.26.0", "1.28.0", "1.30.0"]
    newer = [build for build in builds if build.tag in ("1.26.0", "1.28.0", "1.30.0")]
    assert all(build.published_at and build.size_bytes and build.digest.startswith("sha256:") for build in newer)
    assert [tag for group in order_tags(tags).order for tag in group] == tags


def test_remarks_that_no_store_could_hold_are_kept_with_a_sign_for_what_is_lost(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0.0", yanked="bad\ud800\0")])
    assert [build.yanked for build in list_demo()] == ["bad\ufffd\ufffd"]


def test_a_number_of_thousands_of_digits_in_requires_python_says_nothing(index: IndexServer) -> None:
    index.put_files("demo", [wheel("1.0.0", **{"requires-python": ">=" + "9" * 5000})])
    assert [build.misfit for build in list_demo()] == [None]
