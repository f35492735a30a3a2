// Facts of operators (ops/facts.h), checked on every sample of every operator that states them.
#include "ops/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/ops/sample.h"
#include "ops/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "support/recorded_lines.h"

namespace poprt::ops::sampled {
namespace {

std::vector<Sample> samples_where(bool (*condition)(const Facts& facts)) {
  std::vector<Sample> chosen;
  for (const Sample& s : all_samples())
    if (const OpDef* op = find_op(s.domain, s.op, s.opset); op && condition(op->facts))
      chosen.push_back(s);
  return chosen;
}

std::string describe(const Sample& s) {
  return s.domain + "." + s.op + " " + std::to_string(s.opset);
}

// Output 0 as numbers, on inputs that need not be the sample's.
std::vector<double> run(const Sample& s, std::span<const Tensor> inputs) {
  Sample copy = s;
  copy.inputs.assign(inputs.begin(), inputs.end());
  const SampleGraph g = make_graph(copy);
  infer(*g.node);
  return evaluate(*g.node, inputs)[0].to_doubles();
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(OperatorFacts, HoldTogether) {
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(std::string(op->domain) + "." + std::string(op->name));
    const Facts& f = op->facts;
    EXPECT_EQ(f.shape_inputs & ~f.constant_inputs, 0u) << "what decides a shape must be known";
    EXPECT_LE(f.elementwise.least, f.elementwise.most);
    EXPECT_GE(f.elementwise.least, 1u);
    if (f.blocked != BlockedForm::none) {
      EXPECT_NE(f.elementwise.append, nullptr);
      EXPECT_TRUE(f.per_element);
    }
    EXPECT_FALSE(f.data_sized && f.per_element);
    if (f.byte_weights) {
      EXPECT_NE(f.weight_inputs, 0u);
    }
    EXPECT_FALSE(op->bound && f.per_element) << "two rules for sizes that depend on data";
    EXPECT_TRUE(op->bound || !f.bounds_shape) << "no rule reads the bounds";
    EXPECT_EQ(f.extent_inputs & ~f.shape_inputs, 0u);
    EXPECT_TRUE(op->bound || !f.data_sized) << "the size has no bound";
    // Where has a closer range if it is a minimum or maximum.
    EXPECT_FALSE(f.size_range && f.monotone != Monotone::none && op->name != "Where");
    EXPECT_EQ(f.text_inputs != 0, f.text_form != TextForm::none || f.text_form_of);
    EXPECT_FALSE(f.from_shapes && f.per_element) << "elements are more than shapes";
    if (op->resolve) {
      EXPECT_EQ(op->lower, lower_container)
          << "the compiler replaces it, so nothing is left to lower";
    }
  }
}

TEST(OperatorFacts, OperatorsWithoutALoweringAreResolved) {
  for (const OpDef* op : all_ops()) {
    if (op->lower == lower_container && op->name != "Unspecified") {  // a place without a value
      // OpDef::bound replaces the node of an operator whose results have sizes that depend on data.
      EXPECT_TRUE(op->resolve || (op->facts.data_sized && op->bound))
          << op->domain << "." << op->name;
    }
  }
}

// One element of input 0 changes, and only the element at its place changes with it.
TEST(OperatorFacts, PerElementMeansThatPlacesDoNotMix) {
  std::set<std::string> seen;
  for (const Sample& s : samples_where([](const Facts& f) { return f.per_element; })) {
    if (s.inputs.empty() || s.inputs[0].dtype() != DType::f32 || s.shapes.empty() ||
        s.shapes[0] != s.inputs[0].shape() || s.inputs[0].count() < 2)
      continue;
    SCOPED_TRACE(describe(s));
    std::vector<Tensor> inputs = s.inputs;
    const std::vector<double> before = run(s, inputs);
    const auto place = static_cast<size_t>(inputs[0].count() / 2);
    inputs[0] = Tensor::of<float>(inputs[0].shape(), inputs[0].values<float>());
    inputs[0].mutable_values<float>()[place] = 0.4375f;
    const std::vector<double> after = run(s, inputs);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < after.size(); i++) {
      if (i != place) EXPECT_TRUE(is_same(before[i], after[i])) << "element " << i;
    }
    seen.insert(s.op);
  }
  EXPECT_GE(seen.size(), 50u);
}

TEST(OperatorFacts, MovesMeansThatResultsAreElementsOfInputs) {
  std::set<std::string> seen;
  for (const Sample& s : samples_where([](const Facts& f) { return f.moves; })) {
    if (s.inputs.empty() || s.inputs[0].dtype() != DType::f32 || s.attributes.contains("reduction"))
      continue;
    SCOPED_TRACE(describe(s));
    std::set<double> given = {0};  // the default value of Pad
    for (const Tensor& t : s.inputs)
      if (t.defined())
        for (const double x : t.to_doubles()) given.insert(x);
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    for (const double x : run(s, s.inputs))
      EXPECT_TRUE(given.contains(x) || g.node->output()->dtype() != DType::f32) << x;
    seen.insert(s.op);
  }
  EXPECT_GE(seen.size(), 15u);
}

// A column of such numbers is reduced with the others, or left out.
TEST(OperatorFacts, NeutralNumbersChangeNoReduction) {
  std::set<std::string_view> seen;
  for (const OpDef* op : all_ops()) {
    if (!op->facts.neutral) continue;
    SCOPED_TRACE(op->name);
    const std::vector<float> columns = {0.5f, 2, -1.5f, 3, 0.25f, 1.75f};
    Sample s;
    s.op = op->name;
    s.opset = 18;
    s.attr("keepdims", int64_t{0});
    std::vector<float> wide;
    for (size_t i = 0; i < columns.size(); i++) {
      wide.push_back(columns[i]);
      if (i % 3 == 2) wide.push_back(static_cast<float>(*op->facts.neutral));
    }
    s.input(Tensor::of<float>({2, 3}, std::span<const float>(columns)));
    s.constant_input(Tensor::of<int64_t>({1}, {1}));
    const std::vector<double> wanted = run(s, s.inputs);
    s.inputs[0] = Tensor::of<float>({2, 4}, std::span<const float>(wide));
    const std::vector<double> found = run(s, s.inputs);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); i++) EXPECT_FLOAT_EQ(found[i], wanted[i]);
    seen.insert(op->name);
  }
  EXPECT_EQ(seen.size(), 9u);
}

