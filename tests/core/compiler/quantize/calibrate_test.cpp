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

TEST(Calibrate, ChoosesTheFormatWithTheSmallestLoss) {
  const auto g = model();
  const auto p = calibrate(*g, options_with(Loss::mse));
  ASSERT_EQ(p.fp8_weight_dict.size(), 3u);
  ASSERT_EQ(p.fp8_input_dict.size(), 3u);
  for (const auto& [name, weight] :
       {std::pair("conv", "w1"), std::pair("first", "w2"), std::pair("last", "w3")})
    EXPECT_EQ(
        p.fp8_weight_dict.at(name),
        search_format(g->find(weight)->constant().values<float>(), Loss::mse).chosen().format);
  // Layers receive the values that the model computes; those of the second layer are larger.
  EXPECT_GT(p.fp8_input_dict.at("first").scale, p.fp8_input_dict.at("conv").scale + 3);
  const auto data = options_with(Loss::mse).calibration->data.at("x");
  EXPECT_EQ(p.fp8_input_dict.at("conv"),
            search_format(data.values<float>(), Loss::mse).chosen().format);
}

TEST(Calibrate, QuantisingOnlyWeightsReadsNoInputs) {
  const auto g = model();
  Options options = options_with(Loss::kld);
  options.narrowing.fp8_weights_only = true;
  const auto p = calibrate(*g, options);
  EXPECT_EQ(p.fp8_weight_dict.size(), 3u);
  EXPECT_TRUE(p.fp8_input_dict.empty());
}

TEST(Calibrate, KeepsTheWorstLayersAndSkippedLayersInFloat) {
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
    // The codes are at the positions of their elements: both vectors have the same direction.
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
    // A second calibration needs no data, because the results are kept, and its log is equal.
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

// A model with one product of `x` and random weights, and its log.
struct Logged {
  std::string text;
  std::unique_ptr<ir::Graph> graph;
  passes::PrecisionParameters parameters;
};

Logged logged(const std::string& body, const std::map<std::string, Tensor>& weights,
              const Tensor& data, Options options) {
  Logged out;
  out.graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n");
  for (const auto& [name, w] : weights) {
    ir::Value* v = out.graph->add_constant("", w);
    ir::Value* old = out.graph->find(name);
    out.graph->replace_all_uses(old, v);
    out.graph->erase_value(old);
    out.graph->rename(v, name);
  }
  ops::infer(*out.graph);
  auto calibration = std::make_shared<Calibration>(*options.calibration);
  calibration->data = {{"x", data}};
  calibration->log = [&](const std::string& text) { out.text = text; };
  options.calibration = calibration;
  out.parameters = calibrate(*out.graph, options);
  return out;
}

std::string search_log(const char* title, const FormatSearch& search, std::span<const float> was) {
  const auto format = [](const passes::QuarterFormat& f) {
    return fmt::format("{},{}", f.dtype == DType::f8_143 ? "F143" : "F152", f.scale);
  };
  const FormatTrial& best = *std::ranges::min_element(search.trials, {}, &FormatTrial::loss);
  std::string text =
      fmt::format("  {}: chosen {} loss {:.6g}\n", title, format(best.format), best.loss);
  for (const FormatTrial& t : search.trials)
    text += fmt::format("    {} loss {:.6g}\n", format(t.format), t.loss);
  const std::vector<float> is = rounded(was, best.format);
  std::vector<float> noise;
  for (size_t i = 0; i < was.size(); i++) noise.push_back(is[i] - was[i]);
  for (const auto& [name, values] : {std::pair("before", std::vector(was.begin(), was.end())),
                                     std::pair("after", is), std::pair("noise", noise)}) {
    const Moments m = moments_of(values);
    text += fmt::format("    {}: mean {:.6g} variance {:.6g} skewness {:.6g} kurtosis {:.6g}\n",
                        name, m.mean, m.variance, m.skewness, m.kurtosis);
  }
  return text;
}

constexpr const char* kOneProduct = R"(
  input %x : f32[2,6]
  input %w : f32[6,5]
  %y : ? = MatMul(%x, %w) "node"
  output %y
)";

