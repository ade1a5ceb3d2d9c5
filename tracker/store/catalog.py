"""Reading and writing what exists to be measured: components, releases, builds, suites, configs, cursors."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col, select

from jobs.fingerprint import canonical_labels, config_fingerprint
from jobs.measurements import Label
from jobs.protocols import PublishedBuild
from jobs.releases import ORDER_RULE_REVISION, Tag, read_tag
from tracker.errors import UserError
from tracker.store.engine import insert_new
from tracker.store.tables import (
    BuildRow,
    ComponentRow,
    ConfigRow,
    ContainsRow,
    CursorRow,
    ReleaseRow,
    SuiteRevisionRow,
)


def component_id(session: Session, slug: str) -> int:
    """Return the id of a component, made on first use."""
    insert_new(session, ComponentRow, [{"slug": slug}])
    return session.exec(select(ComponentRow.id).where(ComponentRow.slug == slug)).one() or 0


def save_release(
    session: Session, component: int, tag: Tag, *, now: datetime, historic: bool
) -> tuple[ReleaseRow, bool]:
    """Return the release's row, made or ranked again by the present order rule, and whether it is new."""
    found = session.exec(
        select(ReleaseRow).where(ReleaseRow.component_id == component, ReleaseRow.identity == tag.identity)
    ).first()
    row = found or ReleaseRow(
        component_id=component,
        identity=tag.identity,
        display=tag.display,
        track=tag.track,
        sort_rule=0,
        first_seen_at=now,
        historic=historic,
    )
    if row.sort_rule != ORDER_RULE_REVISION:
        row.display, row.version, row.track = tag.display, tag.version, tag.track
        row.sort_key, row.sort_rule, row.no_place_reason = tag.sort_key, ORDER_RULE_REVISION, tag.reason
    session.add(row)
    session.flush()
    return row, found is None


def save_build(
    session: Session, release: ReleaseRow, build: PublishedBuild, variant: str, *, now: datetime
) -> tuple[BuildRow, bool]:
    """Return the build's row and whether it is new; a newer one of its platform and variant supersedes it.

    Where its own tag named the superseded one before, it says so (`replaces`): it was pushed again.
    """
    found = session.exec(
        select(BuildRow).where(
            BuildRow.release_id == release.id, BuildRow.digest == build.digest, BuildRow.platform == build.platform
        )
    ).first()
    if found is not None:
        found.yanked, found.misfit, found.location = build.yanked, build.misfit, build.location
        found.facts = _as_json(build.facts) if build.facts else found.facts
        session.add(found)
        return found, False
    older = _standing(session, release.id or 0, build.kind, build.platform, variant)
    for one in older:
        one.superseded_at = now
        session.add(one)
    row = BuildRow(
        release_id=release.id or 0,
        kind=build.kind,
        digest=build.digest,
        platform=build.platform,
        variant=variant,
        tag=build.tag,
        location=build.location,
        published_at=build.published_at,
        size_bytes=build.size_bytes,
        yanked=build.yanked,
        misfit=build.misfit,
        first_seen_at=now,
        replaces=next((one.digest for one in older if one.tag == build.tag), None),
        facts=_as_json(build.facts),
    )
    session.add(row)
    if build.published_at and (release.published_at is None or build.published_at < release.published_at):
        release.published_at = build.published_at
        session.add(release)
    session.flush()
    return row, True


def _standing(session: Session, release_id: int, kind: str, platform: str, variant: str) -> Sequence[BuildRow]:
    """Return the builds of a release, kind, platform and variant that no newer one has superseded: one, if any."""
    return session.exec(
        select(BuildRow).where(
            BuildRow.release_id == release_id,
            BuildRow.kind == kind,
            BuildRow.platform == platform,
            BuildRow.variant == variant,
            col(BuildRow.superseded_at).is_(None),
        )
    ).all()


def restore_build(session: Session, row: BuildRow, tag: str, *, now: datetime) -> str | None:
    """Have a superseded build stand again where its tag was moved back to it; return the digest it replaces, or None.

    Several tags of one release may name different builds: only the tag that names the present one moves it.
    """
    if row.superseded_at is None:
        return None
    newer = [one for one in _standing(session, row.release_id, row.kind, row.platform, row.variant) if one.tag == tag]
    if not newer or row.tag != tag:
        return None
    for one in newer:
        one.superseded_at = now
        session.add(one)
    row.superseded_at, row.replaces = None, newer[0].digest
    session.add(row)
    session.flush()
    return row.replaces


def save_contents(session: Session, build_id: int, contains: Mapping[str, str]) -> None:
    """Keep which versions of other components are inside a build, those not known yet."""
    rows = [{"build_id": build_id, "component": name, "version": version} for name, version in contains.items()]
    insert_new(session, ContainsRow, rows)


def withdraw_missing(
    session: Session, component: int, scope: str, *, names: Collection[str], digests: Collection[str], why: str
) -> list[tuple[ReleaseRow, BuildRow]]:
    """Mark the standing builds whose location begins with `scope` and whose tag and digest are gone; return them."""
    gone = [
        (release, build)
        for release, build in current_builds(session, component)
        if build.location.startswith(scope)
        and build.yanked is None
        and build.tag not in names
        and build.digest not in digests
    ]
    for _, build in gone:
        build.yanked = why
        session.add(build)
    return gone