// The unspecified lanes of a blocked value may be any finite number.
TEST(OperatorFacts, BlockedFormsAreFiniteForFiniteArguments) {
  const std::vector<float> wide = {0, -0.5f, 3, 88, -88, 700, -700, 1e10f, -1e10f, 1e18f, -1e18f};
  const Shape shape = {static_cast<int64_t>(wide.size())};
  const Tensor x = Tensor::of<float>(shape, std::span<const float>(wide));
  size_t seen = 0;
  for (const OpDef* op : all_ops()) {
    if (op->facts.blocked == BlockedForm::none) continue;
    SCOPED_TRACE(op->name);
    Sample s;
    s.op = op->name;
    s.domain = op->domain;
    s.opset = std::min(op->until, std::max(op->since, 20));
    s.shape(shape).input(x);
    if (op->facts.blocked == BlockedForm::binary) s.input(x);
    for (const double y : run(s, s.inputs)) EXPECT_TRUE(std::isfinite(y));
    seen++;
  }
  EXPECT_GE(seen, 20u);
}

TEST(OperatorFacts, NarrowsMeansThatIntegersOf32BitsGiveTheSame) {
  std::set<std::string> seen;
  for (Sample s : samples_where([](const Facts& f) { return f.narrows && f.elementwise.append; })) {
    if (s.inputs.empty()) continue;
    SCOPED_TRACE(describe(s));
    std::vector<Tensor> wide = s.inputs, narrow = s.inputs;
    bool numbers = s.op != "Cast" && !s.attributes.contains("fmod");
    for (size_t i = 0; i < s.inputs.size(); i++) {
      if (!s.inputs[i].defined() || s.inputs[i].dtype() == DType::boolean) continue;
      std::vector<int64_t> a;
      std::vector<int32_t> b;
      for (const double x : s.inputs[i].to_doubles()) {
        const double whole = std::isfinite(x) ? std::clamp(std::round(x * 3), -50.0, 50.0) : 1;
        a.push_back(s.op == "Pow"                      ? std::llabs(static_cast<int64_t>(whole)) % 4
                    : static_cast<int64_t>(whole) == 0 ? 1
                                                       : static_cast<int64_t>(whole));
        b.push_back(static_cast<int32_t>(a.back()));
      }
      wide[i] = Tensor::of<int64_t>(s.inputs[i].shape(), std::span<const int64_t>(a));
      narrow[i] = Tensor::of<int32_t>(s.inputs[i].shape(), std::span<const int32_t>(b));
    }
    if (!numbers || s.opset < 12) continue;  // some take integers from opset 12 on only
    EXPECT_EQ(run(s, wide), run(s, narrow));
    seen.insert(s.op);
  }
  EXPECT_GE(seen.size(), 12u);
}