TEST(Calibrate, LogsTheSearchAndItsStatistics) {
  const Tensor data = random_tensor({4, 6}, 3, 1.0f), w = random_tensor({6, 5}, 4, 0.1f);
  const auto text = [&](Options options) {
    return logged(kOneProduct, {{"w", w}}, data, std::move(options)).text;
  };
  const std::string weight = search_log("weight", search_format(w.values<float>(), Loss::mse),
                                        w.values<float>()),
                    input = search_log("input", search_format(data.values<float>(), Loss::mse),
                                       data.values<float>());
  EXPECT_EQ(text(options_with(Loss::mse)),
            "precision fp8, loss mse, 1 layers\nMatMul node\n" + weight + input);
  EXPECT_EQ(text(options_with(Loss::mse, true, 1)),
            "precision fp8, loss mse, 1 layers\nMatMul node: stays fp16\n" + weight + input);
  Options weights_only = options_with(Loss::mse);
  weights_only.narrowing.fp8_weights_only = true;
  EXPECT_EQ(text(weights_only), "precision fp8_weight, loss mse, 1 layers\nMatMul node\n" + weight);
}

// If there are more numbers than the limit, a run samples every second one and the next run the
// others, and each run includes its greatest number.
TEST(Calibrate, ReadsAPartOfLargeTensorsAndTheirGreatest) {
  constexpr int64_t kRows = 128, kWidth = 2048;
  Tensor data = random_tensor({2 * kRows, kWidth}, 3, 1.0f);
  const auto all = data.mutable_values<float>();
  all[1] = -300;  // left out of the first run
  all[kRows * kWidth] = 200;
  std::vector<float> seen;
  for (size_t run = 0; run < 2; run++) {
    for (size_t i = run; i < kRows * kWidth; i += 2) seen.push_back(all[run * kRows * kWidth + i]);
    seen.push_back(run ? 200.0f : -300.0f);
  }
  const Logged l =
      logged(R"(
    input %x : f32[128,2048]
    input %w : f32[2048,1]
    %y : ? = MatMul(%x, %w) "node"
    output %y
  )",
             {{"w", random_tensor({kWidth, 1}, 4, 0.1f)}}, data, options_with(Loss::mae));
  const FormatSearch search = search_format(seen, Loss::mae);
  EXPECT_EQ(l.parameters.fp8_input_dict.at("y"), search.chosen().format);
  EXPECT_NE(l.text.find(fmt::format("loss {:.6g}\n", search.chosen().loss)), l.text.npos);
}

TEST(Calibrate, ReportsProgress) {
  const auto g = model();
  Options options = options_with(Loss::mse);  // 12 samples, 4 a run
  std::vector<std::pair<double, std::string>> reports;
  options.progress = [&](double part, std::string_view what) { reports.emplace_back(part, what); };
  calibrate(*g, options);
  ASSERT_GT(reports.size(), 4u);  // the runs, and then the layers
  for (size_t i = 0; i < 3; i++) EXPECT_DOUBLE_EQ(reports[i].first, static_cast<double>(i + 1) / 6);
  EXPECT_TRUE(std::ranges::is_sorted(reports));
  EXPECT_DOUBLE_EQ(reports.back().first, 1);
  for (const auto& [part, what] : reports) EXPECT_EQ(what, "calibration");
}

// A conversion with calibration does not repeat earlier passes, and its progress never falls.
TEST(Calibrate, ProgressOfTheConversionContinuesAfterCalibration) {
  const auto g = model();
  Options options = options_with(Loss::mse);
  std::vector<double> all, calibrated;
  options.progress = [&](double part, std::string_view what) {
    all.push_back(part);
    if (what == "calibration") calibrated.push_back(part);
  };
  convert(*g, options);
  ASSERT_GT(calibrated.size(), 3u);
  EXPECT_GT(calibrated.front(), 0.2);
  EXPECT_DOUBLE_EQ(calibrated.back(), 0.8);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_DOUBLE_EQ(all.back(), 1);
}

TEST(Calibrate, AConversionThatStopsBeforeDoesNotCalibrate) {
  const auto g = model();
  Options options = options_with(Loss::mse);
  options.stop_after = "constant_folding";
  size_t reports = 0;
  options.progress = [&](double, std::string_view what) { reports += what == "calibration"; };
  convert(*g, options);
  EXPECT_EQ(reports, 0u);
  for (const ir::Node* n : g->nodes()) EXPECT_NE(n->domain, "ai.graphcore") << n->describe();
}

