// block (calls/block.h).
#include "kernels/calls/block.h"
#include "kernels/common/layout.h"

namespace poprt::kernels::block_kernel {
namespace {

Plan prepare(const Call& call) {
  const auto [n, channels, pixels] = calls::decode<calls::Block>(call);
  return prepare_layout("block", call, n, channels, pixels, true);
}

}  // namespace

extern const Kernel def;
const Kernel def = {"block", prepare};

}  // namespace poprt::kernels::block_kernel
