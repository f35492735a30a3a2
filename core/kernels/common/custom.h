// What is special about kernel `custom`, the only one whose runs can fail: its code is a plug-in's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/calls/custom.h"
#include "kernels/kernel.h"
#include "plugins/record.h"

namespace poprt::kernels {

// What went wrong in the runs of a prepared `custom` since this was asked last. `params` are
// Plan::params of that kernel.
std::optional<Error> take_custom_failure(const void* params);

calls::Custom custom_call(const plugins::Record& record, size_t outputs);
plugins::Record custom_record(const Call& call);

// The operator says what one run costs on a chip. Zeros: it does not.
poprt_op_cost custom_cost(const Call& call);

}  // namespace poprt::kernels