// Returns the result of the formulas of kernels/common/activation.h in double.
double activated(const Epilogue& e, double x) {
  const double a = e.alpha, b = e.beta;
  switch (e.activation) {
    case Activation::none: return x;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::clip: return std::min(std::max(x, a), b);
    case Activation::sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::tanh: return std::tanh(x);
    case Activation::silu: return x / (1 + std::exp(-a * x));
    case Activation::gelu_erf: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::leaky_relu: return x < 0 ? a * x : x;
    case Activation::hard_sigmoid: return std::max(0.0, std::min(1.0, a * x + b));
    case Activation::hard_swish: return x * std::max(0.0, std::min(1.0, x / 6 + 0.5));
    case Activation::elu: return x < 0 ? a * std::expm1(x) : x;
  }
  return NAN;
}

TEST(OperatorFacts, EpiloguesComputeTheOperator) {
  std::set<std::string> seen;
  for (const Sample& s : samples_where([](const Facts& f) { return f.epilogue != nullptr; })) {
    if (s.inputs[0].dtype() != DType::f32) continue;
    SCOPED_TRACE(describe(s));
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    const auto epilogue = facts_of(*g.node).epilogue(*g.node);
    if (!epilogue) continue;
    const std::vector<double> x = s.inputs[0].to_doubles(), y = run(s, s.inputs);
    for (size_t i = 0; i < x.size(); i++)
      EXPECT_NEAR(y[i], activated(*epilogue, x[i]), 1e-6 + 1e-5 * std::fabs(y[i])) << "x " << x[i];
    seen.insert(s.op);
  }
  EXPECT_GE(seen.size(), 8u);
}

// If data decides the size, inference must not state a size.
TEST(OperatorFacts, DataSizedMeansThatInferenceLeavesTheSizeOpen) {
  std::set<std::string> seen;
  for (const Sample& s : samples_where([](const Facts& f) { return f.data_sized; })) {
    SCOPED_TRACE(describe(s));
    Sample open = s;
    open.constant.assign(s.constant.size(), false);
    const SampleGraph g = make_graph(open);
    infer(*g.node);
    EXPECT_FALSE(g.node->output()->type.is_static());
    seen.insert(s.op);
  }
  EXPECT_GE(seen.size(), 3u);
}

// Each operand in turn takes rising values while the others are constant.
TEST(OperatorFacts, MonotoneMeansThatResultsOnlyRiseOrOnlyFall) {
  std::set<std::string> seen;
  std::vector<float> rising;
  for (int i = 0; i <= 40; i++) rising.push_back(static_cast<float>(i) * 0.35f - 5);
  const auto shape = Shape{static_cast<int64_t>(rising.size())};
  for (const OpDef* op : all_ops()) {
    const Facts& f = op->facts;
    const bool quotient = f.monotone == Monotone::quotient;
    if ((f.monotone != Monotone::all && !quotient) || !f.elementwise.append || op->name == "Where")
      continue;
    const size_t count = std::min<size_t>(f.elementwise.least, 2);
    for (size_t varied = 0; varied < count; varied++)
      for (const float other : {-1.5f, 2.0f}) {
        if (quotient && varied == 1) continue;  // the compiler leaves 0 out
        Sample s;
        s.op = op->name;
        s.opset = std::min(op->until, std::max(op->since, 20));
        s.shape(shape);
        for (size_t i = 0; i < count; i++) {
          std::vector<float> x(rising.size(), other);
          if (i == varied)
            for (size_t k = 0; k < x.size(); k++)
              x[k] = f.monotone_from_zero ? std::max(rising[k], 0.0f) : rising[k];
          s.input(Tensor::of<float>(shape, std::span<const float>(x)));
        }
        std::vector<double> y;
        try {
          y = run(s, s.inputs);
        } catch (const Error&) {
          continue;  // the operator accepts only bool
        }
        SCOPED_TRACE(std::string(op->name) + " input " + std::to_string(varied));
        EXPECT_TRUE(std::is_sorted(y.begin(), y.end()) || std::is_sorted(y.rbegin(), y.rend()));
        seen.insert(s.op);
      }
  }
  EXPECT_GE(seen.size(), 15u);
}

