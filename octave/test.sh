#!/bin/sh
# Builds the MEX function in a temporary folder, and runs its tests, the demo and the README:
# test.sh PREFIX [PROFILE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in octave mkoctfile; do
    if ! command -v "$program" >/dev/null 2>&1; then
        echo "make test-octave needs octave and mkoctfile (Debian: octave octave-dev); $program was not found, nothing was run"
        exit 0
    fi
done
"$here/../capi/build.sh" "$1" "${2:-release}"
prefix=$(cd "$1" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -R "$here"/. "$place"
rm -f "$place"/*.mex "$place"/*.o
sed -n '/^```octave$/,/^```$/p' "$here/README.md" | sed '/^```/d' > "$place/readme.m"
cd "$place"
run() {
    octave --no-gui --quiet --no-init-file --path "$place" --path "$place/tests" --eval "$1"
}
run "build_codiag('$prefix')"
run test_codiag
run codiag_demo
run "readme; assert(info.converged)"
echo "octave: all tests passed"
