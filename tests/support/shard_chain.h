// A model of several IPUs that copies.
#pragma once

#include <memory>

#include "runtime/session/model.h"
#include "support/shard_program.h"

namespace poprt::test {

// y = x, and z = x, as shard_program().
inline std::shared_ptr<const runtime::Model> shard_chain(size_t ipus, bool pipelined,
                                                         const Shape& shape) {
  return runtime::make_model("chain", shard_program(ipus, pipelined, shape));
}

}  // namespace poprt::test
