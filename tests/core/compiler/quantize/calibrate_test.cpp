#include "compiler/quantize/calibrate.h"

#include <gtest/gtest.h>

#include <random>

#include "base/quarter.h"
#include "compiler/quantize/format_search.h"
#include "core/compiler/support.h"
#include "program/serialize.h"

namespace poprt::compiler {
namespace {

RunModel run_here(const Executable& executable) {
  return [executable](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    std::map<std::string, Tensor> feeds;
    for (size_t i = 0; i < inputs.size(); i++) feeds[executable.program.inputs[i].name] = inputs[i];
    const auto results = test::run_executable(executable, feeds);
    for (size_t i = 0; i < outputs.size(); i++)
      std::memcpy(outputs[i].mutable_data(), results.at(executable.program.outputs[i].name).data(),
                  outputs[i].bytes());
  };
}

Tensor random_tensor(Shape shape, uint32_t seed, float deviation) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, deviation);
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& v : t.mutable_values<float>()) v = normal(rng);
  return t;
}

// Three layers, the second with inputs that are far larger than the first's.
std::unique_ptr<ir::Graph> model() {
  auto g = std::make_unique<ir::Graph>();
  g->opsets[""] = 17;
  ir::Value* x = g->add_input("x", ir::ValueType::of(DType::f32, {4, 3, 6, 6}));
  ir::Value* w1 = g->add_constant("w1", random_tensor({8, 3, 3, 3}, 1, 0.2f));
  const auto add = [&](const char* op, std::initializer_list<ir::Value*> inputs, const char* name) {
    ir::Node* n = g->add_node(op, "", inputs);
    n->name = std::string("node_") + name;
    g->rename(n->output(), name);
    return n;
  };
  ir::Value* v = add("Conv", {x, w1}, "conv")->output();
  v = add("Mul", {v, g->add_constant("hundred", Tensor::scalar(100.0f))}, "large")->output();
  v = add("Relu", {v}, "relu")->output();
  ir::Node* flat = add("Flatten", {v}, "flat");
  ir::Value* a =
      add("MatMul", {flat->output(), g->add_constant("w2", random_tensor({128, 16}, 2, 0.05f))},
          "first")
          ->output();
  ir::Node* gemm = add("Gemm", {a, g->add_constant("w3", random_tensor({5, 16}, 3, 3.0f))}, "last");
  gemm->attributes["transB"] = int64_t{1};
  g->add_output(gemm->output());
  ops::infer(*g);
  return g;
}

Options options_with(Loss loss, bool data = true, int64_t keep = 0) {
  auto calibration = std::make_shared<Calibration>();
  calibration->loss = loss;
  if (data) calibration->data["x"] = random_tensor({12, 3, 6, 6}, 8, 1.0f);
  calibration->layers_to_keep = keep;
  calibration->load = run_here;
  Options options;
  options.calibration = calibration;
  options.precision = Precision::fp8;
  return options;
}

TEST(Calibrate, ChoosesForEachLayerWhatLosesLeast) {
  const auto g = model();
  const auto p = calibrate(*g, options_with(Loss::mse));
  ASSERT_EQ(p.fp8_weight_dict.size(), 3u);
  ASSERT_EQ(p.fp8_input_dict.size(), 3u);
  for (const auto& [name, weight] :
       {std::pair("conv", "w1"), std::pair("first", "w2"), std::pair("last", "w3")})
    EXPECT_EQ(
        p.fp8_weight_dict.at(name),
        search_format(g->find(weight)->constant().values<float>(), Loss::mse).chosen().format);
  // What the layers see is what the model computes: the second one's numbers are larger.
  EXPECT_GT(p.fp8_input_dict.at("first").scale, p.fp8_input_dict.at("conv").scale + 3);
  const auto data = options_with(Loss::mse).calibration->data.at("x");
  EXPECT_EQ(p.fp8_input_dict.at("conv"),
            search_format(data.values<float>(), Loss::mse).chosen().format);
}

TEST(Calibrate, OfWeightsAloneLooksAtNoInputs) {
  const auto g = model();
  Options options = options_with(Loss::kld);
  options.narrowing.fp8_weights_only = true;
  const auto p = calibrate(*g, options);
  EXPECT_EQ(p.fp8_weight_dict.size(), 3u);
  EXPECT_TRUE(p.fp8_input_dict.empty());
}

TEST(Calibrate, KeepsTheWorstLayersAndThoseThatAreSkipped) {
  const auto g = model();
  Options options = options_with(Loss::mse, true, 1);
  options.narrowing.fp8_skip_op_names = {"node_first"};
  const auto p = calibrate(*g, options);
  // By mse the weights of the last layer lose most: they are the largest by far.
  EXPECT_EQ(p.fp8_skip_op_names, (std::vector<std::string>{"node_first", "last"}));
  EXPECT_EQ(p.fp8_weight_dict.size(), 1u);
  EXPECT_TRUE(p.fp8_weight_dict.contains("conv"));
}

TEST(Calibrate, WithoutDataRanksLayersByTheirWeights) {
  const auto g = model();
  const auto p = calibrate(*g, options_with(Loss::snr, false, 2));
  EXPECT_EQ(p.fp8_skip_op_names.size(), 2u);
  EXPECT_EQ(p.fp8_weight_dict.size(), 1u);
  EXPECT_EQ(p.fp8_weight_dict.begin()->second, options_with(Loss::snr).narrowing.fp8.weight);
}

