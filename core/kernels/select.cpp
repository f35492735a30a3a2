// select (calls/select.h), in tasks of 256 KiB.
#include <algorithm>
#include <cstring>

#include "kernels/calls/select.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::select_kernel {
namespace {

constexpr int64_t kBlock = 256 << 10;

struct Params {
  int64_t bytes;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const void* x = *static_cast<const uint8_t*>(data[0]) != 0 ? data[1] : data[2];
  const int64_t from = begin * kBlock, to = std::min(end * kBlock, p.bytes);
  if (from < to)
    std::memcpy(static_cast<std::byte*>(data[3]) + from, static_cast<const std::byte*>(x) + from,
                static_cast<size_t>(to - from));
}

Plan prepare(const Call& call) {
  calls::decode<calls::Select>(call);
  const Operands r("select", call, 4);
  r.needs(0, DType::boolean, {1});
  const auto bytes = [&](size_t i) {
    const Operand& o = call.operands[i];
    r.check(o.present, "an operand is missing");
    return dtype_bytes(o.dtype, element_count(o.shape));
  };
  r.check(bytes(1) == bytes(3) && bytes(2) == bytes(3), "sizes differ");
  Plan plan;
  plan.run = run;
  plan.params = std::make_shared<Params>(static_cast<int64_t>(bytes(3)));
  plan.tasks = std::max<int64_t>(1, (static_cast<int64_t>(bytes(3)) + kBlock - 1) / kBlock);
  plan.work = static_cast<double>(bytes(3)) / 10.0;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"select", prepare};

}  // namespace poprt::kernels::select_kernel
