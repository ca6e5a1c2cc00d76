# `make demo` shows what exhume does, `make test` tests it; CONTRIBUTING.md says the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup-stamp
KSTAMP := $(VENV)/.kernel-stamp
PYX    := $(wildcard src/exhume/_kernel.pyx)
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What runs the standard-library-only tools: the project's own Python when it is there.
ANYPY   = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

.DEFAULT_GOAL := generated
.PHONY: setup node kernel generated check-generated ksy-lint test lint types clean

setup: $(STAMP) $(KSTAMP)  ## .venv with exhume (editable) and what its tests and linters need

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "exhume needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(BIN)/python pyproject.toml setup.py
	$(PIP) install --upgrade "pip>=25.1" "setuptools>=77"
	PYTHONWARNINGS=ignore $(PIP) install --editable . --group test --group lint
	@touch $@

# An editable install builds the kernel too, but not again when only the .pyx changed.
$(KSTAMP): $(STAMP) $(PYX)
	@$(if $(PYX),rm -f src/exhume/_kernel.*.so && $(BIN)/python setup.py --quiet build_ext --inplace,:)
	@touch $@

kernel: $(STAMP)  ## rebuild the optional compiled module in place
	@rm -f $(KSTAMP)
	@$(MAKE) --no-print-directory $(KSTAMP)

generated:  ## compile ksy/ into generated/exhume_ksy/ if it changed (KSC=... names another compiler)
	@$(ANYPY) tools/generate.py

check-generated:  ## fail when generated/ does not match ksy/
	@$(ANYPY) tools/generate.py --check

node: $(STAMP)
	@$(BIN)/python -m tools.nodejs

ksy-lint: node  ## check ksy/ against the Kaitai style guide and the traps of the toolchain
	@$(BIN)/python -m tools.ksy_lint

test: setup node  ## run every test (ARGS=... is passed to pytest)
	$(BIN)/python -m pytest -n auto --dist loadgroup $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

clean:  ## remove everything that can be made again
	rm -rf $(VENV) .venv-node node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.cache
	rm -f src/exhume/_kernel.c src/exhume/_kernel.*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} + ; rm -rf src/*.egg-info generated/*.egg-info
