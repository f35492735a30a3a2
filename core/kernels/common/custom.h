// Functions for kernel `custom`, which runs code of a plug-in.
#pragma once

#include <string>
#include <string_view>

#include "kernels/calls/custom.h"
#include "kernels/kernel.h"
#include "plugins/record.h"

namespace poprt::kernels {

calls::Custom custom_call(const plugins::Record& record, size_t outputs);
// The inverse of custom_call(). Throws invalid_argument for an invalid call.
plugins::Record custom_record(const Call& call);

// The cost of one run on a chip according to the operator. Zeros if the operator does not state it.
// Throws as prepare() of the kernel, because it prepares the operator.
poprt_op_cost custom_cost(const Call& call);

}  // namespace poprt::kernels
