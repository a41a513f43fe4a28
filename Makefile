# make demo: install, train, draw.   make test: install, lint, type check, all tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PLACE ?= 127.0.0.1:8000

.PHONY: demo docs site test test-hard test-ray release-check test-lowest lint types pytest setup bench clean help

help:
	@echo "make demo   set up, solve a maze within seconds, draw it into demo/"
	@echo "make test   set up and run all checks: lint, types, tests"
	@echo "make test-hard  damaged files, kills and full disks in full numbers (about an hour)"
	@echo "make release-check  build wheel and sdist, check them, try the wheel in an empty environment"
	@echo "make test-lowest  tests with the lowest supported versions of all dependencies"
	@echo "make docs   build the documentation and serve it on http://$(PLACE)"
	@echo "make site   build the documentation into site/, which can be opened from the disk"
	@echo "make test-ray  tests with a Ray cluster of two nodes on this machine"
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

# A Ray cluster of two nodes on this machine, which loses a worker and a node (a minute or two).
test-ray: setup
	SCRUBJAY_RAY_CLUSTER=1 $(BIN)/python -m pytest -q tests/runs/test_ray.py

# Thousands of damaged files, 50 kills and full disks (root: mounts a small tmpfs); about an hour.
test-hard: setup
	SCRUBJAY_HARD=1 $(BIN)/python -m pytest -n auto --dist loadscope -q tests/hard
	SCRUBJAY_HARD=1 $(BIN)/python -m pytest -n auto -q -m hard

# Builds wheel and sdist into dist/, checks their metadata and contents, and tries the wheel alone.
release-check: setup
	rm -rf dist .venv-release
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install -q dist/*.whl
	cd dist && ../.venv-release/bin/scrubjay doctor \
		&& ../.venv-release/bin/scrubjay train cec GrowingTree --steps 2000 --quiet --overwrite --out try \
		&& ../.venv-release/bin/scrubjay evaluate try --episodes 3 && rm -rf try
	$(BIN)/python -m pytest -q tests/test_wheel.py

# The tests that need neither torch nor a browser, with the lowest versions of all dependencies.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install -q -c .ci/lowest.txt -e ".[mujoco,plots]" \
		pytest pytest-xdist hypothesis "pandas>=2.2.2,<3" "pyparsing<3.2" "scipy<1.15" "scikit-learn<1.7"
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile -q -m "not slow and not browser" \
		tests/memory tests/embedding tests/agents tests/training tests/envs tests/figures \
		tests/report tests/test_recorded_rows.py tests/test_released_files.py

# The packages of the documentation also say at every start that a successor is planned.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --strict --dev-addr $(PLACE)

site: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: setup
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[bench]"
	$(BIN)/python -m benchmarks

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs no torch; the tests need everything.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[mujoco,plots]"
	touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[docs]"
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt "torch==2.13.0" -e ".[all,dev,docs]"
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-release dist demo site
