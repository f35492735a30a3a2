// Compiles every kind of model with the driver: a single model, fused ones, a model at several
// shapes, and models on several IPUs.
#include "compiler/driver.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <stdexcept>

#include "base/log.h"
#include "compiler/fuse_graphs.h"
#include "core/compiler/flow/support.h"
#include "ir/placement.h"
#include "kernels/common/describe_call.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "opsets/convert.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "support/error_code.h"
#include "support/random_graph/random_graph.h"

namespace poprt::compiler {
namespace {

using flow_test::floats;
using flow_test::Values;
using program::shards_of;

// Three products with the same weights, of `rows` rows, which stay three nodes; node names begin
// with `name`.
std::unique_ptr<ir::Graph> network(const std::string& rows, const std::string& name = "n",
                                   int opset = 17) {
  const std::string type = " : f32[" + rows + ",4] = ";
  return ir::parse_text("graph \"" + name + "\" opset {\"\": " + std::to_string(opset) +
                        "} {\n  input %x : f32[" + rows + R"(,4]
  const %w : f32[4,4] = [1.0, -0.5, 0.5, 0.75, 0.25, 0.5, -1.0, 0.25, 0.5, 1.0, -0.5, 1.0, -0.75, 1.0, 0.25, 0.75]
  %p)" + type + "MatMul(%x, %w) \"" +
                        name + "0\"\n  %s" + type + "MatMul(%p, %w) \"" + name + "1\"\n  %y" +
                        type + "MatMul(%s, %w) \"" + name + "2\"\n  output %y\n}\n");
}

// Puts node i on the IPU and into the stage that the list names; a stage of -1 is none.
void seat(ir::Graph& graph, const std::vector<ir::Seat>& seats) {
  const auto nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), seats.size());
  for (size_t i = 0; i < seats.size(); i++) ir::set_seat(*nodes[i], seats[i]);
}

std::unique_ptr<ir::Graph> fused_pair(std::unique_ptr<ir::Graph> a, std::unique_ptr<ir::Graph> b) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  graphs.push_back(std::move(a));
  graphs.push_back(std::move(b));
  return fuse_graphs(std::move(graphs), {"one", "two"});
}

// Computes y of `x` by plain loops, in double.
Tensor reference(const Tensor& x) {
  constexpr double kW[4][4] = {
      {1, -0.5, 0.5, 0.75}, {0.25, 0.5, -1, 0.25}, {0.5, 1, -0.5, 1}, {-0.75, 1, 0.25, 0.75}};
  Tensor y = Tensor::zeros(DType::f32, x.shape());
  const auto in = x.values<float>();
  const auto out = y.mutable_values<float>();
  for (size_t row = 0; row < in.size(); row += 4) {
    std::array<double, 4> v{in[row], in[row + 1], in[row + 2], in[row + 3]};
    for (int product = 0; product < 3; product++) {
      std::array<double, 4> sums{};
      for (size_t j = 0; j < 4; j++)
        for (size_t k = 0; k < 4; k++) sums[j] += v[k] * kW[k][j];
      v = sums;
    }
    for (size_t j = 0; j < 4; j++) out[row + j] = static_cast<float>(v[j]);
  }
  return y;
}

constexpr double kTolerance = 1e-5;  // f32 sums of four products, three times

// The fields of the products of a model with weights [64, 96] of a type.
std::string product_numbers(const std::string& type, const DriverOptions& options, int rows = 3) {
  std::string values;
  for (int i = 0; i < 64 * 96; i++)
    values += (i ? ", " : "") + std::to_string((i * 37 % 101 - 50) / 64.0);
  const Executable e = compile_model(
      ir::parse_text("graph \"g\" opset {\"\": 17} {\n  input %x : " + type + "[" +
                     std::to_string(rows) + ",64]\n  const %w : " + type + "[64,96] = [" + values +
                     "]\n  %y : ? = MatMul(%x, %w)\n  output %y\n}\n"),
      options);
  std::string numbers;
  for (const auto& in : e.program.main)
    if (e.program.kernels[in.kernel].starts_with("matmul"))
      numbers += e.program.kernels[in.kernel] +
                 kernels::describe_call(e.program.kernels[in.kernel], in.ints, in.floats);
  return numbers;
}