TEST(Calibrate, MoreLayersToKeepThanThereAreAreAll) {
  const auto g = model();
  Options options = options_with(Loss::mse, true, 7);
  const auto p = calibrate(*g, options);
  EXPECT_EQ(p.fp8_skip_op_names.size(), 3u);
  EXPECT_TRUE(p.fp8_weight_dict.empty() && p.fp8_input_dict.empty());
  options = options_with(Loss::mse, true, 0);
  EXPECT_TRUE(calibrate(*g, options).fp8_skip_op_names.empty());
  // Names have no effect if fp8_skip_op is false; it becomes true if a layer is kept.
  options.narrowing.fp8_skip_op = false;
  options.narrowing.fp8_skip_op_names = {"node_first"};
  EXPECT_EQ(calibrate(*g, options).fp8_weight_dict.size(), 3u);
  EXPECT_FALSE(calibrate(*g, options).fp8_skip_op);
  options = options_with(Loss::mse, true, 1);
  options.narrowing.fp8_skip_op = false;
  EXPECT_TRUE(calibrate(*g, options).fp8_skip_op);
}

// Values inside of branches, or without a known size, have the formats of float_to_fp8.
TEST(Calibrate, LooksAtProductsOutsideOfBranchesWithAKnownSize) {
  const auto chosen = [](const std::string& input, const std::string& outside) {
    const auto graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\ninput %x : " + input + R"(
      input %c : bool[]
      const %w : f32[6,6] = fill 0.5
      const %v : f32[6,6] = fill 0.25
      %a : ? = MatMul(%x, %w)
      %b : ? = If(%c) {
        then_branch = graph "t" { %m : ? = MatMul(%a, %v) output %m },
        else_branch = graph "e" { %n : ? = MatMul(%x, %v) output %n }}
      )" + outside + "output %y\n}\n");
    ops::infer(*graph);
    std::string names;
    for (const auto& [name, format] :
         calibrate(*graph, options_with(Loss::mse, false)).fp8_weight_dict)
      names += name + " ";
    return names;
  };
  EXPECT_EQ(chosen("f32[2,6]", "%y : ? = Neg(%b)\n"), "a ");
  EXPECT_EQ(chosen("f32[2,6]", "%y : ? = MatMul(%b, %w)\n"), "a y ");
  EXPECT_EQ(chosen("f32[N,6]", "%y : ? = MatMul(%b, %w)\n"), "");
}

// Two layers of one tensor with the same weights lose the same: the first is kept.
TEST(Calibrate, OfEqualLossesTheFirstIsKept) {
  const Tensor w = random_tensor({6, 5}, 4, 0.1f);
  const Logged l = logged(R"(
    input %x : f32[2,6]
    input %a : f32[6,5]
    input %b : f32[6,5]
    %y : ? = MatMul(%x, %a)
    %z : ? = MatMul(%x, %b)
    output %y
    output %z
  )",
                          {{"a", w}, {"b", w}}, random_tensor({4, 6}, 3, 1.0f),
                          options_with(Loss::mse, true, 1));
  EXPECT_EQ(l.parameters.fp8_skip_op_names, (std::vector<std::string>{"y"}));
}

