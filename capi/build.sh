#!/bin/sh
# Builds the C library and installs it under a prefix: build.sh PREFIX [PROFILE]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?usage: build.sh PREFIX [PROFILE]}
profile=${2:-release}
cd "$here"

cargo build -p codiag-c --lib --profile "$profile"
capi/install.sh "$prefix" "${CARGO_TARGET_DIR:-target}/$profile"
