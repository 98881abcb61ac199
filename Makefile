# Two commands do all the set-up on a fresh machine: `make hunt` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: hunt test lint types unit bench clean

# uv installs in seconds what takes pip minutes; pip is there where uv cannot reach the registry.
$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]' || $(PIP) -e '.[dev]'
	touch $@

# Hunts the bundled example suite. Finding flaky tests is what it is for, so exit code 1 is success here.
hunt: $(VENV)/ready
	cd examples/shaky && ../../$(BIN)/flakehound hunt --budget 45s || test $$? -eq 1

test: lint types unit

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

# Our own suite runs shuffled and in parallel: it may not be flaky.
unit: $(VENV)/ready
	$(BIN)/python -m pytest -n 3 --dist worksteal --cov --cov-report=term:skip-covered

bench: $(VENV)/ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
