"""Serves a model with trtllm-serve of the release under test and loads it with AIPerf at one concurrency.

AIPerf is the one on PATH, else it is installed from the wheels in WHEELS, without any network. The server listens on
this machine only and is ended at the end. Leaves profile_export_aiperf.json. Needs Python alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

RESULT, LOG, ARTIFACTS, OPTIONS = "profile_export_aiperf.json", "server.log", "artifacts", "options.json"
PORT = 8000
LOOK_S, END_S, TAIL_LINES = 0.5, 60, 30


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the model's name, and its folder in --models")
    parser.add_argument("--models", default="/models")
    parser.add_argument("--wheels", default="/wheels")
    for name in ("tp", "pp", "ep", "isl", "osl", "concurrency"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--start-within-s", type=float, default=1800)
    return parser.parse_args()


def find_aiperf(wheels: Path) -> str:
    """Return the command; exit with what to do where there is none."""
    if found := shutil.which("aiperf"):
        return found
    if not wheels.is_dir():
        sys.exit(f"no aiperf on PATH and no wheels in {wheels}: `pip download aiperf -d FOLDER` and mount it there")
    home = Path("aiperf-environment")
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "pip"), "install", "--quiet", "--no-index", "--find-links", str(wheels), "aiperf"]
    subprocess.run(pip, check=True)
    return str(home / "bin" / "aiperf")


def start_server(asked: argparse.Namespace, folder: Path) -> subprocess.Popen[bytes]:
    """Return the server's process; what it prints is in server.log."""
    options = {"enable_attention_dp": True} if asked.ep > 1 else {}
    Path(OPTIONS).write_text(json.dumps(options), encoding="utf-8")
    words = ["trtllm-serve", str(folder), "--backend", "pytorch", "--host", "127.0.0.1", "--port", str(PORT)]
    words += ["--tp_size", str(asked.tp), "--pp_size", str(asked.pp)]
    words += ["--ep_size", str(asked.ep), "--extra_llm_api_options", OPTIONS] if asked.ep > 1 else []
    print("+", *words, flush=True)
    with Path(LOG).open("wb") as log:
        return subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def wait_until_ready(server: subprocess.Popen[bytes], within_s: float) -> None:
    """Return once the server answers; exit with the end of its log where it ends or takes too long."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if server.poll() is not None:
            sys.exit(f"trtllm-serve ended with exit code {server.returncode}:\n{log_end()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(LOOK_S)
    sys.exit(f"trtllm-serve did not answer within {within_s:g} s:\n{log_end()}")


def log_end() -> str:
    return "\n".join(Path(LOG).read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:])


def load(aiperf: str, asked: argparse.Namespace, folder: Path) -> int:
    """Return AIPerf's exit code: prompts and answers of fixed lengths, ten for each request in flight."""
    words = [aiperf, "profile", "--model", asked.model, "--tokenizer", str(folder), "--url", f"127.0.0.1:{PORT}"]
    words += ["--endpoint-type", "chat", "--streaming", "--extra-inputs", "ignore_eos:true"]
    words += ["--synthetic-input-tokens-mean", str(asked.isl), "--synthetic-input-tokens-stddev", "0"]
    words += ["--output-tokens-mean", str(asked.osl), "--output-tokens-stddev", "0"]
    words += ["--concurrency", str(asked.concurrency), "--request-count", str(max(64, 10 * asked.concurrency))]
    words += ["--warmup-request-count", str(asked.concurrency), "--random-seed", "1"]
    words += ["--output-artifact-dir", ARTIFACTS]
    print("+", *words, flush=True)
    return subprocess.run(words, check=False).returncode


def keep_result() -> None:
    """Put the result where the suite looks for it; exit where there is not exactly one."""
    found = sorted(Path(ARTIFACTS).rglob(RESULT))
    if len(found) != 1:
        sys.exit(f"expected one {RESULT} in {ARTIFACTS}, found {len(found)}")
    shutil.copyfile(found[0], RESULT)


def end(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        server.kill()


def main() -> None:
    asked = arguments()
    folder = Path(asked.models, asked.model)
    if not folder.is_dir():
        sys.exit(f"no model in {folder}: mount its folder there, or choose other models (`choices` in the settings)")
    aiperf = find_aiperf(Path(asked.wheels))
    server = start_server(asked, folder)
    try:
        wait_until_ready(server, asked.start_within_s)
        code = load(aiperf, asked, folder)
        if server.poll() is not None:
            sys.exit(f"trtllm-serve ended while it was loaded, exit code {server.returncode}:\n{log_end()}")
        if code:
            sys.exit(f"aiperf ended with exit code {code}")
        keep_result()
    finally:
        end(server)


if __name__ == "__main__":
    main()
