# Two commands do all the set-up on a fresh machine: `make hunt` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python

.PHONY: hunt test test-all lint types unit coverage slow chance docs wheel bench clean

# uv installs within seconds what takes pip minutes; pip is used if uv cannot reach the package index.
$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(INSTALL) -e '.[dev]' || $(PIP) -e '.[dev]'
	touch $@

$(VENV)/docs-ready: $(VENV)/ready
	$(INSTALL) -e '.[docs]' || $(PIP) -e '.[docs]'
	touch $@

# Hunts the bundled example suite. It has flaky tests on purpose, so exit code 1 is success here.
hunt: $(VENV)/ready
	cd examples/shaky && ../../$(BIN)/flakehound hunt --budget 45s || test $$? -eq 1

# Lint, types, and every test that is not marked as slow; five minutes on two cores.
test: lint types unit

# Also the long tests, the site and the wheel; what CI runs.
test-all: test slow docs wheel

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

# Our own suite runs shuffled and in parallel: it must not be flaky. Coverage of each package, child processes
# included, must reach the share that pyproject.toml names.
unit: $(VENV)/ready
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not slow and not chance" --record-lines
	@for package in flakehound flakehound_inside; do \
	    printf 'lines of %s that ran, in percent: ' $$package; \
	    $(BIN)/python -m coverage report --format=total --include="src/$$package/*" || exit; \
	done

# The lines that the last `make unit` did not reach, by file.
coverage: $(VENV)/ready
	$(BIN)/python -m coverage report --skip-covered --show-missing

slow: $(VENV)/ready
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "slow and not chance"

# Flakes and unsteady regressions in real repositories: verdicts on them have error rates, so some fail now and then.
chance: $(VENV)/ready
	$(BIN)/python -m pytest -n 3 --dist worksteal -m chance

# The site of the documentation, in docs/_build; a warning is an error.
docs: $(VENV)/docs-ready
	$(BIN)/python docs/generate_reference.py --check
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build

# A wheel that installs and hunts in an empty environment.
wheel: $(VENV)/ready
	bash .ci/check-wheel $(BIN)

bench: $(VENV)/ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache docs/_build dist
