#!/usr/bin/env bash
# preset arm64: the runtime for arm64 runs models of this machine under qemu-user; then the tests of core and C ABI, packages
set -euo pipefail
cd "$(dirname "$0")/../.."
# Needs the packages that cmake/toolchains/arm64.cmake names, qemu-user-static, and the commands of build/release (or POPRT_BUILD).
# With the argument digits, only the example of digits runs. POPRT_CROSS_ROOT is the folder of an unpacked toolchain, as for
# CMake, which tests/support/arm64_root makes; its programs find their libraries in it.
root=${POPRT_CROSS_ROOT:-}
build=${POPRT_BUILD:-build/release}
cross() { LD_LIBRARY_PATH=${root:+$root/usr/lib/$(uname -m)-linux-gnu} "$@"; }
qemu=${POPRT_QEMU:-$(command -v qemu-aarch64-static || command -v qemu-aarch64 || echo "$root/usr/bin/qemu-aarch64-static")}
cross cmake --preset arm64 ${root:+-DPOPRT_CROSS_ROOT=$root}
cross cmake --build --preset arm64 -j "${POPRT_JOBS:-$(nproc)}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cross clang-19 --target=aarch64-linux-gnu ${root:+--gcc-toolchain=$root/usr} -std=c11 -Icapi/include examples/c/digits.c \
  -o "$work/digits" -Lbuild/arm64/lib -lpoprt -lm
cat >"$work/run" <<SCRIPT
#!/bin/sh
exec $qemu -L $root/usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$PWD/build/arm64/lib $work/digits "\$@"
SCRIPT
chmod +x "$work/run"
for precision in fp32 fp16; do
  tests/examples/digits_test.sh "$build/bin/poprt" "$work/run" examples/digits "$precision"
done
if [[ ${1:-} != digits ]]; then
  cross cmake --preset arm64 -DPOPRT_TESTS=ON ${root:+-DPOPRT_CROSS_ROOT=$root}
  cross cmake --build --preset arm64-tests -j "${POPRT_JOBS:-$(nproc)}"
  cross ctest --preset arm64 -j "${POPRT_JOBS:-$(nproc)}"
  # Packages have the architecture and depend on the same packages as those of this machine, if they are built, too.
  cross cmake --build build/arm64 -j "${POPRT_JOBS:-$(nproc)}" --target deb
  depends() { dpkg-deb -f "$1" Depends | sed -E 's/ \([^)]*\)//g; s/, /\n/g' | sort; }
  for package in build/arm64/packages/deb/*.deb; do
    [ "$(dpkg-deb -f "$package" Architecture)" = arm64 ]
    own=$build/packages/deb/$(basename "$package" _arm64.deb)_$(dpkg --print-architecture).deb
    [ ! -e "$own" ] || diff <(depends "$own") <(depends "$package")
  done
fi
