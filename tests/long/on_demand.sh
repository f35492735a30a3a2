#!/usr/bin/env bash
# random requests over 16 shapes that are compiled on demand, against runners of one shape
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${POPRT_BUILD:-build/release}
ninja -C "$build" capi_on_demand_test > /dev/null
POPRT_ON_DEMAND_REQUESTS=${1:-1000000} "$build/bin/capi_on_demand_test" --gtest_filter='*RandomRequests*'
