#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/work.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::eliminate_duplicate_initializer_pass {
namespace {

using ir::Graph;
using ir::Value;

// Large tensors are hashed in pieces, so that the pages of a mapped file are not all read.
constexpr size_t kWhole = 4096;  // up to this size, in bytes, all of a tensor is hashed
constexpr size_t kPiece = 64;
constexpr size_t kPieces = 6;

size_t hash_of(const Tensor& t) {
  const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
  const std::hash<std::string_view> hash;
  size_t h = static_cast<size_t>(t.dtype());
  const auto mix = [&](size_t more) { h = (h ^ more) * 0x9e3779b97f4a7c15u; };
  for (const int64_t d : t.shape()) mix(static_cast<size_t>(d));
  if (bytes.size() <= kWhole) {
    mix(hash(bytes));
  } else {
    for (size_t i = 0; i < kPieces; i++)
      mix(hash(bytes.substr((bytes.size() - kPiece) / (kPieces - 1) * i, kPiece)));
  }
  return h;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    std::unordered_map<size_t, std::vector<Value*>> known;
    for (Value* v : g.values()) {
      if (!v->is_constant() || v->dtype() == DType::string || g.is_input(v)) continue;
      const Tensor& t = v->constant();
      std::vector<Value*>& same = known[hash_of(t)];
      const auto it = std::find_if(same.begin(), same.end(), [&](const Value* o) {
        ir::count_work(1);
        return o->constant().same_as(t);
      });
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

extern const PassDef def;
const PassDef def = {.name = "eliminate_duplicate_initializer",
                     .summary = "shares equal constants",
                     .condition = "constants of equal type, shape and bytes",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_duplicate_initializer_pass
