# `make demo` shows what exhume does, `make test` tests it; `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup-stamp
KSTAMP := $(VENV)/.kernel-stamp
PYX    := $(wildcard src/exhume/_kernel*.pyx src/exhume/_kernel*.pxi)
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What runs the tools that need only the standard library: the project's own Python when it is there.
ANYPY   = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

.DEFAULT_GOAL := generated
.PHONY: help setup kernel node demo test generated check-generated ksy-lint web-ide lint types docs check-docs check \
        samples bench build clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{ printf "  make %-16s %s\n", $$1, $$2 }'

demo: setup  ## build, identify, list, verify, search and read a small archive of every format
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: setup node  ## run every test (ARGS=... goes to pytest)
	$(BIN)/python -m pytest -q -n auto --dist loadgroup $(ARGS)

check: lint types ksy-lint check-generated check-docs  ## everything that is not a test: lint, types, freshness

setup: $(STAMP) $(KSTAMP)  ## make .venv with exhume (editable) and what its tests and linters need

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

node: $(STAMP)  # Node.js (from PATH, else from PyPI) with the pinned npm packages
	@$(BIN)/python -m tools.nodejs $(if $(or $(WEBIDE_SITE),$(CHROMIUM),$(shell command -v chromium google-chrome)),browser)

generated:  ## compile ksy/ into generated/exhume_ksy/ if it changed (KSC=... names another compiler)
	@$(ANYPY) tools/generate.py

check-generated:  ## fail when generated/ does not match ksy/
	@$(ANYPY) tools/generate.py --check

ksy-lint: node  ## check ksy/ against the Kaitai style guide and the traps of the toolchain
	@$(BIN)/python -m tools.ksy_lint

web-ide: node  ## write one self-contained .ksy per schema into build/web-ide/
	@$(BIN)/python -m tools.web_ide

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check .

types: $(STAMP)  ## mypy --strict
	$(BIN)/mypy

docs: setup  ## write the pages of docs/ that follow from the code
	@$(BIN)/python -m tools.gen_docs

check-docs: setup
	@$(BIN)/python -m tools.gen_docs --check

samples: setup  ## write tests/samples/ again (FORMAT=... for one)
	@$(BIN)/python -m tools.make_samples $(FORMAT)

bench: setup  ## run the benchmarks (BENCH=... for one)
	@for file in benchmarks/$(or $(BENCH),[a-z]*).py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

build: setup  ## sdist and wheel in dist/
	$(PIP) install build
	rm -rf dist
	PYTHONWARNINGS=ignore $(BIN)/python -m build --quiet

clean:  ## remove everything that can be made again
	rm -rf $(VENV) .venv-node node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.cache
	rm -f src/exhume/_kernel.c src/exhume/_kernel.*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info generated/*.egg-info