TEST(Driver, ProductsOfABf16ModelAreBf16) {
  DriverOptions options;
  const auto has = [&](const char* type, const char* text) {
    const std::string numbers = product_numbers(type, options);
    return numbers.find(text) != numbers.npos;
  };
  EXPECT_TRUE(has("bf16", "products=2")) << product_numbers("bf16", options);
  EXPECT_FALSE(has("f16", "products=2"));
  EXPECT_TRUE(has("f32", "matmul m="));
  options.pass_arguments["narrow_weights"]["products"] = std::string_view("f32");
  EXPECT_FALSE(has("bf16", "products=2")) << "the option is f32";
  options.pass_arguments.clear();
  options.reproducible = true;
  EXPECT_FALSE(has("bf16", "products=2"));
}

// bf16 represents these weights, too.
TEST(Driver, ProductsOfManyRowsOfAnF16ModelAreF16) {
  DriverOptions options;
  const auto has = [&](const char* type, int rows) {
    const std::string numbers = product_numbers(type, options, rows);
    return numbers.find("products=3") != numbers.npos;
  };
  EXPECT_TRUE(has("f16", 5)) << product_numbers("f16", options, 5);
  EXPECT_FALSE(has("f16", 3)) << "few rows are f32";
  EXPECT_FALSE(has("bf16", 5));
  EXPECT_FALSE(has("f32", 5));
  std::string& products = options.pass_arguments["narrow_weights"]["products"];
  products = "auto";
  EXPECT_TRUE(has("f16", 5));
  products = "f32";
  EXPECT_FALSE(has("f16", 5)) << "the option is f32";
  options.pass_arguments.clear();
  options.reproducible = true;
  EXPECT_FALSE(has("f16", 5));
}

// Runs model k of a fused executable, with input graphK/x; inputs of the other model are zeros.
void expect_model(const Executable& e, size_t k, const Tensor& x) {
  const std::string prefix = graph_prefix(k);
  Values feeds;
  for (const program::Anchor& a : e.program.inputs) feeds[a.name] = Tensor::zeros(a.dtype, a.shape);
  feeds[prefix + "x"] = x;
  feeds["index"] = Tensor::of<uint32_t>({1}, std::vector{static_cast<uint32_t>(k)});
  const auto got = test::run_executable(e, feeds);
  test::expect_close(reference(x), got.at(prefix + "y"), kTolerance, prefix);
}

nlohmann::json variants(const Executable& e) {
  return nlohmann::json::parse(e.notes.at(kVariants));
}

template <class F>
std::string warnings_of(F&& f) {
  static std::string warnings;
  warnings.clear();
  set_log_receiver([](int32_t, const char* message) { warnings += std::string(message) + "\n"; });
  f();
  set_log_receiver(nullptr);
  return warnings;
}

TEST(Driver, CompilesAModelAsConversionAndLoweringDo) {
  const Executable made = compile_model(network("2"), {});
  const auto graph = network("2");
  convert(*graph, {});
  EXPECT_EQ(program::to_string(made.program), program::to_string(compile(*graph, {}).program));
  const Tensor x = floats({2, 4});
  test::expect_close(reference(x), test::run_executable(made, {{"x", x}}).at("y"), kTolerance, "y");
}

// Each shape compiles by itself, but a value of the model has the name that the mask of the padding
// needs. Without the error, padding would affect the result.
TEST(Driver, RefusesShapesOfWhichThePaddingHasNoPlan) {
  const auto model = [] {
    auto graph = ir::parse_text(
        "graph \"g\" opset {\"\": 17} { input %x : f32[2,L] %y : f32[2,L] = Softmax(%x)\n"
        "%z : f32[2,L] = Neg(%y)\noutput %z }");
    graph->rename(graph->find("y"), "poprt.real.L");
    return graph;
  };
  DriverOptions options;
  for (const int64_t length : {4, 8}) {
    options.shapes = shape_sets_of({{"x", {{2, length}}}});
    EXPECT_FALSE(compile_model(model(), options).program.inputs.empty()) << length;
  }
  options.shapes = shape_sets_of({{"x", {{2, 4}, {2, 8}}}});
  test::expect_error([&] { compile_model(model(), options); }, ErrorCode::invalid_argument,
                     "the name 'poprt.real.L' is reserved");
}

TEST(Driver, ReadsFilesAndBytes) {
  const std::string bytes = onnx::export_bytes(*network("2"));
  const auto read = read_model({.bytes = std::as_bytes(std::span(bytes))});
  EXPECT_EQ(read->node_count(), 3u);
  test::expect_error([] { read_model({.path = "/nowhere/m.onnx"}); }, ErrorCode::not_found,
                     "m.onnx");
}

