// shift (calls/shift.h). A task is one index of outer.
#include <cstring>

#include "kernels/calls/shift.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::shift_kernel {
namespace {

constexpr std::string_view kName = "shift";

struct Params {
  int64_t slots, outer, length, added;  // the last two in bytes
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int32_t step = *static_cast<const int32_t*>(data[0]);
  const int64_t slot = (step % p.slots + p.slots) % p.slots;
  const auto bytes = [](int64_t n) { return static_cast<size_t>(n); };
  for (int64_t t = begin; t < end; t++) {
    const auto state = [&](int64_t s) {
      return static_cast<std::byte*>(data[2]) + (s * p.outer + t) * p.length;
    };
    if (step == 0)
      for (int64_t s = 0; s < p.slots; s++) std::memset(state(s), 0, bytes(p.length));
    std::byte* here = state(slot);
    std::memmove(here + p.added, here, bytes(p.length - p.added));
    std::memcpy(here, static_cast<const std::byte*>(data[1]) + t * p.added, bytes(p.added));
    if (data[3])
      std::memcpy(static_cast<std::byte*>(data[3]) + t * p.length, here, bytes(p.length));
  }
}

Plan prepare(const Call& call) {
  const auto [slots, outer, length, added, inner] = calls::decode<calls::Shift>(call);
  const Operands r(kName, call, 4);
  r.needs(0, DType::s32, {1});
  const DType t = r.dtype(1);
  r.needs(1, t, {outer, added, inner});
  r.needs(2, t, {slots, outer, length, inner});
  r.needs_if_present(3, t, {outer, length, inner});
  const int64_t size = element_size(t, kName);
  Plan plan;
  plan.run = run;
  plan.outputs = 2;
  plan.params =
      std::make_shared<Params>(Params{slots, outer, length * inner * size, added * inner * size});
  plan.tasks = length * inner == 0 ? 0 : outer;
  plan.work = static_cast<double>(outer * length * inner * size) / 8.0;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::shift_kernel
