#!/usr/bin/env bash
# preset gcc: all of poprt and its tests with GCC 12, without unity builds and precompiled headers
set -euo pipefail
cd "$(dirname "$0")/../.."
# Arguments are those of ctest, for example -R '^capi'. A complete build takes about an hour of two processors.
cmake --preset gcc
cmake --build --preset gcc -j "${POPRT_JOBS:-$(nproc)}"
exec ctest --preset gcc -j "${POPRT_JOBS:-$(nproc)}" "$@"