// Codes of layers that stay f16 are dropped, and products without rows keep the nearest codes.
TEST(Calibrate, GptqAdjustsLayersWithRows) {
  const std::string body = R"(
    input %x : f32[2,4,6,6]
    input %a : f32[5,4,3,3]
    input %b : f32[3,4,1,1]
    input %c : f32[4,2,1,1]
    %u : ? = Conv(%x, %a)
    %v : ? = Conv(%x, %b) {strides = [2, 2]}
    %w : ? = Conv(%x, %c) {group = 2}
    output %u
    output %v
    output %w
  )";
  const std::map<std::string, Tensor> weights = {{"a", random_tensor({5, 4, 3, 3}, 4, 0.1f)},
                                                 {"b", random_tensor({3, 4, 1, 1}, 5, 0.1f)},
                                                 {"c", random_tensor({4, 2, 1, 1}, 6, 0.1f)}};
  const Tensor data = random_tensor({20, 4, 6, 6}, 3, 1.0f);
  for (const int64_t keep : {0, 1}) {
    const Logged l = logged(body, weights, data, options_with(Loss::gptq, true, keep));
    EXPECT_EQ(l.text.find("precision fp8, loss gptq, 3 layers\nConv u"), 0u) << l.text;
    EXPECT_NE(l.text.find("weight loss: not adjusted, rounded to nearest"), l.text.npos);
    EXPECT_FALSE(l.parameters.fp8_codes.contains("w"));
    EXPECT_EQ(l.parameters.fp8_codes.size() + l.parameters.fp8_skip_op_names.size(),
              l.parameters.fp8_skip_op_names == std::vector<std::string>{"w"} ? 3u : 2u);
    // The loss of a layer is that of its results: the mean square over windows of the data.
    for (const auto& [name, weight] : {std::pair("u", "a"), std::pair("v", "b")}) {
      const size_t at = l.text.find(fmt::format("Conv {}", name));
      const double before = std::stod(l.text.substr(l.text.find("before ", at) + 7));
      const ir::Node& n = *l.graph->find(name)->producer();
      const Tensor& w = weights.at(weight);
      const std::vector<float> is =
          rounded(w.values<float>(), search_format(w.values<float>(), Loss::mse).chosen().format);
      double sum = 0, count = 0;
      const int64_t size = w.count() / w.shape()[0];
      for (int64_t run = 0; run < 10; run++) {
        Tensor x = Tensor::zeros(DType::f32, {2, 4, 6, 6});
        std::memcpy(x.mutable_data(), data.values<float>().data() + run * x.count(), x.bytes());
        const std::vector<float> rows = rows_of(n, x, 1 << 20);
        for (size_t r = 0; r < rows.size(); r += static_cast<size_t>(size), count++)
          for (int64_t m = 0; m < w.shape()[0]; m++) {
            double d = 0;
            for (int64_t i = 0; i < size; i++) {
              const auto k = static_cast<size_t>(m * size + i);
              d += static_cast<double>(is[k] - w.values<float>()[k]) *
                   static_cast<double>(rows[r + static_cast<size_t>(i)]);
            }
            sum += d * d;
          }
      }
      EXPECT_NEAR(before, sum / count, 1e-3 * before) << name;
    }
  }
}

// If there are more rows than the limit, every second row of each run is sampled.
TEST(Calibrate, ByGptqReadsAPartOfVeryManyRows) {
  constexpr int64_t kRuns = 64, kRows = 128, kSize = 6;
  const Tensor data = random_tensor({kRuns * kRows, kSize}, 3, 1.0f),
               w = random_tensor({kSize, 5}, 4, 0.1f);
  const Logged l = logged(R"(
    input %x : f32[128,6]
    input %w : f32[6,5]
    %y : ? = MatMul(%x, %w) "node"
    output %y
  )",
                          {{"w", w}}, data, options_with(Loss::gptq));
  const std::vector<float> is =
      rounded(w.values<float>(), search_format(w.values<float>(), Loss::mse).chosen().format);
  double sum = 0;
  for (int64_t r = 0; r < kRuns * kRows; r += 2)
    for (int64_t c = 0; c < 5; c++) {
      double d = 0;
      for (int64_t i = 0; i < kSize; i++) {
        const auto k = static_cast<size_t>(i * 5 + c);
        d += static_cast<double>(is[k] - w.values<float>()[k]) *
             static_cast<double>(data.values<float>()[static_cast<size_t>(r * kSize + i)]);
      }
      sum += d * d;
    }
  const double wanted = sum / static_cast<double>(kRuns * kRows / 2);
  EXPECT_NEAR(std::stod(l.text.substr(l.text.find("before ") + 7)), wanted, 1e-4 * wanted);
}

