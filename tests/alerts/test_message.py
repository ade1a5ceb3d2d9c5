from __future__ import annotations

from dataclasses import replace

import pytest

from alerts.blocks import to_blocks
from alerts.grouping import group_changes
from alerts.message import AlertState, Message, Tone, build_alert_message, make_link
from alerts.texts import to_markdown, to_text
from tests.alerts.samples import DEFAULT_RULE, make_fact, make_message


def message_of(**changed: object) -> Message:
    return build_alert_message(group_changes([make_fact(**changed)], [DEFAULT_RULE])[0], alert_id="a-1")


def test_a_change_seen_once_is_called_provisional_and_says_what_would_confirm_it() -> None:
    message = message_of(confirmed=False)
    assert any("seen only at the newest release" in note and "rerun will confirm" in note for note in message.notes)
    assert "provisional" in message.lines[0].detail


def test_a_confirmed_change_says_nothing_of_the_kind() -> None:
    assert message_of().notes == ()


def test_releases_that_were_not_measured_widen_where_the_change_can_lie() -> None:
    note = message_of(possible_from="1.27.0", possible_to="1.28.0").notes[0]
    assert "from 1.27.0 to 1.28.0" in note
    assert "not measured" in note


def test_another_environment_is_named_as_a_possible_cause() -> None:
    assert "driver 550 -> 570" in make_message(environment_differences=["driver 550 -> 570"]).notes[0]


def test_of_a_change_that_is_no_longer_found_nothing_else_is_said() -> None:
    message = make_message(
        state=AlertState.RECOVERED, withdrawn="no longer found", rerun_command="tracker runs trigger x"
    )
    assert (message.notes, message.commands) == (("no longer found",), ())


def test_a_recovery_names_its_release() -> None:
    assert make_message(state=AlertState.RECOVERED, recovered_in="1.30.0").notes[0] == "Recovered in 1.30.0."


@pytest.mark.parametrize("state", AlertState)
def test_every_state_is_shown(state: AlertState) -> None:
    assert f"[{state.words}]" in to_text(make_message(state=state))
    assert "_" not in state.words


def test_links_appear_only_where_the_address_of_the_pages_is_known() -> None:
    assert make_message().url == "https://perf.example.org/alerts/a-1"
    bare = make_message(base_url=None)
    assert bare.url is None
    assert bare.lines[0].url is None


def test_a_link_quotes_names_and_refuses_other_schemes() -> None:
    assert make_link("http://h/x/", "series", "a/b c") == "http://h/x/series/a%2Fb%20c"
    with pytest.raises(ValueError, match="http://"):
        make_link("javascript:alert(1)", "alerts")


def test_a_message_needs_a_title() -> None:
    with pytest.raises(ValueError, match="title"):
        Message(title=" ", summary="x")


def test_text_for_a_terminal_holds_no_control_characters() -> None:
    text = to_text(message_of(series_name="evil\x1b[2J\u202ename"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "name" in text


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    facts = [make_fact(change_id=str(n), series_id=str(n), series_name=f"s{n}") for n in range(77)]
    message = build_alert_message(group_changes(facts, [DEFAULT_RULE])[0], alert_id="a")
    assert "and 37 more" in to_text(message)
    assert "and 67 more" in to_markdown(message, max_lines=10)


def test_names_cannot_become_markdown() -> None:
    text = to_markdown(message_of(series_name="<img src=x> [a](http://b) | *c*", metric="a`|b"))
    assert "<img" not in text
    assert "\\[a\\](http" in text
    row = next(line for line in text.splitlines() if line.startswith("| ▲"))
    assert row.replace("\\|", "").count("|") == 5


def test_the_tone_of_a_line_and_a_message_is_told_in_words_too() -> None:
    assert make_message().tone is Tone.BAD
    assert to_text(make_message()).startswith("REGRESSION")


def test_a_message_survives_json_so_that_an_outbox_can_keep_it() -> None:
    from pydantic import TypeAdapter

    adapter = TypeAdapter(Message)
    assert adapter.validate_json(adapter.dump_json(make_message())) == make_message()


def test_what_others_say_is_linked_beside_the_details() -> None:
    url = "https://github.example.com/releases/v1?a=1&b=2"
    message = replace(make_message(), links=(("Release notes", url),))
    assert f"  release notes: {url}\n" in to_text(message)
    assert f"- Release notes: <{url}>\n" in to_markdown(message)
    shown = [part["text"] for part in to_blocks(message)[-1]["elements"]]
    assert shown == [
        "<https://perf.example.org/alerts/a-1|Details>",
        "<https://github.example.com/releases/v1?a=1&amp;b=2|Release notes>",
    ]
