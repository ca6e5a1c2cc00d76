# `make demo` shows what exhume does, `make test` tests it; `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.exhume-stamp
TOOLS  := $(VENV)/.tools-stamp
ORACLES := .venv-oracles/.stamp
PLUGINS := .venv-plugins/.stamp
SMALL  := .venv-build/.stamp
DIST   := .venv-dist/.stamp
PYX    := $(wildcard src/exhume/native/*.pyx $(foreach folder,* */* */*/*,src/exhume/$(folder)/*.pxi) generated/exhume_ksy/fast/_*.pyx generated/exhume_ksy/fast/_*.pxi)
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What runs the tools that need only the standard library: the project's own Python when it is there.
ANYPY   = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

# The virtual environment is the project's own: let it keep compiled bytecode even where the shell forbids that,
# or each of the demo's sixty processes compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := generated
.PHONY: pictures extras pyright prose flips budgets memory scaling help setup kernel node demo test generated check-generated check-code ksy-lint ksy-lint-seeds targets opaque upstream \
        ksy-mutation reads collection kaitai-suite differential web-ide lint types docs check-docs json-schemas check samples golden \
        digests faults signals fuzz fuzz-expressions fuzz-kernel mutation \
        ksy-sanitized coverage bench build dist release-check clean site

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{ printf "  make %-16s %s\n", $$1, $$2 }'

demo: $(STAMP)  ## a chapter on every format and one on a disk image, every verb in them, in less than two minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: setup node setup-oracles plugins  ## run every test (ARGS=... goes to pytest)
	$(BIN)/python -m pytest -q -n auto --dist loadgroup $(ARGS)

skips: setup node setup-oracles plugins  ## run every test as a fresh clone would, and write what it skips, and why, into docs/testing.md
	@EXHUME_MORE_SAMPLES= $(BIN)/python -m pytest -q -n auto --dist loadgroup -p tools.skips

test-quick: setup node  ## the tests that are not slow, over every tenth sample: for while you work (ARGS=... goes to pytest)
	$(BIN)/python -m pytest -q -n auto --dist loadgroup -m "not slow" $(ARGS)

test-thorough: setup node setup-oracles plugins  ## every test at full size, and 2000 examples where others try 40: takes hours
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n auto --dist loadgroup $(ARGS)

oracles: setup node setup-oracles plugins  ## compare with every independent implementation within 10 minutes; counts in docs/testing.md
	@$(BIN)/python -m pytest -q -n auto --dist loadgroup -m conformance -p tools.oracle_table $(ARGS)

check: lint types ksy-lint prose check-generated check-code check-docs  ## everything that is not a test: lint, types, freshness

setup: $(STAMP) $(TOOLS)  ## make .venv with exhume (editable) and what its tests and linters need

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "exhume needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"

# exhume itself with the extras that the demo shows, and nothing else.  The install compiles the kernel in place.
$(STAMP): $(BIN)/python pyproject.toml setup.py $(PYX)
	@rm -f src/exhume/native/_kernel.*.so generated/exhume_ksy/fast/_native.*.so
	@echo "setup: installing exhume and compiling its kernel, which takes two to four minutes"
	PYTHONWARNINGS=ignore $(PIP) install --editable '.[arrow,mcap]'
	@touch $@

# Tools are compiled as they are imported: most of their modules never are.
$(TOOLS): pyproject.toml | $(STAMP)
	@echo "setup: installing what tests and linters need, which takes a minute or two"
	$(PIP) install --no-compile "setuptools>=77" --group test --group lint --group oracles
	@touch $@

.PHONY: oracles setup-oracles plugins layers skips unreached test-quick test-thorough
setup-oracles: $(ORACLES)  ## make .venv-oracles with the oracles that pin old libraries, for the tests that ask them

$(ORACLES): pyproject.toml | $(BIN)/python
	@rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(PIP) --python $(@D) install --no-compile --no-deps --group oracles-apart
	@touch $@

plugins: $(PLUGINS)  ## make .venv-plugins with the tools that exhume plugs into, for the tests that run them

# It sees what .venv has, exhume first of all.  What Debian has is fetched without being installed, where it can be.
$(PLUGINS): pyproject.toml tools/debian.py | $(BIN)/python
	@rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(PIP) --python $(@D) install --no-compile --group plugins || echo "without tools that have no wheel for this Python"
	$(PIP) --python $(@D) install --no-compile --no-deps --group plugins-apart || echo "without tools that have no wheel for this Python"
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > $$($(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/venv.pth
	@$(BIN)/python -m tools.debian lnav $(@D)/debian
	@touch $@

kernel:  ## rebuild the optional compiled module in place
	@rm -f $(STAMP)
	@$(MAKE) --no-print-directory $(STAMP)

node: $(BIN)/python  # Node.js (from PATH, else from PyPI) with the pinned npm packages
	@$(BIN)/python -m tools.nodejs $(if $(or $(WEBIDE_SITE),$(CHROMIUM),$(shell command -v chromium google-chrome)),browser)

generated:  ## compile ksy/ into generated/exhume_ksy/ if it changed (KSC=... names another compiler)
	@$(ANYPY) tools/generate.py

check-generated:  ## fail when generated/ does not match ksy/
	@$(ANYPY) tools/generate.py --check

check-code: setup  ## fail when generated code has anything that readers are not made of
	@$(BIN)/python -m tools.audit

ksy-lint: node  ## check ksy/ against the Kaitai style guide and the traps of the toolchain
	@$(BIN)/python -m tools.ksy_lint

ksy-lint-seeds: node  ## plant mistakes in a specification and write what the lint says into docs/spec-driven.md
	@$(BIN)/python -m tools.ksy_lint_seeds --write

ksy-mutation: node  ## plant faults in ksy/ and see whether the facts about it notice (ARGS='--schema zs' for one)
	@$(BIN)/python -m tools.ksy_mutation $(or $(ARGS),--write)

targets: node  ## compile what ksy/ becomes in every language whose compiler is here (KAITAI_RUNTIMES=... has runtimes)
	@$(BIN)/python -m tools.targets --write

opaque: node  ## how much of the samples the specifications leave opaque
	@$(BIN)/python -m tools.opaque --write

upstream: node  ## write the folder that the public collection of Kaitai takes into build/upstream/
	@$(BIN)/python -m tools.upstream

reads: setup  ## count what generated code reads of the samples, into docs/spec-driven.md
	@$(BIN)/python -m tests.toolchain.reads

collection: node  ## how much of Kaitai's public collection is covered, into docs/spec-driven.md (KAITAI_FORMATS=... has it)
	@$(BIN)/python -m tests.toolchain.collection

kaitai-suite: setup  ## run Kaitai's test suite (KAITAI_TESTS=...) on our classes, and write the score into docs/spec-driven.md
	@$(BIN)/python -m tests.toolchain.kaitai_suite $(ARGS)

differential: setup  ## read 100,000 damaged inputs per schema with the fast readers and Kaitai's, into docs/spec-driven.md
	@$(BIN)/python -m tests.toolchain.damage $(ARGS)

layers: setup  ## list which layer of the code imports which, into docs/architecture.md
	@$(BIN)/python -m tools.layers

# What packs, and what bundles specifications: 20 MB apart from the environment of the tests, which needs neither.
$(SMALL):
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install build pyyaml kaitaistruct
	@touch $@

web-ide: $(SMALL)  ## write one self-contained .ksy per schema into build/web-ide/
	@PYTHONPATH=src:generated $(<D)/bin/python -m tools.web_ide

prose: $(TOOLS)  ## find words and phrases to avoid in everything that people read (CONTRIBUTING.md, Writing)
	@$(BIN)/python -m tools.prose_lint

lint: $(TOOLS)  ## ruff
	$(BIN)/ruff check .

types: $(TOOLS)  ## mypy --strict on everything, and pyright where it is installed
	$(BIN)/mypy
	@$(BIN)/python -m tools.pyright

pyright: setup  ## install pyright and check what users write with it, and that every name has a type
	@$(BIN)/python -m tools.pyright --install

pictures: setup  ## make the pictures of the terminal in docs/images again
	@$(BIN)/python -m tools.terminal_pictures

docs: setup  ## write the pages of docs/ and the manual pages that follow from the code
	@$(BIN)/python -m tools.gen_docs

json-schemas: setup  ## write src/exhume/schemas/, a JSON Schema for each JSON document
	@$(BIN)/python -m tools.json_schemas

SITE := .venv-site/.stamp

$(SITE): pyproject.toml | $(TOOLS)
	@rm -rf $(@D)
	$(BIN)/python -m venv --without-pip $(@D)
	$(PIP) --python $(@D) install --group site
	@touch $@

site: setup $(SITE)  ## build the documentation site in build/site/
	@$(BIN)/python -m tools.site
	@NO_MKDOCS_2_WARNING=1 .venv-site/bin/python -m mkdocs build --strict --quiet
	@echo "site: build/site/index.html"

check-docs: setup
	@$(BIN)/python -m tools.gen_docs --check
	@$(BIN)/python -m tools.json_schemas --check

samples: setup  ## write tests/samples/ again (FORMAT=... for one)
	@$(BIN)/python -m tools.make_samples $(FORMAT)

golden: setup  ## write tests/golden/ again: all that is said about every broken archive (FORMAT=... for one)
	@$(BIN)/python -m tests.broken $(FORMAT)

flips: setup  ## flip every bit of a small archive of each format, and write the detections into docs/ (ARGS=... for some)
	@nice $(BIN)/python -m tests.flips.run --write $(ARGS)

budgets: setup  ## what 1 MB of hostile input costs each verb, into docs/testing.md (needs 4 GB of memory)
	@$(BIN)/python -m tests.budgets.cost --write

memory: setup  ## how much memory one large value costs each verb, into docs/testing.md
	@$(BIN)/python -m tests.budgets.values --write

scaling: setup  ## double every count of small archives and count the work of the verbs, into docs/scaling.md
	@$(BIN)/python -m tests.scaling.growth --write

mutation: setup  ## change the code that judges archives and see which tests notice (MODULE=zs/verify or zs for some)
	@nice $(BIN)/python -m tools.mutation $(MODULE)

coverage: setup node setup-oracles plugins  ## branch coverage of the tests with both kernels, and its table in docs/testing.md
	@nice $(BIN)/python -m tools.cover run -n auto --dist loadgroup $(ARGS)
	@$(BIN)/python -m tools.cover report

unreached: setup node setup-oracles plugins  ## run the tests and list the asserts that no run reached
	@nice $(BIN)/python -m tools.unreached run -n auto --dist loadgroup $(ARGS)
	@$(BIN)/python -m tools.unreached report

faults: setup  ## fail every system call once under everything that writes, into docs/testing.md (some minutes)
	@nice $(BIN)/python -m tests.faults.run --write $(ARGS)

signals: setup  ## interrupt every verb at random moments; how long each took to end, into docs/testing.md (ARGS=60 times)
	@$(BIN)/python -m tests.faults.test_signals $(ARGS)

fuzz: setup  ## fuzz every entry (TARGET=kql for one, TIME=60 seconds each, ARGS=...), counts into docs/testing.md
	@nice $(BIN)/python -m tests.fuzz.run $(TARGET) --time $(or $(TIME),10) --write $(ARGS)

fuzz-expressions: setup  ## execute a million expressions of specifications (MANY=...), their number into docs/testing.md
	@nice $(BIN)/python -m tests.fuzz.expressions $(or $(MANY),1000000)

fuzz-kernel: setup  ## compile the kernel with sanitizers for the fuzzers, and run its tests with it
	@nice $(BIN)/python -m tests.fuzz.run --compile
	@nice $(BIN)/python -m tests.fuzz.run --tests

SANITIZED = EXHUME_NATIVE_FLAGS="-O1 -g -fwrapv -fsanitize=address,undefined -fno-sanitize-recover=all"
WATCHED = ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)"
ksy-sanitized: setup  ## read damaged inputs with compiled readers of the public collection under sanitizers (NAMES=... for some)
	@$(SANITIZED) nice $(BIN)/python -m tests.toolchain.natively --build "$(KAITAI_FORMATS)" $(NAMES)
	@$(SANITIZED) $(WATCHED) nice $(BIN)/python -m tests.toolchain.natively "$(KAITAI_FORMATS)" $(NAMES)

digests: setup  ## write tests/digests.json again: what every writer writes (needs AVX-512 and qemu-user)
	@$(BIN)/python -m tests.reproduce --write

bench: setup  ## run the benchmarks (BENCH=... for one; ARGS=... are its options)
	@for file in benchmarks/$(or $(BENCH),[a-z]*).py; do echo "== $$file"; \
	  $(BIN)/python -m benchmarks.$$(basename $$file .py) $(ARGS) || exit 1; done

build: $(SMALL)  ## sdist and wheel for this machine in dist/
	rm -rf dist
	PYTHONWARNINGS=ignore $(<D)/bin/python -m build --quiet

$(DIST): pyproject.toml
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --group dist
	@touch $@

dist: $(DIST)  ## sdist, a wheel for every system, compiled ones for Linux and macOS in dist/, the same bytes every time
	@$(<D)/bin/python -m tools.dist

release-check: dist  ## run every wheel that can run here, build again and compare, into docs/packages.md (ARGS=...)
	@$(dir $(DIST))bin/python -m tools.release_check $(or $(ARGS),--again --write)

extras: setup  ## install exhume with each extra into an empty environment, into docs/packages.md (ARGS='ksy lzma' for some)
	@$(BIN)/python -m tools.extras $(or $(ARGS),--write)

clean:  ## remove everything that can be made again
	rm -rf $(VENV) .venv-build .venv-dist .venv-node .venv-oracles .venv-plugins .venv-pyright .venv-site node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.cache
	rm -f src/exhume/native/_kernel.c src/exhume/native/_kernel.*.so generated/exhume_ksy/fast/_native.c generated/exhume_ksy/fast/_native.*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info generated/*.egg-info
