#!/usr/bin/env bash
# random operations on the slots of a decoder, for each form of models, against a decoder without state
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${POPRT_BUILD:-build/release}
ninja -C "$build" test_generate > /dev/null
POPRT_SLOT_OPERATIONS=${1:-100000} "$build/bin/test_generate" --gtest_filter='*HoldTheirTextsAfterRandomOperations*'
