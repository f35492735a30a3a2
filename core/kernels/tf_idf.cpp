// tf_idf (calls/tf_idf.h). A task is one row.
#include <algorithm>
#include <vector>

#include "kernels/calls/tf_idf.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::tf_idf_kernel {
namespace {

struct Length {
  int64_t first = 0;           // where these grams begin in the pool
  int64_t gram = 0;            // number of the first gram
  std::vector<int64_t> order;  // grams of this length, sorted
  // A slot of a hash table with open addressing: maps the first element of a gram to the range of
  // grams that start with it in `order`.
  struct Slot {
    int64_t key = 0, begin = 0, end = 0;
  };
  std::vector<Slot> table;  // size is a power of two, at most half full; begin == end: unused
  Slot find(int64_t key) const noexcept {
    const size_t mask = table.size() - 1;
    for (size_t at = slot_of(key);; at++) {
      const Slot& slot = table[at & mask];
      if (slot.begin == slot.end || slot.key == key) return slot;
    }
  }
  static size_t slot_of(int64_t key) {
    return static_cast<size_t>((static_cast<uint64_t>(key) * 0x9e3779b97f4a7c15u) >> 20);
  }
  void make_table(const int64_t* pool, int64_t n) {
    size_t size = 2;
    while (size < 2 * order.size() + 2) size *= 2;
    table.assign(size, {});
    for (size_t i = 0; i < order.size();) {
      const int64_t key = pool[first + order[i] * n];
      size_t end = i;
      while (end < order.size() && pool[first + order[end] * n] == key) end++;
      size_t at = slot_of(key);
      while (table[at & (size - 1)].begin != table[at & (size - 1)].end) at++;
      table[at & (size - 1)] = {key, static_cast<int64_t>(i), static_cast<int64_t>(end)};
      i = end;
    }
  }
};

using calls::TfIdfMode;

struct Params : calls::TfIdf {
  bool wide = false;  // x is s64
  std::vector<Length> lengths;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t row = begin; row < end; row++) {
    float* y = static_cast<float*>(data[1]) + row * p.results;
    std::fill(y, y + p.results, 0.0f);
    for (int64_t n = p.min; n <= p.max; n++) {
      const Length& length = p.lengths[static_cast<size_t>(n - 1)];
      for (int64_t step = 1; step <= (n == 1 ? 1 : p.skips + 1); step++)
        for (int64_t i = 0; i + (n - 1) * step < p.columns; i++) {
          const auto compare = [&](int64_t gram) {
            for (int64_t k = 1; k < n; k++) {  // the first is equal in all grams of the slot
              const int64_t v = load_index(data[0], p.wide, row * p.columns + i + k * step);
              const int64_t w = p.pool[static_cast<size_t>(length.first + gram * n + k)];
              if (v != w) return w < v ? -1 : 1;
            }
            return 0;
          };
          const Length::Slot slot = length.find(load_index(data[0], p.wide, row * p.columns + i));
          if (slot.begin == slot.end) continue;
          const auto last = length.order.begin() + slot.end;
          const auto at = std::partition_point(length.order.begin() + slot.begin, last,
                                               [&](int64_t gram) { return compare(gram) < 0; });
          if (at == last || compare(*at) != 0) continue;
          const auto gram = static_cast<size_t>(length.gram + *at);
          float& to = y[p.index[gram]];
          const float weight = p.weights.empty() ? 1.0f : p.weights[gram];
          if (p.mode == TfIdfMode::idf)
            to = weight;
          else
            to += p.mode == TfIdfMode::tf ? 1.0f : weight;
        }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("tf_idf", call, 2);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::TfIdf>(call)});
  const int64_t rows = p->rows;
  p->wide = r.dtype(0) == DType::s64;
  const size_t sizes = p->starts.size(), grams = p->index.size();
  const auto pool = static_cast<int64_t>(p->pool.size());
  int64_t gram = 0;
  for (size_t s = 0; s < sizes; s++) {
    const auto n = static_cast<int64_t>(s + 1);
    const int64_t first = p->starts[s], last = s + 1 < sizes ? p->starts[s + 1] : pool;
    r.check(first <= last && last <= pool && (last - first) % n == 0,
            "starts in the pool are out of range");
    Length length;
    length.first = first;
    length.gram = gram;
    for (int64_t g = 0; g < (last - first) / n; g++) length.order.push_back(g);
    const auto at = [&](int64_t g) { return p->pool.begin() + first + g * n; };
    std::sort(length.order.begin(), length.order.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(at(a), at(a) + n, at(b), at(b) + n);
    });
    length.make_table(p->pool.data(), n);
    gram += (last - first) / n;
    p->lengths.push_back(std::move(length));
  }
  r.check(gram == static_cast<int64_t>(grams), "index has another number of grams than the pool");
  r.needs(0, p->wide ? DType::s64 : DType::s32, {rows, p->columns});
  r.needs(1, DType::f32, {rows, p->results});
  Plan plan;
  plan.run = run;
  plan.tasks = p->results ? rows : 0;
  plan.work = static_cast<double>(rows) * static_cast<double>(p->columns * p->max) * 10;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"tf_idf", prepare};

}  // namespace poprt::kernels::tf_idf_kernel
