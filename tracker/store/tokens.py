"""API tokens: shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from sqlmodel import Session, col, select

from tracker.errors import UserError
from tracker.store.tables import TokenRow

LONGEST_NAME = 80
TAKEN_NAMES = frozenset({"page"})


def _hash(token: str) -> str:
    """Return the hash of a token; it is 256 random bits, so a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode()).hexdigest()


def create_token(session: Session, name: str, *, now: datetime) -> str:
    """Return a new token's text, the only time it is seen."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise UserError(f"a token needs a name of 1 to {LONGEST_NAME} characters that says who or what uses it")
    if name in TAKEN_NAMES:
        raise UserError(f"{name!r} stands for people at this machine in the audit; choose another name")
    if session.exec(select(TokenRow).where(TokenRow.name == name)).first():
        raise UserError(f"there is a token named {name!r} already; revoke it or choose another name")
    token = f"trk_{secrets.token_urlsafe(32)}"
    session.add(TokenRow(name=name, hash=_hash(token), created_at=now))
    return token


def find_valid(session: Session, token: str) -> TokenRow | None:
    """Return the row of a valid token, None for any other text."""
    return session.exec(
        select(TokenRow).where(TokenRow.hash == _hash(token), col(TokenRow.revoked_at).is_(None))
    ).first()


def verify_token(session: Session, token: str, *, now: datetime) -> str | None:
    """Return the name of a valid token and note that it was used; None for any other text."""
    row = find_valid(session, token)
    if row is None:
        return None
    row.used_at = now
    session.add(row)
    return row.name


def list_tokens(session: Session) -> list[TokenRow]:
    """Return all tokens, oldest first."""
    return list(session.exec(select(TokenRow).order_by(col(TokenRow.id))).all())


def revoke_token(session: Session, name: str, *, now: datetime) -> None:
    """End a token; UserError when there is none of that name in use."""
    row = session.exec(select(TokenRow).where(TokenRow.name == name, col(TokenRow.revoked_at).is_(None))).first()
    if row is None:
        raise UserError(f"no token named {name!r} in use; `tracker tokens list` shows them")
    row.revoked_at = now
    session.add(row)
