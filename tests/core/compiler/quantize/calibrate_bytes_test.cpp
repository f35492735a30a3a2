#include "compiler/quantize/calibrate_bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/quantize/calibrate.h"
#include "core/compiler/support.h"
#include "ir/match.h"

namespace poprt::compiler {
namespace {

RunModel run_bytes_here(const Executable& executable) {
  return [executable](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    std::map<std::string, Tensor> feeds;
    for (size_t i = 0; i < inputs.size(); i++) feeds[executable.program.inputs[i].name] = inputs[i];
    const auto results = test::run_executable(executable, feeds);
    for (size_t i = 0; i < outputs.size(); i++)
      std::memcpy(outputs[i].mutable_data(), results.at(executable.program.outputs[i].name).data(),
                  outputs[i].bytes());
  };
}

Tensor normal_tensor(Shape shape, uint32_t seed, float deviation) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, deviation);
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& v : t.mutable_values<float>()) v = normal(rng);
  return t;
}

// A network with every place where bytes are kept: first layer, bounds, residual addition, pool,
// concatenation, a depthwise layer, and a classifier.
std::unique_ptr<ir::Graph> bytes_network(int64_t opset = 17) {
  auto g = std::make_unique<ir::Graph>();
  g->opsets[""] = opset;
  uint32_t seed = 1;
  const auto add = [&](const char* op, std::vector<ir::Value*> inputs, const char* name,
                       std::map<std::string, ir::Attribute, std::less<>> attributes = {}) {
    ir::Node* n = g->add_node(op, "", inputs);
    n->name = std::string("node_") + name;
    n->attributes = std::move(attributes);
    g->rename(n->output(), name);
    return n->output();
  };
  const auto conv = [&](ir::Value* x, int64_t from, int64_t to, int64_t kernel, const char* name,
                        int64_t group = 1) {
    const float deviation = 1.4f / std::sqrt(static_cast<float>(from / group * kernel * kernel));
    ir::Value* w =
        g->add_constant(std::string("w_") + name,
                        normal_tensor({to, from / group, kernel, kernel}, seed++, deviation));
    ir::Value* b = g->add_constant(std::string("b_") + name, normal_tensor({to}, seed++, 0.1f));
    using Ints = std::vector<int64_t>;
    const int64_t pad = kernel / 2;
    return add("Conv", {x, w, b}, name, {{"pads", Ints{pad, pad, pad, pad}}, {"group", group}});
  };
  ir::Value* x = g->add_input("x", ir::ValueType::of(DType::f32, {4, 3, 8, 8}));
  ir::Value* a = add("Relu", {conv(x, 3, 16, 3, "first")}, "a");
  ir::Value* b = add("Relu", {conv(a, 16, 16, 3, "second")}, "b");
  ir::Value* sum = add("Add", {conv(b, 16, 16, 1, "third"), a}, "sum");
  ir::Value* s = add("Relu", {sum}, "s");
  using Ints = std::vector<int64_t>;
  ir::Value* pooled =
      add("MaxPool", {s}, "pooled", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  ir::Value* d = add("Relu", {conv(pooled, 16, 16, 3, "depthwise", 16)}, "d");
  ir::Value* both = add("Concat", {pooled, d}, "both", {{"axis", int64_t{1}}});
  ir::Value* last = add("Relu", {conv(both, 32, 8, 1, "last")}, "l");
  ir::Value* flat = add("Flatten", {last}, "flat");
  add("Gemm",
      {flat, g->add_constant("w_gemm", normal_tensor({5, 128}, seed++, 0.1f)),
       g->add_constant("b_gemm", normal_tensor({5}, seed++, 0.1f))},
      "logits", {{"transB", int64_t{1}}});
  g->add_output(g->find("logits"));
  ops::infer(*g);
  return g;
}

struct BytesCase {
  Options options;
  std::shared_ptr<std::string> log = std::make_shared<std::string>();
};

BytesCase bytes_options(Loss loss = Loss::mse, int64_t samples = 40) {
  BytesCase made;
  auto calibration = std::make_shared<Calibration>();
  calibration->loss = loss;
  calibration->data["x"] = normal_tensor({samples, 3, 8, 8}, 99, 1.0f);
  calibration->load = run_bytes_here;
  calibration->log = [log = made.log](const std::string& text) { *log = text; };
  calibration->result = std::make_shared<CalibrationResult>();
  made.options.calibration = calibration;
  made.options.precision = Precision::int8;
  return made;
}

std::string lowered_operators(ir::Graph& graph) {
  std::string ops;
  Options options;
  options.lowered = [&](const ir::Graph& g) {
    for (const ir::Node* n : g.nodes()) ops += n->op_type + " ";
  };
  compile(graph, options);
  return ops;
}

double accuracy_error(const std::string& log) {
  const std::string mark = "relative error ";
  return std::stod(log.substr(log.rfind(mark) + mark.size()));
}

TEST(CalibrateBytes, TheNetworkIsComputedInBytes) {
  const auto g = bytes_network();
  const BytesCase made = bytes_options();
  convert(*g, made.options);
  size_t products = 0;
  for (const ir::Node* n : g->nodes()) {
    if (!n->is("Conv") && !n->is("Gemm")) continue;
    products++;
    for (const ir::Value* v : n->inputs()) EXPECT_TRUE(ir::producer_if(v, "DequantizeLinear"));
  }
  EXPECT_EQ(products, 6u);
  const std::string ops = lowered_operators(*g);
  for (const char* no : {" Conv ", " Gemm ", " MatMul "})
    EXPECT_EQ((" " + ops).find(no), ops.npos) << no << ops;
  EXPECT_NE(ops.find("QLinearConv"), ops.npos) << ops;
  EXPECT_NE(ops.find("ScaledMatMulInteger"), ops.npos) << ops;
  EXPECT_EQ(ops.find("Relu"), ops.npos) << ops;
  EXPECT_EQ(ops.find("Add"), ops.npos) << "the residual is part of the convolution: " << ops;
}

TEST(CalibrateBytes, TheLogHasTheAccuracyOnDataThatItDidNotUse) {
  for (const Loss loss : {Loss::minmax, Loss::percentile, Loss::mse, Loss::mae, Loss::snr,
                          Loss::kld, Loss::cos_dist, Loss::entropy}) {
    const auto g = bytes_network();
    const BytesCase made = bytes_options(loss);
    convert(*g, made.options);
    EXPECT_NE(made.log->find(fmt::format("precision int8, loss {}, 6 layers\n", loss_name(loss))),
              std::string::npos);
    EXPECT_NE(made.log->find("accuracy on 8 of 40 samples, which the calibration did not use\n"
                             "  output logits: relative error "),
              std::string::npos)
        << *made.log;
    // Mean differences and divergences cut off more of the largest values.
    const bool cuts = loss == Loss::mae || loss == Loss::kld || loss == Loss::entropy;
    EXPECT_LT(accuracy_error(*made.log), cuts ? 0.15 : 0.05) << loss_name(loss);
    EXPECT_GT(accuracy_error(*made.log), 1e-4) << loss_name(loss);
  }
}

// The reported error is that of the executable on the last samples.
TEST(CalibrateBytes, TheReportedErrorIsThatOfTheExecutable) {
  const auto original = bytes_network(), g = bytes_network();
  const BytesCase made = bytes_options();
  convert(*g, made.options);
  const Tensor& data = made.options.calibration->data.at("x");
  Tensor held = Tensor::zeros(DType::f32, {4, 3, 8, 8});
  double errors = 0, squares = 0;
  const auto before = original->clone();
  convert(*before, {});
  const RunModel was = run_bytes_here(compile(*before, {})), is = run_bytes_here(compile(*g, {}));
  for (const size_t run : {8u, 9u}) {
    std::memcpy(held.mutable_data(), data.values<float>().data() + run * 4 * 192, held.bytes());
    Tensor a = Tensor::zeros(DType::f32, {4, 5}), b = Tensor::zeros(DType::f32, {4, 5});
    was({&held, 1}, {&a, 1});
    is({&held, 1}, {&b, 1});
    for (size_t i = 0; i < 20; i++) {
      const double x = static_cast<double>(a.values<float>()[i]);
      const double y = static_cast<double>(b.values<float>()[i]);
      squares += x * x;
      errors += (x - y) * (x - y);
    }
  }
  EXPECT_NEAR(accuracy_error(*made.log), std::sqrt(errors / squares),
              1e-3 * std::sqrt(errors / squares));
}

TEST(CalibrateBytes, SkippedAndWorstLayersStayFloats) {
  const auto g = bytes_network();
  BytesCase made = bytes_options();
  auto calibration = std::make_shared<Calibration>(*made.options.calibration);
  calibration->layers_to_keep = 2;
  made.options.calibration = calibration;
  made.options.narrowing.int8_skip_op_names = {"node_second", "last"};
  convert(*g, made.options);
  size_t floats = 0;
  for (const ir::Node* n : g->nodes()) {
    if (!n->is("Conv") && !n->is("Gemm")) continue;
    const bool is_float = !ir::producer_if(n->input(1), "DequantizeLinear");
    if (n->name == "node_second" || n->name == "node_last") EXPECT_TRUE(is_float) << n->name;
    floats += is_float;
  }
  EXPECT_EQ(floats, 4u);
  EXPECT_NE(made.log->find("node_second: stays fp32 (int8_skip_op_names)"), std::string::npos);
  EXPECT_NE(made.log->find("stays fp32 (num_of_layers_keep_fp32)"), std::string::npos);
}

TEST(CalibrateBytes, AllLayersInFloatsHaveNoLoss) {
  const auto g = bytes_network();
  BytesCase made = bytes_options();
  auto calibration = std::make_shared<Calibration>(*made.options.calibration);
  calibration->layers_to_keep = 6;
  made.options.calibration = calibration;
  convert(*g, made.options);
  EXPECT_EQ(accuracy_error(*made.log), 0);
  for (const ir::Node* n : g->nodes()) EXPECT_FALSE(n->is("QuantizeLinear"));
}

TEST(CalibrateBytes, CountsTheAnswersOfBothModels) {
  const auto g = bytes_network();
  BytesCase made = bytes_options();
  // The labels are the answers of the model itself.
  const auto own = bytes_network();
  convert(*own, {});
  const RunModel model = run_bytes_here(compile(*own, {}));
  const Tensor& data = made.options.calibration->data.at("x");
  auto calibration = std::make_shared<Calibration>(*made.options.calibration);
  for (size_t run = 0; run < 10; run++) {
    Tensor in = Tensor::zeros(DType::f32, {4, 3, 8, 8}), out = Tensor::zeros(DType::f32, {4, 5});
    std::memcpy(in.mutable_data(), data.values<float>().data() + run * 4 * 192, in.bytes());
    model({&in, 1}, {&out, 1});
    for (size_t r = 0; r < 4; r++) {
      const auto row = out.values<float>().subspan(r * 5, 5);
      calibration->labels.push_back(std::ranges::max_element(row) - row.begin());
    }
  }
  made.options.calibration = calibration;
  convert(*g, made.options);
  EXPECT_NE(made.log->find("  labels: fp32 100.00 %, int8 "), std::string::npos) << *made.log;
  EXPECT_NE(made.log->find("% of 8 samples\n"), std::string::npos);
  calibration->labels.pop_back();
  calibration->result = std::make_shared<CalibrationResult>();
  try {
    convert(*bytes_network(), made.options);
    FAIL() << "39 labels for 40 samples";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(e.message().find("has 39 labels for the 40 samples"), std::string::npos);
  }
}

TEST(CalibrateBytes, LabelsAreClassesOfTheModel) {
  for (const int64_t wrong : {-1, 5}) {
    BytesCase made = bytes_options();
    auto calibration = std::make_shared<Calibration>(*made.options.calibration);
    calibration->labels.assign(40, 4);
    calibration->labels[7] = wrong;
    made.options.calibration = calibration;
    try {
      convert(*bytes_network(), made.options);
      FAIL() << "label " << wrong << " of 5 classes";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(e.message().find(fmt::format("the label of sample 7 is {}, expected a class from "
                                             "0 to 4",
                                             wrong)),
                std::string::npos)
          << e.message();
    }
  }
}

// Runs have 4 samples; the last one is often not full.
TEST(CalibrateBytes, AFifthOfTheSamplesIsHeldOut) {
  const std::map<int64_t, int64_t> measured = {{5, 1}, {8, 4}, {9, 5}, {20, 4}, {21, 5}, {22, 6}};
  for (const auto& [samples, held] : measured) {
    const BytesCase made = bytes_options(Loss::mse, samples);
    convert(*bytes_network(), made.options);
    EXPECT_NE(
        made.log->find(fmt::format(
            "accuracy on {} of {} samples, which the calibration did not use", held, samples)),
        std::string::npos)
        << *made.log;
  }
}

TEST(CalibrateBytes, OneRunIsMeasuredOnItsOwnData) {
  const auto g = bytes_network();
  const BytesCase made = bytes_options(Loss::mse, 3);
  convert(*g, made.options);
  EXPECT_NE(made.log->find("accuracy on 3 of 3 samples, which the calibration also used"),
            std::string::npos)
      << *made.log;
}

// Scales for each channel need opset 13.
TEST(CalibrateBytes, OlderModelsBecomeOpset13) {
  const auto g = bytes_network(11);
  const BytesCase made = bytes_options();
  convert(*g, made.options);
  EXPECT_EQ(g->opsets.at(""), 13);
  EXPECT_LT(accuracy_error(*made.log), 0.05);
}

TEST(CalibrateBytes, AModelWithoutProductsDoesNotChange) {
  auto g = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[4,3,8,8]
    %y = Relu(%x)
    output %y
  })");
  ops::infer(*g);
  const BytesCase made = bytes_options();
  convert(*g, made.options);
  EXPECT_EQ(g->nodes().size(), 1u);
  EXPECT_EQ(accuracy_error(*made.log), 0);
}

