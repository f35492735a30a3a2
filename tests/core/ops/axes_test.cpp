// Checks the axis maps of all operators on their samples, their trials, and the nodes below
// (support/axes_contract.h).
#include "ops/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/ops/sample.h"
#include "ir/text.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/evaluate.h"
#include "ops/common/op_types.h"
#include "support/axes_contract.h"

namespace poprt::ops {
namespace {

using namespace contract;
using sampled::Sample;

// -- Nodes ----------------------------------------------------------------------------------------

std::optional<Tried> tried(const Sample& sample) {
  const OpDef* op = find_op(sample.domain, sample.op, sample.opset);
  if (!op || !op->pure || !op->lower) return std::nullopt;
  for (const bool free : {true, false}) {
    Sample s = sample;
    auto graph = make_graph(s);
    const uint32_t needed = constant_inputs(*graph.node);
    for (size_t i = 0; free && i < s.constant.size(); i++)
      s.constant[i] = s.constant[i] && in_mask(needed, i);
    try {
      sampled::SampleGraph g = make_graph(s);
      infer(*g.node);
      if (!is_ready(*g.node)) continue;
      evaluate(*g.node, s.inputs);
      Tried t{fmt::format("{}.{} {}", s.domain, s.op, s.opset), std::move(g.graph), g.node,
              s.inputs, s.constant};
      return t;
    } catch (const Error&) {  // a weight that must be constant, or text
    }
  }
  return std::nullopt;
}

// A node in the syntax of Trial (ops/trial.h): inputs with values are constants.
struct Written {
  int64_t opset = 0;
  std::string_view op, inputs, attributes = "";
  size_t outputs = 1;
};

// With `constants`, inputs from the second on are constants, as weights must be.
Tried tried(const Written& w, bool constants = false) {
  std::string lines, names, outputs, results;
  Tried t{fmt::format("{} {} ({}) {}", w.op, w.opset, w.inputs, w.attributes),
          nullptr,
          nullptr,
          {},
          {}};
  const std::string text(w.inputs);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    std::string in = text.substr(begin, end - begin);
    in.erase(0, in.find_first_not_of(' '));
    begin = end + 1;
    names += t.fixed.empty() ? "" : ", ";
    const bool given = in.find('=') != in.npos;
    t.fixed.push_back(given || (constants && !t.fixed.empty()));
    if (in == "_") {
      names += "_";
      continue;
    }
    if (t.fixed.back() && !given) in += in.starts_with("bool") ? " = fill true" : " = fill 1";
    names += fmt::format("%x{}", t.fixed.size());
    lines += fmt::format("{} %x{} : {}\n", t.fixed.back() ? "const" : "input", t.fixed.size(), in);
  }
  for (size_t i = 0; i < w.outputs; i++) {
    outputs += fmt::format("{}%y{}", i ? ", " : "", i);
    results += fmt::format("output %y{}\n", i);
  }
  t.graph = ir::parse_text(fmt::format(
      "graph \"g\" opset {{\"\": {}, \"com.microsoft\": 1, \"ai.graphcore\": 1, \"poprt\": 1, "
      "\"ai.onnx.ml\": {}, \"ai.onnx.preview.training\": 1}} {{\n{}{} = {}({}) {{{}}}\n{}}}\n",
      w.opset, w.op.ends_with(".TreeEnsemble") ? 5 : 3, lines, outputs, w.op, names, w.attributes,
      results));
  t.node = t.graph->nodes().front();
  infer(*t.node);
  // Floats are near 1, where every operator has a value.
  for (size_t i = 0; i < t.node->inputs().size(); i++) {
    const ir::Value* v = t.node->input(i);
    t.inputs.push_back(!v                 ? Tensor()
                       : v->is_constant() ? v->constant()
                       : v->dtype() == DType::f32
                           ? sampled::random_f32(v->shape(), 0.6f, 1.4f, static_cast<uint32_t>(i))
                           : Tensor::zeros(v->dtype(), v->shape()));
  }
  return t;
}

// Operators or nodes whose results do not show exactly the relations that the map states.
const std::map<std::string, std::string_view>& inexact() {
  static const std::map<std::string, std::string_view> names = {
      {"Trilu", "one triangle becomes zeros"},
      {"ScatterElements", "updates overwrite each other and the data"},
      {"ScatterND", "updates overwrite the data"},
      {"TensorScatter", "the update overwrites a part of the cache"},
      {"SparseAttention", "the update overwrites a part of the cache"},
      {"VarlenCausalConvWithState", "the new state contains nothing of the old one"},
      {"DynamicUpdate", "the update overwrites a part"},
      {"Cast", "narrow types have one number for many"},
      {"Elementwise", "an output may use some of the inputs only"},
      {"AttentionMask", "a place meets all others in one row and one column"},
      {"BeamSearch", "the decomposition mixes beams of one sample"},
      {".Where 16", "the condition is true everywhere"},
      {"CacheAttention", "it states no axes, which no pass reads after it is made"},
      {"poprt.MatMul 1", "it states no axes, which its strides determine"},
      {"poprt.MatMul 26", "it states no axes, which its strides determine"},
      {"Compress 26", "the condition keeps all places"},
      {"Equal 26", "random numbers are never equal"},
      {"ai.graphcore.NotZero 26", "random numbers are never zero"},
      {"ai.onnx.ml.LabelEncoder 26", "random numbers are no key"},
      {"ai.graphcore.Pack 26", "there are no tokens"},
      {"ai.graphcore.Repack 26", "there are no tokens"},
      {"ai.graphcore.Unpack 26", "there are no tokens"},
      {"com.microsoft.CropAndResize 26", "the region has no area"},
      {"com.microsoft.RotaryEmbedding 26", "the positions are in the order of the table"},
      {"ReverseSequence 26", "nothing is reversed"},
      {"RNN 26", "the state is zero before the first of two steps"},
      {"ai.onnx.ml.TreeEnsemble 26", "the trial has a leaf alone"},
      {"ai.onnx.ml.TreeEnsembleClassifier 26", "the trial has a leaf alone"},
      {"ai.onnx.ml.TreeEnsembleRegressor 26", "the trial has a leaf alone"}};
  return names;
}

bool is_exact(const Tried& t) {
  return !inexact().contains(t.node->op_type) &&
         !inexact().contains(t.name.substr(0, t.name.find(" (")));
}

void expect_contract(const Tried& t) {
  SCOPED_TRACE(t.name);
  const AxisMap map = axis_map(*t.node);
  const Found found = Contract(t, map).check();
  EXPECT_TRUE(found.wrong.empty()) << first_of(found.wrong);
  if (is_exact(t)) EXPECT_TRUE(found.inexact.empty()) << first_of(found.inexact);
}

TEST(Axes, EveryOperatorStatesThem) {
  for (const OpDef* op : all_ops()) EXPECT_NE(op->axes, nullptr) << op->domain << "." << op->name;
}

TEST(Axes, OfSamplesMatchNumericResults) {
  std::set<std::string> seen;
  for (const Sample& s : sampled::all_samples())
    if (const auto t = tried(s)) {
      expect_contract(*t);
      seen.insert(s.op);
    }
  EXPECT_GE(seen.size(), 150u);
}

// The first of the operator's trials that can be evaluated, in f32.
std::optional<Tried> tried(const OpDef& op) {
  for (const Trial& trial : trials_of(op))
    for (const bool constants : {false, true}) {
      std::string inputs(trial.inputs), attributes(trial.attributes);
      for (std::string* s : {&inputs, &attributes}) {
        for (size_t at; (at = s->find("T[")) != s->npos;) s->replace(at, 1, "f32");
        std::ranges::replace(*s, '@', '1');
      }
      const std::string name =
          fmt::format("{}{}{}", op.domain, op.domain.empty() ? "" : ".", op.name);
      const int64_t opset = op.domain.empty() ? std::min<int64_t>(op.until, 26) : 26;
      try {
        Tried t = tried(Written{opset, name, inputs, attributes, trial.outputs}, constants);
        if (is_ready(*t.node) && !evaluate(*t.node, t.inputs).empty()) return t;
      } catch (const Error&) {  // the next one
      }
    }
  return std::nullopt;
}

TEST(Axes, OfTrialsMatchNumericResults) {
  std::map<std::string_view, size_t> seen;
  for (const OpDef* op : all_ops())
    if (op->pure && op->lower != lower_container && op->lower != lower_text)
      if (const auto t = tried(*op)) {
        expect_contract(*t);
        seen[op->domain]++;
      }
  EXPECT_GE(seen[""], 150u);
  EXPECT_GE(seen["com.microsoft"], 25u);
  EXPECT_GE(seen["ai.graphcore"], 35u);
  EXPECT_GE(seen["ai.onnx.ml"], 10u);
  EXPECT_GE(seen["poprt"], 15u);
}

// Nodes with attributes, opsets and shapes that no sample has.
const Written kWritten[] = {
    // Broadcasting: unequal ranks, ones, axes before opset 7.
    {14, "Add", "f32[2,3,4]; f32[3,1]"},
    {14, "Add", "f32[4]; f32[2,3,4]"},
    {14, "Mul", "f32[2,1,4]; f32[1,3,1]"},
    {6, "Add", "f32[2,3,4]; f32[3]", "broadcast = 1, axis = 1"},
    {6, "PRelu", "f32[2,3,4]; f32[3]"},
    {16, "PRelu", "f32[2,3,4]; f32[3,1]"},
    {16, "Where", "bool[3,1]; f32[2,3,4]; f32[4]"},
    {13, "Clip", "f32[2,3]; f32[]; f32[]"},
    {19, "CastLike", "f32[2,3]; f64[3]"},
    {13, "Sum", "f32[2,3]; f32[3]; f32[2,1]"},
    // Softmax before and from opset 13 on.
    {11, "Softmax", "f32[2,3,4]"},
    {11, "Softmax", "f32[2,3,4]", "axis = 2"},
    {11, "Softmax", "f32[2,3,4]", "axis = -2"},
    {13, "Softmax", "f32[2,3,4]"},
    {13, "Softmax", "f32[2,3,4]", "axis = 0"},
    {13, "LogSoftmax", "f32[2,3,4]", "axis = -2"},
    // Reductions.
    {13, "ReduceSum", "f32[2,3,4]; s64[1] = [1]", "keepdims = 0"},
    {13, "ReduceSum", "f32[2,3,4]; s64[2] = [-1, 0]", "keepdims = 1"},
    {13, "ReduceMean", "f32[2,3,4]", "axes = [-2], keepdims = 0"},
    {18, "ReduceMax", "f32[2,3,4]; s64[2] = [0, 2]", "keepdims = 0"},
    {18, "ReduceL2", "f32[2,3,4]; _", "noop_with_empty_axes = 1"},
    {18, "ReduceProd", "f32[2,3]"},
    {13, "ArgMax", "f32[2,3,4]", "axis = -2, keepdims = 0"},
    {11, "TopK", "f32[2,3,4]; s64[1] = [2]", "axis = 1", 2},
    {14, "CumSum", "f32[2,3,4]; s32[] = -2"},
    // Normalisations.
    {17, "LayerNormalization", "f32[2,3,4]; f32[3,4]; f32[4]", "axis = 1", 3},
    {17, "LayerNormalization", "f32[2,3,4]; f32[4]", "axis = -1"},
    {17, "LayerNormalization", "f32[2,3,4]; f32[1,3,1]", "axis = 2"},
    {23, "RMSNormalization", "f32[2,3,4]; f32[4]", "axis = -2"},
    {21, "GroupNormalization", "f32[2,4,3]; f32[4]; f32[4]", "num_groups = 2"},
    {18, "GroupNormalization", "f32[2,4,3]; f32[2]; f32[2]", "num_groups = 2"},
    {15, "BatchNormalization", "f32[2,3,4]; f32[3]; f32[3]; f32[3]; f32[3]", "training_mode = 1",
     3},
    {8, "BatchNormalization", "f32[2,3,4]; f32[12]; f32[12]; f32[12]; f32[12]", "spatial = 0"},
    {13, "MeanVarianceNormalization", "f32[2,3,4,2]", "axes = [1, -1]"},
    {13, "LRN", "f32[2,5,3]", "size = 3"},
    // Products.
    {13, "MatMul", "f32[2,1,3,4]; f32[5,4,2]"},
    {13, "MatMul", "f32[4]; f32[3,4,2]"},
    {13, "MatMul", "f32[2,3,4]; f32[4]"},
    {13, "Gemm", "f32[4,3]; f32[2,4]; f32[3,1]", "transA = 1, transB = 1"},
    {13, "Gemm", "f32[3,4]; f32[4,2]; f32[2]"},
    {12, "Einsum", "f32[2,3,4]; f32[4,2]", "equation = \"bij,jb->bi\""},
    {12, "Einsum", "f32[3,3]", "equation = \"ii->i\""},
    {12, "Einsum", "f32[2,3,4]; f32[1,4,5]", "equation = \"...ij,...jk->...ik\""},
    {10, "MatMulInteger", "u8[3,4]; u8[4,2]; u8[3]; u8[2]"},
    // Convolutions and pooling: groups, windows that do and do not overlap.
    {11, "Conv", "f32[2,4,5]; f32[6,2,3]; f32[6]", "group = 2"},
    {11, "Conv", "f32[2,4,6]; f32[4,1,3]", "group = 4, pads = [1, 1]"},
    {11, "Conv", "f32[2,2,6,4]; f32[3,2,3,1]", "strides = [3, 1]"},
    {11, "Conv", "f32[1,2,5]; f32[3,2,2]", "strides = [2], pads = [1, 0]"},
    {11, "ConvTranspose", "f32[2,4,3]; f32[4,2,3]; f32[4]", "group = 2"},
    {11, "ConvTranspose", "f32[1,2,3]; f32[2,3,2]", "strides = [2]"},
    {12, "MaxPool", "f32[2,2,6,4]", "kernel_shape = [2, 3], strides = [2, 1]"},
    {12, "MaxPool", "f32[1,1,4,4]", "kernel_shape = [2, 2], strides = [2, 2]", 2},
    {19, "AveragePool", "f32[1,2,5]",
     "kernel_shape = [2], strides = [2], pads = [1, 0], ceil_mode = 1"},
    {22, "GlobalAveragePool", "f32[2,3,4,2]"},
    {22, "DeformConv", "f32[2,2,4,4]; f32[3,2,2,2]; f32[2,8,3,3]; f32[3]; f32[2,4,3,3]",
     "kernel_shape = [2, 2]"},
    // Shapes.
    {13, "Reshape", "f32[2,3,4]; s64[2] = [6, 4]"},
    {13, "Reshape", "f32[6,4]; s64[3] = [2, 3, -1]"},
    {13, "Reshape", "f32[4,6]; s64[2] = [8, 3]"},
    {13, "Reshape", "f32[1,2,12]; s64[4] = [1, 2, 3, 4]"},
    {13, "Reshape", "f32[2,3,2,2]; s64[3] = [2, 3, 4]"},
    {13, "Reshape", "f32[12]; s64[3] = [2, 3, 2]"},
    {13, "Flatten", "f32[2,3,4]", "axis = 2"},
    {13, "Flatten", "f32[2,3,4]", "axis = 0"},
    {13, "Squeeze", "f32[2,1,3,1]; s64[1] = [-1]"},
    {13, "Squeeze", "f32[2,1,3,1]"},
    {13, "Unsqueeze", "f32[2,3]; s64[2] = [0, -1]"},
    {13, "Transpose", "f32[2,3,4]", "perm = [1, 2, 0]"},
    {13, "Transpose", "f32[2,3,4]"},
    {13, "Expand", "f32[3,1]; s64[3] = [2, 3, 4]"},
    {13, "Tile", "f32[2,3]; s64[2] = [2, 3]"},
    {5, "Tile", "f32[2,3]; f32[1] = [2.0]; f32[1] = [1.0]"},
    {13, "DepthToSpace", "f32[2,8,2,3]", "blocksize = 2"},
    {13, "DepthToSpace", "f32[2,8,2,3]", "blocksize = 2, mode = \"CRD\""},
    {13, "SpaceToDepth", "f32[2,2,4,6]", "blocksize = 2"},
    {28, "SpaceToDepth", "f32[2,3,4,6]", "blocksize = 2, mode = \"CRD\""},
    {13, "Concat", "f32[2,3]; f32[2,1]; f32[2,2]", "axis = -1"},
    {13, "Concat", "f32[2,3]", "axis = 0"},
    {13, "Split", "f32[2,6]; s64[3] = [1, 3, 2]", "axis = -1", 3},
    {13, "Slice", "f32[4,5]; s64[2] = [1, -4]; s64[2] = [3, 9]; s64[2] = [0, -1]"},
    {13, "Slice", "f32[4,6]; s64[1] = [5]; s64[1] = [-9]; s64[1] = [1]; s64[1] = [-1]"},
    {13, "Slice", "f32[4,6]; s64[1] = [1]; s64[1] = [6]; s64[1] = [1]; s64[1] = [2]"},
    {13, "Pad", "f32[2,3]; s64[4] = [0, 1, 0, 2]"},
    {13, "Pad", "f32[2,4]; s64[4] = [0, -1, 1, 0]; f32[]"},
    {13, "Pad", "f32[2,3]; s64[4] = [0, 1, 0, 1]", "mode = \"reflect\""},
    {18, "CenterCropPad", "f32[5,2]; s64[2] = [2, 5]"},
    {14, "Trilu", "f32[2,3,3]"},
    {18, "Col2Im", "f32[2,8,4]; s64[2] = [3, 3]; s64[2] = [2, 2]"},
    // Gather and scatter.
    {13, "Gather", "f32[3,4,2]; s64[2,2] = [0, 3, 1, 2]", "axis = 1"},
    {13, "Gather", "f32[3,4,2]; s64[] = 1", "axis = -1"},
    {13, "GatherElements", "f32[3,4]; s64[2,4] = [0, 1, 2, 0, 1, 2, 0, 1]", "axis = 0"},
    {13, "GatherElements", "f32[3,4]; s64[2,3] = [0, 1, 3, 2, 1, 0]", "axis = 1"},
    {13, "GatherND", "f32[2,3,4]; s64[2,2,1] = [0, 2, 1, 0]", "batch_dims = 1"},
    {13, "GatherND", "f32[2,3,4]; s64[2,2] = [1, 1, 0, 2]"},
    {18, "ScatterElements", "f32[3,4]; s64[2,3] = [0, 1, 2, 2, 1, 0]; f32[2,3]",
     "axis = 0, reduction = \"add\""},
    {18, "ScatterND", "f32[3,4,2]; s64[2,1] = [0, 2]; f32[2,4,2]"},
    {13, "OneHot", "s64[2,3]; s64[1] = [4]; f32[2]", "axis = 1"},
    {24, "TensorScatter", "f32[2,3,4,2]; f32[2,3,2,2]; s64[2] = [0, 1]"},
    // Attention and recurrence.
    {23, "Attention", "f32[2,4,3,2]; f32[2,2,5,2]; f32[2,2,5,3]; f32[3,5]", "", 1},
    {23, "Attention",
     "f32[2,3,8]; f32[2,4,4]; f32[2,4,6]; f32[2,1,3,6]; f32[2,2,2,2]; f32[2,2,2,3]",
     "q_num_heads = 4, kv_num_heads = 2, is_causal = 1", 3},
    {23, "Attention", "f32[1,2,3,2]; f32[1,2,3,2]; f32[1,2,3,2]", "", 4},
    {23, "RotaryEmbedding", "f32[2,3,8]; f32[2,3,2]; f32[2,3,2]", "num_heads = 2"},
    {23, "RotaryEmbedding", "f32[2,2,3,4]; f32[5,2]; f32[5,2]; s64[2,3] = [0, 1, 2, 2, 3, 4]"},
    {14, "LSTM", "f32[3,2,4]; f32[2,8,4]; f32[2,8,2]; f32[2,16]; _; f32[2,2,2]; f32[2,2,2]",
     "hidden_size = 2, direction = \"bidirectional\"", 3},
    {14, "GRU", "f32[2,3,4]; f32[1,6,4]; f32[1,6,2]", "hidden_size = 2, layout = 1", 2},
    // Quantisation.
    {21, "QuantizeLinear", "f32[2,3,4]; f32[3]; u8[3]", "axis = 1"},
    {21, "DequantizeLinear", "u8[2,4]; f32[2,2]", "axis = 1, block_size = 2"},
    {13, "DequantizeLinear", "u8[2,4]; f32[4]", "axis = -1"},
    // Others.
    {16, "GridSample", "f32[2,3,4,4]; f32[2,2,3,2]"},
    {16, "RoiAlign",
     "f32[2,2,4,4]; f32[3,4] = [0.0, 0.0, 3.0, 3.0, 1.0, 0.0, 2.0, 3.0, 0.0, 1.0, 3.0, 2.0]; "
     "s64[3] = [0, 1, 0]",
     "output_height = 2, output_width = 2"},
    {20, "AffineGrid", "f32[2,2,3]; s64[4] = [2, 1, 2, 3]"},
    {20, "DFT", "f32[2,3,4,1]; _; s64[] = 2"},
    {17, "STFT", "f32[2,8]; s64[] = 2; _; s64[] = 4"},
    {13, "NegativeLogLikelihoodLoss", "f32[2,3,4]; s64[2,4]", "reduction = \"none\""},
    {13, "SoftmaxCrossEntropyLoss", "f32[2,3,4]; s64[2,4]; f32[3]", "reduction = \"none\"", 2},
    {19, "Resize", "f32[2,2,3,4]; _; f32[4] = [1.0, 1.0, 2.0, 1.0]", "mode = \"linear\""},
    {10, "ReverseSequence", "f32[3,4,2]; s64[3] = [1, 4, 2]", "batch_axis = 0, time_axis = 1"},
    // Decompositions, whose maps are composed of the maps of other operators.
    {17, "com.microsoft.FusedMatMul", "f32[2,4,3]; f32[2,5,4]", "transA = 1, transB = 1"},
    {17, "com.microsoft.SkipLayerNormalization", "f32[2,3,4]; f32[2,3,4]; f32[4]; f32[4]"},
    {17, "com.microsoft.MultiHeadAttention", "f32[2,3,8]; f32[2,4,8]; f32[2,4,8]", "num_heads = 2"},
    {17, "com.microsoft.Attention", "f32[2,3,4]; f32[4,12]; f32[12]; _; _; f32[2,2,3,3]",
     "num_heads = 2"},
    {17, "com.microsoft.BiasGelu", "f32[2,3,4]; f32[4]"},
    {17, "com.microsoft.FusedConv", "f32[2,3,5]; f32[4,3,2]; f32[4]", "activation = \"Relu\""},
    {17, "com.microsoft.ExpandDims", "f32[2,3]; s32[] = -1"},
    {17, "ai.graphcore.GroupNormalization", "f32[2,4,3]; f32[4]; f32[4]", "num_groups = 2", 3},
    {17, "ai.graphcore.SoftmaxV2", "f32[2,3,4]", "axis = 1"},
    {17, "ai.onnx.ml.Scaler", "f32[3,2]", "offset = [1.0, 2.0], scale = [2.0, 3.0]"},
    // Internal forms.
    {17, "poprt.Attention", "f32[2,3,4]; f32[2,5,4]; f32[2,5,4]; f32[2,2,1,5]",
     "heads = 2, head_size = 2"},
    {17, "poprt.Attention", "f32[1,3,12]; f32[1,3,12]; f32[1,3,12]",
     "heads = 2, head_size = 2, k_offset = 4, v_offset = 8"},
    {17, "poprt.Block", "f32[2,18,2,3]"},
    {17, "poprt.Unblock", "f32[2,2,2,3,16]", "channels = 18"},
    {17, "poprt.SumBytes", "u8[2,3,4]"},
};

TEST(Axes, OfWrittenNodesMatchNumericResults) {
  for (const Written& w : kWritten) {
    SCOPED_TRACE(fmt::format("{} {} ({}) {}", w.op, w.opset, w.inputs, w.attributes));
    ASSERT_NO_THROW(expect_contract(tried(w)));
  }
}

Found found_with(const Written& w, void (*spoil)(AxisMap& map)) {
  const Tried t = tried(w);
  AxisMap map = axis_map(*t.node);
  spoil(map);
  return Contract(t, map).check();
}

TEST(Axes, AWrongStatementIsFound) {
  const Written softmax{13, "Softmax", "f32[2,3,3]", "axis = 1"};
  EXPECT_TRUE(found_with(softmax, [](AxisMap&) {}).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.links.push_back({0, 1, 0, 1, 3}); }).wrong.empty());
  EXPECT_FALSE(found_with(softmax, [](AxisMap& m) { m.links[0].output_axis = 2; }).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.independent.emplace_back(0, 0); }).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.reduced.push_back({{0, 2}}); }).wrong.empty());
  const Written trilu{14, "Trilu", "f32[3,3]"};
  EXPECT_FALSE(found_with(trilu, [](AxisMap& m) { m.numbered.clear(); }).wrong.empty());
  const Written concat{13, "Concat", "f32[2,3]; f32[2,2]", "axis = 1"};
  EXPECT_FALSE(found_with(concat, [](AxisMap& m) { m.links.back().shift = 2; }).wrong.empty());
  const Written product{13, "MatMul", "f32[3,4]; f32[4,3]"};
  EXPECT_FALSE(found_with(product, [](AxisMap& m) { m.reduced[0].pop_back(); }).wrong.empty());
}

TEST(Axes, AMissingStatementIsFound) {
  const Written softmax{13, "Softmax", "f32[2,3,3]", "axis = 1"};
  EXPECT_TRUE(found_with(softmax, [](AxisMap&) {}).inexact.empty());
  const Found fewer = found_with(softmax, [](AxisMap& m) { m.links.pop_back(); });
  EXPECT_TRUE(fewer.wrong.empty());
  EXPECT_FALSE(fewer.inexact.empty());
  const Written reshape{13, "Reshape", "f32[2,3]; s64[1] = [6]"};
  EXPECT_FALSE(found_with(reshape, [](AxisMap& m) { m.links[0].extent = 1; }).inexact.empty());
}

}  // namespace
}  // namespace poprt::ops
