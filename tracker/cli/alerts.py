"""alerts: what was found, and what people decide about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.access import opened
from tracker.cli.exits import BAD_NEWS
from tracker.cli.options import Component, Json, Limit, Words, examples
from tracker.cli.output import Column, format_time, note, write, write_json, write_table

if TYPE_CHECKING:
    from tracker.store.views.alerts import AlertDetail

DECISIONS = ("acknowledged", "investigating", "expected", "fixed", "wont_fix", "false_positive", "infra", "new")
STATES = ("open", *DECISIONS, "recovered")
COLUMNS = (
    Column(title="alert"),
    Column(title="state"),
    Column(title="what", drop=True),
    Column(title="since", drop=True),
    Column(title="headline", give=True),
)

AlertName = Annotated[str, typer.Argument(help="Alert: its id, or the beginning or end of one.")]
State = Annotated[
    str | None, typer.Option(help=f"Only in this state: {', '.join(STATES)}.", autocompletion=lambda: list(STATES))
]
Decision = Annotated[
    str, typer.Argument(help=f"One of {', '.join(DECISIONS)}.", autocompletion=lambda: list(DECISIONS))
]
FailOn = Annotated[str | None, typer.Option("--fail-on", help="Exit 1 where one listed is a regression, or any.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Changes that wait for somebody.", no_args_is_help=True, rich_markup_mode=None)
    group.command(
        "list", epilog=examples("tracker alerts list", "tracker alerts list --state open --fail-on regression")
    )(list_)
    group.command(epilog=examples("tracker alerts show 019ad2f4"))(show)
    group.command(
        epilog=examples(
            "tracker alerts triage 019ad2f4 acknowledged",
            "tracker alerts triage 019ad2f4 expected --note 'new default scheduler'",
        )
    )(triage)
    group.command(epilog=examples("tracker alerts precision", "tracker alerts precision --json"))(precision)
    app.add_typer(group, name="alerts")


def list_(
    state: State = None,
    component: Component = None,
    release: Annotated[str | None, typer.Option(help="Only of this release.")] = None,
    text: Words = None,
    limit: Limit = 50,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> None:
    """Show the alerts, newest first.

    The state `open` stands for those that wait for somebody.
    """
    with opened() as app:
        from tracker.cli.names import shorten
        from tracker.errors import UserError
        from tracker.store.views.alerts import list_alerts

        if state is not None and state not in STATES:
            raise UserError(f"--state: expected one of {', '.join(STATES)}, found {state!r}")
        if fail_on not in (None, "regression", "any"):
            raise UserError(f"--fail-on: expected regression or any, found {fail_on!r}")
        with app.store.read() as session:
            page = list_alerts(session, state=state, component=component, release=release, text=text, limit=limit)
    if as_json:
        write_json(page)
    else:
        rows = [(shorten(one.id), one.state, one.direction, one.created_at, one.headline) for one in page.items]
        write_table(COLUMNS, rows, empty="no alert")
        if page.next:
            note(f"the newest {limit}; --limit shows more")
    if fail_on and any(fail_on == "any" or one.direction == "regressed" for one in page.items):
        raise typer.Exit(BAD_NEWS)


def show(alert: AlertName, as_json: Json = False) -> None:
    """Show one alert: its changes, decisions and messages."""
    with opened() as app:
        from tracker.cli.names import find_alert_id
        from tracker.store.views.alerts import show_alert

        with app.store.read() as session:
            found = show_alert(session, find_alert_id(session, alert))
        address = app.settings.link_base
    assert found is not None
    if as_json:
        write_json(found)
    else:
        _write_alert(found, address)


def _write_alert(found: AlertDetail, address: str) -> None:
    from alerts.wording import format_effect, format_number, format_value

    one = found.alert
    write(f"{one.headline}\nalert {one.id} is {one.state}, rule {one.rule}, since {format_time(one.created_at)} UTC\n")
    rows = [
        (
            "withdrawn" if change.withdrawn else change.change.verdict,
            format_effect(change.change.effect_ratio),
            change.metric,
            f"{format_number(change.change.before)} → {format_value(change.change.after, change.unit)}",
            change.name,
        )
        for change in found.changes
    ]
    columns = [Column(title="verdict"), Column(title="change", right=True), Column(title="metric")]
    columns += [Column(title="level"), Column(title="series", give=True)]
    write_table(columns, rows, empty="its changes are no longer found")
    for decision in found.decisions:
        write(f"{format_time(decision.at)}  {decision.state} by {decision.who}  {decision.note}".rstrip())
    for sent in found.deliveries:
        write(f"{format_time(sent.sent_at)}  {sent.sink} {sent.target}: {sent.state} {sent.problem or ''}".rstrip())
    write(f"\nsee {address}/alerts/{one.id}")


def triage(
    alert: AlertName,
    state: Decision,
    text: Annotated[str, typer.Option("--note", help="Why, for those who come after you.")] = "",
    as_json: Json = False,
) -> None:
    """Record a decision about an alert.

    The messages that were sent about it are brought up to date.
    """
    with opened() as app:
        from tracker.app import whoami
        from tracker.cli.names import find_alert_id

        with app.store.read() as session:
            name = find_alert_id(session, alert)
        app.triage(name, state, whoami(), text)
    write_json({"alert": name, "state": state}) if as_json else write(f"{name}: {state}")


def precision(as_json: Json = False) -> None:
    """Show how often alerts were right.

    Counted are decided alerts: expected, fixed and wont_fix were real; false_positive and infra were not. A
    suggested threshold says what it would have dropped. Nothing is changed: set min_effect_ratio yourself.
    """
    with opened() as app:
        from alerts.precision import Judged, measure_precision
        from tracker.store.views.precision import list_decided

        with app.store.read() as session:
            decided = list_decided(session)
    found = measure_precision(
        Judged(rule=one.rule, metric=one.metric, state=one.state, effect_ratio=one.effect_ratio) for one in decided
    )
    if as_json:
        write_json({"items": found, "next": None})
        return
    rows = []
    for one in found:
        better = one.suggestion
        advice = (
            f"{better.min_effect_ratio:.3f} drops {better.false_dropped} of {one.false} false, "
            f"{better.real_dropped} of {one.real} real"
            if better
            else "-"
        )
        share = f"{one.precision:.0%} ({one.low:.0%} to {one.high:.0%})"
        rows.append((one.rule, one.metric, one.real, one.false, share, advice))
    titles = ("rule", "metric", "real", "false", "right (95 %)")
    columns = [*(Column(title=title) for title in titles), Column(title="min_effect_ratio that would serve", give=True)]
    write_table(columns, rows, empty="no alert was decided yet; decide with `tracker alerts triage`")
