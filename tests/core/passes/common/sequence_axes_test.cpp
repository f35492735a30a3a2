// Axes are written "r p 4": one of rows, one of places, one of four; factors of one axis are joined
// by *, an axis of one has none and is written 1. There are two rows of three places; R is a row of
// a batch of one.
#include "passes/common/sequence_axes.h"

#include <fmt/ranges.h>

#include <sstream>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

using passes::Axes;
using passes::Axis;
using FactorKind = passes::AxisFactor::Kind;

constexpr passes::SequenceSizes kOld{2, 3}, kNow{5, 2};

Axes axes_of(const std::string& text) {
  Axes axes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    Axis& axis = axes.emplace_back();
    std::istringstream factors(word);
    for (std::string f; std::getline(factors, f, '*');) {
      if (f == "r") axis.push_back({FactorKind::row, 2});
      if (f == "R") axis.push_back({FactorKind::row, 1});
      if (f == "p") axis.push_back({FactorKind::place, 3});
      if (std::isdigit(f[0]) && f != "1") axis.push_back({FactorKind::plain, std::stoll(f)});
    }
  }
  return axes;
}

std::string text_of(const Axes& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    if (!text.empty()) text += " ";
    std::string factors;
    for (const passes::AxisFactor& f : axis) {
      if (!factors.empty()) factors += "*";
      factors += f.kind == FactorKind::row     ? (f.size == 1 ? "R" : "r")
                 : f.kind == FactorKind::place ? "p"
                                               : std::to_string(f.size);
    }
    text += factors.empty() ? "1" : factors;
  }
  return text;
}

std::string text_of(const std::optional<Axes>& axes) { return axes ? text_of(*axes) : "none"; }

TEST(SequenceAxes, SizesAndShapes) {
  const Axes axes = axes_of("r*4 p 5 1");
  EXPECT_EQ(passes::shape_of(axes, kOld), (Shape{8, 3, 5, 1}));
  EXPECT_EQ(passes::shape_of(axes, kNow), (Shape{20, 2, 5, 1}));
  EXPECT_EQ(text_of(passes::plain_axes({2, 1, 3})), "2 1 3");
  EXPECT_TRUE(passes::is_only(axes[1], FactorKind::place));
  EXPECT_FALSE(passes::is_only(axes[1], FactorKind::row));
  EXPECT_FALSE(passes::is_only(axes[0], FactorKind::row));
  EXPECT_FALSE(passes::is_only(axes[3], FactorKind::plain));
  EXPECT_TRUE(passes::has(axes[0], FactorKind::row));
  EXPECT_FALSE(passes::has(axes[0], FactorKind::place));
}

