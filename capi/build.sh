#!/bin/sh
# Builds the C library and puts header, libraries and pkg-config file under a prefix: build.sh PREFIX [PROFILE]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?usage: build.sh PREFIX [PROFILE]}
profile=${2:-release}
cd "$here"

cargo build -p codiag-c --lib --profile "$profile"
built=${CARGO_TARGET_DIR:-target}/$profile

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
abi=$(echo "$version" | sed 's/^0\.\([0-9]*\).*/0.\1/; s/^\([1-9][0-9]*\)\..*/\1/')
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
prefix=$(cd "$prefix" && pwd)
cp capi/include/codiag.h "$prefix/include/"
cp "$built/libcodiag_c.a" "$prefix/lib/libcodiag.a"
# What the static library needs of the system; capi/tests/programs.rs links with it.
system="-lm -lpthread -ldl"
case $(uname -s) in
Darwin)
    system="-lm"
    cp "$built/libcodiag_c.dylib" "$prefix/lib/libcodiag.$abi.dylib"
    ln -sf "libcodiag.$abi.dylib" "$prefix/lib/libcodiag.dylib"
    ;;
*)
    # Beside, then renamed: a program that has the old one loaded keeps it.
    cp "$built/libcodiag_c.so" "$prefix/lib/libcodiag.so.new"
    mv "$prefix/lib/libcodiag.so.new" "$prefix/lib/libcodiag.so.$version"
    ln -sf "libcodiag.so.$version" "$prefix/lib/libcodiag.so.$abi"
    ln -sf "libcodiag.so.$abi" "$prefix/lib/libcodiag.so"
    ;;
esac
cat > "$prefix/lib/pkgconfig/codiag.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: codiag
Description: Joint diagonalization of symmetric and Hermitian matrices
URL: https://github.com/codiag/codiag
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lcodiag
Libs.private: $system
END
echo "$prefix: include/codiag.h, lib/libcodiag (shared and static), lib/pkgconfig/codiag.pc"