TEST(Driver, CompilesEachModelOfAFusedOne) {
  DriverOptions options;
  options.input_shape = {{"graph0/x", {3, 4}}, {"graph1/x", {2, 4}}};
  const Executable e = compile_model(fused_pair(network("N"), network("M")), options);
  EXPECT_EQ(variants(e)["graphs"], nlohmann::json({"one", "two"}));
  expect_model(e, 0, floats({3, 4}, 1));
  expect_model(e, 1, floats({2, 4}, 2));
}

TEST(Driver, CompilesAModelAtEachShape) {
  DriverOptions options;
  options.shapes = shape_sets_of({{"x", {{5, 4}, {1, 4}}}});
  const Executable e = compile_model(network("N"), options);
  const auto note = variants(e);
  EXPECT_EQ(note["kind"], "shapes");
  ASSERT_EQ(note["buckets"].size(), 2u);
  EXPECT_EQ(note["buckets"][0]["inputs"]["x"], nlohmann::json({1, 4}));
  EXPECT_EQ(note["buckets"][1]["outputs"]["y"], nlohmann::json({5, 4}));
  options.shapes = shape_sets_of({{"x", {{16, 4}, {64, 4}}}});
  options.max_padding = 0.5;
  EXPECT_GT(variants(compile_model(network("N"), options))["buckets"].size(), 2u);
}

