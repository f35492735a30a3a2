// check_index (calls/check_index.h). One task.
#include "kernels/calls/check_index.h"

#include <algorithm>

#include "kernels/common/elements.h"
#include "kernels/common/operands.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::check_index_kernel {
namespace {

// The name of each calls::Fitting in an error.
constexpr std::string_view kFittingNames[] = {"index", "k", "number of rows", "start", "seqlens_k"};

struct Params : calls::CheckIndex {
  int64_t elements = 0;
  bool wide = true;
  Outside outside;

  explicit Params(const calls::CheckIndex& c)
      : calls::CheckIndex(c),
        outside(kFittingNames[static_cast<size_t>(c.what)], c.what == calls::Fitting::index) {
    outside.wanted = c.checked;
  }

  // The number of element i of the padded tensor if only the first `count` of each `places` remain.
  int64_t real_place(int64_t i, int64_t count) const {
    return i / (places * inner) * count * inner + i % (places * inner);
  }
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  if (begin == end) return;
  const auto& p = *static_cast<const Params*>(params);
  const int64_t size = std::clamp<int64_t>(load_index(data[1], true, 0), 0, calls::kMostSize);
  const int64_t count =
      data[2] ? std::clamp<int64_t>(load_index(data[2], true, 0), 0, p.places) : p.places;
  const bool is_index = p.what == calls::Fitting::index;
  auto* to = static_cast<int64_t*>(data[3]);
  for (int64_t i = 0; i < p.elements; i++) {
    if (i / p.inner % p.places >= count) {
      to[i] = 0;
      continue;
    }
    const int64_t number = load_index(data[0], p.wide, i);
    to[i] = number;
    if (i % p.depth != p.component) continue;
    if (is_index && number < 0 && number >= -size)
      to[i] = number + size;
    else if (number < 0 || number > size - is_index) [[unlikely]] {
      to[i] = is_index ? p.invalid : std::clamp<int64_t>(number, 0, size);
      p.outside.found(p.real_place(i, count), number, size + !is_index);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("check_index", call, 4);
  auto p = std::make_shared<Params>(calls::decode<calls::CheckIndex>(call));
  r.check(r.has(0) && is_index(r.dtype(0)), "the numbers must be s32 or s64");
  p->elements = element_count(call.operands[0].shape);
  p->wide = r.dtype(0) == DType::s64;
  r.check(checked_mul(p->places, p->inner) <= calls::kMostSize, "the places are too many");
  r.needs(0, r.dtype(0), {p->elements});
  r.needs(1, DType::s64, {1});
  r.needs_if_present(2, DType::s64, {1});
  r.needs(3, DType::s64, {p->elements});
  Plan plan;
  plan.run = run;
  plan.work = 4 * static_cast<double>(p->elements);
  plan.take_failure = p->checked ? Outside::take_of<Params> : nullptr;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"check_index", prepare};

}  // namespace poprt::kernels::check_index_kernel
