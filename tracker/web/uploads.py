"""Result files that are sent to the service: streamed to disk, read, and kept like `tracker ingest` does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tracker.web.guard import RESULTS_PATH, UPLOAD_LIMIT_BYTES
from tracker.web.site import Person, SiteOf

router = APIRouter()
STATUS_CODES = {"refused": 422, "conflict": 409, "stored": 201, "replaced": 200, "unchanged": 200}
"""Of several files the worst counts: in this order."""


@router.post(RESULTS_PATH, tags=["results"], status_code=201)
async def post_results(
    site: SiteOf,
    who: Person,
    request: Request,
    response: Response,
    component: str,
    release: str,
    name: Annotated[str | None, Query(max_length=300)] = None,
    image: str | None = None,
    host: str | None = None,
    label: Annotated[list[str] | None, Query()] = None,
    at: str | None = None,
    tool: str = "auto",
    replace: bool = False,
    history: bool = False,
    idempotency_key: Annotated[str | None, Header(max_length=300)] = None,
) -> dict[str, Any]:
    """Keep a result file (or a .gz or .zip of some) sent as the body, `Content-Type: application/octet-stream`.

    It is known by `name`, else by the Idempotency-Key: the same content again changes nothing, other content under the
    same name is refused with 409 unless it replaces. 422: no parser takes it.
    """
    known_as = name or idempotency_key
    if not known_as or not known_as.isprintable():
        raise HTTPException(400, "send a name=FILE or an Idempotency-Key header, so that a result is stored once")
    said = {"component": component, "release": release, "name": known_as, "image": image, "host": host, "at": at}
    said_more = {"label": label or [], "tool": tool, "replace": replace, "history": history}
    incoming = site.service.settings.home / "results"
    incoming.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".upload-", dir=incoming) as folder:
        upload = Path(folder) / "body"
        await _save(request, upload)
        items = await run_in_threadpool(site.service.ingest, upload, {**said, **said_more}, who)
    found = {str(item["status"]) for item in items}
    response.status_code = next((code for status, code in STATUS_CODES.items() if status in found), 200)
    return {"items": items, "next": None}


async def _save(request: Request, target: Path) -> None:
    size = 0
    with target.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > UPLOAD_LIMIT_BYTES:
                raise HTTPException(413, f"the file is larger than {UPLOAD_LIMIT_BYTES} bytes")
            await run_in_threadpool(file.write, chunk)
    if not size:
        raise HTTPException(400, "the body is empty; send the result file as the body")