TEST(SequenceAxes, OfAReshape) {
  struct Row {
    const char* from;
    Shape to;
    const char* wanted;
  };
  const Row rows[] = {
      {"r p 8", {2, 3, 2, 4}, "r p 2 4"},
      {"r p 8", {2, 3, 8}, "r p 8"},
      {"r p 8", {6, 8}, "r*p 8"},
      {"r p 8", {48}, "r*p*8"},
      {"r p 8", {2, 3, 8, 1}, "r p 8 1"},
      {"r p 8", {1, 2, 3, 8}, "1 r p 8"},
      {"r p 2 4", {2, 3, 8}, "r p 2*4"},
      {"r p 2 4", {2, 3, 4, 2}, "r p 2*2 2"},
      {"r*p 8", {2, 3, 8}, "r p 8"},
      {"r*4 p p", {2, 4, 3, 3}, "r 4 p p"},
      {"r 4 p p", {8, 3, 3}, "r*4 p p"},
      {"r p 6", {2, 9, 2}, "r p*3 2"},
      {"r p 1", {2, 3}, "r p"},
      {"R p 8", {1, 3, 8}, "R p 8"},
      {"R p 8", {3, 8}, "R*p 8"},
      {"R p 8", {1, 1, 3, 8}, "R 1 p 8"},
      {"p R", {3}, "p*R"},
      {"p R", {3, 1}, "p R"},
      // Rows or places would be cut, or elements are left or missing.
      {"r p 8", {3, 2, 8}, "none"},
      {"r p 8", {2, 24}, "r p*8"},
      {"r p 8", {4, 12}, "none"},
      {"r p 6", {2, 3, 4}, "none"},
      {"r p 6", {2, 3}, "none"},
      {"r p 8", {2, 3, 16}, "none"},
      {"r p p", {2, 9}, "r p*p"},
      {"2 4", {6}, "none"},
      {"p 4", {10}, "none"},
      {"0 4 6", {24, 0}, "none"},
      {"0 4 6", {0, 24}, "none"},
      {"R", {}, "none"},
      {"1", {}, ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(text_of(passes::reshaped_axes(axes_of(row.from), row.to)), row.wanted)
        << row.from << " to " << fmt::format("{}", row.to);
}

TEST(SequenceAxes, OfAnExpand) {
  struct Row {
    const char* from;
    Shape to;
    const char* wanted;
  };
  const Row rows[] = {
      {"1 4", {2, 3, 4}, "r p 4"},
      {"r p", {2, 3}, "r p"},
      {"r 1", {2, 5}, "r 5"},
      {"r 1", {2, 3}, "r p"},
      {"r 1 1", {2, 2, 3}, "r 2 p"},
      {"1", {1}, "1"},
      {"4", {4}, "4"},
      {"1 1", {3, 2}, "p 2"},
      {"p", {5, 3}, "5 p"},
      {"p 1", {3, 3}, "p p"},
      {"1 p", {2, 1, 3}, "r 1 p"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(text_of(passes::expanded_axes(axes_of(row.from), row.to, kOld)), row.wanted)
        << row.from << " to " << fmt::format("{}", row.to);
}

// The last node of a text, and the axes of its inputs: those that are not named have none.
struct Reader {
  std::unique_ptr<ir::Graph> graph;
  ir::Node* node;
  std::vector<std::optional<Axes>> inputs;

  Reader(const std::string& text, const std::map<std::string, std::string>& axes) {
    graph = parsed(text + "\noutput %y\n");
    node = graph->nodes().back();
    for (const ir::Value* v : node->inputs()) {
      const auto found = axes.find(v->name());
      inputs.push_back(found == axes.end() ? std::nullopt : std::optional(axes_of(found->second)));
    }
  }
};

TEST(SequenceAxes, OfAnyNodeByInference) {
  struct Row {
    const char* text;
    std::map<std::string, std::string> axes;
    const char* wanted;
  };
  const Row rows[] = {
      {"input %x : f32[2,3,4]\n%y = Transpose(%x) {perm = [0, 2, 1]}", {{"x", "r p 4"}}, "r 4 p"},
      {"input %x : f32[2,3,4]\ninput %w : f32[4,5]\n%y = MatMul(%x, %w)",
       {{"x", "r p 4"}},
       "r p 5"},
      {"input %x : f32[2,3,4]\n%y = ReduceMax(%x) {axes = [1]}", {{"x", "r p 4"}}, "r 1 4"},
      {"input %x : f32[2,3,4]\n%y = Flatten(%x) {axis = 2}", {{"x", "r p 4"}}, "r*p 4"},
      {"input %x : f32[2,3,4]\n%y = Concat(%x, %x) {axis = 1}", {{"x", "r p 4"}}, "r p*2 4"},
      {"input %x : f32[2,3,4]\nconst %i : s64[] = 0\n%y = Gather(%x, %i) {axis = 1}",
       {{"x", "r p 4"}},
       "r 4"},
      {"input %x : f32[2,3]\nconst %b : s64[1] = [0]\nconst %e : s64[1] = [2]\nconst %a : s64[1] = "
       "[1]\n%y = Slice(%x, %b, %e, %a)",
       {{"x", "r p"}},
       "r 2"},
      {"input %x : f32[8,3,3]\n%y = Relu(%x)", {{"x", "r*4 p p"}}, "r*4 p p"},
      {"input %x : f32[1,3]\n%y = Relu(%x)", {{"x", "R p"}}, "R p"},
      {"input %x : f32[2,3]\n%y = Shape(%x)", {{"x", "r p"}}, "2"},
      {"input %x : f32[2,4,3,2]\ninput %z : f32[2,4,2,3]\n%y = MatMul(%x, %z)",
       {{"x", "r 4 p 2"}, {"z", "r 4 2 p"}},
       "r 4 p p"},
      // Shapes that are written down, and operands that do not follow.
      {"input %x : f32[2,3,4]\nconst %s : s64[2] = [2, 12]\n%y = Reshape(%x, %s)",
       {{"x", "r p 4"}},
       "none"},
      {"input %x : f32[2,3]\ninput %z : f32[2,3]\n%y = Add(%x, %z)", {{"x", "r p"}}, "none"},
      {"input %x : f32[2,3]\ninput %n : s64[1]\n%y = Expand(%x, %n)", {{"x", "r p"}}, "none"},
  };
  for (const Row& row : rows) {
    const Reader reader(row.text, row.axes);
    const auto found = passes::inferred_axes(*reader.node, reader.inputs);
    EXPECT_EQ(found ? text_of(found->at(0)) : "none", row.wanted) << row.text;
  }
  const Reader split(
      "input %x : f32[2,3,4]\nconst %s : s64[2] = [1, 3]\n"
      "%z, %y = Split(%x, %s) {axis = 2}",
      {{"x", "r p 4"}});
  const auto parts = passes::inferred_axes(*split.node, split.inputs);
  ASSERT_TRUE(parts && parts->size() == 2);
  EXPECT_EQ(text_of(parts->at(0)), "r p 1");
  EXPECT_EQ(text_of(parts->at(1)), "r p 3");
}

// Returns how operand %c of a node is adapted: an action for each axis, and its shape with five
// rows of two places.
std::string adapted(const Reader& reader) {
  using Action = passes::Adapted::Action;
  ir::Node& n = *reader.node;
  for (size_t i = 0; i < n.inputs().size(); i++) {
    if (n.input(i)->name() != "c") continue;
    const auto plan = passes::adapted_operand(n, i, reader.inputs, kOld);
    if (!plan) return "none";
    std::string text;
    bool changes = false;
    for (const Action a : plan->actions) {
      text += a == Action::keep    ? "keep "
              : a == Action::cut   ? "cut "
              : a == Action::first ? "first "
                                   : "repeat ";
      changes |= a != Action::keep;
    }
    EXPECT_EQ(plan->changes(), changes);
    const ir::Value* v = passes::adapted_value(n, n.input(i), *plan, kOld, kNow);
    EXPECT_EQ(v->shape(), passes::shape_of(plan->axes, kNow)) << text;
    return text + fmt::format("{}", fmt::join(v->shape(), ","));
  }
  return "no c";
}

TEST(SequenceAxes, OfOperandsThatDoNotDependOnTokens) {
  const std::string x = "input %x : f32[2,3,4]\n", added = "%y = Add(%x, %c)";
  const std::map<std::string, std::string> tokens{{"x", "r p 4"}};
  struct Row {
    std::string text;
    std::map<std::string, std::string> axes;
    const char* wanted;
  };
  const Row rows[] = {
      {x + "input %c : f32[1,3,4]\n" + added, tokens, "keep cut keep 1,2,4"},
      {x + "input %c : f32[4]\n" + added, tokens, "keep 4"},
      {x + "input %c : f32[3,1]\n" + added, tokens, "cut keep 2,1"},
      {x + "const %c : f32[3,1] = [1.0, 2.0, 3.0]\n" + added, tokens, "cut keep 2,1"},
      // Rows that are known to be equal, or not, or not known.
      {x + "const %c : f32[2,1,1] = [7.0, 7.0]\n" + added, tokens, "first keep keep 1,1,1"},
      {x + "const %c : f32[2,3,1] = [7.0, 8.0, 9.0, 7.0, 8.0, 9.0]\n" + added, tokens,
       "first cut keep 1,2,1"},
      {x + "const %c : f32[2,3,1] = [7.0, 8.0, 9.0, 7.0, 8.0, 8.0]\n" + added, tokens, "none"},
      {x + "const %c : f32[2,1,1] = [7.0, 8.0]\n" + added, tokens, "none"},
      {x + "input %c : f32[2,1,1]\n" + added, tokens, "none"},
      {x + "const %one : f32[2,1,1] = [7.0, 7.0]\n%c = Neg(%one)\n" + added, tokens,
       "first keep keep 1,1,1"},
      {"input %x : f32[2,3,N]\ninput %c : f32[N]\n" + added, tokens, "none"},
      // Rows of heads.
      {"input %x : f32[4,3,3]\nconst %c : f32[4,1,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, "
       "3.0, 4.0, 5.0, 6.0]\n" +
           added,
       {{"x", "r*2 p p"}},
       "repeat keep cut 10,1,2"},
      {"input %x : f32[4,3,3]\nconst %c : f32[4,1,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, "
       "3.0, 4.0, 5.0, 7.0]\n" +
           added,
       {{"x", "r*2 p p"}},
       "none"},
      {"input %x : f32[6,4]\nconst %c : f32[6,1] = fill 1.0\n" + added, {{"x", "r*p 4"}}, "none"},
      // Where those with tokens have one element, the length is places and all else stays.
      {"input %x : f32[2,1,3]\ninput %c : f32[3,1]\n" + added, {{"x", "r 1 p"}}, "cut keep 2,1"},
      {"input %x : f32[2,1,3]\ninput %c : f32[4,1]\n" + added, {{"x", "r 1 p"}}, "keep keep 4,1"},
      {"input %x : f32[2,3,3]\ninput %c : f32[3]\n" + added, {{"x", "r p 3"}}, "keep 3"},
      {"input %x : f32[2,3]\ninput %c : f32[3,1,1]\n" + added,
       {{"x", "r p"}},
       "cut keep keep 2,1,1"},
      // Products: the summed axis, and the axes in front.
      {"input %x : f32[2,2,3,3]\ninput %c : f32[3,4]\n%y = MatMul(%x, %c)",
       {{"x", "r 2 p p"}},
       "cut keep 2,4"},
      {"input %x : f32[2,3,3]\nconst %c : f32[2,3,1] = fill 1.0\n%y = MatMul(%x, %c)",
       {{"x", "r p p"}},
       "first cut keep 1,2,1"},
      {"input %x : f32[2,3,4]\ninput %c : f32[4,3]\n%y = MatMul(%x, %c)",
       {{"x", "r p 4"}},
       "keep keep 4,3"},
      {"input %x : f32[2,3,4]\ninput %c : f32[5,3]\n%y = MatMul(%c, %x)",
       {{"x", "r p 4"}},
       "keep cut 5,2"},
      {"input %x : f32[2,4,3]\ninput %c : f32[3,4]\n%y = MatMul(%c, %x)",
       {{"x", "r 4 p"}},
       "keep keep 3,4"},
      // Elements that are looked up.
      {x + "input %c : s64[1,3,2]\n%y = GatherElements(%x, %c) {axis = 2}", tokens, "none"},
      {"input %x : f32[5,3]\ninput %c : s64[5,3]\n%y = GatherElements(%x, %c) {axis = 1}",
       {{"x", "5 p"}},
       "keep cut 5,2"},
      {"input %x : f32[3,5]\ninput %c : s64[3,2]\n%y = GatherElements(%x, %c) {axis = 1}",
       {{"x", "p 5"}},
       "cut keep 2,2"},
      {"input %c : f32[3,5]\ninput %x : s64[3,2]\n%y = GatherElements(%c, %x) {axis = -1}",
       {{"x", "p 2"}},
       "cut keep 2,5"},
      {"input %c : f32[3]\ninput %x : s64[3]\n%y = GatherElements(%c, %x)", {{"x", "p"}}, "keep 3"},
      // All other operators.
      {x + "input %c : f32[2,3,5]\n%y = Concat(%x, %c) {axis = 2}", tokens, "none"},
      {x + "const %c : f32[2,3,5] = fill 1.0\n%y = Concat(%x, %c) {axis = 2}", tokens,
       "repeat cut keep 5,2,5"},
      {x + "input %c : f32[4]\n%y = LayerNormalization(%x, %c)", tokens, "keep 4"},
      // Places that are picked by their numbers.
      {"input %x : f32[2,3,4]\ninput %c : s64[3]\n%y = Gather(%x, %c) {axis = 1}", tokens, "cut 2"},
      {"input %x : f32[2,3,4]\ninput %c : s64[1]\n%y = Gather(%x, %c) {axis = 1}", tokens,
       "keep 1"},
      {"input %c : f32[3,3]\ninput %x : s64[2,3]\n%y = Gather(%c, %x)",
       {{"x", "r p"}},
       "keep keep 3,3"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(adapted(Reader(row.text, row.axes)), row.wanted) << row.text;
}

// Values in addition to shapes: the axes in front, the first row, and both for every sequence.
TEST(SequenceAxes, OperandsKeepTheirFirstElements) {
  const Reader reader(
      "input %x : f32[4,3]\nconst %c : f32[4,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, "
      "4.0, 5.0, 6.0]\n%y = Add(%x, %c)",
      {{"x", "r*2 p"}});
  const auto plan = passes::adapted_operand(*reader.node, 1, reader.inputs, kOld);
  ASSERT_TRUE(plan);
  ir::Value* v = passes::adapted_value(*reader.node, reader.node->input(1), *plan, kOld, {2, 1});
  while (!reader.graph->outputs().empty()) reader.graph->remove_output(0);
  reader.graph->add_output(v);
  const std::string name = v->name();
  const Tensor made = evaluate_graph(*reader.graph, random_feeds(*reader.graph)).at(name);
  EXPECT_EQ(made.shape(), (Shape{4, 1}));
  EXPECT_EQ(made.to_doubles(), (std::vector<double>{1, 4, 1, 4}));
}

}  // namespace
}  // namespace poprt::test
