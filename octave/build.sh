#!/bin/sh
# Builds octave/codiag_mex with the C library under a prefix: build.sh PREFIX
set -eu
prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
octave --no-gui --quiet --no-init-file --path "$here" --eval "build_codiag('$prefix')"
echo "built octave/codiag_mex; in Octave, call addpath('$here')"
