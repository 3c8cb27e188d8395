# Needs Python with its headers, pip, make and a C++20 compiler; the rest comes into .venv.
PYTHON ?= python3
CORPUS ?=
OPTIONS ?=
SECONDS ?= 60
KILLS ?= 200
BIN := .venv/bin
# Tests start hundreds of processes: without bytecode on the disk each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

BUILD_REQUIREMENTS := $(shell sed -n 's/", "/" "/g; s/^requires = \[\(.*\)\]/\1/p' pyproject.toml)
NATIVE := $(wildcard src/core/* src/bindings/*) CMakeLists.txt
CPP := $(wildcard $(foreach folder,src/core src/bindings tests/fuzz,$(folder)/*.h $(folder)/*.cpp))
# One process more than there are cores: many tests wait for other processes.
CORES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
WORKERS ?= $(shell expr $(CORES) + 1)
PYTEST = $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup
QUICK = -m "not slow" --hypothesis-profile=quick
TIDY := $(patsubst src/%.cpp,build/tidy/%.ok,$(wildcard src/core/*.cpp src/bindings/*.cpp))
STUB := src/watchword/_native.pyi
STUBGEN = $(BIN)/python -m nanobind.stubgen --quiet --module watchword._native --output-file

.PHONY: help demo test test-all kill kill-sources build lint tidy format stub benchmark paper compare-pyss3 test-pyss3 fuzz sanitize sanitize-address sanitize-thread clean

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## /\1	/p' Makefile | expand -t 16

demo: .venv/built  ## learn from synthetic subjects, recognise others, show why
	$(BIN)/watchword demo

test: lint  ## what to run before every commit: five minutes on two cores
	$(PYTEST) $(QUICK)

test-all: lint  ## all tests, the slow ones too: what CI checks
	$(PYTEST)

kill: build  ## kill every command that writes, again and again [KILLS=200]
	WATCHWORD_KILLS=$(KILLS) WATCHWORD_SPARK_KILLS=10 $(BIN)/python -m pytest \
	    tests/crash/test_kills.py tests/crash/test_service_kills.py \
	    tests/crash/test_door_kills.py tests/crash/test_spark_kills.py --durations=0

kill-sources: build  ## kill services, whose files are rotated twice while they are behind [KILLS=200]
	WATCHWORD_KILLS=$(KILLS) $(BIN)/python -m pytest tests/crash/test_service_kills.py \
	    tests/crash/test_door_kills.py --durations=0

build: .venv/dev .venv/built  ## .venv with watchword (editable) and the tools of development

lint: build  ## style, types, and whether generated files are what they should be
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(MAKE) --no-print-directory -j$(CORES) tidy
	$(BIN)/python tools/make_parameters.py --check
	$(BIN)/python tools/make_unicode_table.py --check || \
	    { [ $$? -eq 3 ] && echo "the Unicode table was not checked"; }
	$(STUBGEN) build/_native.pyi
	diff -u $(STUB) build/_native.pyi || { echo "$(STUB) is outdated: make stub"; exit 1; }

tidy: $(TIDY)
	@:

format: build  ## put Python and C++ into the house style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stub: build  ## write the types of the native module
	$(STUBGEN) $(STUB)

benchmark: build  ## compare with other programs [CORPUS=folder], see benchmarks/README.md
	$(BIN)/python benchmarks/compare.py $(CORPUS)

paper: build  ## the experiments and figures of the paper [OPTIONS=--help], see docs/paper.md
	PYTHONPATH=benchmarks $(BIN)/python -m paper $(OPTIONS)

compare-pyss3: build  ## compare the numbers with those of an installed PySS3 [CORPUS=folder]
	$(BIN)/python benchmarks/compare_pyss3.py $(CORPUS)

test-pyss3: build  ## run PySS3's own tests against watchword.pyss3 [PYSS3=checkout]
	@test -d "$(PYSS3)/tests" || { echo "make test-pyss3 PYSS3=folder: a checkout of PySS3"; exit 2; }
	$(PIP) pytest-mock six
	$(BIN)/python tools/run_pyss3_suite.py $(PYSS3)

# Three targets take a third of SECONDS each: the core, mapped models, and what is kept in files. What
# fuzzing finds stays in build/fuzz, so that the next run goes on from there.
FUZZ = -max_total_time=$$(($(SECONDS) / 3)) -len_control=0 -max_len=400 -timeout=20 -print_final_stats=1
fuzz: build  ## look for inputs that break something [SECONDS=60]; needs clang++
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -D CMAKE_MAKE_PROGRAM="$(abspath $(BIN))/ninja" \
	    -D CMAKE_CXX_COMPILER=clang++ -D CMAKE_BUILD_TYPE=Release \
	    -D WATCHWORD_FUZZ=ON -D WATCHWORD_SANITIZE=address,undefined \
	    -D WATCHWORD_TINY_TABLES=ON
	$(BIN)/cmake --build build/fuzz
	mkdir -p build/fuzz/corpus build/fuzz/corpus-mapped
	cd build/fuzz && ./fuzz $(FUZZ) corpus ../../tests/fuzz/inputs
	cd build/fuzz && ./mapped $(FUZZ) corpus-mapped
	$(BIN)/python tests/fuzz/kept.py $$(($(SECONDS) / 3))

# The other tests take long there and reach the core in the same ways. The interpreter is not
# instrumented, so the libraries are loaded ahead of it, and what it never frees is no leak. libstdc++
# comes along because exceptions are intercepted. Reports of races go to files, because tests that go on
# would hide them.
sanitize: sanitize-address sanitize-thread  ## the tests that use the core most, with three sanitizers; needs g++
sanitize-address: SANITIZERS = address,undefined
sanitize-address: LIBRARIES = libasan.so libubsan.so
sanitize-address: SANITIZED = tests/unit tests/properties tests/crash
sanitize-thread: SANITIZERS = thread
sanitize-thread: LIBRARIES = libtsan.so
sanitize-thread: SANITIZED = tests/crash/test_concurrency.py \
    tests/unit/test_model.py tests/unit/test_mapped.py tests/unit/test_stream.py \
    tests/properties/test_changes.py tests/properties/test_policies.py \
    tests/properties/test_properties.py tests/properties/test_refine.py \
    --deselect=tests/unit/test_stream.py::test_a_watcher_of_two_labels_needs_at_most_200_bytes_a_subject
sanitize-address sanitize-thread:
	$(PYTHON) -m venv .venv-$@
	$(PIP:.venv/%=.venv-$@/%) $(BUILD_REQUIREMENTS) cmake ninja
	CXX=g++ $(PIP:.venv/%=.venv-$@/%) --no-build-isolation --editable . \
	    --config-settings=build-dir=build/$@ \
	    --config-settings=cmake.define.WATCHWORD_SANITIZE=$(SANITIZERS)
	$(PIP:.venv/%=.venv-$@/%) 'watchword[dev]'
	rm -f build/$@/race.*
	LD_PRELOAD="$(foreach library,$(LIBRARIES) libstdc++.so.6,$(shell g++ -print-file-name=$(library)))" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	    TSAN_OPTIONS=die_after_fork=0:suppressions=$(abspath tests/thread-sanitizer.supp):log_path=$(abspath build/$@/race) \
	    $(PYTEST:.venv/%=.venv-$@/%) $(QUICK) $(SANITIZED)
	@! cat build/$@/race.* 2>/dev/null

clean:  ## remove all that was made here
	rm -rf .venv .venv-sanitize-* build .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Stamps. Without build isolation CMake finds the same paths again and compiles only what changed.
.venv/ready: pyproject.toml
	@echo "Creating .venv and installing the build tools"
	$(PYTHON) -m venv .venv
	$(PIP) $(BUILD_REQUIREMENTS) cmake ninja
	touch $@

.venv/built: .venv/ready $(NATIVE)
	@echo "Compiling the native core and installing watchword: about a minute"
	$(PIP) --no-build-isolation --editable '.[cli]'
	touch $@

# clang-tidy takes seconds per file: a file is checked again after a change in it or in a header that it
# includes.
TIDY_OPTIONS = -std=c++20 -Isrc $(foreach folder,$(shell $(BIN)/python -c 'import nanobind, sysconfig; \
    print(nanobind.include_dir(), sysconfig.get_path("include"))'),-isystem $(folder))
build/tidy/%.ok: src/%.cpp .clang-tidy | .venv/built .venv/dev
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@output=$$($(BIN)/clang-tidy --quiet $< -- $(TIDY_OPTIONS) 2>/dev/null) || { echo "$$output"; exit 1; }
	@c++ $(TIDY_OPTIONS) -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	@touch $@
-include $(TIDY:.ok=.d)

# With build isolation: a dependency that PyPI has as a source archive (pyspark) brings its own build
# tools. watchword itself is installed already, so pip adds only what the extra asks for.
.venv/dev: .venv/ready | .venv/built
	@echo "Installing the tools of development: some minutes the first time"
	$(PIP) 'watchword[dev]'
	touch $@