TEST(Driver, WarnsOfOptionsWithoutEffectForOneShape) {
  DriverOptions options;
  options.shapes = shape_sets_of({{"x", {{2, 4}}}});
  options.max_padding = 0.5;
  options.padding["x"] = {};
  options.num_io_tiles = 33;
  const std::string warnings = warnings_of([&] { compile_model(network("N"), options); });
  EXPECT_NE(warnings.find("`max_padding` has no effect"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("`pad_values` has no effect"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("num_io_tiles=33: a chip takes an even number"), std::string::npos)
      << warnings;
  EXPECT_EQ(warnings.find("is only recorded"), std::string::npos) << warnings;
}

TEST(Driver, UsesTheIpusOfTheShardsOnRequest) {
  auto graph = network("2");
  seat(*graph, {{0, -1}, {1, -1}, {1, -1}});
  DriverOptions options;
  EXPECT_FALSE(program::has_shards(compile_model(graph->clone(), options).program));
  options.use_assigned_ipus = true;
  const Executable e = compile_model(graph->clone(), options);
  EXPECT_EQ(shards_of(e.program).ipus, 2);
  const Tensor x = floats({2, 4});
  test::expect_close(reference(x), test::run_executable(e, {{"x", x}}).at("y"), kTolerance, "y");
  EXPECT_FALSE(program::has_shards(compile_model(network("2"), options).program)) << "it is uncut";
}

TEST(Driver, AFusedModelIsCutModelByModel) {
  DriverOptions options;
  options.use_assigned_ipus = true;
  // A model on two IPUs and one that is not cut; then one with stages and one without; then stages
  // of which neither number divides the other.
  auto cut = network("2");
  seat(*cut, {{0, -1}, {1, -1}, {1, -1}});
  auto two = network("2"), three = network("3");
  seat(*two, {{0, 0}, {1, 1}, {1, 1}});
  seat(*three, {{0, 0}, {1, 1}, {2, 2}});
  const auto uncut = network("3");
  for (const auto& [a, b, ipus] :
       {std::tuple(cut.get(), uncut.get(), 2u), std::tuple(cut.get(), three.get(), 3u),
        std::tuple(two.get(), three.get(), 3u)}) {
    const Executable e = compile_model(fused_pair(a->clone(), b->clone()), options);
    EXPECT_EQ(shards_of(e.program).ipus, ipus);
    expect_model(e, 0, floats({2, 4}, 1));
    expect_model(e, 1, floats({3, 4}, 2));
  }
}

TEST(Driver, ChoosesOutputs) {
  DriverOptions options;
  options.checkpoints = {"p", "s"};
  const auto names = [&](std::unique_ptr<ir::Graph> graph) {
    std::string text;
    for (const program::Anchor& a : compile_model(std::move(graph), options).program.outputs)
      text += a.name;
    return text;
  };
  EXPECT_EQ(names(network("2")), "yps");
  auto graph = network("2");
  graph->add_output(graph->find("s"));
  options.removed_outputs = {"y"};
  EXPECT_EQ(names(std::move(graph)), "sp");
  options = {};
  options.outputs = {"z"};
  test::expect_error([&] { compile_model(network("2"), options); }, ErrorCode::not_found, "'z'");
}

TEST(Driver, RefusesOptionsThatDoNotGoTogether) {
  DriverOptions options;
  options.fused_only = true;
  test::expect_error([&] { compile_model(network("2"), options); }, ErrorCode::invalid_argument,
                     "the model is not a fused one");
  const auto both = [] { return fused_pair(network("2"), network("2")); };
  compile_model(both(), options);
  options.shapes = shape_sets_of({{"graph0/x", {{1, 4}, {2, 4}}}});
  test::expect_error([&] { compile_model(both(), options); }, ErrorCode::unimplemented,
                     "a fused model is compiled for one shape of each model, 2 are given");
  options.faithful_note = "kept";
  test::expect_error([&] { compile_model(both(), options); }, ErrorCode::unimplemented,
                     "there is none of a fused model");
  options.fused_only = false;
  options.shapes = shape_sets_of({{"x", {{1, 4}, {2, 4}}}});
  test::expect_error([&] { compile_model(network("N"), options); }, ErrorCode::unimplemented,
                     "there is none of a model at several shapes");
  options.shapes.pop_back();
  options.variable_weights = true;
  test::expect_error([&] { compile_model(network("N"), options); }, ErrorCode::unimplemented,
                     "with weights that change");
}

TEST(Driver, KeepsTheConvertedModelForFaithfulNumerics) {
  DriverOptions options;
  options.faithful_note = "kept";
  const Executable e = compile_model(network("2"), options);
  const auto kept = onnx::import_bytes(std::as_bytes(std::span(e.notes.at("kept"))));
  EXPECT_EQ(kept->outputs()[0]->name(), "y");
  EXPECT_EQ(compile_model(network("2"), {}).notes.count("kept"), 0u);
}

TEST(Driver, WeightsThatMayChangeAreInputsWithAValue) {
  DriverOptions options;
  options.variable_weights = true;
  const Executable e = compile_model(network("2"), options);
  const auto named = [](const program::Anchor& a) { return a.name == "w"; };
  const auto found = std::ranges::find_if(e.program.inputs, named);
  ASSERT_NE(found, e.program.inputs.end());
  EXPECT_NE(found->data, program::kNoData);
}

TEST(Driver, WeightsThatMayChangeHaveNoBatch) {
  DriverOptions options;
  options.variable_weights = true;
  options.batch_size = 8;
  options.batch_axis = 0;
  const Executable weights = compile_model(network("N"), options);
  options.variable_weights = false;
  const Executable constant = compile_model(network("N"), options);
  const auto shape_of = [](const Executable& e, const char* name) {
    const auto named = [&](const program::Anchor& a) { return a.name == name; };
    return std::ranges::find_if(e.program.inputs, named)->shape;
  };
  EXPECT_EQ(shape_of(weights, "x"), shape_of(constant, "x"));
  EXPECT_EQ(shape_of(weights, "x")[0], 8);
  EXPECT_EQ(weights.program.outputs[0].shape, constant.program.outputs[0].shape);
}

// Errors name the model or the shape that causes them.
TEST(Driver, ErrorsNameTheModelOrTheShape) {
  DriverOptions options;
  options.input_shape = {{"graph0/x", {2, 4}}};
  test::expect_error([&] { compile_model(fused_pair(network("N"), network("M")), options); },
                     ErrorCode::invalid_argument, "model 1 of the fused model");
  options = {};
  options.shapes = shape_sets_of({{"x", {{1, 4}, {1, 5}}}});
  test::expect_error([&] { compile_model(network("N"), options); }, ErrorCode::invalid_argument,
                     "shape 2 of 2");
}

// "begins graph0 one", "converted", "lowered" of each part, in order.
TEST(Driver, ReportsTheStepsOfEachPart) {
  std::vector<std::string> events;
  std::vector<double> done;
  DriverOptions options;
  options.passes_only = true;
  options.begins = [&](const Part& part, const ir::Graph& graph) {
    events.push_back(fmt::format("{} of {} begins: {}, {}", part.index, part.count, part.name,
                                 graph.inputs()[0]->name()));
  };
  options.converted = [&](const Part& part, ir::Graph& graph) {
    events.push_back("converted " + part.name);
    graph.outputs()[0]->producer()->name = "renamed";
  };
  options.lowered = [&](const ir::Graph& graph) {
    events.push_back(ir::to_text(graph).find("renamed") != std::string::npos ? "changed" : "lost");
  };
  options.progress = [&](double now, std::string_view) { done.push_back(now); };
  const Executable none = compile_model(fused_pair(network("2"), network("2")), options);
  EXPECT_TRUE(none.program.main.empty());
  EXPECT_TRUE(none.notes.empty());
  EXPECT_EQ(events, (std::vector<std::string>{
                        "0 of 2 begins: graph0 one, graph0/x", "converted graph0 one", "changed",
                        "1 of 2 begins: graph1 two, graph1/x", "converted graph1 two", "changed"}));
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_GE(done.front(), 0);
  EXPECT_LE(done.back(), 1);
  EXPECT_GT(done.back(), 0.7);
}

// A bisection finds one rewrite, whether it is one of the conversion or of the compilation.
TEST(Driver, LimitsTheRewritesOfConversionAndCompilationTogether) {
  const auto rewrites_at = [](int64_t limit) {
    int64_t rewrites = 0;
    DriverOptions options;
    options.passes_only = true;
    options.rewrite_limit = limit;
    options.after_pass = [&](const passes::PassReport& report, const ir::Graph&) {
      rewrites += report.rewrites;
    };
    compile_model(ir::parse_text(R"(graph "g" opset {"": 17} {
      input %x : f32[2,4]
      const %w : f32[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]
      const %b : f32[2] = [1, 2]
      %i : ? = Identity(%x)
      %m : ? = MatMul(%i, %w)
      %a : ? = Add(%m, %b)
      %y : ? = Relu(%a)
      output %y
    })"),
                  options);
    return rewrites;
  };
  const int64_t all = rewrites_at(INT64_MAX);
  ASSERT_GT(all, 2);
  for (int64_t limit = 0; limit < all; limit++) EXPECT_EQ(rewrites_at(limit), limit);
  EXPECT_EQ(rewrites_at(all + 1), all);
}

TEST(Driver, EndsIfTheCallerThrows) {
  for (const int after : {0, 20, 60}) {
    int calls = 0;
    DriverOptions options;
    options.shapes = shape_sets_of({{"x", {{1, 4}, {2, 4}}}});
    options.check_stopped = [&] {
      if (calls++ == after) throw std::runtime_error("enough");
    };
    EXPECT_THROW(compile_model(network("N"), options), std::runtime_error) << after;
    EXPECT_EQ(calls, after + 1);
  }
}

TEST(Driver, ConvertsForTheLargestShape) {
  DriverOptions options;
  options.keep_onnx = true;
  options.shapes = shape_sets_of({{"x", {{5, 4}, {1, 4}}}});
  options.checkpoints = {"p"};
  const auto graph = network("N");
  convert_model(*graph, options);
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{5, 4}));
  EXPECT_EQ(graph->outputs().size(), 2u);
}

