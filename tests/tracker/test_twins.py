"""One engine by two addresses: the later host in the settings starts nothing and says why."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from jobs.errors import TryLater
from tracker.app import App
from tracker.pipeline.hosts import look_at_others
from tracker.settings import load_settings
from tracker.store.views.hosts import list_hosts
from tracker.twins import THIS_MACHINE, Twins


class Answer(BaseHTTPRequestHandler):
    """A Docker engine that says who it is."""

    def do_GET(self) -> None:
        said = {"ApiVersion": "1.45", "MinAPIVersion": "1.24", "Version": "26.1", "ID": "abc", "Name": "gpu-a"}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "e.sock"
    with ThreadingUnixStreamServer(str(path), Answer) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def test_a_host_whose_engine_is_that_of_one_before_it_is_away_with_that_reason(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path))
    (tmp_path / "other.sock").symlink_to(engine)
    hosts = (("gpu-box-3", "e.sock"), ("gpu-box-1", "other.sock"))
    entries = [f'[[docker.hosts]]\nname = "{name}"\nengine = "unix://{tmp_path}/{file}"\n' for name, file in hosts]
    (tmp_path / "tracker.toml").write_text("".join(entries))
    app = App(load_settings())
    look_at_others(app.context)
    with app.store.read() as session:
        found = {one.name: one.away_why for one in list_hosts(session, now=app.clock.now())}
    app.close()
    assert found["gpu-box-3"] == ""
    assert found["gpu-box-1"] == ("gpu-box-1 is the same engine as gpu-box-3: remove one of them from [[docker.hosts]]")


def test_the_engine_of_this_machine_comes_first_and_engines_without_a_name_are_no_twins():
    names = {THIS_MACHINE: "a", "x": "a", "y": "", "z": ""}
    twins = Twins(ask=names.__getitem__, names=tuple(names))
    with pytest.raises(TryLater, match=r"x is the same engine as docker\.engine, which is this machine: remove"):
        twins.check("x")
    twins.check("y")
    twins.check("z")


def test_an_engine_that_is_away_holds_up_no_other():
    def ask(name: str) -> str:
        if name == "a":
            raise TryLater("away")
        return "one"

    twins = Twins(ask=ask, names=("a", "b", "c"))
    twins.check("b")
    with pytest.raises(TryLater, match="c is the same engine as b"):
        twins.check("c")


def test_all_forty_engines_are_asked_at_once():
    together = threading.Barrier(40)

    def ask(name: str) -> str:
        if name not in answered:
            answered.add(name)
            together.wait(timeout=20)
        return name

    answered: set[str] = set()
    names = tuple(str(number) for number in range(40))
    Twins(ask=ask, names=names).check("39")
    assert answered == set(names)
