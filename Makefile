# Thin: every target is one or two commands that also work by themselves. See `make help`.
PRESET ?= release
BUILD := build/$(PRESET)
PYTHON := build/venv/bin/python
# The demo needs no package of Python's index.
DEMO_PYTHON = $(or $(wildcard $(PYTHON)),python3)
PREFIX ?= /usr/local
DESTDIR ?=
# Tests at a time: two more than there are processors, since many of them wait.
JOBS ?= $(shell expr $$(nproc) + 2)
# Passed to ctest, e.g. `make check TESTS='-R posix.auto'`.
TESTS ?=

CXX_FILES = $(shell git ls-files -co --exclude-standard '*.h' '*.cpp')
TIDY_FILES = $(shell git ls-files -co --exclude-standard 'src/*.cpp' 'products/*.cpp' 'bench/*.cpp')
PYTHON_DIRS = syncopate scripts tests bench papers

.PHONY: all help setup configured build native machines runtimes papers lua ruby memcached-tm check check-all demo bench figures \
  format lint lint-scripts readme install uninstall deb wheel native-deb site release build-times \
  clean

all: build

help:
	@echo 'make            build everything into build/ (installs what is missing first)'
	@echo 'make setup      only install what is missing'
	@echo 'make demo       the main job on real programs; builds what it needs (make native)'
	@echo 'make native     what runs, records, reports and tunes; make machines: modeled machines, too;'
	@echo '                make runtimes: OpenMP and transactions; make papers: the papers'"'"' programs'
	@echo 'make check      the tests;  make check-all: the long ones too'
	@echo 'make lua        Lua with an elided interpreter lock into build/lua (fetches its source)'
	@echo 'make ruby       Ruby, its lock through the same component, into build/ruby (many minutes)'
	@echo 'make memcached-tm  a paper'"'"'s stages of memcached, tested and timed (SOURCES=folder)'
	@echo 'make bench      the benchmarks'
	@echo 'make figures    the papers'"'"' figures on simulated machines (QUICK=1: fewer points)'
	@echo 'make format     format the sources;  make lint: check them'
	@echo 'make readme     write README.md from the code, the last demo and papers/results'
	@echo 'make deb        a Debian package into build/'
	@echo 'make wheel      a wheel that needs no compiler, for glibc 2.28 and newer, into build/dist'
	@echo 'make native-deb a Debian package of the same, which needs Python alone, into build/'
	@echo 'make site       the documentation as a site with search, into build/site'
	@echo 'make release    all packages, sources, notes, checksums into build/releases/VERSION'
	@echo 'make build-times  where the last build'"'"'s time went'
	@echo 'make install    install into PREFIX (now $(PREFIX));  make uninstall: remove it again'
	@echo 'make clean      remove build/'

# Setup looks for missing packages only when what it is made of has changed.
build/.setup-build: scripts/setup.sh scripts/requirements.txt
	@scripts/setup.sh build

build/.setup-test: scripts/setup.sh scripts/requirements.txt
	@scripts/setup.sh test

build/.setup-package: scripts/setup.sh scripts/requirements.txt
	@scripts/setup.sh package

build/.setup-release: scripts/setup.sh scripts/requirements.txt
	@scripts/setup.sh release

build/.setup-long: scripts/setup.sh scripts/requirements.txt
	@scripts/setup.sh long

setup: build/.setup-build build/.setup-test

build/.setup-demo: scripts/setup.sh
	@scripts/setup.sh demo

CONFIGURE = cmake --preset $(PRESET) $(if $(CI),-DSYNCOPATE_WERROR=ON) -DSYNCOPATE_COMPONENTS=

$(BUILD)/build.ninja: build/.setup-build CMakePresets.json
	@$(CONFIGURE)all

configured: $(BUILD)/build.ninja
	@! grep -q '^SYNCOPATE_COMPONENTS:[A-Z]*=native$$' $(BUILD)/CMakeCache.txt || $(CONFIGURE)all

build: configured
	@cmake --build $(BUILD)

# run, record, report, tune and top: some dozens of steps. A whole build's configuration stays.
native: build/.setup-demo
	@test -f $(BUILD)/build.ninja || { \
	  echo 'building what runs, records and tunes programs: about a minute, 25 MB in build/'; \
	  $(CONFIGURE)native >build/configure.log || { cat build/configure.log; exit 1; }; }
	@cmake --build $(BUILD) --target native

# Other parts by themselves, with what the command needs. They are configured as all is.
machines: PARTS = $(addprefix src/model/,simulated explored emulated front/compiler/clang front/compiler/gcc)
runtimes: PARTS = products/openmp products/libitm src/tm
papers: PARTS = papers/workloads
machines runtimes papers: configured
	@cmake --build $(BUILD) --target native $(addsuffix /all,$(PARTS))

