# Two commands on a fresh machine: `make run` and `make test`. Everything is set up under .venv, nothing else is touched.
PYTHON ?= python3
PORT ?= 8765
SUITE ?= onnxruntime
WORKERS ?= auto
export TRACKER_HOME ?= $(CURDIR)/.tracker
# Compiled modules make every start several times faster.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
UV := .venv-uv/bin/uv

.PHONY: help run setup demo test lint fix bench bench-detection chaos clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

run: .venv/.run-ready  ## measure the newest releases on this machine and open the pages (SUITE=onnxruntime or llamacpp)
	@TRACKER_PORT=$(PORT) $(BIN)/tracker serve --suite $(SUITE) --open --progress

setup: .venv/.run-ready  ## set up, and measure nothing yet
	@echo 'ready; the command is .venv/bin/tracker: export PATH=$$PWD/.venv/bin:$$PATH'

demo: .venv/.run-ready  ## show recorded results, no network needed
	@TRACKER_PORT=$(PORT) $(BIN)/tracker demo --open

test: .venv/.dev-ready  ## run all tests, several at a time (WORKERS=0: one after the other)
	$(BIN)/python -m pytest -n $(WORKERS)

lint: .venv/.dev-ready  ## ruff, mypy and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fix: .venv/.dev-ready  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev-ready  ## measure the service's own speed
	$(BIN)/python -m tests.benchmarks

bench-detection: .venv/.dev-ready .venv-peers/.ready  ## compare the detector with its peers (QUICK=--quick: minutes, prints only)
	$(BIN)/python -m tests.benchmarks.detection $(QUICK)

# The peers have an environment of their own; where one cannot be built, the report says that it did not run.
.venv-peers/.ready: tests/benchmarks/detection/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install -q --disable-pip-version-check -r $<
	-.venv-peers/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation signal-processing-algorithms
	@touch $@

chaos: .venv/.dev-ready  ## kill the service hundreds of times (plain, in containers), and damage result files for ten minutes
	$(BIN)/python -m pytest -m chaos --chaos-kills=100 tests/chaos -s
	$(BIN)/python -m tests.chaos.parsers --seconds 600

clean:  ## remove the environments (results under .tracker stay)
	rm -rf .venv .venv-uv .venv-peers

# uv lives in an environment of its own; where it cannot be installed, pip does the same more slowly.
.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found %d.%d: make PYTHON=/path/to/python3.12" % sys.version_info[:2])'
	@echo "setting up (once) ..."
	@test -x $(UV) || ($(PYTHON) -m venv .venv-uv && .venv-uv/bin/python -m pip install -q --disable-pip-version-check uv) || rm -rf .venv-uv
	@if test -x $(UV); then $(UV) venv -q --allow-existing --python $(PYTHON) .venv; else $(PYTHON) -m venv .venv; fi
	@touch $@

.venv/.run-ready: .venv/.python requirements.txt pyproject.toml
	@if test -x $(UV); then $(UV) pip install -q --compile-bytecode --python .venv -r requirements.txt && $(UV) pip install -q --python .venv --no-deps -e .; \
	else $(BIN)/python -m pip install -q -r requirements.txt && $(BIN)/python -m pip install -q --no-deps -e .; fi
	@touch $@

.venv/.dev-ready: .venv/.python requirements-dev.txt pyproject.toml
	@if test -x $(UV); then $(UV) pip install -q --compile-bytecode --python .venv -r requirements-dev.txt && $(UV) pip install -q --python .venv --no-deps -e .; \
	else $(BIN)/python -m pip install -q -r requirements-dev.txt && $(BIN)/python -m pip install -q --no-deps -e .; fi
	@touch $@ .venv/.run-ready