// Images of bytes are another input than the data, with which the products of bytes are measured.
// A graph for an ONNX model has sizes that depend on data, which the device runs as bounds.
TEST(CalibrateBytes, AModelWithSizesThatDependOnDataIsCalibrated) {
  for (const bool onnx : {true, false}) {
    auto g = bytes_network();
    ir::Node* n = g->add_node("NonZero", "", {g->find("logits")});
    g->rename(n->output(), "places");
    g->add_output(n->output());
    ops::infer(*g);
    BytesCase c = bytes_options();
    c.options.keep_onnx = onnx;
    convert(*g, c.options);
    EXPECT_NE(c.log->find("logits: relative error 0.0"), std::string::npos) << *c.log;
    EXPECT_EQ(
        c.log->find("places: not measured, because its size depends on data") == std::string::npos,
        !onnx)
        << *c.log;
    EXPECT_EQ(g->find("places")->type.is_static(), !onnx);
  }
}

TEST(CalibrateBytes, TheAccuracyDoesNotDependOnInputsOfBytes) {
  const auto g = bytes_network(), images = bytes_network();
  const BytesCase made = bytes_options();
  BytesCase of_images = bytes_options();
  of_images.options.eight_bits_io = true;
  convert(*g, made.options);
  convert(*images, of_images.options);
  EXPECT_EQ(images->find("x")->dtype(), DType::u8);
  EXPECT_EQ(accuracy_error(*of_images.log), accuracy_error(*made.log));
}

