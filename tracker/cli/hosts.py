"""hosts: machines that benchmarks run on, what they may take, and how they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker.cli.access import opened
from tracker.cli.exits import BAD_NEWS
from tracker.cli.hosts_text import COLUMNS, host_row, write_findings, write_host
from tracker.cli.options import Json, examples
from tracker.cli.output import note, write, write_json, write_table

if TYPE_CHECKING:
    from tracker.app import App
    from tracker.pipeline.context import Place

Name = Annotated[str, typer.Argument(help="Host, by its name in `tracker hosts list`.")]
NameOrHere = Annotated[str | None, typer.Argument(help="Host, by its name.", show_default="this machine")]
Why = Annotated[str, typer.Option("--why", help="The reason, for whoever wonders.")]
FailOn = Annotated[str | None, typer.Option("--fail-on", help="Exit 1 from this on: unknown or refused.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Hosts: slots, pools, states, health.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list", epilog=examples("tracker hosts list", "tracker hosts list --json"))(list_)
    group.command(epilog=examples("tracker hosts show gpu-box-1"))(show)
    group.command(epilog=examples("tracker hosts check", "tracker hosts check --fail-on refused --json"))(check)
    add_examples = (
        "tracker hosts add --slots 2 --pool h200",
        'tracker hosts add gpu-box-2 --gpu "NVIDIA H200" --gpus 8 --pool h200',
    )
    group.command(epilog=examples(*add_examples))(add)
    group.command(epilog=examples('tracker hosts cordon gpu-box-1 --why "a colleague needs it until noon"'))(cordon)
    group.command(epilog=examples('tracker hosts drain gpu-box-1 --why "goes back to its owner"'))(drain)
    group.command(epilog=examples("tracker hosts uncordon gpu-box-1"))(uncordon)
    maintenance = (
        'tracker hosts maintain gpu-box-1 --from 2026-12-24T06:00Z --to 2026-12-24T10:00Z --why "new driver"',
        "tracker hosts maintain gpu-box-1 --lift 3",
    )
    group.command(epilog=examples(*maintenance))(maintain)
    app.add_typer(group, name="hosts")


def list_(as_json: Json = False) -> None:
    """Show the hosts.

    What each may take, what runs there, how it was at the last look.
    """
    from tracker.store.views.hosts import list_hosts

    with opened() as app, app.store.read() as session:
        items = list_hosts(session, now=app.clock.now())
    if as_json:
        write_json({"items": items, "next": None})
        return
    write_table(COLUMNS, [host_row(one) for one in items], empty="no host yet; `tracker hosts check` adds this one")


def show(name: Name, as_json: Json = False) -> None:
    """Show everything about one host.

    State, hardware, health, maintenance, what runs there, what was done to it.
    """
    with opened() as app:
        detail = _find(app, name)
    write_json(detail) if as_json else write_host(detail)


def check(name: NameOrHere = None, fail_on: FailOn = None, as_json: Json = False) -> None:
    """Probe a host's hardware and health.

    It says whether this machine, or one whose engine is reached from here, is fit to measure on now. Of another host,
    show what was captured there last.
    JSON: `host`, `here`, `hardware`, `labels`, `state`, `driver`, `findings` (`name`, `state`, `found`, `wanted`,
    `lasting`); of another host `captured_at` and `captured`.
    """
    from tracker.errors import UserError

    if fail_on not in (None, "unknown", "refused"):
        raise UserError(f"--fail-on: expected unknown or refused, found {fail_on!r}")
    with opened() as app:
        from tracker.pipeline.hosts import name_here, place_named

        chosen = name or name_here(app.context)
        place = place_named(app.context, chosen)
        if place is None:
            _check_elsewhere(app, chosen, as_json)
            return
        state = _check_place(app, place, chosen, as_json)
    if fail_on and (state == "refused" or state == fail_on):
        raise typer.Exit(BAD_NEWS)


def _check_place(app: App, place: Place, name: str, as_json: bool) -> str:
    from tracker.app import whoami
    from tracker.pipeline.hosts import look_here, look_there

    health = look_here(app.context, who=whoami()) if place.is_here else look_there(app.context, place, who=whoami())
    item = _find(app, name).host
    if as_json:
        about = {"host": name, "here": place.is_here, "hardware": item.hardware, "labels": item.labels}
        write_json({**about, **health.to_json()})
    else:
        write(f"{name}: {'this machine' if place.is_here else item.engine}, {item.hardware}")
        write_findings(health.findings)
        if item.obstacle:
            note(f"it starts nothing: {item.obstacle}")
        if place.gpus is None and not place.tells:
            note(f"its hardware is unknown; name it with `tracker hosts add {name} --gpu NAME --gpus N`")
    return health.state


def _check_elsewhere(app: App, name: str, as_json: bool) -> None:
    """Show what an attempt last captured on a host that cannot be probed from here."""
    from jobs.environment import describe_environment
    from tracker.cli.output import format_time
    from tracker.store.views.hosts import captured_there

    item = _find(app, name).host
    with app.store.read() as session:
        found = captured_there(session, name)
    at, captured = found or (None, {})
    if as_json:
        about = {"host": name, "here": False, "hardware": item.hardware, "labels": item.labels}
        write_json({**about, "captured_at": at, "captured": captured or None})
        return
    write(f"{name}: another machine, {item.hardware}")
    if found is None:
        note("it cannot be probed from here, and no attempt has captured anything there")
        return
    note(f"it cannot be probed from here; this is what an attempt captured there, {format_time(at)}")
    for what, words in describe_environment(captured):
        write(f"{what}: {words}")


def add(
    name: NameOrHere = None,
    slots: Annotated[int | None, typer.Option(help="Benchmarks at once.", show_default="1, or as before")] = None,
    pools: Annotated[
        list[str] | None,
        typer.Option("--pool", help="Pool it is in, for suites that ask; several may be given, '' for none."),
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="GPU of another machine, as its driver names it.")] = None,
    gpus: Annotated[int | None, typer.Option(help="How many of them.", min=1, max=1024)] = None,
    cpu: Annotated[str | None, typer.Option(help="CPU of another machine without a GPU.")] = None,
    cores: Annotated[int | None, typer.Option(help="Its logical cores.", min=1, max=65_536)] = None,
    as_json: Json = False,
) -> None:
    """Add a host, or change slots and pools of one.

    Without a name this machine, whose hardware is probed.
    """
    with opened() as app:
        from tracker.app import whoami
        from tracker.errors import UserError
        from tracker.pipeline.hosts import add_host, name_here

        hardware = _stated_hardware(gpu, gpus, cpu, cores)
        here = name_here(app.context)
        chosen = name or here
        if chosen == here and hardware is not None:
            raise UserError(
                f"{here} is this machine, whose hardware is probed; leave --gpu, --gpus, --cpu, --cores out"
            )
        named = None if pools is None else [pool for pool in pools if pool]
        new = add_host(app.context, chosen, hardware=hardware, slots=slots, pools=named, who=whoami())
        item = _find(app, chosen).host
    if as_json:
        write_json({"new": new, **_plain(item)})
    else:
        shown = f"{item.slots} slot{'s' if item.slots != 1 else ''}, pools {', '.join(item.pools) or 'none'}"
        write(f"{item.name}: {'added' if new else 'known'}, {item.hardware}, {shown}")


def _stated_hardware(gpu: str | None, gpus: int | None, cpu: str | None, cores: int | None) -> dict[str, Any] | None:
    from tracker.errors import UserError

    given = [word is not None for word in (gpu, gpus, cpu, cores)]
    if not any(given):
        return None
    if given == [True, True, False, False]:
        return {"gpu": gpu, "gpu_count": gpus}
    if given == [False, False, True, True]:
        return {"cpu": cpu, "cores": cores}
    raise UserError("hardware: expected --gpu with --gpus, or --cpu with --cores")


def cordon(name: Name, why: Why = "", as_json: Json = False) -> None:
    """Start nothing on a host for now.

    What runs goes on, what is planned waits.
    """
    _change(name, "cordoned", why, as_json)


def drain(name: Name, why: Why = "", as_json: Json = False) -> None:
    """Take a host out of service.

    What runs ends by itself, nothing starts, nothing is planned for it.
    """
    _change(name, "draining", why, as_json)


def uncordon(name: Name, why: Why = "", as_json: Json = False) -> None:
    """Let a host start runs again.

    Whatever it was before: cordoned, draining or held after a refusal.
    """
    _change(name, "ready", why, as_json)


def _change(name: str, state: str, why: str, as_json: bool) -> None:
    with opened() as app:
        from tracker.app import whoami
        from tracker.store.standing import set_state

        with app.store.write() as session:
            set_state(session, name, state, why=why, who=whoami(), now=app.clock.now())
        item = _find(app, name).host
    if as_json:
        write_json(item)
        return
    write(f"{item.name}: {item.state}, {item.running} running, {item.waiting} waiting")
    if state == "ready" and item.obstacle:
        note(f"it starts nothing yet: {item.obstacle}")


def maintain(
    name: Name,
    starts: Annotated[str | None, typer.Option("--from", help="Start, with zone: 2026-12-24T06:00Z.")] = None,
    ends: Annotated[str | None, typer.Option("--to", help="End, with zone.")] = None,
    why: Why = "",
    lift: Annotated[int | None, typer.Option(help="Take the window of this number back.", min=1, max=2**31 - 1)] = None,
    as_json: Json = False,
) -> None:
    """Plan maintenance of a host, or take it back.

    A time in which it starts nothing. What runs when it begins goes on.
    """
    with opened() as app:
        from tracker.app import whoami
        from tracker.errors import UserError
        from tracker.pipeline.origins import read_time
        from tracker.store.standing import lift_maintenance, plan_maintenance

        now = app.clock.now()
        if (lift is None) == (starts is None or ends is None) or (lift is not None and (starts or ends)):
            raise UserError("maintain: expected --from and --to with --why, or --lift NUMBER alone")
        with app.store.write() as session:
            if lift is not None:
                lift_maintenance(session, name, lift, who=whoami(), now=now)
            else:
                times = {"starts_at": read_time(starts or "", "from"), "ends_at": read_time(ends or "", "to")}
                lift = plan_maintenance(session, name, **times, why=why, who=whoami(), now=now)
        detail = _find(app, name)
    if as_json:
        write_json({"number": lift, "windows": detail.windows})
    else:
        stands = any(one.number == lift for one in detail.windows)
        write(f"{name}: maintenance {lift} {'is planned' if stands else 'is lifted'}")


def _find(app: App, name: str) -> Any:
    """Return a host with everything; UserError where there is none of this name."""
    from tracker.store.standing import find_host
    from tracker.store.views.hosts import show_host

    with app.store.read() as session:
        find_host(session, name)
        return show_host(session, name, now=app.clock.now())


def _plain(item: Any) -> dict[str, Any]:
    from tracker.store.views.plain import to_plain

    plain: dict[str, Any] = to_plain(item)
    return plain