def _as_json(facts: Mapping[str, str]) -> str:
    return json.dumps(dict(facts), sort_keys=True, ensure_ascii=False)


def known_component(session: Session, slug: str) -> int | None:
    """Return the id of a component, None while nothing of it is known."""
    return session.exec(select(ComponentRow.id).where(ComponentRow.slug == slug)).first()


def find_component(session: Session, slug: str) -> ComponentRow:
    """Return the component; UserError lists the known ones."""
    row = session.exec(select(ComponentRow).where(ComponentRow.slug == slug)).first()
    if row is None:
        known = ", ".join(session.exec(select(ComponentRow.slug).order_by(ComponentRow.slug)).all()) or "none yet"
        raise UserError(f"no component named {slug!r}; known: {known}")
    return row


def find_release(session: Session, named: str, component: str | None = None) -> tuple[ComponentRow, ReleaseRow]:
    """Return the release meant by `1.28.0` or `onnxruntime/1.28.0`; UserError when none or several fit."""
    slug, _, identity = named.rpartition("/") if "/" in named else (component or "", "", named)
    statement = (
        select(ComponentRow, ReleaseRow)
        .join(ReleaseRow, col(ReleaseRow.component_id) == ComponentRow.id)
        .where(col(ReleaseRow.identity).in_({identity, read_tag(identity, slug or None).identity}))
    )
    if slug:
        find_component(session, slug)
        statement = statement.where(ComponentRow.slug == slug)
    found = session.exec(statement).all()
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(f"no release {identity!r}{f' of {slug}' if slug else ''}; `tracker releases list` shows them")
    names = ", ".join(f"{c.slug}/{r.identity}" for c, r in found)
    raise UserError(f"{identity!r} is a release of several components; write one of {names}")


def ordered_releases(session: Session, component: int) -> list[ReleaseRow]:
    """Return a component's releases that have a place, oldest first."""
    return list(
        session.exec(
            select(ReleaseRow)
            .where(ReleaseRow.component_id == component, col(ReleaseRow.sort_key).is_not(None))
            .order_by(col(ReleaseRow.sort_key), col(ReleaseRow.id))
        ).all()
    )


def current_builds(session: Session, component: int) -> list[tuple[ReleaseRow, BuildRow]]:
    """Return every release with its builds that are not superseded, in release order."""
    return [
        (release, build)
        for release, build in session.exec(
            select(ReleaseRow, BuildRow)
            .join(BuildRow, col(BuildRow.release_id) == ReleaseRow.id)
            .where(ReleaseRow.component_id == component, col(BuildRow.superseded_at).is_(None))
            .order_by(col(ReleaseRow.sort_key), col(ReleaseRow.id), col(BuildRow.id))
        ).all()
    ]


def builds_of(session: Session, release_id: int) -> list[tuple[ReleaseRow, BuildRow]]:
    """Return a release's builds that are not superseded."""
    return [
        (release, build)
        for release, build in session.exec(
            select(ReleaseRow, BuildRow)
            .join(BuildRow, col(BuildRow.release_id) == ReleaseRow.id)
            .where(ReleaseRow.id == release_id, col(BuildRow.superseded_at).is_(None))
            .order_by(col(BuildRow.id))
        ).all()
    ]


def save_suite_revision(
    session: Session, *, name: str, title: str, component: int, content_hash: str, file: str, text: str, now: datetime
) -> int:
    """Return the id of this revision of the suite; what is outside its hash (limits, title) is brought up to date."""
    row = {"name": name, "title": title, "component_id": component, "content_hash": content_hash}
    insert_new(session, SuiteRevisionRow, [{**row, "file": file, "text": text, "created_at": now}])
    session.execute(
        update(SuiteRevisionRow)
        .where(col(SuiteRevisionRow.content_hash) == content_hash)
        .values(name=name, title=title, file=file, text=text)
    )
    return session.exec(select(SuiteRevisionRow.id).where(SuiteRevisionRow.content_hash == content_hash)).one() or 0


def suite_texts(session: Session) -> list[tuple[str, str]]:
    """Return text and file of every suite that runs were planned from."""
    return list(session.exec(select(SuiteRevisionRow.text, SuiteRevisionRow.file)).all())


def save_configs(session: Session, configs: Sequence[dict[str, Label]]) -> list[int]:
    """Return the ids of the configs, in the order given."""
    prints = [config_fingerprint(labels) for labels in configs]
    rows = [
        {"fingerprint": name, "labels": canonical_labels(labels)} for name, labels in zip(prints, configs, strict=True)
    ]
    statement = select(ConfigRow.fingerprint, ConfigRow.id).where(col(ConfigRow.fingerprint).in_(prints))
    ids = dict(session.exec(statement).all())
    if unknown := [row for row in rows if row["fingerprint"] not in ids]:
        insert_new(session, ConfigRow, unknown)
        ids = dict(session.exec(statement).all())
    return [ids[name] or 0 for name in prints]


def cursor_of(session: Session, source: str) -> CursorRow:
    """Return where a source stands, made on first use."""
    row = session.exec(select(CursorRow).where(CursorRow.source == source)).first()
    if row is None:
        row = CursorRow(source=source, asked_at=None)
        session.add(row)
        session.flush()
    return row
