#!/bin/sh
# Builds octave/codiag_mex against a C library: build.sh PREFIX
set -eu
prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
octave --no-gui --quiet --no-init-file --path "$here" --eval "build_codiag('$prefix')"
echo "octave/codiag_mex: addpath('$here') in Octave"
