// Moves convolutional parts of a graph to the channel-blocked layout [N, ceil(C/16), H, W, 16].
//
// One-dimensional values are images of one row. The slices of three-dimensional values are
// concatenated as rows: [N, C, D, H, W] becomes [N, ceil(C/16), D*H, W, 16].
//
// The pass walks the graph once. Convolutions get a blocked input, except a Conv of one group that
// reads a plain value of fewer than 16 channels. Pooling, elementwise operators, Concat and Resize
// are converted if an input is already blocked. Each converted node gets a twin on blocked values.
// If a plain node or a graph output still reads the old value, one Unblock computes it.
#include <string_view>
#include <unordered_map>

#include "ops/axes.h"
#include "ops/common/conv_kernel.h"
#include "ops/common/conv_transpose.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::blocked_layout_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kLanes = 16;
constexpr size_t kChannels = 1;  // the axis of the channels of an image

ops::BlockedForm form(const Node& n) { return ops::facts_of(n).blocked; }

bool onnx(const Node& n, std::string_view type) { return n.is(type) || n.is(type, "ai.onnx"); }

bool is_image(const Value* v) {
  return v && v->dtype() == DType::f32 && v->type.is_static() && v->shape().size() >= 3 &&
         v->shape().size() <= 5 && element_count(v->shape()) > 0;
}

// [N, C, rows, columns] of an image of one to three dimensions.
Shape flat(const Shape& s) {
  return {s[0], s[1], s.size() == 3 ? 1 : s.size() == 4 ? s[2] : s[2] * s[3], s.back()};
}