// Input a has more rows than b, but b has more runs.
TEST(CalibrateBytes, TheInputWithTheMostRunsHasTheSamples) {
  auto g = std::make_unique<ir::Graph>();
  g->opsets[""] = 17;
  const auto product = [&](const char* name, int64_t rows, uint32_t seed) {
    ir::Value* x = g->add_input(name, ir::ValueType::of(DType::f32, {rows, 16}));
    ir::Value* w = g->add_constant(std::string("w_") + name, normal_tensor({16, 16}, seed, 0.25f));
    return g->add_node("MatMul", "", {x, w})->output();
  };
  g->add_output(g->add_node("Add", "", {product("a", 100, 1), product("b", 1, 2)})->output());
  ops::infer(*g);
  BytesCase made = bytes_options();
  auto calibration = std::make_shared<Calibration>(*made.options.calibration);
  calibration->data = {{"a", normal_tensor({100, 16}, 5, 1)}, {"b", normal_tensor({10, 16}, 6, 1)}};
  made.options.calibration = calibration;
  convert(*g, made.options);
  EXPECT_NE(made.log->find("accuracy on 2 of 10 samples"), std::string::npos) << *made.log;
  EXPECT_LT(accuracy_error(*made.log), 0.05);
}

}  // namespace
}  // namespace poprt::compiler
