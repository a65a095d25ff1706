PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo reproduce test test-fast test-slow coverage check format lint types bench docs package clean clean-cache

demo: $(VENV)/cli.stamp ## solve an embedded noisy constrained problem, show the result and make the page of the run
	$(BIN)/zolal demo

reproduce: $(VENV)/experiments.stamp ## a quick run of the paper's experiments, into reproduction/
	$(BIN)/zolal reproduce all --quick

# Without bytecode every worker and every command that a test starts would compile the sources again, whatever the environment says.
test test-fast test-slow coverage: export PYTHONDONTWRITEBYTECODE :=
# Two workers use both cores already: with more threads each, linear algebra would spend most of its time waiting for the other.
test test-fast test-slow coverage: export OMP_NUM_THREADS := 1

test: check test-fast ## the checks, and everything but the slow tests

test-fast: $(VENV)/dev.stamp ## the tests without the checks
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-slow: $(VENV)/dev.stamp ## the slow tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

coverage: $(VENV)/dev.stamp ## which lines the tests reach, here and in htmlcov/; TESTS=tests/unit/test_kkt.py for a part
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term-missing:skip-covered --cov-report=html $(TESTS)

check: lint types ## format, lint, types

format: $(VENV)/dev.stamp ## write files the way `make lint` asks for
	$(BIN)/ruff format .

lint: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

package: $(VENV)/dev.stamp ## wheel and sdist into dist/, checked
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

bench: $(VENV)/dev.stamp ## the speed ratios
	$(BIN)/python benchmarks/directions.py
	$(BIN)/python benchmarks/bregman_step.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/multistage.py
	$(BIN)/python benchmarks/parallel.py

docs: $(VENV)/docs.stamp ## the site of the documentation, into site/; a broken link or formula ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

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

$(VENV)/docs.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

clean-cache: ## compiled kernels that numba keeps
	find src \( -name '*.nbi' -o -name '*.nbc' \) -delete

clean: clean-cache ## everything that can be made again
	rm -rf $(VENV) zolal-demo dist site htmlcov .coverage .pytest_cache .ruff_cache .mypy_cache .hypothesis
