#!/bin/sh
# Builds the R package in a temporary folder, and runs R CMD check (with its tests) and the README:
# test.sh PREFIX [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v R >/dev/null 2>&1; then
    echo "make test-r needs R (Debian: r-base-core); nothing was run"
    exit 0
fi
if ! Rscript -e 'library(testthat)' >/dev/null 2>&1; then
    echo "make test-r needs the R package testthat (Debian: r-cran-testthat); nothing was run"
    exit 0
fi
"$here/../capi/build.sh" "$1" "${2:-release}"
CODIAG_PREFIX=$(cd "$1" && pwd)
export CODIAG_PREFIX
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -R "$here" "$place/codiag"
cd "$place"
rm -f codiag/test.sh
R CMD build codiag
# The PDF manual needs LaTeX, and the check of the system clock needs network access.
_R_CHECK_SYSTEM_CLOCK_=FALSE _R_CHECK_FORCE_SUGGESTS_=FALSE R CMD check --no-manual codiag_*.tar.gz || {
    cat codiag.Rcheck/00install.out codiag.Rcheck/tests/testthat.Rout.fail 2>/dev/null
    exit 1
}
if grep -E '(WARNING|NOTE|ERROR)$' codiag.Rcheck/00check.log; then
    echo "R CMD check reported problems"
    exit 1
fi
mkdir library
R CMD INSTALL --library=library codiag_*.tar.gz >/dev/null 2>&1
sed -n '/^```r$/,/^```$/p' "$here/README.md" | sed '/^```/d' > readme.R
R_LIBS="$place/library" Rscript readme.R
echo "R: all tests passed"