TEST(OperatorFacts, AreEmptyForANodeWithoutDefinition) {
  ir::Graph graph("g");
  graph.opsets["com.example"] = 1;
  ir::Node* n = graph.add_node("Relu", "com.example",
                               {graph.add_input("x", ir::ValueType::of(DType::f32, {2}))}, 1);
  EXPECT_FALSE(facts_of(*n).per_element);
  EXPECT_EQ(facts_of(*n).elementwise.append, nullptr);
}

TEST(OperatorFacts, OfANodeDependOnItsOpset) {
  ir::Graph graph("g");
  graph.opsets[""] = 8;
  ir::Node* scan = graph.add_node("Scan", "", {graph.add_input("n", ir::ValueType{})}, 1);
  EXPECT_EQ(constant_inputs(*scan), 0b1u) << "sequence lengths";
  ir::Graph newer("g");
  newer.opsets[""] = 9;
  ir::Node* without = newer.add_node("Scan", "", {newer.add_input("n", ir::ValueType{})}, 1);
  EXPECT_EQ(constant_inputs(*without), 0u);
}

// Returns the names of the operators for which the condition is true. Names of ONNX's domains are
// omitted.
std::set<std::string> ops_where(bool (*holds)(const Facts& facts)) {
  std::set<std::string> names;
  for (const OpDef* op : all_ops())
    if (holds(op->facts)) names.emplace(op->name);
  return names;
}

TEST(OperatorFacts, TextIsHandedOnComparedAndTranslated) {
  using Names = std::set<std::string>;
  EXPECT_EQ(ops_where([](const Facts& f) { return f.text_form == TextForm::passes_on; }),
            (Names{"ArrayFeatureExtractor", "Concat", "Gather", "Identity", "Where"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.text_form == TextForm::compares; }),
            Names{"Equal"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.text_form == TextForm::translates; }),
            Names{"LabelEncoder"});
  EXPECT_EQ(ops_where([](const Facts& f) { return !f.class_numbers.empty(); }),
            (Names{"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.text_form_of != nullptr; }), Names{"Cast"});

  ir::Graph graph("g");
  graph.opsets[""] = 21;
  ir::Node* cast =
      graph.add_node("Cast", "", {graph.add_input("x", ir::ValueType::of(DType::f32, {2}))}, 1);
  cast->attributes["to"] = int64_t{8};
  EXPECT_EQ(facts_of(*cast).text_form_of(*cast), TextForm::to_text);
  cast->attributes["to"] = int64_t{7};
  EXPECT_EQ(facts_of(*cast).text_form_of(*cast), TextForm::none) << "of text it would make numbers";
}

TEST(OperatorFacts, ReadsOnlyShapesMeansThatElementsHaveNoEffect) {
  EXPECT_EQ(ops_where([](const Facts& f) { return f.from_shapes != nullptr; }),
            (std::set<std::string>{"Shape", "Size"}));
  for (const Sample& s : samples_where([](const Facts& f) { return f.from_shapes != nullptr; })) {
    SCOPED_TRACE(describe(s));
    std::vector<Tensor> zeros;
    for (const Tensor& t : s.inputs) zeros.push_back(Tensor::zeros(t.dtype(), t.shape()));
    EXPECT_EQ(run(s, s.inputs), run(s, zeros));
  }
}

TEST(OperatorFacts, BranchesAndLoopsPassTypesOn) {
  EXPECT_EQ(ops_where([](const Facts& f) { return f.moves && f.passes_types; }),
            (std::set<std::string>{"If", "Loop", "Scan"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.runs_rounds; }), std::set<std::string>{"Loop"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.repeats != nullptr; }),
            (std::set<std::string>{"Loop", "Scan"}));
}

TEST(OperatorFacts, LayersMultiplyByWeights) {
  EXPECT_EQ(ops_where([](const Facts& f) { return f.layer == LayerForm::conv; }),
            (std::set<std::string>{"Conv", "FP8Conv"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.layer == LayerForm::matmul; }),
            (std::set<std::string>{"FP8MatMul", "MatMul"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.layer == LayerForm::gemm; }),
            (std::set<std::string>{"Gemm"}));
  for (const OpDef* op : all_ops())
    if (op->facts.layer != LayerForm::none)
      EXPECT_TRUE(in_mask(op->facts.weight_inputs, 1)) << op->name;
}

TEST(OperatorFacts, RareFactsBelongToTheseOperators) {
  using Names = std::set<std::string>;
  EXPECT_EQ(ops_where([](const Facts& f) { return f.attends; }),
            (Names{"Attention", "CacheAttention"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.winograd; }), Names{"Conv"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.misjudged_by_onnx != nullptr; }),
            Names{"STFT"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.cast == CastForm::to_quarter; }),
            Names{"CastToFP8"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.cast == CastForm::to_type; }),
            (Names{"Cast", "CastLike"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.size_range != nullptr; }),
            (Names{"Equal", "Mod", "Where"}));
  EXPECT_EQ(ops_where([](const Facts& f) { return f.monotone == Monotone::quotient; }),
            Names{"Div"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.marker == Marker::unspecified; }),
            Names{"Unspecified"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.marker == Marker::loop_begin; }),
            Names{"LoopBegin"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.marker == Marker::loop_end; }),
            Names{"LoopEnd"});
}

