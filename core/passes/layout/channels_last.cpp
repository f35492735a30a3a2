// Moves quantised convolutions and the nodes between them to channels last, [N, spatial..., C]. The
// bytes of a pixel are then consecutive, and the kernel multiplies four of them at a time.
//
// The pass walks the graph once. QLinearConv, if the kernel supports it, and MaxPool of bytes with
// many channels get their input in that layout. Elementwise operators, Concat, other MaxPool of
// bytes and GlobalAveragePool are converted if their input already has it. Each converted node gets
// a twin. If an unconverted node or a graph output still reads the old value, one Transpose
// computes it.
#include <algorithm>
#include <unordered_map>

#include "ops/axes.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/quantized_conv.h"
#include "ops/common/window.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::channels_last_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kChannels = 1;  // the axis of the channels of an image before this pass

std::vector<int64_t> to_last(size_t rank) {
  std::vector<int64_t> perm = {0};
  for (size_t d = 2; d < rank; d++) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(1);
  return perm;
}
std::vector<int64_t> to_first(size_t rank) {
  std::vector<int64_t> perm = {0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; d++) perm.push_back(static_cast<int64_t>(d));
  return perm;
}

class Layout {
 public:
  Layout(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node* n : graph_.nodes()) {
      if (n->outputs().empty() || !n->output()->type.is_static() || !should_convert(*n) ||
          !context_.allow())
        continue;
      if (n->is("GlobalAveragePool")) {
        // restore() finds later whether the input of the node still has a reader.
        graph_.replace_all_uses(n->output(), average(*n));
        graph_.erase_node(n);
        continue;
      }
      Node* twin = convert(*n);
      twin->name = n->name;
      ops::infer(*twin);
      twins_[n->output()] = twin->output();
      converted_.push_back({n, twin});
    }
    // Readers come first, so that the remaining readers of a node are those that were not
    // converted.
    for (auto it = converted_.rbegin(); it != converted_.rend(); ++it) restore(*it);
  }

 private:
  struct Pair {
    Node *old_node, *twin;
  };

  bool has_twin(const Value* v) const { return v && twins_.contains(v); }

  bool should_convert(const Node& n) const {
    if (n.is("QLinearConv")) return ops::channels_last_conv_fits(n, false);
    if (n.is("Concat")) return concat_fits(n);
    if (n.is("GlobalAveragePool")) return average_fits(n);
    if (n.is("MaxPool")) return pool_fits(n);
    return elementwise_fits(n);
  }

  bool concat_fits(const Node& n) const {
    const ops::AxisMap map = ops::axis_map(n);
    for (size_t i = 0; i < n.inputs().size(); i++)
      if (!has_twin(n.input(i)) || ops::first_changed(map, i) != kChannels) return false;
    return true;
  }

  bool pool_fits(const Node& n) const {
    // The kernel for channels first reads one byte at a time, so moving the bytes twice is faster.
    constexpr int64_t kWorthMoving = 16;
    const Value* x = n.input(0);
    if (!x || !x->type.is_static() || x->shape().size() < 3 || x->shape().size() > 5 ||
        !is_byte(x->dtype()) || n.outputs().size() != 1 || n.opset() < 12 ||
        (!has_twin(x) && x->shape()[kChannels] < kWorthMoving) ||
        element_count(n.output()->shape()) == 0 || n.int_attr("storage_order", 0) != 0)
      return false;
    const auto pads = ops::window_of(n, {x->shape().begin() + 2, x->shape().end()});
    const auto none_negative = [](const std::vector<int64_t>& v) {
      return std::all_of(v.begin(), v.end(), [](int64_t p) { return p >= 0; });
    };
    return none_negative(pads.pads_begin) && none_negative(pads.pads_end);
  }

  // Whether the node averages bytes, whose sum is exact.
  bool average_fits(const Node& n) const {
    const Node* d = ir::producer_if(n.input(0), "DequantizeLinear");
    if (!d || !has_twin(d->input(0)) || n.input(0)->dtype() != DType::f32) return false;
    const Shape& s = d->input(0)->shape();
    const int64_t pixels = element_count(std::span(s).subspan(2));
    return ir::const_scalar(d->input(1)) && (!d->input(2) || ir::const_scalar(d->input(2))) &&
           pixels > 0 && pixels <= (1 << 23);
  }

  // Whether a constant can be combined with an operand in channels last: it has one element, or one
  // per channel.
  static bool constant_fits(const ops::AxisMap& map, const Node& n, size_t i) {
    const Value& v = *n.input(i);
    if (v.constant().count() == 1) return v.shape().size() <= n.output()->shape().size();
    return ops::varying_axis(map, i) == kChannels;
  }

  // Max or Min of bytes and one constant, which qdq_products creates.
  static bool bounds_bytes(const Node& n) {
    return (n.is("Max") || n.is("Min")) && n.inputs().size() == 2 && n.input(0) && n.input(1) &&
           is_byte(n.output()->dtype()) && ir::const_scalar(n.input(1)).has_value();
  }

  bool elementwise_fits(const Node& n) const {
    if (n.outputs().size() != 1 || !(ops::is_fusable_elementwise(n) || bounds_bytes(n)))
      return false;
    const Shape& out = n.output()->shape();
    if (out.size() < 3) return false;  // not an image
    const ops::AxisMap map = ops::axis_map(n);
    bool any = false;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const Value* v = n.input(i);
      if (!v) continue;
      const bool follows = has_twin(v) && v->shape().size() == out.size();
      if (!follows && !(v->is_constant() && constant_fits(map, n, i))) return false;
      any |= follows && v->shape() == out;
    }
    return any;
  }

  // Returns the value in channels last. If there is none, a Transpose is added before `before`.
  Value* get(Value* v, Node& before) {
    if (const auto it = twins_.find(v); it != twins_.end()) return it->second;
    Node* t = graph_.add_node("Transpose", "", {v}, 1, &before);
    t->attributes["perm"] = to_last(v->shape().size());
    ops::infer(*t);
    return twins_[v] = t->output();
  }

  Value* get_operand(Value* v, const Shape& out, Node& before) {
    if (!v) return nullptr;
    if (!v->is_constant()) return get(v, before);
    const Tensor& t = v->constant();
    if (t.count() == 1) return v;
    return graph_.add_constant(v->name() + "_last", t.reshaped({out[1]}));
  }

  Node* convert(Node& n) {
    const Shape& out = n.output()->shape();
    std::vector<Value*> ins(n.inputs().begin(), n.inputs().end());
    if (n.is("QLinearConv") || n.is("MaxPool")) {
      const bool pool = n.is("MaxPool");
      ins[0] = get(n.input(0), n);
      Node* twin = graph_.add_node(pool ? "NhwcMaxPool" : "QLinearConv",
                                   pool ? "com.microsoft" : "poprt", ins, 1, &n);
      if (pool) outermost().opsets.emplace("com.microsoft", 1);
      twin->attributes = n.attributes;
      return twin;
    }
    for (Value*& v : ins) v = get_operand(v, out, n);
    Node* twin = graph_.add_node(n.op_type, n.domain, ins, 1, &n);
    twin->attributes = n.attributes;
    if (n.is("Concat")) twin->attributes["axis"] = static_cast<int64_t>(out.size()) - 1;
    return twin;
  }

  Graph& outermost() {
    Graph* g = &graph_;
    while (g->parent) g = g->parent;
    return *g;
  }

  // Computes (sum of the bytes - pixels * zero) * scale / pixels.
  Value* average(Node& n) {
    const Node& d = *n.input(0)->producer();
    const Shape& x = d.input(0)->shape();
    const int64_t pixels = element_count(std::span(x).subspan(2));
    const double zero = d.input(2) ? *ir::const_scalar(d.input(2)) : 0;
    const std::string name = n.output()->name();
    const auto reshaped = [&](Value* v, const std::vector<int64_t>& to, const char* part) {
      return insert_node(n, "Reshape", "", {v, add_ints(graph_, name + part, to)})->output();
    };
    const auto number = [&](const char* part, double v) {
      return add_scalar(graph_, name + part, DType::f32, v);
    };
    Value* bytes = reshaped(twins_.at(d.input(0)), {x[0], pixels, x[1]}, "_pixels");
    Value* sums = insert_node(n, "SumBytes", "poprt", {bytes})->output();
    Value* real = insert_node(n, "Cast", "", {sums}, {{"to", int64_t{1}}})->output();
    real = insert_node(n, "Sub", "", {real, number("_zero", zero * static_cast<double>(pixels))})
               ->output();
    real =
        insert_node(
            n, "Mul", "",
            {real, number("_scale", *ir::const_scalar(d.input(1)) / static_cast<double>(pixels))})
            ->output();
    return reshaped(real, n.output()->shape(), "_shape");
  }

  void restore(const Pair& pair) {
    Node* old_node = pair.old_node;
    Value* y = old_node->output();
    const bool used = !y->uses().empty() || graph_.is_output(y);
    // The bytes are transposed before they are dequantised, because they are smaller.
    if (used && old_node->is("DequantizeLinear")) {
      if (pair.twin->output()->uses().empty()) graph_.erase_node(pair.twin);
      return;
    }
    if (used) {
      Node* back = graph_.add_node("Transpose", "", {pair.twin->output()}, 1, old_node);
      back->attributes["perm"] = to_first(y->shape().size());
      back->output()->type = y->type;
      graph_.replace_all_uses(y, back->output());
    }
    graph_.erase_node(old_node);
  }

  Graph& graph_;
  PassContext& context_;
  std::unordered_map<const Value*, Value*> twins_;
  std::vector<Pair> converted_;
};

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) { Layout(g, context).run(); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "channels_last",
    .summary = "moves quantised convolutions and the nodes between them to channels last",
    .condition =
        "QLinearConv that the kernel for bytes supports, and the nodes before and after it",
    .numerics = Numerics::exact,
    .run = run,
};

}  // namespace poprt::passes::channels_last_pass
