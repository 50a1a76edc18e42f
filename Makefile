# Two commands for a newcomer: `make demo` and `make test`. Each does all the set-up it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check setup bench accuracy regression classifiers asking measured numeric individuals docs clean

demo: .venv/.lambdarr
	$(BIN)/lambdarr demo demo

test: setup
	$(BIN)/python -m pytest -n 2

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs spec README.md CHANGELOG.md CONTRIBUTING.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

setup: .venv/.dev

docs: setup
	$(BIN)/mkdocs serve

bench: setup
	$(BIN)/python -m benchmarks

accuracy: setup
	$(BIN)/python -m benchmarks.accuracy

regression: setup
	$(BIN)/python -m benchmarks.regression

classifiers: setup
	$(BIN)/python -m benchmarks.classifiers

asking: setup
	$(BIN)/python -m benchmarks.asking

measured: setup
	$(BIN)/python -m benchmarks.measured

numeric: setup
	$(BIN)/python -m benchmarks.numeric

individuals: setup
	$(BIN)/python -m benchmarks.individuals

clean:
	rm -rf .venv demo site

# Debian splits venv from python3: install it where we may.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lambdarr needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv || { \
	  rm -rf .venv; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -qq && $$as_root apt-get install -y -qq python3-venv && $(PYTHON) -m venv .venv; }

.venv/.lambdarr: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ .venv/.lambdarr
