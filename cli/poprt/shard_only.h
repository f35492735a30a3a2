// Implements --only_manual_sharding.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

// Writes the model with the attributes of pass manual_sharding and otherwise unchanged.
void shard_only(const GivenOptions& given);

}  // namespace poprt::cli
