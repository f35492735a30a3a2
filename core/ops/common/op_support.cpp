#include "ops/common/op_support.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "ops/common/evaluate_listing.h"
#include "ops/common/expansion.h"
#include "ops/common/required_inputs.h"
#include "ops/common/scalar.h"

namespace poprt::ops {
namespace {

constexpr std::array kTypes = {DType::f32,        DType::f16,      DType::bf16,       DType::f64,
                               DType::s8,         DType::u8,       DType::s16,        DType::u16,
                               DType::s32,        DType::u32,      DType::s64,        DType::u64,
                               DType::boolean,    DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                               DType::f8e5m2fnuz, DType::f8e8m0,   DType::u4,         DType::s4,
                               DType::u2,         DType::s2,       DType::f4e2m1};

// How an input of a trial is made: of the type on trial, or of one that the operator fixes.
struct Input {
  enum Kind { tried, f32, s64, s32, u8, boolean, none } kind = tried;
  Shape shape = {};
  std::vector<int64_t> values = {};  // of an integer constant; else zeros (ones in one trial)
};

struct Trial {
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, ir::Attribute>> attributes = {};
  size_t outputs = 1;
};

Input of(Shape shape) { return {Input::tried, std::move(shape)}; }
Input numbers(std::vector<int64_t> values) {
  return {Input::s64, {static_cast<int64_t>(values.size())}, std::move(values)};
}

// From the most to the least demanding: an operator with an optional second input passes the first
// that it can.
std::vector<Trial> trials(const OpDef& op) {
  const Shape image = {1, 4, 4, 4}, matrix = {4, 4};
  const std::string_view n = op.name;
  std::vector<Trial> list;
  const auto only = [&](Trial t) { list = {std::move(t)}; };
  list.push_back({{of(matrix)}});
  list.push_back({{of(image)}});
  list.push_back({{of(matrix), of(matrix)}});
  list.push_back({{of(image), of(image)}});
  list.push_back({{of(image), of({4}), of({4})}});
  list.push_back({{of(matrix), of({4}), of({4})}});
  list.push_back({{of(matrix), numbers({1})}});
  list.push_back({{of(matrix), {Input::s64, matrix}}});
  if (n.starts_with("Reduce") && op.domain.empty()) only({{of(matrix), numbers({1})}});
  if (n.find("Pool") != n.npos && !n.starts_with("Global"))
    only({{of(image)}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}});
  if (n == "Conv" || n == "ConvTranspose") only({{of(image), of({4, 4, 1, 1})}});
  if (n == "Gemm") only({{of(matrix), of(matrix), of(matrix)}});
  if (n == "Cast") only({{of(matrix)}, {{"to", int64_t{1}}}});
  if (n == "BitCast") only({{of(matrix)}, {{"to", int64_t{1}}}});
  if (n == "Reshape" || n == "Expand") only({{of(matrix), numbers({2, 1, 2, 4})}});
  if (n == "Reshape") only({{of(matrix), numbers({2, 8})}});
  if (n == "Expand") only({{of(matrix), numbers({2, 4, 4})}});
  if (n == "Tile") only({{of(matrix), numbers({2, 1})}});
  if (n == "Slice") only({{of(matrix), numbers({1}), numbers({3}), numbers({0})}});
  if (n == "Pad") only({{of(matrix), numbers({1, 0, 0, 1})}});
  if (n == "Split") only({{of(matrix)}, {{"num_outputs", int64_t{2}}}, 2});
  if (n == "Squeeze") only({{of({4, 1, 4}), numbers({1})}});
  if (n == "Unsqueeze") only({{of(matrix), numbers({1})}});
  if (n == "Where") only({{{Input::boolean, matrix}, of(matrix), of(matrix)}});
  if (n == "Concat") only({{of(matrix), of(matrix)}, {{"axis", int64_t{0}}}});
  if (n == "Gather" || n == "GatherElements" || n == "GatherND")
    only({{of(matrix), {Input::s64, {1, 2}, {0, 1}}}});
  if (n == "ScatterElements" || n == "Scatter")
    only({{of(matrix), {Input::s64, {1, 2}, {0, 1}}, of({1, 2})}});
  if (n == "ScatterND") only({{of(matrix), {Input::s64, {1, 1}, {1}}, of({1, 4})}});
  if (n == "Range") only({{of({}), of({}), of({})}});
  if (n == "OneHot") only({{{Input::s64, {2}}, numbers({3}), of({2})}});
  if (n == "TopK") only({{of(matrix), numbers({2})}, {}, 2});
  if (n == "BatchNormalization") only({{of(image), of({4}), of({4}), of({4}), of({4})}});
  if (n == "GroupNormalization")
    only({{of(image), of({4}), of({4})}, {{"num_groups", int64_t{2}}}});
  if (n == "LayerNormalization" || n.ends_with("LayerNormalization"))
    only({{of(matrix), of({4})}, {{"axis", int64_t{-1}}}});
  if (n == "RMSNormalization") only({{of(matrix), of({4})}});
  if (n == "LRN") only({{of(image)}, {{"size", int64_t{3}}}});
  if (n == "LSTM" || n == "GRU" || n == "RNN") {
    const int64_t gates = n == "LSTM" ? 4 : n == "GRU" ? 3 : 1;
    only({{of({2, 1, 4}), of({1, 2 * gates, 4}), of({1, 2 * gates, 2})},
          {{"hidden_size", int64_t{2}}},
          2});
  }
  if (n == "Resize") {
    only({{of(image), {Input::none}, {Input::none}, numbers({1, 4, 8, 8})}});
  }
  if (n == "Upsample") only({{of(image)}, {{"scales", std::vector<float>{1, 1, 2, 2}}}});
  if (n == "GridSample") only({{of(image), of({1, 2, 2, 2})}});
  if (n == "DepthToSpace" || n == "SpaceToDepth") only({{of(image)}, {{"blocksize", int64_t{2}}}});
  if (n == "Clip") only({{of(matrix), of({}), of({})}});
  if (n == "CumSum" || n == "CumProd") only({{of(matrix), {Input::s64, {}, {0}}}});
  if (n == "Compress") only({{of(matrix), {Input::boolean, {4}}}, {{"axis", int64_t{0}}}});
  if (n == "Einsum") only({{of(matrix), of(matrix)}, {{"equation", "ij,jk->ik"}}});
  if (n == "BitShift") only({{of(matrix), of(matrix)}, {{"direction", "LEFT"}}});
  if (n == "Mod") list.push_back({{of(matrix), of(matrix)}, {{"fmod", int64_t{1}}}});
  if (n == "Trilu") only({{of(matrix)}});
  if (n == "Dropout") only({{of(matrix)}});
  if (n == "QuantizeLinear") only({{of(matrix), of({}), {Input::u8, {}}}});
  if (n == "DequantizeLinear") only({{of(matrix), {Input::f32, {}}, of({})}});
  if (n == "Unpack" || n == "Pack" || n == "Repack")
    only({{n == "Unpack" ? of(matrix) : of({2, 2, 4}), {Input::s32, {2, 1}}},
          {{"max_valid_num", int64_t{2}}, {"segment_max_size", std::vector<int64_t>{2}}}});
  if (n == "DynamicQuantizeLinear") only({{of(matrix)}, {}, 3});
  if (n == "QLinearMatMul")
    only({{of(matrix),
           {Input::f32, {}},
           of({}),
           of(matrix),
           {Input::f32, {}},
           of({}),
           {Input::f32, {}},
           of({})}});
  if (n == "QLinearConv")
    only({{of(image),
           {Input::f32, {}},
           of({}),
           of({4, 4, 1, 1}),
           {Input::f32, {}},
           of({}),
           {Input::f32, {}},
           of({})}});
  if (n == "ConvInteger") only({{of(image), of({4, 4, 1, 1})}});
  if (n == "Attention" && op.domain.empty()) only({{of(image), of(image), of(image)}});
  if (n == "RotaryEmbedding" && op.domain.empty())
    only({{of(image), of({1, 4, 2}), of({1, 4, 2})}});
  if (n == "RoiAlign") only({{of(image), of({1, 4}), {Input::s64, {1}, {0}}}});
  if (n == "EyeLike") only({{of(matrix)}});
  if (n == "NonZero") only({{of(matrix)}});
  if (n == "Unique") only({{of({4})}, {{"sorted", int64_t{1}}}, 4});
  if (n == "PRelu") only({{of(image), of({4, 1, 1})}});
  if (n == "Det" || n == "Inverse") only({{of(matrix)}});
  return list;
}

// Inputs are constants when `constant`; else input 0 comes at run time.
bool works(const OpDef& op, const Trial& trial, DType type, bool constant,
           std::vector<std::string>* kernels) {
  if (!op.infer || !op.lower) return false;  // resolved before inference
  ir::Graph graph;
  const int64_t version = std::min<int64_t>(op.until, std::max(op.since, 26));
  graph.opsets[std::string(op.domain)] = version;
  graph.opsets.emplace("", 26);
  std::vector<ir::Value*> inputs;
  std::vector<Tensor> tensors;
  try {
    for (const Input& in : trial.inputs) {
      if (in.kind == Input::none) {
        inputs.push_back(nullptr);
        tensors.emplace_back();
        continue;
      }
      const DType t = in.kind == Input::tried ? type
                      : in.kind == Input::f32 ? DType::f32
                      : in.kind == Input::s64 ? DType::s64
                      : in.kind == Input::s32 ? DType::s32
                      : in.kind == Input::u8  ? DType::u8
                                              : DType::boolean;
      Tensor tensor = Tensor::zeros(t, in.shape);
      if (!in.values.empty()) {
        const auto to = tensor.mutable_values<int64_t>();
        for (size_t i = 0; i < to.size(); i++) to[i] = in.values[i % in.values.size()];
      } else if (dtype_bits(t) >= 8 && t != DType::boolean) {
        // Ones: zeros divide badly.
        const Tensor one = scalar_tensor(t, 1);
        for (uint64_t at = 0; at < tensor.bytes(); at += one.bytes())
          std::memcpy(static_cast<std::byte*>(tensor.mutable_data()) + at, one.data(), one.bytes());
      }
      const bool at_run_time = !constant && inputs.empty();
      inputs.push_back(at_run_time ? graph.add_input("", ir::ValueType::of(t, in.shape))
                                   : graph.add_constant("", tensor));
      tensors.push_back(tensor);
    }
    ir::Node* node =
        graph.add_node(std::string(op.name), std::string(op.domain), inputs, trial.outputs);
    for (const auto& [key, value] : trial.attributes) node->attributes[key] = value;
    check_required_inputs(*node);
    InferContext ctx(*node);
    op.infer(ctx);
    for (const ir::Value* v : node->outputs())
      if (!v->type.is_static()) return false;
    evaluate_listing(*node, tensors, kernels);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Kernels whose hot loops are compiled once for each instruction set (core/kernels/isa), or that
// only move memory.
bool is_fast_kernel(std::string_view name) {
  static constexpr std::array kFast = {"attention",
                                       "batch_normalization",
                                       "block",
                                       "cast",
                                       "conv",
                                       "conv_depthwise",
                                       "conv_generic",
                                       "conv_integer",
                                       "conv_quads",
                                       "conv_stem",
                                       "conv_transpose",
                                       "conv_winograd",
                                       "copy",
                                       "deform_conv",
                                       "dequantize",
                                       "dynamic_quantize",
                                       "elementwise",
                                       "elementwise_generic",
                                       "fill",
                                       "gather",
                                       "global_average_blocked",
                                       "interleave_bytes",
                                       "layer_norm",
                                       "matmul",
                                       "matmul_dynamic",
                                       "matmul_integer",
                                       "matmul_integer_packed",
                                       "pool_blocked",
                                       "pool_generic",
                                       "quantize",
                                       "recurrent",
                                       "reduce",
                                       "requantize",
                                       "softmax",
                                       "strided_copy",
                                       "unblock"};
  return std::find(kFast.begin(), kFast.end(), name) != kFast.end();
}

}  // namespace

std::string_view implementation_name(Implementation implementation) {
  switch (implementation) {
    case Implementation::fast: return "fast kernel";
    case Implementation::reference: return "reference kernel";
    case Implementation::decomposition: return "decomposition";
    case Implementation::view: return "view";
    case Implementation::unknown: return "kernel";
  }
  return "";
}

OpSupport support_of(const OpDef& op) {
  OpSupport s;
  // Trials know ai.onnx and what resembles it; our own operators trust the passes that make them.
  if (op.domain != "ai.onnx.ml" && op.domain != "poprt") {
    const std::vector<Trial> list = trials(op);
    for (const DType type : kTypes) {
      std::vector<std::string> kernels;
      for (const Trial& t : list) {
        kernels.clear();
        if (!works(op, t, type, false, &kernels) && !works(op, t, type, true, &kernels)) continue;
        if (s.types.empty())
          s.implementation = std::all_of(kernels.begin(), kernels.end(), is_fast_kernel)
                                 ? Implementation::fast
                                 : Implementation::reference;
        s.types.push_back(type);
        break;
      }
    }
  }
  // Passes put a faster twin in its place.
  if (op.domain.empty() && find_op("poprt", op.name, 1)) s.implementation = Implementation::fast;
  if (op.sharing.view) s.implementation = Implementation::view;
  if (expands(op)) s.implementation = Implementation::decomposition;
  return s;
}

std::string type_list(std::span<const DType> types) {
  if (types.empty()) return "?";
  std::string text;
  for (const DType t : types) {
    if (!text.empty()) text += ' ';
    text += dtype_name(t);
  }
  return text;
}

std::string opset_range(const OpDef& op) {
  return op.until >= 1 << 30 ? fmt::format("opset {} on", op.since)
                             : fmt::format("opsets {} to {}", op.since, op.until);
}

void rethrow_explained(const Error& error, const ir::Node& node) {
  const bool type = error.message().find("does not take") != std::string::npos;
  if (error.code() != ErrorCode::unimplemented && !type) throw error;
  constexpr std::string_view kAsk = "to ask for more, open an issue with this line";
  if (error.message().find(kAsk) != std::string::npos) throw error;
  const OpDef* op = find_op(node.domain, node.op_type, node.opset());
  // An explanation tries the operator, which may fail in the same way.
  static thread_local bool explaining = false;
  if (!op || explaining) throw error;
  explaining = true;
  const OpSupport s = support_of(*op);
  explaining = false;
  std::string text = error.message();
  const std::string description = node.describe();
  if (text.find(description) == std::string::npos) text = description + ": " + text;
  throw Error(error.code(),
              fmt::format("{}; {} (here opset {}) is supported from {}{}{}; {}", text, node.op_type,
                          node.opset(), opset_range(*op), s.types.empty() ? "" : " for ",
                          s.types.empty() ? "" : type_list(s.types), kAsk));
}

}  // namespace poprt::ops
