#!/bin/sh
# Installs header, libraries, pkg-config and CMake files, and licenses under a prefix: install.sh
# PREFIX BUILT
# BUILT is the folder with the libraries built by cargo.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?usage: install.sh PREFIX BUILT}
built=${2:?usage: install.sh PREFIX BUILT}

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
abi=$(echo "$version" | sed 's/^0\.\([0-9]*\).*/0.\1/; s/^\([1-9][0-9]*\)\..*/\1/')
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/codiag" "$prefix/share/doc/codiag"
prefix=$(cd "$prefix" && pwd)
cp "$root/capi/include/codiag.h" "$prefix/include/"
cp "$root/LICENSE" "$root/THIRD-PARTY-LICENSES" "$prefix/share/doc/codiag/"
cp "$built/libcodiag_c.a" "$prefix/lib/libcodiag.a"
# System libraries that the static library needs.
system="m pthread dl"
case $(uname -s) in
Darwin)
    system="m"
    shared=libcodiag.$abi.dylib
    cp "$built/libcodiag_c.dylib" "$prefix/lib/$shared"
    ln -sf "$shared" "$prefix/lib/libcodiag.dylib"
    ;;
*)
    # Replaced by a rename, so that running programs keep the old file.
    shared=libcodiag.so.$version
    cp "$built/libcodiag_c.so" "$prefix/lib/libcodiag.so.new"
    mv "$prefix/lib/libcodiag.so.new" "$prefix/lib/$shared"
    ln -sf "$shared" "$prefix/lib/libcodiag.so.$abi"
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
Libs.private:$(printf ' -l%s' $system)
END

abi_pattern=$(echo "$abi" | sed 's/\./\\\\\\\\./g')
for name in codiag-config codiag-config-version; do
    sed -e "s/@VERSION@/$version/g; s/@ABI@/$abi/g; s/@ABI_PATTERN@/$abi_pattern/g" \
        -e "s/@SHARED@/$shared/g; s/@SYSTEM@/$(echo "$system" | tr ' ' ';')/g" \
        "$root/capi/cmake/$name.cmake.in" > "$prefix/lib/cmake/codiag/$name.cmake"
done
echo "$prefix: include/codiag.h, lib/libcodiag (shared and static), lib/pkgconfig/codiag.pc, lib/cmake/codiag"