# The lint scripts are tests too (label lint).
CTEST = ctest --test-dir $(BUILD) -j$(JOBS) --output-on-failure --no-tests=error
WHAT_FAILED = || { status=$$?; $(PYTHON) scripts/failed_tests.py $(BUILD); exit $$status; }
check: build/.setup-test build
	$(CTEST) -LE long $(TESTS) $(WHAT_FAILED)

check-all: build/.setup-long build
	$(CTEST) $(TESTS) $(WHAT_FAILED)

# Lua with the elided lock; its source is fetched (docs/gil.md).
lua: build
	@sh integrations/lua/build.sh build/lua build plain native emulated simulated

# Ruby with its lock through the same component; likewise (integrations/ruby/README.md). What this
# system lacks for it is told before minutes of building.
ruby:
	@sh integrations/ruby/build.sh --needs build/ruby
	@$(MAKE) --no-print-directory machines
	@sh integrations/ruby/build.sh build/ruby build native emulated

# The stages of gcc-tm-memcached.txt on memcached itself (integrations/memcached/README.md).
memcached-tm: build/.setup-long build
	@$(PYTHON) integrations/memcached/stages.py build/memcached build \
	  $(if $(SOURCES),--sources $(SOURCES))

demo: native
	@$(DEMO_PYTHON) scripts/demo.py

bench: build/.setup-test build
	$(BUILD)/bench/locks_bench
	$(PYTHON) bench/compare.py --configs glibc,pass,auto,tatas:spin -- uncontended
	$(PYTHON) bench/compare.py --configs glibc,pass,auto -- uncontended --mutexes 20000
	$(PYTHON) bench/compare.py --configs glibc,auto -- contended --threads 2
	$(PYTHON) bench/compare.py --configs glibc,auto -- contended --threads 8 --waits
	$(PYTHON) bench/programs.py

# Goes on where a stopped run was: finished points are kept in build/figures.
figures: build/.setup-build build
	@$(PYTHON) papers/figures/all.py --programs $(BUILD)/papers/workloads \
	  $(if $(filter-out 0,$(QUICK)),--quick)
	@$(PYTHON) scripts/papers.py
	@$(PYTHON) scripts/sizes.py

lint-scripts: build/.setup-build
	@$(PYTHON) scripts/check_rooms.py .
	@$(PYTHON) scripts/check_paths.py .
	@$(PYTHON) scripts/check_memory_orders.py .

format: setup
	clang-format -i $(CXX_FILES)
	$(PYTHON) -m ruff format $(PYTHON_DIRS)
	$(PYTHON) -m ruff check --fix $(PYTHON_DIRS)

lint: build/.setup-test $(BUILD)/build.ninja lint-scripts
	@scripts/check_format.sh $(PYTHON) .
	@$(PYTHON) scripts/tidy.py --build $(BUILD) --jobs $(JOBS) $(TIDY_FILES)

# README.md from README.md.in, the code's list of locks, the last demo and papers/results.
readme: build
	@$(PYTHON) scripts/make_readme.py --demo build/demo/demo.txt --page build/demo/kccachetest.html \
	  build/share/syncopate/locks.json
	@$(PYTHON) scripts/openmp_page.py
	@$(PYTHON) scripts/options_page.py build/share/syncopate/options.json docs/reference/options.md
	@$(PYTHON) scripts/parameters_page.py

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	cmake -DMANIFEST=$(BUILD)/install_manifest.txt -P cmake/Uninstall.cmake

deb: build/.setup-test build
	@scripts/package/deb.sh $(BUILD) build

# ARCHITECTURE=aarch64: the same for Arm, by a cross compiler and qemu.
wheel native-deb: build/.setup-$(if $(ARCHITECTURE),release,package)

wheel:
	@scripts/package/wheel.sh build/dist $(ARCHITECTURE)

native-deb:
	@wheel=$$(scripts/package/wheel.sh build/dist $(ARCHITECTURE)) && \
	  scripts/package/portable_deb.sh "$$wheel" build

# Sphinx is in an environment of its own: nothing else needs it.
build/venv-site/requirements.txt: scripts/site/requirements.txt
	@python3 -m venv build/venv-site
	@build/venv-site/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@cp $< $@

site: build/.setup-test build build/venv-site/requirements.txt
	@build/venv-site/bin/python scripts/site/build.py build/site

release: build/.setup-test build
	@scripts/release.py build/releases

build-times:
	@scripts/build_times.py $(BUILD)

clean:
	rm -rf build
