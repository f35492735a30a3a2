// unblock (calls/unblock.h).
#include "kernels/calls/unblock.h"
#include "kernels/common/layout.h"

namespace poprt::kernels::unblock_kernel {
namespace {

Plan prepare(const Call& call) {
  const auto [n, channels, pixels] = calls::decode<calls::Unblock>(call);
  return prepare_layout("unblock", call, n, channels, pixels, false);
}

}  // namespace

extern const Kernel def;
const Kernel def = {"unblock", prepare};

}  // namespace poprt::kernels::unblock_kernel
