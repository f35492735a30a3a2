// copy (calls/copy.h), in tasks of 256 KiB.
#include <algorithm>
#include <cstring>

#include "kernels/calls/copy.h"
#include "kernels/kernel.h"

namespace poprt::kernels::copy_kernel {
namespace {

constexpr int64_t kBlock = 256 << 10;

struct Params {
  int64_t bytes;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t from = begin * kBlock, to = std::min(end * kBlock, p.bytes);
  // A caller may give an input and an output the same memory (program/aliases.h).
  if (from < to && data[0] != data[1])
    std::memcpy(static_cast<std::byte*>(data[1]) + from,
                static_cast<const std::byte*>(data[0]) + from, static_cast<size_t>(to - from));
}

Plan prepare(const Call& call) {
  calls::decode<calls::Copy>(call);
  expect(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present, "copy",
         "expected operands from, to");
  const Operand &from = call.operands[0], &to = call.operands[1];
  const uint64_t bytes = dtype_bytes(from.dtype, element_count(from.shape));
  expect(bytes == dtype_bytes(to.dtype, element_count(to.shape)), "copy", "sizes differ");
  Plan plan;
  plan.run = run;
  plan.params = std::make_shared<Params>(static_cast<int64_t>(bytes));
  plan.tasks = std::max<int64_t>(1, (static_cast<int64_t>(bytes) + kBlock - 1) / kBlock);
  plan.work = static_cast<double>(bytes) / 10.0;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"copy", prepare};

}  // namespace poprt::kernels::copy_kernel
