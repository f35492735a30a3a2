// Replaces elementwise operators between one tensor of bytes and a QuantizeLinear by one
// poprt.ByteMap. Any function of one byte is a table of 256 bytes. The usual cases are x *
// sigmoid(x) between quantisations, and a change of scale.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "ops/common/elementwise_program.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::byte_maps_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kBytes = 256;
constexpr size_t kMostNodes = 64;  // nodes of the longest chain

bool is_byte(const Value* v) { return v->dtype() == DType::u8 || v->dtype() == DType::s8; }

bool is_one_number(const Value* v) { return v->is_constant() && v->constant().count() == 1; }

// Returns the tensor of bytes that `v` is computed from.
Value* origin_of(Value* v) {
  while (const Node* map = ir::producer_if(v, "ByteMap", "poprt")) v = map->input(0);
  return v;
}

// The elementwise nodes between one tensor of bytes and a QuantizeLinear, in topological order.
class Chain {
 public:
  // Returns nothing if the chain starts at more than one such tensor.
  static std::optional<Chain> ending_at(Node& quantize) {
    Chain chain;
    if (!quantize.output()->type.is_static() || !is_byte(quantize.output()) ||
        !chain.add(quantize) || !chain.origin_)
      return std::nullopt;
    return chain;
  }

  Value* origin() const { return origin_; }

  // The result for each of the 256 bytes.
  Tensor table() const {
    Graph scratch;
    for (const Graph* g = &origin_->graph(); g; g = g->parent)
      scratch.opsets.insert(g->opsets.begin(), g->opsets.end());
    std::unordered_map<const Value*, Tensor> known = {{origin_, all_bytes(origin_->dtype())}};
    for (const Node* n : nodes_) known[n->output()] = results_of(scratch, *n, known);
    return known.at(nodes_.back()->output()).reshaped({kBytes});
  }

 private:
  // All 256 bytes as a matrix, so that a per-tensor scale with the usual axis 1 is valid.
  static Tensor all_bytes(DType dtype) {
    Tensor all = Tensor::zeros(dtype, {1, kBytes});
    auto* bytes = static_cast<uint8_t*>(all.mutable_data());
    for (size_t i = 0; i < kBytes; i++) bytes[i] = static_cast<uint8_t>(i);
    return all;
  }

  // Recursive calls are limited by kMostNodes: each node is counted before its operands are added.
  bool add(Node& n) {
    if (is_added(n)) return true;
    const bool is_map = n.is("ByteMap", "poprt");
    if (begun_ >= kMostNodes || (!is_map && !ops::is_fusable_elementwise(n))) return false;
    begun_++;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      Value* v = n.input(i);
      if (!v || is_one_number(v) || (is_map && i == 1)) continue;
      if (v->is_constant() || !v->type.is_static() || v->shape() != n.output()->shape() ||
          &v->graph() != &n.graph() || !add_value(*v))
        return false;
    }
    nodes_.push_back(&n);
    return true;
  }

  bool add_value(Value& v) {
    Node* n = v.producer();
    if (!is_byte(&v)) return n && add(*n);
    Value* origin = origin_of(&v);
    if (origin_ && origin_ != origin) return false;
    origin_ = origin;
    return origin == &v || add(*n);
  }

  bool is_added(const Node& n) const {
    return std::find(nodes_.begin(), nodes_.end(), &n) != nodes_.end();
  }

  static Tensor results_of(Graph& scratch, const Node& n,
                           const std::unordered_map<const Value*, Tensor>& known) {
    std::vector<Tensor> operands;
    std::vector<Value*> inputs;
    for (const Value* v : n.inputs()) {
      const auto it = v ? known.find(v) : known.end();
      operands.push_back(!v                           ? Tensor()
                         : it != known.end()          ? it->second
                         : v->constant().count() == 1 ? v->constant().reshaped({})
                                                      : v->constant());
      inputs.push_back(v ? scratch.add_constant(v->name(), operands.back()) : nullptr);
    }
    Node* copy = scratch.add_node(n.op_type, n.domain, inputs, 1);
    copy->name = n.name;
    copy->attributes = n.attributes;
    copy->attributes.erase("axis");  // has no meaning for scales of one element
    ops::infer(*copy);
    return ops::evaluate(*copy, operands)[0];
  }

  Value* origin_ = nullptr;
  std::vector<Node*> nodes_;
  size_t begun_ = 0;  // nodes that are in nodes_ or whose operands are being added
};

bool is_identity(const Tensor& table) {
  const auto* bytes = static_cast<const uint8_t*>(table.data());
  for (size_t i = 0; i < kBytes; i++)
    if (bytes[i] != i) return false;
  return true;
}

void rewrite(Node& q, PassContext& context) {
  if (!q.is("QuantizeLinear")) return;
  const auto chain = Chain::ending_at(q);
  if (!chain || !context.allow()) return;
  Value* x = chain->origin();
  const Tensor table = chain->table();
  if (x->dtype() == q.output()->dtype() && is_identity(table) && can_bypass(q.output(), x)) {
    bypass(q.output(), x);
    return;
  }
  Value* t = q.graph().add_constant(q.output()->name() + "_table", table);
  replace_node(q, insert_node(q, "ByteMap", "poprt", {x, t})->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) { rewrite(n, context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "byte_maps",
    .summary = "replaces elementwise operators between two quantisations by a table of bytes",
    .condition = "the result depends on one tensor of bytes and scalar constants",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::byte_maps_pass
