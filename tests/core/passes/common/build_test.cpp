#include "passes/common/build.h"

#include <fmt/ranges.h>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

using ir::Value;

// Returns the nodes that `make` inserts before Neg(%x), x of f32[2,4] (operators with their numbers
// of inputs and attributes), and the values of the last result for x = 0, 1, 2 ...
template <class F>
std::string built_text(int opset, F&& make) {
  const auto graph = parsed("input %x : f32[2,4]\n%y = Neg(%x)\noutput %y", opset);
  ir::Node& at = *graph->nodes().back();
  try {
    Value* made = make(at, graph->find("x"));
    std::string text;
    for (const ir::Node* n : graph->nodes()) {
      if (n == &at) continue;
      text += fmt::format("{} {}", n->op_type, n->inputs().size());
      for (const auto& [key, value] : n->attributes) text += " " + key;
      text += ": ";
    }
    const std::string name = made->name();
    while (!graph->outputs().empty()) graph->remove_output(0);
    graph->add_output(made);
    std::vector<float> numbers(8);
    for (size_t i = 0; i < 8; i++) numbers[i] = static_cast<float>(i);
    const Tensor result =
        evaluate_graph(*graph, {{"x", Tensor::of<float>({2, 4}, numbers)}}).at(name);
    return text + fmt::format("{} {}", shape_string(result.shape()), result.to_doubles());
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Build, NodesAreSpeltAsTheOpsetHasThem) {
  const auto parts = [](ir::Node& at, Value* x) {
    return passes::split_into(at, x, std::vector<int64_t>{1, 3}, 1)[1];
  };
  for (const int opset : {9, 12})
    EXPECT_EQ(built_text(opset, parts), "Split 1 axis split: [2,3] [1, 2, 3, 5, 6, 7]");
  for (const int opset : {13, 17})
    EXPECT_EQ(built_text(opset, parts), "Split 2 axis: [2,3] [1, 2, 3, 5, 6, 7]");
  const auto slice = [](ir::Node& at, Value* x) { return passes::sliced(at, x, 1, 1, 3); };
  EXPECT_EQ(built_text(9, slice), "Slice 1 axes ends starts: [2,2] [1, 2, 5, 6]");
  EXPECT_EQ(built_text(10, slice), "Slice 4: [2,2] [1, 2, 5, 6]");
  const auto steps = [](ir::Node& at, Value* x) { return passes::sliced(at, x, 1, 0, 3, 2); };
  EXPECT_EQ(built_text(10, steps), "Slice 5: [2,2] [0, 2, 4, 6]");
  EXPECT_EQ(
      built_text(9, steps),
      "Slice of opset 9 has no steps; convert the model to opset 10 or later (`convert_version`)");
  const auto pad = [](ir::Node& at, Value* x) { return passes::padded(at, x, 0, 3); };
  const std::string zeros = ": [3,4] [0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0]";
  EXPECT_EQ(built_text(10, pad), "Pad 1 pads" + zeros);
  EXPECT_EQ(built_text(11, pad), "Pad 2" + zeros);
  const auto turned = [](ir::Node& at, Value* x) { return passes::reshaped(at, x, {4, 2}); };
  EXPECT_EQ(built_text(17, turned), "Reshape 2: [4,2] [0, 1, 2, 3, 4, 5, 6, 7]");
  const auto empty = [](ir::Node& at, Value* x) {
    return passes::reshaped(at, passes::sliced(at, x, 1, 0, 0), {0, 7});
  };
  EXPECT_EQ(built_text(14, empty), "Slice 4: Reshape 2 allowzero: [0,7] []");
  EXPECT_EQ(
      built_text(17, [](ir::Node& at,
                        Value* x) { return passes::joined(at, std::vector<Value*>{x, x}, 1); })
          .substr(0, 21),
      "Concat 2 axis: [2,8] ");
}

TEST(Build, AddsNoNodeWithoutEffect) {
  const auto same = [](auto&& make) { return built_text(17, make).substr(0, 5); };
  EXPECT_EQ(same([](ir::Node& at, Value* x) { return passes::reshaped(at, x, {2, 4}); }), "[2,4]");
  EXPECT_EQ(same([](ir::Node& at, Value* x) { return passes::cast_to(at, x, DType::f32); }),
            "[2,4]");
  EXPECT_EQ(same([](ir::Node& at, Value* x) { return passes::transposed(at, x, {0, 1}); }),
            "[2,4]");
  EXPECT_EQ(same([](ir::Node& at, Value* x) { return passes::padded(at, x, 1, 4); }), "[2,4]");
  EXPECT_EQ(
      built_text(17, [](ir::Node& at, Value* x) { return passes::transposed(at, x, {1, 0}); }),
      "Transpose 1 perm: [4,2] [0, 4, 1, 5, 2, 6, 3, 7]");
  EXPECT_EQ(
      built_text(17, [](ir::Node& at, Value* x) { return passes::cast_to(at, x, DType::s32); }),
      "Cast 1 to: [2,4] [0, 1, 2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(
      built_text(17, [](ir::Node& at, Value* x) { return passes::cast_to(at, x, DType::f8_143); }),
      fmt::format("ONNX has no type {}", dtype_name(DType::f8_143)));
}

TEST(Build, PartsOfTensors) {
  std::vector<int32_t> numbers(24);
  for (size_t i = 0; i < 24; i++) numbers[i] = static_cast<int32_t>(i);
  const Tensor t = Tensor::of<int32_t>({2, 3, 4}, numbers);
  for (int64_t axis = 0; axis < 3; axis++) {
    const int64_t size = t.shape()[static_cast<size_t>(axis)];
    for (int64_t cut = 0; cut <= size; cut++) {
      const std::vector<Tensor> parts{passes::slice_of(t, axis, 0, cut),
                                      passes::slice_of(t, axis, cut, size)};
      EXPECT_EQ(parts[0].shape()[static_cast<size_t>(axis)], cut);
      EXPECT_EQ(passes::concat_of(parts, axis).shape(), t.shape());
      EXPECT_EQ(passes::concat_of(parts, axis).to_doubles(), t.to_doubles());
    }
  }
  EXPECT_EQ(passes::slice_of(t, 1, 1, 2).to_doubles(),
            (std::vector<double>{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(passes::slice_of(t, 2, 3, 4).to_doubles(), (std::vector<double>{3, 7, 11, 15, 19, 23}));
}

TEST(Build, NodesAreFoundByTheirNameOrThatOfTheirResult) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    %a = Neg(%x) "b"
    %b = Exp(%a) "first"
    %c = Neg(%b)
    %d = Neg(%c) "d1"
    %e = Neg(%d) "e1"
    %f = Neg(%e) "f1"
    %g = Neg(%f) "g1"
    output %g
  )");
  const auto found = [&](std::string_view name, std::string_view type) {
    try {
      return passes::node_of(*graph, name, type).output()->name();
    } catch (const Error& e) {
      return e.message();
    }
  };
  EXPECT_EQ(found("first", "Exp"), "b");
  EXPECT_EQ(found("first", ""), "b");
  EXPECT_EQ(found("c", "Neg"), "c");
  EXPECT_EQ(found("b", "Neg"), "a");  // the name of a node goes before that of a result
  EXPECT_EQ(found("g1", "Neg"), "g");
  EXPECT_EQ(found("g1", "Exp"), "node 'g1' is a Neg, expected Exp");
  EXPECT_EQ(found("z", "Exp"), "there is no node 'z'; nodes Exp are: 'first'");
  EXPECT_EQ(found("z", "Neg"),
            "there is no node 'z'; nodes Neg are: 'b', 'c', 'd1', 'e1', 'f1' ...");
  EXPECT_EQ(found("z", ""), "there is no node 'z'; nodes are: 'b', 'first', 'c', 'd1', 'e1' ...");
  EXPECT_EQ(found("z", "Add"), "there is no node 'z'; nodes Add are: none");
}

// The second output of the graph is an input, and one part of its Split is unused.
TEST(Build, OutputsAreReplacedOneByOne) {
  const auto graph = parsed(R"(
    input %x : f32[2,4]
    const %sizes : s64[3] = [1, 1, 2]
    %a, %b, %c = Split(%x, %sizes) {axis = 1} "cut"
    %d = Neg(%a)
    output %c
    output %d
  )");
  ir::Node& split = *graph->nodes()[0];
  const std::vector<Value*> by{passes::sliced(split, graph->find("x"), 1, 0, 1), nullptr,
                               passes::sliced(split, graph->find("x"), 1, 2, 4)};
  const std::string taken = by[0]->name();
  passes::replace_outputs(split, by);
  EXPECT_EQ(ops_of(*graph), "Slice Slice Neg");
  EXPECT_EQ(graph->nodes()[2]->input(0)->name(), "a");  // it has the name of the replaced value
  EXPECT_EQ(graph->nodes()[0]->name, "cut");
  EXPECT_EQ(graph->outputs()[0]->name(), "c");
  EXPECT_EQ(graph->outputs()[0]->producer(), graph->nodes()[1]);
  EXPECT_EQ(graph->find(taken), nullptr);
}

TEST(Build, AnOutputThatCannotBeTakenOverIsCopied) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    %a = Neg(%x)
    %b = Exp(%a)
    %c = Abs(%b)
    output %a
    output %b
    output %c
  )");
  Value* a = graph->find("a");
  passes::replace_outputs(*graph->nodes()[1], std::span(&a, 1));
  EXPECT_EQ(ops_of(*graph), "Neg Identity Abs");
  EXPECT_EQ(graph->outputs()[0]->name(), "a");
  EXPECT_EQ(graph->outputs()[1]->name(), "b");
  EXPECT_EQ(graph->nodes()[2]->input(0), graph->outputs()[1]);
  // A value with other readers keeps its name.
  Value* b = graph->outputs()[1];
  passes::replace_outputs(*graph->nodes()[2], std::span(&b, 1));
  EXPECT_EQ(ops_of(*graph), "Neg Identity Identity");
  EXPECT_EQ(b->name(), "b");
}

