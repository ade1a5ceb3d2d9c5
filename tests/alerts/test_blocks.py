from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from alerts.blocks import MAX_BLOCKS, MAX_FIELDS, MAX_HEADER, MAX_TEXT, escape_text, to_blocks, to_fallback
from alerts.message import AlertState, Line, Message, Tone
from tests.alerts.samples import make_message


def all_texts(block: dict[str, Any]) -> list[str]:
    texts = [block["text"]] if "text" in block else []
    return [text["text"] for text in [*texts, *block.get("fields", ()), *block.get("elements", ())]]


_nasty = st.text(alphabet="ab &<>*`~_|\n@#:!", min_size=1, max_size=400)
_lines = st.builds(
    Line,
    mark=st.just("▲"),
    effect=_nasty,
    metric=_nasty,
    label=_nasty,
    detail=_nasty,
    url=st.none() | st.just("https://h/s/1"),
)
_messages = st.builds(
    Message,
    title=_nasty.filter(str.strip),
    summary=_nasty,
    tone=st.sampled_from(Tone),
    state=st.none() | st.sampled_from(AlertState),
    lines=st.integers(0, 60).flatmap(lambda n: _lines.map(lambda line: (line,) * n)),
    fields=st.lists(st.tuples(_nasty, _nasty), max_size=12).map(tuple),
    notes=st.integers(0, 80).flatmap(lambda n: _nasty.map(lambda note: (note,) * n)),
    commands=st.lists(_nasty, max_size=5).map(tuple),
    url=st.none() | st.just("https://h/a/1"),
)


@given(_messages)
def test_blocks_keep_slacks_limits_whatever_the_message(message: Message) -> None:
    blocks = to_blocks(message)
    assert 0 < len(blocks) <= MAX_BLOCKS
    for block in blocks:
        limit = MAX_HEADER if block["type"] == "header" else MAX_TEXT
        assert all(0 < len(text) <= limit for text in all_texts(block))
        assert len(block.get("fields", ())) <= MAX_FIELDS
        assert all(len(field["text"]) <= 2000 for field in block.get("fields", ()))


@given(_nasty)
def test_escaped_text_holds_no_mention_link_or_markup(text: str) -> None:
    escaped = escape_text(text)
    bare = escaped.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    assert not set(bare) & set("<>&*`~")


def test_a_name_that_looks_like_a_mention_stays_a_name() -> None:
    assert escape_text("<!channel> & <@U1>") == "&lt;!channel&gt; &amp; &lt;@U1&gt;"


def test_underscores_inside_names_stay_so_that_they_can_be_copied() -> None:
    assert escape_text("latency_p50_ms") == "latency_p50_ms"
    assert "_" not in escape_text("_slanted_ text")


def test_a_long_list_is_cut_with_the_number_and_a_link() -> None:
    line = Line(mark="▲", effect="+1.0 %", metric="m", label="s", detail="1 → 2 ms")
    message = Message(title="t", summary="s", lines=(line,) * 67, url="https://h/alerts/1")
    assert "<https://h/alerts/1|and 37 more>" in [text for block in to_blocks(message) for text in all_texts(block)]


def test_a_recovered_alert_does_not_look_like_trouble() -> None:
    assert all_texts(to_blocks(make_message(state=AlertState.RECOVERED))[0])[0].startswith("✅")


def test_the_notification_text_says_what_happened_and_the_state() -> None:
    assert to_fallback(make_message()).startswith("onnxruntime 1.28.0 is slower on")
    assert to_fallback(make_message()).endswith("(new)")