std::string bytes_of(const Executable& e) {
  std::string bytes;
  program::write_executable(
      [&](std::span<const std::byte> more) {
        bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
      },
      e.program, e.weights, e.notes, e.narrow);
  return bytes;
}

// A model that is converted for a file may be compiled without a second conversion if the driver
// allows it. Both files have the same bytes as when the model is read and converted for each of
// them.
TEST(Driver, SharedConversionGivesTheBytesOfTwoConversions) {
  int shared = 0, own = 0;
  for (const std::string_view profile : test::profiles())
    for (unsigned i = 0; i < 40; i++) {
      test::Choices choices(11000 + i);
      const std::string model = onnx::export_bytes(*test::random_graph(profile, choices).graph);
      const auto read = [&] { return read_model({.bytes = std::as_bytes(std::span(model))}); };
      DriverOptions options, to_onnx;
      if (i % 4 == 1) options.precision = Precision::fp16;
      if (i % 4 == 2) options.narrow_int64 = true;
      static_cast<Options&>(to_onnx) = options;
      to_onnx.keep_onnx = true;
      to_onnx.lowest_opset = 11;
      std::string wanted;
      try {
        wanted = bytes_of(compile_model(read(), options));
      } catch (const Error&) {  // models that do not compile are not compared
        continue;
      }
      auto imported = read();
      EXPECT_TRUE(bytes_of(compile_model(imported->clone(), options)) == wanted)
          << profile << " " << i << ": a copy of the model that was read";
      const bool same = convert_model(*imported, to_onnx);
      auto file = imported->clone();
      settle_opset(file, to_onnx);
      auto alone = read();
      convert_model(*alone, to_onnx);
      settle_opset(alone, to_onnx);
      EXPECT_TRUE(onnx::export_bytes(*file) == onnx::export_bytes(*alone))
          << profile << " " << i << ": a copy of the converted model";
      if (!same) {
        own++;
        continue;
      }
      EXPECT_TRUE(bytes_of(compile_converted(std::move(imported), options)) == wanted)
          << profile << " " << i;
      shared++;
    }
  EXPECT_GT(shared, 100);
  EXPECT_GT(own, 10);
}

