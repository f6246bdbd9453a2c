# Every target sets itself up: it needs python3 (3.11 or later) with venv, make and git, and no root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: docs coverage demo test test-system system-deps torch-deps test-all clean

# A virtual environment of our own: safe where the system Python refuses installs (PEP 668).
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "steadygpu needs Python 3.11 or later: set PYTHON=python3.x"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,fast]'
	@touch $@

demo: $(READY)
	@$(BIN)/steadygpu diagnose examples/starved-host --fail-on never

# Pages of docs/rules, made from the rules.
docs: $(READY)
	@$(BIN)/python docs/generate.py

test: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/pytest -q -n auto -m 'not slow and not slurm and not netns and not prometheus and not chromium and not torch and not network'

# Branch coverage of the pure rooms, of which CONVENTIONS.md asks 95 %.
coverage: $(READY)
	@$(BIN)/pytest -q -n auto --cov=steadygpu.readers --cov=steadygpu.assemble --cov=steadygpu.rules --cov=steadygpu.verdict --cov-branch --cov-fail-under=95 --cov-report=term:skip-covered

# What needs services or minutes. A skip is printed with its reason; STEADY_STRICT=1 makes it a failure.
test-system: $(READY)
	@$(BIN)/pytest -q -rs -m 'slow or slurm or netns or prometheus or chromium or torch or network' || { status=$$?; [ $$status = 5 ] && echo 'no system test yet' || exit $$status; }

# Debian packages for the system tests. The plain suite needs none; later marks add theirs here.
system-deps: torch-deps
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -y -qq pciutils sysstat numactl >/dev/null; else echo "system-deps: no root or no apt-get: system tests will skip what they miss"; fi

# torch for the tests that record traces, where the package index has one for this machine; else they skip.
torch-deps: $(READY)
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' || echo "torch-deps: no torch for this machine: its tests will skip"

# The plain suite on every Python found; prints which.
test-all:
	@for v in 3.11 3.12 3.13 3.14; do if python$$v -c '' 2>/dev/null; then echo "== python$$v"; $(MAKE) --no-print-directory test PYTHON=python$$v VENV=.venv-$$v || exit 1; else echo "== python$$v is not here"; fi; done

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
