PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo reproduce test test-slow check bench clean clean-cache

demo: $(VENV)/cli.stamp ## solve an embedded noisy constrained problem, show the result and make the page of the run
	$(BIN)/zolal demo

reproduce: $(VENV)/experiments.stamp ## a quick run of the paper's experiments, into reproduction/
	$(BIN)/zolal reproduce all --quick

# Without bytecode every worker and every command that a test starts would compile the sources again, whatever the environment says.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/dev.stamp check ## everything but the slow tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-slow: $(VENV)/dev.stamp ## the slow tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

check: $(VENV)/dev.stamp ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/dev.stamp ## the speed ratios
	$(BIN)/python benchmarks/directions.py
	$(BIN)/python benchmarks/bregman_step.py
	$(BIN)/python benchmarks/multistage.py
	$(BIN)/python benchmarks/parallel.py

$(VENV)/cli.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[cli]"
	touch $@

$(VENV)/experiments.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[cli,experiments]"
	touch $@

$(VENV)/dev.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean-cache: ## compiled kernels that numba keeps
	find src \( -name '*.nbi' -o -name '*.nbc' \) -delete

clean: clean-cache ## everything that can be made again
	rm -rf $(VENV) zolal-demo .pytest_cache .ruff_cache .mypy_cache .hypothesis