TEST(Calibrate, ByGptqGivesCodesThatLoseLessInEveryLayer) {
  const auto g = model();
  Options options = options_with(Loss::gptq);
  options.narrowing.fp8_weights_only = true;
  auto calibration = std::make_shared<Calibration>(*options.calibration);
  std::string log;
  calibration->log = [&](const std::string& text) { log = text; };
  calibration->data["x"] = random_tensor({60, 3, 6, 6}, 8, 1.0f);
  options.calibration = calibration;
  const auto p = calibrate(*g, options);
  ASSERT_EQ(p.fp8_codes.size(), 3u);
  for (const auto& [name, weight] :
       {std::pair("conv", "w1"), std::pair("first", "w2"), std::pair("last", "w3")}) {
    const Tensor &codes = p.fp8_codes.at(name), &floats = g->find(weight)->constant();
    EXPECT_EQ(codes.shape(), floats.shape()) << name;
    // Each element's code stands where the element does: together they point the same way.
    double both = 0, own = 0, theirs = 0;
    for (size_t i = 0; i < codes.values<uint8_t>().size(); i++) {
      const double a = quarter_to_float(p.fp8.weight.dtype, codes.values<uint8_t>()[i]);
      const double b = floats.values<float>()[i];
      both += a * b, own += a * a, theirs += b * b;
    }
    EXPECT_GT(both / std::sqrt(own * theirs), 0.98) << name;
  }
  int layers = 0;
  for (size_t at = log.find("before "); at != log.npos; at = log.find("before ", at + 1)) {
    const double before = std::stod(log.substr(at + 7));
    const double after = std::stod(log.substr(log.find("after ", at) + 6));
    EXPECT_LT(after, before);
    layers++;
  }
  EXPECT_EQ(layers, 3) << log;
}

TEST(Calibrate, LogsEveryTrialAndTheChoice) {
  const auto g = model();
  for (const Loss loss : {Loss::kld, Loss::mse}) {
    Options options = options_with(loss);
    auto calibration = std::make_shared<Calibration>(*options.calibration);
    std::string log;
    calibration->log = [&](const std::string& text) { log = text; };
    calibration->result = std::make_shared<CalibrationResult>();
    options.calibration = calibration;
    calibrate(*g, options);
    for (const char* fact : {"Conv node_conv", "MatMul node_first", "Gemm node_last", "F143,",
                             "F152,", "  weight: chosen", "  input: chosen"})
      EXPECT_NE(log.find(fact), log.npos) << fact << "\n" << log;
    // The documented statistics belong to all losses but kld.
    EXPECT_EQ(log.find("skewness") != log.npos, loss != Loss::kld);
    // The second time the result is at hand, and the log again.
    const std::string first = log;
    log.clear();
    calibration->load = {};
    calibrate(*g, options);
    EXPECT_EQ(log, first);
  }
}

TEST(Calibrate, RefusesDataThatDoesNotFitByOneLine) {
  const auto g = model();
  const auto message = [&](std::map<std::string, Tensor> data) -> std::string {
    Options options = options_with(Loss::mse);
    auto calibration = std::make_shared<Calibration>(*options.calibration);
    calibration->data = std::move(data);
    options.calibration = calibration;
    try {
      calibrate(*g, options);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message();
    }
    return "no error";
  };
  const Tensor good = random_tensor({4, 3, 6, 6}, 1, 1);
  EXPECT_EQ(message({{"image", good}}),
            "`data_preprocess`: there is no array for input 'x'; the file has 'image'");
  EXPECT_EQ(message({{"x", good}, {"z", good}}),
            "`data_preprocess`: the model has no input 'z'; inputs are: 'x'");
  EXPECT_EQ(message({{"x", random_tensor({4, 6, 6, 3}, 1, 1)}}),
            "`data_preprocess`: input 'x' has the shape [4,6,6,3], expected [SAMPLES,3,6,6]");
  EXPECT_EQ(message({{"x", good}}), "no error");
}

TEST(Rows, AreWhatWeightsMeet) {
  const auto g = model();
  for (const ir::Node* n : g->nodes()) {
    if (!n->is("Conv") && !n->is("MatMul")) continue;
    const auto feeds = test::random_feeds(*g);
    // The product of rows and weights is the node's result.
    std::map<const ir::Value*, Tensor> known = {{g->find("x"), feeds.at("x")}};
    for (const ir::Node* m : g->nodes()) {
      std::vector<Tensor> inputs;
      for (const ir::Value* v : m->inputs())
        inputs.push_back(v->is_constant() ? v->constant() : known.at(v));
      known[m->output()] = ops::evaluate(*m, inputs)[0];
      if (m == n) break;
    }
    const std::vector<float> rows = rows_of(*n, known.at(n->input(0)), 1 << 20);
    const Tensor &w = n->input(1)->constant(), &y = known.at(n->output());
    const bool conv = n->is("Conv");
    const int64_t results = w.shape()[conv ? 0 : 1], size = w.count() / results;
    const auto wv = w.values<float>(), yv = y.values<float>();
    const int64_t count = static_cast<int64_t>(rows.size()) / size, plane = conv ? 16 : 1;
    ASSERT_EQ(count * results, y.count());
    for (int64_t r = 0; r < count; r++)
      for (int64_t c = 0; c < results; c++) {
        double sum = 0;
        for (int64_t i = 0; i < size; i++)
          sum +=
              static_cast<double>(rows[static_cast<size_t>(r * size + i)]) *
              static_cast<double>(wv[static_cast<size_t>(conv ? c * size + i : i * results + c)]);
        const int64_t at = conv ? (r / plane * results + c) * plane + r % plane : r * results + c;
        ASSERT_NEAR(sum, yv[static_cast<size_t>(at)], 1e-3 + 1e-4 * std::abs(sum));
      }
  }
}

}  // namespace
}  // namespace poprt::compiler