// An input that only selects a type may have any value of that type.
TEST(OperatorFacts, TypeInputsAreNotLookedAt) {
  size_t seen = 0;
  for (const Sample& s : samples_where([](const Facts& f) { return f.type_inputs != 0; })) {
    SCOPED_TRACE(describe(s));
    std::vector<Tensor> inputs = s.inputs;
    const uint32_t mask = find_op(s.domain, s.op, s.opset)->facts.type_inputs;
    for (size_t i = 0; i < inputs.size(); i++)
      if (in_mask(mask, i)) inputs[i] = Tensor::zeros(inputs[i].dtype(), {});
    EXPECT_EQ(run(s, inputs), run(s, s.inputs));
    seen++;
  }
  EXPECT_GE(seen, 1u);
}

std::vector<double> run_picking(const std::string& op, const std::vector<Tensor>& inputs,
                                std::map<std::string, ir::Attribute> attributes = {}) {
  Sample s;
  s.op = op;
  s.opset = 21;
  s.attributes.insert(attributes.begin(), attributes.end());
  for (const Tensor& t : inputs) s.input(t);
  return run(s, s.inputs);
}

TEST(OperatorFacts, SourceNamesTheElementsOfTheResult) {
  using Names = std::set<std::string>;
  EXPECT_EQ(ops_where([](const Facts& f) { return f.source == ElementSource::itself; }),
            Names{"Identity"});
  std::set<std::string> in_order;
  for (const Sample& s :
       samples_where([](const Facts& f) { return f.source == ElementSource::in_order; })) {
    if (s.inputs[0].dtype() == DType::string) continue;
    SCOPED_TRACE(describe(s));
    EXPECT_EQ(run(s, s.inputs), s.inputs[0].to_doubles());
    in_order.insert(s.op);
  }
  EXPECT_EQ(in_order, (Names{"Flatten", "Reshape", "Squeeze", "Unsqueeze"}));

  EXPECT_EQ(ops_where([](const Facts& f) { return f.source == ElementSource::joined; }),
            Names{"Concat"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.source == ElementSource::picked; }),
            Names{"Gather"});
  EXPECT_EQ(ops_where([](const Facts& f) { return f.source == ElementSource::chosen; }),
            Names{"Where"});
  const auto numbers = [](std::vector<int64_t> v) {
    return Tensor::of<int64_t>({std::ssize(v)}, v);
  };
  EXPECT_EQ(run_picking("Identity", {numbers({4, 3})}), (std::vector<double>{4, 3}));
  EXPECT_EQ(run_picking("Concat", {numbers({1, 2}), numbers({3})}, {{"axis", int64_t{0}}}),
            (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(run_picking("Gather", {numbers({5, 6, 7}), numbers({2, 0, -2})}),
            (std::vector<double>{7, 5, 6}));
  const bool condition[] = {true, false};
  EXPECT_EQ(
      run_picking("Where", {Tensor::of<bool>({2}, condition), numbers({1, 2}), numbers({8, 9})}),
      (std::vector<double>{1, 9}));
}

// Infers the types of the node first.
bool has_static_shapes(ir::Node& node) {
  infer(node);
  const auto is_static = [](const ir::Value* v) { return !v || v->type.is_static(); };
  return std::ranges::all_of(node.inputs(), is_static) &&
         std::ranges::all_of(node.outputs(), is_static);
}

// Every fact that is not "no", and the results of hooks for the samples: a lost fact changes no
// result of an operator, only the decisions of passes and the compiler.
TEST(Facts, MatchTheRecord) {
  test::RecordedLines found;
  const auto name_of = [](std::string_view domain, std::string_view name) {
    return fmt::format("{}.{}", domain, name);
  };
  for (const OpDef* op : all_ops()) {
    const Facts& f = op->facts;
    std::string line = fmt::format("{} to {}:", op->since, op->until);
    const auto flag = [&](const char* name, auto value) {
      if (static_cast<int64_t>(value) != 0)
        line += fmt::format(" {}={}", name, static_cast<int64_t>(value));
    };
    flag("impure", !op->pure);
    flag("stateful", op->stateful);
    flag("packs", op->packs);
    flag("view", op->sharing.view);
    flag("in_place", op->sharing.in_place);
    flag("joins", op->sharing.joins);
    flag("parts", op->sharing.parts);
    flag("per_element", f.per_element);
    flag("moves", f.moves);
    flag("narrows", f.narrows);
    flag("data_sized", f.data_sized);
    flag("unpacks", f.unpacks);
    flag("text", f.text);
    flag("from_shapes", f.from_shapes != nullptr);
    flag("flops", f.flops != nullptr);
    flag("attends", f.attends);
    flag("winograd", f.winograd);
    flag("layer", f.layer);
    flag("source", f.source);
    flag("cast", f.cast);
    flag("marker", f.marker);
    flag("byte_weights", f.byte_weights);
    flag("shape_inputs", f.shape_inputs);
    flag("constant_inputs", f.constant_inputs);
    flag("s64_inputs", f.s64_inputs);
    flag("f32_inputs", f.f32_inputs);
    flag("weight_inputs", f.weight_inputs);
    flag("type_inputs", f.type_inputs);
    flag("misjudged_by_onnx", f.misjudged_by_onnx != nullptr);
    flag("passes_types", f.passes_types);
    flag("runs_rounds", f.runs_rounds);
    flag("repeats", f.repeats != nullptr);
    flag("blocked", f.blocked);
    flag("qdq", f.qdq);
    flag("text_form", f.text_form);
    flag("text_form_of", f.text_form_of != nullptr);
    flag("text_inputs", f.text_inputs);
    if (!f.class_numbers.empty()) line += fmt::format(" class_numbers={}", f.class_numbers);
    flag("elementwise", f.elementwise.append != nullptr);
    flag("least", f.elementwise.append ? f.elementwise.least : 0);
    flag("most", f.elementwise.append ? f.elementwise.most : 0);
    flag("monotone", f.monotone);
    flag("monotone_from_zero", f.monotone_from_zero);
    if (f.neutral) line += fmt::format(" neutral={}", *f.neutral);
    flag("extent_inputs", f.extent_inputs);
    flag("size_range", f.size_range != nullptr);
    flag("bounds_shape", f.bounds_shape);
    flag("bounds_twins", f.bounds_twins);
    flag("bound", op->bound != nullptr);
    flag("resolve", op->resolve != nullptr);
    flag("trial_outputs", f.trial.outputs);
    found[name_of(op->domain, op->name)].insert(line);
  }
  for (const Sample& s : all_samples()) {
    const OpDef* op = find_op(s.domain, s.op, s.opset);
    if (!op) continue;
    const SampleGraph g = make_graph(s);
    auto& lines = found[name_of(s.domain, s.op)];
    if (op->facts.constant_inputs_of)
      lines.insert(
          fmt::format("constant inputs of a sample: {}", op->facts.constant_inputs_of(*g.node)));
    if (op->facts.flops && has_static_shapes(*g.node))
      lines.insert(fmt::format("flops of a sample: {}", op->facts.flops(*g.node)));
    if (!op->facts.epilogue) continue;
    const auto epilogue = op->facts.epilogue(*g.node);
    lines.insert(epilogue ? fmt::format("epilogue {} {:.6g} {:.6g}",
                                        static_cast<int>(epilogue->activation), epilogue->alpha,
                                        epilogue->beta)
                          : "no epilogue");
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/op_facts.txt",
                        "Facts of operators: facts_test.cpp.");
}

}  // namespace
}  // namespace poprt::ops::sampled
