// Functions for kernel `custom`, the only kernel whose runs can fail, because it runs code of a
// plug-in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/calls/custom.h"
#include "kernels/kernel.h"
#include "plugins/record.h"

namespace poprt::kernels {

// Returns and clears the error of the runs of a prepared `custom` since the last call. `params` are
// Plan::params of that kernel.
std::optional<Error> take_custom_failure(const void* params);

calls::Custom custom_call(const plugins::Record& record, size_t outputs);
plugins::Record custom_record(const Call& call);

// The cost of one run on a chip according to the operator. Zeros if the operator does not state it.
poprt_op_cost custom_cost(const Call& call);

}  // namespace poprt::kernels