TEST(Build, ANodeLikeAnotherHasItsAttributesAndItsName) {
  const auto graph = parsed(R"(
    input %x : f32[2,4]
    %a = Softmax(%x) {axis = 0} "soft"
    %y = Neg(%a) "end"
    output %y
  )");
  ir::Node& end = *graph->nodes()[1];
  Value* x = graph->find("x");
  const ir::Node* made = passes::insert_like(end, *graph->nodes()[0], std::span(&x, 1));
  EXPECT_EQ(ops_of(*graph), "Softmax Softmax Neg");
  EXPECT_EQ(graph->nodes()[1], made);
  EXPECT_EQ(made->name, "soft");
  EXPECT_EQ(made->output()->name(), "y_Softmax");
  EXPECT_EQ(made->int_attr("axis", 9), 0);
  EXPECT_EQ(made->output()->shape(), (Shape{2, 4}));
}

// The model imports the domain of Graphcore once it has a node of it, a branch by its root.
TEST(Build, NodesOfGraphcoreAreImportedAtTheRoot) {
  const auto graph = parsed(R"(
    input %on : bool[]
    input %x : f32[3]
    %y = If(%on) {else_branch = graph "e" { %n = Erf(%x) "erf" output %n }, then_branch = graph "t" { %i = Identity(%x) output %i }}
    output %y
  )");
  const auto branch =
      std::get<std::shared_ptr<ir::Graph>>(graph->nodes()[0]->attributes.at("else_branch"));
  EXPECT_EQ(&passes::root_of(*branch), graph.get());
  EXPECT_EQ(&passes::root_of(*graph), graph.get());
  passes::PassContext context;
  context.rewrite_limit = 1;
  passes::replace_each_with_graphcore(*graph, context, "Erf", "ErfV2");
  EXPECT_EQ(ops_of(*branch), "ai.graphcore.ErfV2");
  EXPECT_EQ(branch->nodes()[0]->name, "erf");
  EXPECT_EQ(branch->outputs()[0]->name(), "n");
  EXPECT_EQ(branch->outputs()[0]->shape(), Shape{3});
  EXPECT_EQ(graph->opsets, (std::map<std::string, int64_t>{{"", 17}, {"ai.graphcore", 1}}));
  EXPECT_TRUE(branch->opsets.empty());
  graph->opsets["ai.graphcore"] = 5;  // an existing import stays
  ir::Node& erf = *branch->nodes()[0];
  passes::replace_with_graphcore(erf, "NotZero", std::vector<Value*>{graph->find("x")});
  EXPECT_EQ(ops_of(*branch), "ai.graphcore.NotZero");
  EXPECT_EQ(graph->opsets.at("ai.graphcore"), 5);
}

}  // namespace
}  // namespace poprt::test
