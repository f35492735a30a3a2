#include "passes/common/rewrite.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "core/passes/pass_case.h"
#include "ops/common/scalar.h"

namespace poprt::test {
namespace {

TEST(Rewrite, NumbersAreNearAsTheirTypeHasThem) {
  struct Row {
    double value, expected;
    DType dtype;
    bool near;
  };
  const Row rows[] = {
      {1, 1, DType::f32, true},
      {1 + 5e-7, 1, DType::f32, true},
      {1 - 5e-7, 1, DType::f32, true},
      {1 + 2e-6, 1, DType::f32, false},
      {1 - 2e-6, 1, DType::f32, false},
      {-1, 1, DType::f32, false},
      {1 + 5e-7, 1, DType::f16, true},
      {1 + 9e-4, 1, DType::f16, false},
      {1 + 7e-3, 1, DType::bf16, false},
      {0, 0, DType::f32, true},
      {1e-9, 0, DType::f32, false},
      // 0.044715 rounded to f16, 0.04470825, and to bf16, 0.04467773.
      {0.0447082519, 0.044715, DType::f32, true},
      {0.0446777344, 0.044715, DType::f32, true},
      {0.0447082519, 0.044715, DType::f16, true},
      {0.0446777344, 0.044715, DType::f16, false},
      {0.0447082519, 0.044715, DType::bf16, false},
      {0.0446777344, 0.044715, DType::bf16, true},
      {0.0447082519, 0.044715, DType::f64, false},
      {0.0447, 0.044715, DType::f32, false},
      // sqrt(2 / pi). 0.8 is the reciprocal of sqrt(pi / 2) rounded to bf16.
      {0.8, 0.7978845608, DType::f32, false},
      {0.80078125, 0.7978845608, DType::bf16, false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(passes::is_close(row.value, row.expected, row.dtype), row.near)
        << row.value << " " << row.expected << " " << dtype_name(row.dtype);
}

TEST(Rewrite, TensorsOfDoublesSaturate) {
  const std::vector<double> values{
      -1e30, -300, -3, -0.5, 0, 1.5, 300, 1e30, std::numeric_limits<double>::quiet_NaN()};
  const auto of = [&](DType dtype) { return passes::tensor_of(dtype, {9}, values).to_doubles(); };
  using List = std::vector<double>;
  EXPECT_EQ(of(DType::s8), (List{-128, -128, -3, 0, 0, 1, 127, 127, 0}));
  EXPECT_EQ(of(DType::u8), (List{0, 0, 0, 0, 0, 1, 255, 255, 0}));
  EXPECT_EQ(of(DType::s16), (List{-32768, -300, -3, 0, 0, 1, 300, 32767, 0}));
  EXPECT_EQ(of(DType::u16), (List{0, 0, 0, 0, 0, 1, 300, 65535, 0}));
  EXPECT_EQ(of(DType::s32), (List{-2147483648., -300, -3, 0, 0, 1, 300, 2147483647., 0}));
  EXPECT_EQ(of(DType::u32), (List{0, 0, 0, 0, 0, 1, 300, 4294967295., 0}));
  EXPECT_EQ(of(DType::boolean), (List{1, 1, 1, 1, 0, 1, 1, 1, 1}));
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    EXPECT_EQ(passes::tensor_of(dtype, {2, 1}, List{-0.5, 1.5}).to_doubles(), (List{-0.5, 1.5}));
  EXPECT_EQ(passes::tensor_of(DType::s64, {1}, List{-7}).to_doubles(), List{-7});
  EXPECT_EQ(passes::tensor_of(DType::u64, {1}, List{-7}).to_doubles(), List{0});
  EXPECT_THROW(passes::tensor_of(DType::string, {1}, List{1}), Error);
}

TEST(Rewrite, HalvesRoundADoubleOnce) {
  using List = std::vector<double>;
  // A float in between is a tie, which rounds to the even neighbour below.
  const double above_f16 = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  const double above_bf16 = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  EXPECT_EQ(passes::tensor_of(DType::f16, {1}, List{above_f16}).to_doubles(),
            List{1 + std::ldexp(1.0, -10)});
  EXPECT_EQ(passes::tensor_of(DType::bf16, {1}, List{above_bf16}).to_doubles(),
            List{1 + std::ldexp(1.0, -7)});
  EXPECT_EQ(ops::scalar_tensor(DType::f16, above_f16).to_doubles(), List{1 + std::ldexp(1.0, -10)});
  EXPECT_EQ(ops::scalar_tensor(DType::bf16, above_bf16).to_doubles(),
            List{1 + std::ldexp(1.0, -7)});
  EXPECT_EQ(ops::scalar_tensor(DType::f32, above_f16).to_doubles(), List{1 + std::ldexp(1.0, -11)});
}

// The factors of %y and the constants among them.
std::string factors(const std::string& body) {
  const auto graph = parsed(
      "input %a : f32[2]\ninput %b : f32[2]\nconst %two : f32[] = 2.0\nconst %four : f32[1] "
      "= [4.0]\nconst %zero : f32[] = 0.0\nconst %list : f32[2] = [1.0, 2.0]\n" +
      body + "\noutput %y");
  std::string text;
  const passes::Product p = passes::factors_of(*graph->nodes().back());
  for (const ir::Value* v : p.factors) text += v->name() + " ";
  return text + fmt::format("{}", p.scale);
}

TEST(Rewrite, DecomposesProducts) {
  const std::pair<const char*, const char*> rows[] = {
      {"%y = Mul(%a, %b)", "a b 1"},
      {"%y = Mul(%two, %a)", "a 2"},
      {"%y = Div(%a, %two)", "a 0.5"},
      {"%y = Div(%two, %a)", "y 1"},
      {"%y = Div(%a, %zero)", "y 1"},
      {"%y = Mul(%a, %list)", "a list 1"},
      {"%m = Mul(%a, %four)\n%d = Div(%m, %two)\n%y = Mul(%d, %b)", "a b 2"},
      {"%m = Mul(%a, %b)\n%n = Mul(%b, %four)\n%y = Mul(%m, %n)", "a b b 4"},
      {"%m = Neg(%a)\n%y = Mul(%m, %two)", "m 2"},
      // A value with other readers stays a factor.
      {"%m = Mul(%a, %two)\noutput %m\n%y = Mul(%m, %two)", "m 2"},
      {"%m = Mul(%a, %two)\n%y = Mul(%m, %m)", "m m 1"},
  };
  for (const auto& [body, wanted] : rows) EXPECT_EQ(factors(body), wanted) << body;
}

constexpr const char* kReaders = R"(
  input %x : f32[2,3]
  const %one : s64[1] = [2]
  const %spare : f32[] = 1.0
  %a = Neg(%x) "first"
  %b = Exp(%a)
  %s = Split(%b, %one) {axis = 0}
  %c = Add(%b, %b)
  %d = Abs(%c)
  output %c
  output %d
)";

TEST(Rewrite, AValueIsUsedByNodesOrAsAnOutput) {
  const auto g = parsed(R"(
    input %x : f32[2]
    %a = Neg(%x)
    %b = Exp(%a)
    %c = Abs(%a)
    output %b
  )");
  EXPECT_TRUE(passes::is_used(g->find("a")));
  EXPECT_TRUE(passes::is_used(g->find("b")));
  EXPECT_FALSE(passes::is_used(g->find("c")));
  EXPECT_EQ(passes::sole_producer_of(g->find("a"), "Neg"), nullptr);  // two nodes read a
  EXPECT_EQ(passes::sole_producer_of(g->find("b"), "Exp"), nullptr);  // an output
  EXPECT_EQ(passes::sole_producer_of(g->find("x"), "Neg"), nullptr);
}

TEST(Rewrite, ListsAreAttributesOrConstantInputs) {
  const auto g = parsed(R"(
    input %x : f32[2,1,1]
    input %dynamic : s64[1]
    const %axes : s64[2] = [1, 2]
    %a = Squeeze(%x, %axes)
    %b = Squeeze(%x)
    %c = Squeeze(%x, %dynamic)
    output %a
    output %b
    output %c
  )");
  using List = std::vector<int64_t>;
  const auto axes = [&](size_t i) { return passes::ints_param(*g->nodes()[i], "axes", 1); };
  EXPECT_EQ(axes(0), List({1, 2}));
  EXPECT_EQ(axes(1), List());
  EXPECT_EQ(axes(2), std::nullopt);
  g->nodes()[0]->attributes["axes"] = List{2};  // as older opsets have it
  EXPECT_EQ(axes(0), List{2});
}

TEST(Rewrite, ShapesAreTheSameWhenBothAreKnown) {
  const auto g = parsed(
      "input %a : f32[2,3]\ninput %b : s64[2,3]\ninput %c : f32[3,2]\n"
      "input %d : f32[2,?]\ninput %e : f32[2,?]\n%y = Neg(%a)\noutput %y");
  const auto same = [&](const char* a, const char* b) {
    return passes::same_static_shape(g->find(a), g->find(b));
  };
  EXPECT_TRUE(same("a", "b"));
  EXPECT_FALSE(same("a", "c"));
  EXPECT_FALSE(same("a", "d"));
  EXPECT_FALSE(same("d", "a"));
  EXPECT_FALSE(same("d", "e"));
  for (int t = 0; t < kDTypeCount; t++) {
    const auto dtype = static_cast<DType>(t);
    EXPECT_EQ(passes::is_plain_float(dtype), dtype == DType::f32 || dtype == DType::f64 ||
                                                 dtype == DType::f16 || dtype == DType::bf16);
  }
}

TEST(Rewrite, InsertsNewNodesBeforeTheNodeWithItsName) {
  const auto g = parsed(kReaders);
  ir::Node& at = *g->nodes()[0];
  ir::Node* made = passes::insert_node(at, "Softmax", "", {g->find("x")}, {{"axis", int64_t{0}}});
  EXPECT_EQ(g->nodes()[0], made);
  EXPECT_EQ(made->name, "first");
  EXPECT_EQ(made->output()->name(), "a_Softmax");
  EXPECT_EQ(made->output()->shape(), (Shape{2, 3}));
  EXPECT_EQ(made->int_attr("axis", 7), 0);
  const int64_t list[] = {4, 5};
  EXPECT_EQ(passes::add_ints(*g, "ints", list)->constant().to_int64s(),
            (std::vector<int64_t>{4, 5}));
  const ir::Value* scalar = passes::add_scalar(*g, "half", DType::f16, 0.5);
  EXPECT_EQ(scalar->dtype(), DType::f16);
  EXPECT_EQ(scalar->shape(), Shape{});
  EXPECT_EQ(scalar->constant().to_doubles(), std::vector<double>{0.5});
}

TEST(Rewrite, RemovesValuesReadOnlyByADeadNode) {
  const auto g = parsed(kReaders);
  passes::erase_if_dead(g->nodes()[3]);  // has no effect: the node computes an output of the graph
  EXPECT_EQ(ops_of(*g), "Neg Exp Split Add Abs");
  passes::erase_if_dead(g->nodes()[2]);
  EXPECT_EQ(ops_of(*g), "Neg Exp Add Abs");  // Exp has another reader
  EXPECT_EQ(g->find("one"), nullptr);
  EXPECT_NE(g->find("spare"), nullptr);  // it was unused before
  while (!g->outputs().empty()) g->remove_output(0);
  passes::erase_if_dead(g->nodes()[3]);
  EXPECT_EQ(ops_of(*g), "");
  EXPECT_NE(g->find("x"), nullptr);
}

// A default of an input is one of the model's inputs.
TEST(Rewrite, AnInputThatHasAValueStays) {
  const auto g = parsed(R"(
    input %x : f32[2]
    const %w : f32[2] = [1.0, 2.0]
    %a = Add(%x, %w)
    %y = Neg(%x)
    output %y
  )");
  g->add_input("v", g->find("w")->type)->set_constant(g->find("w")->constant());
  g->nodes()[0]->set_input(1, g->find("v"));
  passes::erase_if_dead(g->nodes()[0]);
  EXPECT_EQ(ops_of(*g), "Neg");
  EXPECT_NE(g->find("v"), nullptr);
  EXPECT_NE(g->find("w"), nullptr);
}

TEST(Rewrite, AReplacementTakesTheName) {
  const auto g = parsed(kReaders);
  ir::Node& exp = *g->nodes()[1];
  passes::replace_node(exp, passes::insert_node(exp, "Sin", "", {g->find("a")})->output());
  EXPECT_EQ(ops_of(*g), "Neg Sin Split Add Abs");
  EXPECT_EQ(g->nodes()[1]->output()->name(), "b");
  ir::Node& add = *g->nodes()[3];
  passes::replace_node(add, passes::insert_node(add, "Cos", "", {g->find("b")})->output());
  EXPECT_EQ(g->outputs()[0]->name(), "c");
  EXPECT_EQ(g->outputs()[0]->producer()->op_type, "Cos");
  passes::replace_node(*g->nodes()[2], g->find("b"));  // the node has no reader
  EXPECT_EQ(ops_of(*g), "Neg Sin Cos Abs");

  // An output that is put in the place of another value keeps its own name.
  const auto other = parsed(R"(
    input %x : f32[2]
    %a = Neg(%x)
    %b = Exp(%x)
    %c = Abs(%b)
    output %a
    output %c
  )");
  passes::replace_node(*other->nodes()[1], other->find("a"));
  EXPECT_EQ(ops_of(*other), "Neg Abs");
  EXPECT_EQ(other->outputs()[0]->name(), "a");
}

TEST(Rewrite, SkipsNodesWithoutEffect) {
  const auto g = parsed(R"(
    input %x : f32[2]
    %a = Identity(%x)
    %b = Identity(%x)
    %c = Neg(%b)
    %d = Identity(%c)
    %e = Identity(%b)
    output %a
    output %c
    output %d
    output %e
  )");
  const auto can = [&](const char* value, const char* by) {
    return passes::can_bypass(g->find(value), g->find(by));
  };
  EXPECT_FALSE(can("a", "x"));  // an output cannot be an input
  EXPECT_TRUE(can("b", "x"));
  EXPECT_FALSE(can("d", "c"));  // nor another output
  EXPECT_TRUE(can("e", "b"));
  g->find("b")->type.has_shape = true;
  g->find("x")->type.has_shape = false;
  passes::redirect(g->find("b"), g->find("x"));
  EXPECT_TRUE(g->find("x")->type.has_shape);  // the known type of one completes the other
  EXPECT_EQ(g->find("b")->uses().size(), 0u);
  EXPECT_EQ(ops_of(*g), "Identity Identity Neg Identity Identity");
  passes::bypass(g->find("b"), g->find("x"));
  EXPECT_EQ(ops_of(*g), "Identity Neg Identity Identity");
}

// Each Mul has two computed operands: no factor is a constant.
TEST(Rewrite, LongProductsAreDecomposedInPart) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2}));
  ir::Value* y = x;
  constexpr int kNodes = 200000;
  for (int i = 0; i < kNodes; i++) y = graph.add_node("Mul", "", {y, x})->output();
  graph.add_output(y);
  std::vector<ir::Node*> nodes = graph.nodes();
  size_t most = 0;
  for (ir::Node* n : nodes) most = std::max(most, passes::factors_of(*n).factors.size());
  EXPECT_GT(most, 8u);
  EXPECT_LT(most, 1000u);
}

TEST(Rewrite, OnlyAReaderOfTheSameGraphIsTheSoleReader) {
  const auto graph = parsed(R"(
    input %on : bool[]
    input %x : f32[2]
    const %w : f32[2] = [1.0, 2.0]
    %a = Neg(%x)
    %y = If(%on) {else_branch = graph "e" { %n = Abs(%a) output %n }, then_branch = graph "t" { %i = Neg(%w) output %i }}
    %b = Exp(%y)
    output %b
  )");
  EXPECT_EQ(passes::sole_producer_of(graph->find("a"), "Neg"), nullptr);
  EXPECT_FALSE(ir::single_use(graph->find("a")));
  EXPECT_EQ(ir::single_reader(graph->find("a")), nullptr);
  EXPECT_TRUE(ir::single_use(graph->find("w")));
  EXPECT_NE(passes::sole_producer_of(graph->find("y"), "If"), nullptr);
}

}  // namespace
}  // namespace poprt::test
