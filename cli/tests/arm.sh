#!/bin/sh
# Diagonalizes sets on this processor and on aarch64, emulated by qemu, and compares B and the
# losses:
#
#   cli/tests/arm.sh                    the program, built for aarch64-unknown-linux-gnu, under
#   qemu-aarch64 cli/tests/arm.sh COMMAND...         the native program, run by COMMAND (to compare
#   other instruction sets)
#
# CODIAG names a native program that is already built.
set -eu
cd "$(dirname "$0")/../.."
target=aarch64-unknown-linux-gnu
python=${PYTHON:-python3}
built=${CARGO_TARGET_DIR:-target}

if [ $# -eq 0 ]; then
    missing=
    for program in aarch64-linux-gnu-gcc qemu-aarch64; do
        command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
    done
    ls "$(rustc --print target-libdir --target $target 2>/dev/null)"/libstd-* >/dev/null 2>&1 ||
        missing="$missing rust-std"
    if [ -n "$missing" ]; then
        echo "make test-arm was skipped; missing:$missing"
        echo "On Debian, install gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user; install rust-std" \
            "with 'rustup target add $target'."
        exit 0
    fi
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    cargo build --release -p codiag-cli --target $target
    set -- qemu-aarch64 -L /usr/aarch64-linux-gnu "$built/$target/release/codiag"
else
    native=${CODIAG:-$built/release/codiag}
    set -- "$@" "$native"
fi
if [ -z "${CODIAG:-}" ]; then
    cargo build --release -p codiag-cli
    CODIAG=$built/release/codiag
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$CODIAG" generate --quiet -o "$place/experiment-b.npy"
"$CODIAG" generate --quiet --sigma 0.3 -o "$place/noisy.npy"
"$CODIAG" generate --quiet --meg magnetometers -o "$place/magnetometers.npy"
"$CODIAG" generate --quiet --meg gradiometers -o "$place/gradiometers.npy"
failed=0
for set in experiment-b noisy magnetometers gradiometers; do
    "$CODIAG" diagonalize --quiet "$place/$set.npy" -o "$place/$set-here"
    "$@" diagonalize --quiet "$place/$set.npy" -o "$place/$set-there"
    "$python" cli/tests/compare_results.py "$place/$set-here" "$place/$set-there" || failed=1
done
exit $failed
