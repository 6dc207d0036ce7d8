# Short verbs. `make test` needs cargo, Python 3.10 or later, and make; it fetches the rest.

PYTHON ?= python3
TOOLS := .venv/bin
TESTED := .venv-test/bin
# What the tests compare with and check by.
TEST_PACKAGES := pytest pytest-xdist scikit-learn pyriemann mne edfio matplotlib pandas mypy qndiag==0.1 \
	'dask[array]' distributed zarr
# The kernels are public to the benchmarks only.
ALL := --release --workspace --features codiag/internals

# Cargo and pip do their own work in parallel, and share what they build.
.NOTPARALLEL:
.PHONY: all fmt lint test test-rust test-python wheel capi octave test-octave test-r sanitize bench docs clean

all: fmt test docs

fmt: $(TOOLS)/ruff
	cargo fmt --all
	$(TOOLS)/ruff format python benchmarks examples
	$(TOOLS)/ruff check --fix python benchmarks examples

lint: $(TOOLS)/ruff
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- -D warnings
	cargo check -q --release -p codiag --no-default-features
	RUSTDOCFLAGS="-D warnings" cargo doc $(ALL) --no-deps --lib
	$(TOOLS)/ruff format --check python benchmarks examples
	$(TOOLS)/ruff check python benchmarks examples

test: lint test-rust test-python

# The report pages are looked at in a browser, where one can be had.
test-rust:
	cli/tests/install-browser.sh
	cargo test --workspace --release

# The wheel is built from the source distribution, so that both are tested, without the optimization
# across crates that released wheels have, and goes into a new environment. Tests are collected in a way that leaves the source tree off the import path, and run
# elsewhere: they see what is installed. pytest comes last, for its summary.
test-python: wheel
	$(PYTHON) -m venv --clear .venv-test
	$(TESTED)/pip install -q --no-compile dist/codiag-*.whl $(TEST_PACKAGES)
	cd / && "$(CURDIR)/$(TESTED)/python" "$(CURDIR)/python/tests/smoke.py"
	cd / && CODIAG_INSTALLED=1 "$(CURDIR)/$(TESTED)/python" -m pytest -p no:cacheprovider \
		-n 2 --dist loadfile -c "$(CURDIR)/pyproject.toml" --import-mode=importlib \
		--doctest-modules --pyargs codiag "$(CURDIR)/python/tests"

wheel: $(TOOLS)/maturin
	rm -rf dist
	$(TOOLS)/maturin sdist --out dist
	PATH="$(CURDIR)/$(TOOLS):$$PATH" CARGO_TARGET_DIR="$(CURDIR)/target" MATURIN_PEP517_ARGS="--profile=release" \
		$(TOOLS)/pip wheel -q --no-deps --no-build-isolation --wheel-dir dist dist/codiag-*.tar.gz

# The C library: header, shared and static library, pkg-config file. PROFILE=dist for what is released.
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

docs:
	cargo doc $(ALL) --no-deps --lib

clean:
	rm -rf .venv .venv-test dist target

$(TOOLS)/maturin $(TOOLS)/ruff: .venv/installed

.venv/installed:
	$(PYTHON) -m venv .venv
	$(TOOLS)/pip install -q "maturin>=1.9.4,<2" ruff==0.17.4
	touch .venv/installed
