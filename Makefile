# make demo: install, train, draw.   make test: install, lint, type check, all tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-lowest lint types pytest setup bench clean help

help:
	@echo "make demo   set up, solve a maze within seconds, draw it into demo/"
	@echo "make test   set up and run all checks: lint, types, tests"
	@echo "make test-lowest  tests with the lowest supported versions of all dependencies"
	@echo "make bench  all benchmarks, one after the other (half an hour on an idle machine)"

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py demo

test: setup lint types pytest

setup: $(VENV)/.test

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

pytest: setup
	$(BIN)/python -m pytest -n auto --dist loadfile -q

# The tests that need neither torch nor a browser, with the lowest versions of all dependencies.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install -q -c .ci/lowest.txt -e ".[mujoco,plots]" \
		pytest pytest-xdist hypothesis "pandas>=2.2.2,<3" "pyparsing<3.2" "scipy<1.15" "scikit-learn<1.7"
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile -q -m "not slow and not browser" \
		tests/memory tests/embedding tests/agents tests/training tests/envs tests/figures \
		tests/report tests/test_recorded_rows.py tests/test_released_files.py

bench: setup
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[bench]"
	$(BIN)/python -m benchmarks

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs no torch; the tests need everything.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[mujoco,plots]"
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt "torch==2.13.0" -e ".[all,dev]"
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest demo