TEST(Driver, ConvertsAgainIfACompilationNeedsAnotherConversion) {
  const auto shared = [](std::unique_ptr<ir::Graph> graph, DriverOptions options) {
    options.keep_onnx = true;
    return convert_model(*graph, options);
  };
  EXPECT_TRUE(shared(network("2"), {}));
  DriverOptions options;
  options.variable_weights = true;
  EXPECT_FALSE(shared(network("2"), options));
  options = {};
  options.shapes = shape_sets_of({{"x", {{2, 4}}}});
  EXPECT_TRUE(shared(network("N"), options));
  options.shapes = shape_sets_of({{"x", {{1, 4}, {2, 4}}}});
  EXPECT_FALSE(shared(network("N"), options));
  EXPECT_FALSE(shared(fused_pair(network("2"), network("2")), {}));
  // A size that depends on data stays unknown in ONNX, and has a bound in an executable.
  EXPECT_FALSE(shared(ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f32[2,4]
  %y : s64[2,?] = NonZero(%x)
  output %y
})"),
                      {}));
}

TEST(Driver, GivesAConvertedModelItsOpsetAndNames) {
  const auto settled = [](DriverOptions options) {
    options.keep_onnx = true;
    auto graph = network("2", "");
    for (ir::Node* n : graph->nodes()) n->name.clear();
    convert_model(*graph, options);
    settle_opset(graph, options);
    std::vector<std::string> names;
    for (const ir::Node* n : graph->nodes()) names.push_back(n->name);
    std::ranges::sort(names);
    const bool unique = std::ranges::adjacent_find(names) == names.end();
    return std::pair(opsets::opset_of(*graph), unique);
  };
  EXPECT_EQ(settled({}), std::pair(int64_t{17}, true));
  DriverOptions options;
  options.lowest_opset = 11;
  EXPECT_EQ(settled(options), std::pair(int64_t{11}, true));
  options.convert_version = 13;
  options.skip_passes = {"unique_name_for_nodes"};
  EXPECT_EQ(settled(options), std::pair(int64_t{13}, false));
}

TEST(Driver, FusesFilesOfSeveralOpsets) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "driver_fuse";
  std::filesystem::create_directories(folder);
  const auto first = folder / "first.onnx", second = folder / "second.onnx";
  onnx::export_file(*network("2", "n", 13), first);
  onnx::export_file(*network("3", "n", 17), second);
  const auto graph = read_fused({first, second});
  EXPECT_EQ(opsets::opset_of(*graph), 17);
  EXPECT_EQ(fused_names(*graph), (std::vector<std::string>{"first", "second"}));
  expect_model(compile_model(graph->clone(), {}), 1, floats({3, 4}));
  std::filesystem::remove_all(folder);
}

TEST(Driver, AConvertedModelHasOperatorsOfOnnxOnly) {
  DriverOptions options;
  options.keep_onnx = true;
  options.passes = {"elementwise_fusion"};
  auto graph = ir::parse_text(
      "graph \"g\" opset {\"\": 17} {\ninput %x : f32[4,4]\n%a = Exp(%x)\n%b = Sigmoid(%a)\n"
      "%y = Mul(%a, %b)\noutput %y\n}\n");
  convert_model(*graph, options);
  test::expect_error([&] { settle_opset(graph, options); }, ErrorCode::unimplemented,
                     "an ONNX model cannot contain this operator");
}

}  // namespace
}  // namespace poprt::compiler
