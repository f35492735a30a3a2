#include <algorithm>
#include <cstring>

#include "passes/common/build.h"

namespace poprt::passes::fold_periodic_initializer_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr uint64_t kLeastSaved = 1024;  // bytes that an added Tile must save

// Whether a tensor consists of `times` copies of its first part along the axis.
bool repeats(const Tensor& t, int64_t axis, int64_t times) {
  uint64_t inner = dtype_bytes(t.dtype(), 1), outer = 1;
  const Shape& s = t.shape();
  for (size_t i = 0; i < s.size(); i++)
    (static_cast<int64_t>(i) < axis ? outer : inner) *= static_cast<uint64_t>(s[i]);
  const uint64_t period = inner / static_cast<uint64_t>(times);
  const auto* bytes = static_cast<const char*>(t.data());
  for (uint64_t i = 0; i < outer; i++, bytes += inner)
    if (std::memcmp(bytes, bytes + period, inner - period) != 0) return false;
  return true;
}

// The largest number of copies of its first part that the tensor consists of along the axis.
int64_t repeats_of(const Tensor& t, int64_t axis) {
  const int64_t size = t.shape()[static_cast<size_t>(axis)];
  for (int64_t period = 1; period <= size / 2; period++)
    if (size % period == 0 && repeats(t, axis, size / period)) return size / period;
  return 1;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    for (Value* v : g.values()) {
      if (!v->is_constant() || v->dtype() == DType::string || dtype_bits(v->dtype()) < 8 ||
          v->constant().bytes() < kLeastSaved || g.is_input(v) || v->uses().empty())
        continue;
      Tensor block = v->constant();
      std::vector<int64_t> times(block.shape().size(), 1);
      for (size_t i = 0; i < times.size(); i++) {
        const auto axis = static_cast<int64_t>(i);
        times[i] = repeats_of(block, axis);
        block = slice_of(block, axis, 0, block.shape()[i] / times[i]);
      }
      if (v->constant().bytes() - block.bytes() < kLeastSaved || !context.allow()) continue;
      const std::string name = v->name();
      Value* small = g.add_constant(name + "_period", block);
      const std::vector<Node*> nodes = g.nodes();
      Node* tile = g.add_node("Tile", "", {small, add_ints(g, name + "_repeats", times)}, 1,
                              nodes.empty() ? nullptr : nodes.front());
      tile->output()->type = v->type;
      g.replace_all_uses(v, tile->output());
      g.erase_value(v);
      g.rename(tile->output(), name);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fold_periodic_initializer",
                     .summary = "stores one period of a periodic constant and repeats it with Tile",
                     .condition = "the period divides an axis and at least 1024 bytes are saved",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fold_periodic_initializer_pass
