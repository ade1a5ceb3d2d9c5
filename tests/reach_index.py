"""Exits with 0 when the machine's package index answers; run as a process of its own, before tests that need it."""

from __future__ import annotations

from jobs.sources.package_index import create

create({"package": "packaging"}).list_builds()
