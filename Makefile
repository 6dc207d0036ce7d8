# Short verbs. `make test` needs cargo, Python 3.10 or later, and make; it fetches the rest.

PYTHON ?= python3
TOOLS := .venv/bin
TESTED := .venv-test/bin
FROM_SOURCE := .venv-sdist/bin
# What the tests compare with and check by.
TEST_PACKAGES := pytest scikit-learn pyriemann mne edfio matplotlib pandas mypy qndiag==0.1 \
	'dask[array]' distributed zarr

# Cargo and pip do their own work in parallel, and share what they build.
.NOTPARALLEL:
.PHONY: all fmt lint test test-rust test-python wheel bench docs clean

all: fmt test docs

fmt: $(TOOLS)/ruff
	cargo fmt --all
	$(TOOLS)/ruff format python benchmarks examples
	$(TOOLS)/ruff check --fix python benchmarks examples

lint: $(TOOLS)/ruff
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --lib
	$(TOOLS)/ruff format --check python benchmarks examples
	$(TOOLS)/ruff check python benchmarks examples

test: lint test-rust test-python

# The report pages are looked at in a browser, where one can be had.
test-rust:
	cli/tests/install-browser.sh
	cargo test --workspace --release

# The wheel goes into a new environment, the sdist is built in another. Tests are collected in a way
# that leaves the source tree off the import path, and run elsewhere: they see what is installed.
# pytest comes last, for its summary.
test-python: wheel
	$(PYTHON) -m venv --clear .venv-sdist
	CARGO_TARGET_DIR="$(CURDIR)/target" $(FROM_SOURCE)/pip install -q dist/codiag-*.tar.gz
	cd / && "$(CURDIR)/$(FROM_SOURCE)/python" "$(CURDIR)/python/tests/smoke.py"
	$(PYTHON) -m venv --clear .venv-test
	$(TESTED)/pip install -q dist/codiag-*.whl $(TEST_PACKAGES)
	cd / && CODIAG_INSTALLED=1 "$(CURDIR)/$(TESTED)/python" -m pytest -p no:cacheprovider \
		-c "$(CURDIR)/pyproject.toml" --import-mode=importlib \
		--doctest-modules --pyargs codiag "$(CURDIR)/python/tests"

wheel: $(TOOLS)/maturin
	rm -rf dist
	$(TOOLS)/maturin build --release --out dist
	$(TOOLS)/maturin sdist --out dist

bench:
	benchmarks/run

docs:
	cargo doc --release --workspace --no-deps --lib

clean:
	rm -rf .venv .venv-test .venv-sdist dist target

$(TOOLS)/maturin $(TOOLS)/ruff: .venv/installed

.venv/installed:
	$(PYTHON) -m venv .venv
	$(TOOLS)/pip install -q "maturin>=1.9.4,<2" ruff==0.17.4
	touch .venv/installed
