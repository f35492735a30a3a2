// block (calls/block.h).
#include "kernels/calls/block.h"
#include "kernels/common/layout.h"

namespace poprt::kernels {
namespace {

Plan prepare(const Call& call) {
  const auto [n, channels, pixels] = calls::decode<calls::Block>(call);
  return prepare_layout("block", call, n, channels, pixels, true);
}

}  // namespace

extern const Kernel block_kernel;
const Kernel block_kernel = {"block", prepare};

}  // namespace poprt::kernels
