// store_slice (calls/store_slice.h). One task.
#include <cstring>

#include "kernels/calls/store_slice.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::store_slice_kernel {
namespace {

struct Params {
  int64_t bytes, count;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  if (begin == end) return;
  int64_t index;
  std::memcpy(&index, data[1], sizeof index);
  if (index < 0 || index >= p.count || p.bytes == 0) return;
  std::memcpy(static_cast<std::byte*>(data[2]) + index * p.bytes, data[0],
              static_cast<size_t>(p.bytes));
}

Plan prepare(const Call& call) {
  calls::decode<calls::StoreSlice>(call);
  const Operands r("store_slice", call, 3);
  r.needs(1, DType::s64, {1});
  const Operand &part = call.operands[0], &whole = call.operands[2];
  r.check(part.present && whole.present && part.dtype == whole.dtype, "dtypes differ");
  r.check(dtype_bits(part.dtype) % 8 == 0, "elements are smaller than a byte");
  r.check(!whole.shape.empty(), "the whole has no dimension");
  const int64_t count = whole.shape[0];
  const uint64_t bytes = dtype_bytes(part.dtype, element_count(part.shape));
  r.check(checked_mul<uint64_t>(bytes, static_cast<uint64_t>(count)) <= whole.bytes,
          "the part has another size than a slice of the whole");
  Plan plan;
  plan.run = run;
  plan.params = std::make_shared<Params>(static_cast<int64_t>(bytes), count);
  plan.work = static_cast<double>(bytes) / 10.0;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"store_slice", prepare};

}  // namespace poprt::kernels::store_slice_kernel