// Windows have strides, padding and dilations that differ between axes, and there are several
// images.
TEST(Rows, OfAnyWindowGiveTheResult) {
  using Attributes = std::map<std::string, ir::Attribute, std::less<>>;
  using Ints = std::vector<int64_t>;
  const std::pair<Shape, Attributes> cases[] = {
      {{4, 3, 3, 2}, {}},
      {{4, 3, 1, 1}, {{"strides", Ints{2, 3}}}},
      {{2, 3, 3, 2}, {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 2, 1}}}},
      {{2, 3, 2, 3}, {{"dilations", Ints{3, 2}}, {"pads", Ints{0, 2, 1, 1}}}},
      {{5, 3, 7, 6}, {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{1}}}}};
  for (const auto& [shape, attributes] : cases) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    const Tensor x = random_tensor({2, 3, 7, 6}, 1, 1), w = random_tensor(shape, 2, 1);
    ir::Node* n = g.add_node(
        "Conv", "",
        {g.add_input("x", ir::ValueType::of(DType::f32, x.shape())), g.add_constant("w", w)});
    n->attributes = attributes;
    ops::infer(*n);
    const Tensor y = ops::evaluate(*n, std::vector<Tensor>{x, w})[0];
    const std::vector<float> rows = rows_of(*n, x, 1 << 20);
    const int64_t size = w.count() / shape[0], plane = y.shape()[2] * y.shape()[3];
    ASSERT_EQ(static_cast<int64_t>(rows.size()), 2 * plane * size);
    for (int64_t i = 0; i < y.count(); i++) {
      const int64_t place = i / (plane * shape[0]) * plane + i % plane, m = i / plane % shape[0];
      double sum = 0;
      for (int64_t k = 0; k < size; k++)
        sum += static_cast<double>(rows[static_cast<size_t>(place * size + k)]) *
               static_cast<double>(w.values<float>()[static_cast<size_t>(m * size + k)]);
      ASSERT_NEAR(sum, y.values<float>()[static_cast<size_t>(i)], 1e-4) << shape_string(shape);
    }
    // A part of them: the requested number of positions, at equal distances.
    const int64_t places = 2 * plane;
    for (const int64_t most : {places + 1, places, places / 2, places / 3, int64_t{1}}) {
      const std::vector<float> some = rows_of(*n, x, most);
      const int64_t step = std::max<int64_t>(1, places / most);
      ASSERT_EQ(static_cast<int64_t>(some.size()), (places + step - 1) / step * size);
      for (int64_t k = 0; k < static_cast<int64_t>(some.size()); k++)
        ASSERT_EQ(some[static_cast<size_t>(k)],
                  rows[static_cast<size_t>(k / size * step * size + k % size)]);
    }
  }
}

TEST(Rows, AreSpreadOverMatricesAndEmptyForOtherProducts) {
  const auto rows = [](const char* op, const Tensor& x, Shape weight, int64_t most,
                       std::map<std::string, ir::Attribute, std::less<>> attributes = {}) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    ir::Node* n = g.add_node(op, "",
                             {g.add_input("x", ir::ValueType::of(DType::f32, x.shape())),
                              g.add_constant("w", random_tensor(std::move(weight), 2, 1))});
    n->attributes = std::move(attributes);
    ops::infer(*n);
    return rows_of(*n, x, most);
  };
  const Tensor x = random_tensor({3, 3, 4}, 1, 1);
  const std::vector<float> all(x.values<float>().begin(), x.values<float>().end());
  EXPECT_EQ(rows("MatMul", x, {4, 2}, 9), all);
  EXPECT_EQ(rows("MatMul", x, {4, 2}, 5), all) << "every first of nine is as many";
  std::vector<float> thirds;
  for (size_t r : {0u, 3u, 6u}) thirds.insert(thirds.end(), &all[r * 4], &all[r * 4] + 4);
  EXPECT_EQ(rows("MatMul", x, {4, 2}, 3), thirds);
  EXPECT_TRUE(rows("MatMul", x, {3, 4, 2}, 9).empty());
  EXPECT_TRUE(rows("MatMul", Tensor::zeros(DType::f32, {0, 4}), {4, 2}, 9).empty());
  const Tensor image = random_tensor({1, 4, 5, 5}, 1, 1);
  EXPECT_FALSE(rows("Conv", image, {2, 4, 1, 1}, 9).empty());
  EXPECT_TRUE(rows("Conv", image, {2, 2, 1, 1}, 9, {{"group", int64_t{2}}}).empty());
  EXPECT_TRUE(
      rows("Conv", image, {2, 4, 2, 2}, 9, {{"auto_pad", std::string("SAME_UPPER")}}).empty());
  EXPECT_TRUE(rows("Conv", random_tensor({1, 4, 5}, 1, 1), {2, 4, 2}, 9).empty());
}

TEST(Rows, AreTheOperandsOfTheWeights) {
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
