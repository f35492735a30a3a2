#include "compiler/winograd_storage.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "ops/common/conv_kernel.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::compiler {
namespace {

struct Candidate {
  ir::Node* node;
  int64_t tiles;
  size_t place = 0;  // in the graph
  int64_t bytes;     // additional bytes of the transformed weights
};

// The convolution if its kernel is Winograd's for two dimensions and its weights are constant.
std::optional<Candidate> candidate_of(ir::Node& n) {
  if (!ops::facts_of(n).winograd || !n.input(1)->is_constant()) return std::nullopt;
  const ops::ConvKernel kernel = ops::conv_kernel_of(n);
  const auto* call = std::get_if<kernels::calls::ConvWinograd>(&kernel.call);
  if (!call || call->depth) return std::nullopt;
  const ops::ConvProblem p = ops::conv_problem(n);
  const int64_t tile = call->tile, positions = (tile + 2) * (tile + 2);
  const int64_t tiles =
      checked_mul(p.batch, ceil_div(p.axes[1].out, tile) * ceil_div(p.axes[2].out, tile), "tiles");
  const int64_t plain = kernel.packed_count() * dtype_bytes(DType::f32, 1);
  // Other readers of the weights need the plain form, too.
  const bool alone = n.input(1)->uses().size() == 1;
  return Candidate{&n, tiles, 0, plain / 9 * positions - (alone ? plain : 0)};
}

// The bytes of the constants of the outermost graph that have a reader.
int64_t constant_bytes(const ir::Graph& graph) {
  uint64_t all = 0;
  for (const ir::Value* v : graph.values())
    if (v->is_constant() && !v->uses().empty()) all += v->constant().bytes();
  return static_cast<int64_t>(all);
}

}  // namespace

void choose_transformed_weights(ir::Graph& graph) {
  int64_t most = constant_bytes(graph) / 4;
  std::vector<Candidate> candidates;
  passes::for_each_node(graph, [&](ir::Node& n) {
    if (auto c = candidate_of(n)) {
      c->place = candidates.size();
      candidates.push_back(*c);
    }
  });
  std::ranges::sort(candidates, {},
                    [](const Candidate& c) { return std::pair(-c.tiles, c.place); });
  for (const Candidate& c : candidates) {
    if (c.bytes > most) continue;
    most -= c.bytes;
    c.node->attributes[std::string(ops::kTransformedAttribute)] = int64_t{1};
  }
}

}  // namespace poprt::compiler
