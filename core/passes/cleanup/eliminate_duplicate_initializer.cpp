#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Value;

uint64_t hash_of(const Tensor& t) {  // FNV-1a over words
  uint64_t h = 1469598103934665603u;
  const auto* bytes = static_cast<const unsigned char*>(t.data());
  uint64_t i = 0;
  for (; i + 8 <= t.bytes(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 29;
  }
  for (; i < t.bytes(); i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    std::map<std::tuple<DType, Shape, uint64_t>, std::vector<Value*>> known;
    for (Value* v : g.values()) {
      if (!v->is_constant() || v->dtype() == DType::string || g.is_input(v)) continue;
      const Tensor& t = v->constant();
      std::vector<Value*>& same = known[{t.dtype(), t.shape(), hash_of(t)}];
      const auto it = std::find_if(same.begin(), same.end(),
                                   [&](const Value* o) { return o->constant().same_as(t); });
      if (it == same.end()) {
        same.push_back(v);
      } else if (!g.is_output(v) && is_used(v) && context.allow()) {
        g.replace_all_uses(v, *it);
        g.erase_value(v);
      }
    }
  });
}

}  // namespace

extern const PassDef eliminate_duplicate_initializer_pass;
const PassDef eliminate_duplicate_initializer_pass = {
    .name = "eliminate_duplicate_initializer", .summary = "shares equal constants", .run = run};

}  // namespace poprt::passes