class Layout {
 public:
  Layout(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node* n : graph_.nodes()) {
      if (n->outputs().empty() || !is_image(n->output()) || !should_convert(*n) ||
          !context_.allow())
        continue;
      Node* twin = convert(*n);
      ops::infer(*twin);
      if (!twin->is("GlobalAveragePool", "poprt")) twins_[n->output()] = twin->output();
      converted_.push_back({n, twin});
    }
    // Readers come first, so that the remaining readers of a node are those that stayed plain.
    for (auto it = converted_.rbegin(); it != converted_.rend(); ++it) {
      auto [old_node, twin] = *it;
      Value* y = old_node->output();
      Value* replacement = twin->output();
      if (!y->uses().empty() || graph_.is_output(y)) {
        if (!twin->is("GlobalAveragePool", "poprt")) {
          Node* unblock = graph_.add_node("Unblock", "poprt", {replacement}, 1, old_node);
          unblock->attributes["channels"] = y->shape()[1];
          ops::infer(*unblock);
          replacement = unblock->output();
        }
        replacement = reshaped(replacement, y->shape(), *old_node);
      }
      graph_.replace_all_uses(y, replacement);
      graph_.erase_node(old_node);
    }
  }

 private:
  struct Pair {
    Node *old_node, *twin;
  };

  bool blocked(const Value* v) const { return twins_.contains(v); }

  bool should_convert(const Node& n) const {
    if (onnx(n, "Conv")) return ops::poprt_conv_supported(n);
    if (onnx(n, "ConvTranspose")) return ops::poprt_conv_transpose_supported(n);
    if (!n.input(0)) return false;
    if (onnx(n, "Concat")) return concat_fits(n);
    if (form(n) == ops::BlockedForm::binary) return binary_fits(n);
    if (!blocked(n.input(0))) return false;
    if (onnx(n, "MaxPool") || onnx(n, "AveragePool")) {
      for (const int64_t d : n.ints_attr("dilations"))
        if (d != 1) return false;
      return n.outputs().size() == 1 || !is_used(n.output(1));
    }
    if (onnx(n, "GlobalAveragePool")) return true;
    if (onnx(n, "Resize") || onnx(n, "Upsample"))
      return n.input(0)->shape().size() == 4 && resize_scales(n).has_value();
    if (form(n) == ops::BlockedForm::unary) {
      for (size_t i = 1; i < n.inputs().size(); i++)  // the bounds of Clip
        if (n.input(i) && !(n.input(i)->is_constant() && n.input(i)->constant().count() == 1))
          return false;
      return true;
    }
    return false;
  }

  bool concat_fits(const Node& n) const {
    const ops::AxisMap map = ops::axis_map(n);
    bool any = false;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const Value* v = n.input(i);
      if (!is_image(v) || ops::first_changed(map, i) != kChannels) return false;
      if (i + 1 < n.inputs().size() && v->shape()[1] % kLanes != 0) return false;
      any |= blocked(v);
    }
    return any;
  }

  // Whether an operand can be combined with a blocked one: a scalar constant, a constant per
  // channel, or an image with the same channels, either of full size or blocked and broadcast.
  bool operand_fits(const ops::AxisMap& map, const Node& n, size_t i) const {
    const Value* v = n.input(i);
    const Shape& out = n.output()->shape();
    if (!v || v->dtype() != DType::f32 || !v->type.is_static()) return false;
    if (v->is_constant())
      return v->constant().count() == 1 || ops::varying_axis(map, i) == kChannels;
    if (v->shape().size() != out.size() || v->shape()[1] != out[1]) return false;
    if (v->shape() == out) return true;
    // With three dimensions, slices and their rows are one dimension after blocking.
    return blocked(v) && (out.size() == 4 || ones(v->shape(), 2));
  }
  static bool ones(const Shape& s, size_t from) {
    return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(from), s.end(),
                       [](int64_t d) { return d == 1; });
  }
  bool binary_fits(const Node& n) const {
    if (n.inputs().size() != 2 || n.find_attr("broadcast")) return false;
    const Shape& out = n.output()->shape();
    const ops::AxisMap map = ops::axis_map(n);
    bool full = false;
    for (size_t i = 0; i < 2; i++) {
      if (!operand_fits(map, n, i)) return false;
      full |= blocked(n.input(i)) && n.input(i)->shape() == out;
    }
    return full;
  }

  static std::optional<std::vector<float>> resize_scales(const Node& n) {
    const Shape &in = n.input(0)->shape(), &out = n.output()->shape();
    if (in[0] != out[0] || in[1] != out[1]) return std::nullopt;
    const std::string mode = n.string_attr("mode", "nearest");
    if ((mode != "nearest" && mode != "linear") || n.int_attr("antialias", 0)) return std::nullopt;
    if (n.string_attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
      return std::nullopt;
    if (n.string_attr("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;
    if (n.find_attr("axes")) return std::nullopt;
    // Scales are input 2 (Resize), input 1 (Upsample 9, Resize 10) or an attribute (Upsample 7).
    std::vector<float> scales = n.floats_attr("scales");
    const size_t at = onnx(n, "Resize") && n.opset() >= 11 ? 2 : 1;
    if (const Value* v = n.input(at); v && v->is_constant() && v->dtype() == DType::f32)
      scales.assign(v->constant().values<float>().begin(), v->constant().values<float>().end());
    if (scales.empty())  // there is an input with sizes
      return std::vector<float>{static_cast<float>(out[2]) / static_cast<float>(in[2]),
                                static_cast<float>(out[3]) / static_cast<float>(in[3])};
    if (scales.size() != 4) return std::nullopt;
    return std::vector<float>{scales[2], scales[3]};
  }

  Value* reshaped(Value* v, const Shape& shape, Node& before) {
    if (v->shape() == shape) return v;
    if (v->is_constant()) return graph_.add_constant(v->name(), v->constant().reshaped(shape));
    Value* target = add_ints(graph_, v->name() + "_shape", shape);
    Node* reshape = graph_.add_node("Reshape", "", {v, target}, 1, &before);
    ops::infer(*reshape);
    return reshape->output();
  }
  Value* flattened(Value* v, Node& before) { return reshaped(v, flat(v->shape()), before); }

  // Returns the blocked form of a value. If there is none, a Block is added before `before`.
  Value* get(Value* v, Node& before) {
    if (const auto it = twins_.find(v); it != twins_.end()) return it->second;
    Node* block = graph_.add_node("Block", "poprt", {flattened(v, before)}, 1, &before);
    ops::infer(*block);
    return twins_[v] = block->output();
  }

  Value* get_operand(Value* v, Node& before) {
    if (!v->is_constant()) return get(v, before);
    const Tensor& t = v->constant();
    if (t.count() == 1)
      return t.shape().size() < 5 ? v : graph_.add_constant(v->name(), t.reshaped({}));
    const int64_t c = t.count(), blocks = (c + kLanes - 1) / kLanes;
    Tensor padded = Tensor::zeros(DType::f32, {1, blocks, 1, 1, kLanes});
    std::copy_n(t.values<float>().data(), c, padded.mutable_values<float>().data());
    return graph_.add_constant(v->name() + "_blocked", padded);
  }

  // Copies the window of a convolution or pooling. auto_pad becomes explicit pads, and one
  // dimension becomes a row.
  static void set_window(Node& twin, const Node& n, std::vector<int64_t> kernel) {
    const Shape& x = n.input(0)->shape();
    const ops::Window w = ops::window_of(n, {x.begin() + 2, x.end()}, std::move(kernel));
    const auto list = [&](std::string_view name, std::vector<int64_t> v, int64_t of_a_row) {
      if (w.rank() == 1) v.insert(v.begin(), of_a_row);
      twin.attributes[std::string(name)] = std::move(v);
    };
    list("kernel_shape", w.kernel, 1);
    list("strides", w.strides, 1);
    list("dilations", w.dilations, 1);
    std::vector<int64_t> pads = w.pads_begin;
    pads.insert(pads.end(), w.pads_end.begin(), w.pads_end.end());
    if (w.rank() == 1) pads = {0, pads[0], 0, pads[1]};
    twin.attributes["pads"] = std::move(pads);
    twin.attributes.erase("auto_pad");
    if (!w.ceil_mode) twin.attributes.erase("ceil_mode");
    if (w.rank() == 3) twin.attributes["depth"] = x[2];
  }

  // The same for ConvTranspose. With attribute output_shape, poprt.ConvTranspose is computed in
  // phases, so a plain one (is_plain_transpose()) does not get it.
  static void set_transposed_window(Node& twin, const Node& n, std::vector<int64_t> kernel) {
    const Shape& x = n.input(0)->shape();
    const auto [w, out] = ops::transposed_window_of(n, {x.begin() + 2, x.end()}, kernel);
    const bool row = w.rank() == 1;
    const auto list = [&](std::string_view name, std::vector<int64_t> v, int64_t of_a_row) {
      if (row) v.insert(v.begin(), of_a_row);
      twin.attributes[std::string(name)] = std::move(v);
    };
    for (const char* name : {"auto_pad", "output_padding", "output_shape", "pads", "dilations"})
      twin.attributes.erase(name);
    list("kernel_shape", std::move(kernel), 1);
    list("strides", w.strides, 1);
    if (w.rank() == 3) twin.attributes["depth"] = x[2];
    if (ops::is_plain_transpose(n)) return;
    list("dilations", w.dilations, 1);
    list("output_shape", out, 1);
    std::vector<int64_t> pads = w.pads_begin;
    pads.insert(pads.end(), w.pads_end.begin(), w.pads_end.end());
    twin.attributes["pads"] = row ? std::vector<int64_t>{0, pads[0], 0, pads[1]} : pads;
  }

  // Returns the weights for images; one-dimensional weights become weights of one row.
  Value* image_weights(Value* w, Node& before) {
    const Shape& s = w->shape();
    return s.size() == 3 ? reshaped(w, {s[0], s[1], 1, s[2]}, before) : w;
  }

  // Weights of pairs of groups, [M, 2 C / group, ...]: zero for the channels of the other group of
  // the pair. Example: 4 groups of one filter, [4,1] of w0 w1 w2 w3, become [4,2] of
  // w0 0, 0 w1, w2 0, 0 w3. A last group without another is the first one of a pair.
  static Tensor paired(const Tensor& w, int64_t group) {
    Shape shape = w.shape();
    const auto filters = static_cast<size_t>(shape[0] / group);
    const auto row = static_cast<size_t>(element_count(shape) / shape[0]);
    shape[1] *= 2;
    Tensor out = Tensor::zeros(DType::f32, shape);
    const std::span<const float> from = w.values<float>();
    const std::span<float> to = out.mutable_values<float>();
    for (size_t m = 0; m < static_cast<size_t>(shape[0]); m++)
      std::ranges::copy(from.subspan(m * row, row),
                        to.begin() + static_cast<std::ptrdiff_t>((2 * m + m / filters % 2) * row));
    return out;
  }

  Node* convert(Node& n) {
    if (onnx(n, "Conv") || onnx(n, "ConvTranspose")) {
      Value* x = n.input(0);
      const int64_t channels = x->shape()[1];
      const bool stem =
          onnx(n, "Conv") && channels < kLanes && !blocked(x) && n.int_attr("group", 1) == 1;
      std::vector<Value*> ins(n.inputs().begin(), n.inputs().end());
      ins[0] = stem ? flattened(x, n) : get(x, n);
      const int64_t group = n.int_attr("group", 1);
      const bool pairs = onnx(n, "Conv") && ops::pairs_groups(n);
      if (pairs)
        ins[1] = graph_.add_constant(ins[1]->name() + "_pairs", paired(ins[1]->constant(), group));
      ins[1] = image_weights(ins[1], n);
      Node* twin = graph_.add_node(n.op_type, "poprt", ins, 1, &n);
      twin->attributes = n.attributes;
      twin->name = n.name;
      twin->attributes["channels"] = channels;
      const Shape& w = n.input(1)->shape();
      if (pairs) {
        twin->attributes["group"] = group / 2;
        twin->attributes[std::string(ops::kPairAttribute)] =
            std::vector<int64_t>{w[1], w[0] / group};
      }
      const std::vector<int64_t> kernel(w.begin() + 2, w.end());
      if (onnx(n, "Conv"))
        set_window(*twin, n, kernel);
      else
        set_transposed_window(*twin, n, kernel);
      return twin;
    }
    if (onnx(n, "Concat")) {
      std::vector<Value*> ins;
      for (Value* v : n.inputs()) ins.push_back(get(v, n));
      Node* twin = graph_.add_node("Concat", "", ins, 1, &n);
      twin->attributes["axis"] = static_cast<int64_t>(kChannels);
      twin->name = n.name;
      return twin;
    }
    if (form(n) == ops::BlockedForm::binary) {
      Node* twin = graph_.add_node(n.op_type, n.domain,
                                   {get_operand(n.input(0), n), get_operand(n.input(1), n)}, 1, &n);
      twin->name = n.name;
      return twin;
    }
    if (onnx(n, "Resize") || onnx(n, "Upsample")) {
      Node* twin = graph_.add_node("Resize", "poprt", {get(n.input(0), n)}, 1, &n);
      twin->name = n.name;
      for (const std::string_view key : {"mode", "coordinate_transformation_mode", "nearest_mode"})
        if (const auto* a = n.find_attr(key)) twin->attributes[std::string(key)] = *a;
      if (onnx(n, "Upsample") || n.opset() < 11) {  // the fixed behaviour of these versions
        twin->attributes["coordinate_transformation_mode"] = std::string("asymmetric");
        twin->attributes["nearest_mode"] = std::string("simple");
      }
      twin->attributes["scales"] = *resize_scales(n);
      twin->attributes["sizes"] =
          std::vector<int64_t>{n.output()->shape()[2], n.output()->shape()[3]};
      return twin;
    }
    const bool pool = onnx(n, "MaxPool") || onnx(n, "AveragePool") || onnx(n, "GlobalAveragePool");
    std::vector<Value*> ins(n.inputs().begin(), n.inputs().end());
    ins[0] = get(n.input(0), n);
    Node* twin = graph_.add_node(n.op_type, pool ? "poprt" : n.domain, ins, 1, &n);
    twin->attributes = n.attributes;
    twin->name = n.name;
    if (onnx(n, "GlobalAveragePool")) twin->attributes["channels"] = n.input(0)->shape()[1];
    if (pool && !onnx(n, "GlobalAveragePool")) set_window(*twin, n, {});
    return twin;
  }

  Graph& graph_;
  PassContext& context_;
  std::unordered_map<const Value*, Value*> twins_;
  std::vector<Pair> converted_;
};

void run(Graph& graph, PassContext& context) { Layout(graph, context).run(); }

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "blocked_layout",
    .summary = "moves convolutions and the nodes between them to a channel-blocked layout",
    .condition =
        "f32 images of one to three spatial dimensions; convolutions that the blocked kernels "
        "support",
    .numerics = Numerics::rounding,
    .run = run,
};

}  // namespace poprt::passes::blocked_layout_pass
