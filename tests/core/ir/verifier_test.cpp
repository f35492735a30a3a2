#include "ir/verifier.h"

#include <gtest/gtest.h>

namespace poprt::ir {
namespace {

const ValueType kVectorType = ValueType::of(DType::f32, {4});

// Expects an internal error whose message holds `part`.
void expect_refused(const Graph& g, std::string_view part) {
  try {
    verify(g);
    FAIL() << "the graph was accepted; expected: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::internal);
    EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

// x -> A -> B -> output
struct Chain {
  Graph g{"chain"};
  Value* x = g.add_input("x", kVectorType);
  Node* a = g.add_node("A", "", {x});
  Node* b = g.add_node("B", "", {a->output()});
  Chain() {
    a->name = "first";
    b->name = "second";
    g.add_output(b->output());
  }
};

std::shared_ptr<Graph> body_reading(Graph& parent, Value* captured) {
  auto sub = std::make_shared<Graph>("body");
  sub->parent = &parent;
  sub->add_output(sub->add_node("Relu", "", {captured})->output());
  return sub;
}

TEST(Verifier, AcceptsAGoodGraph) {
  Chain c;
  c.g.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  c.b->set_input(2, c.g.find("w"));  // input 1 is omitted
  c.a->attributes["body"] = body_reading(c.g, c.x);
  verify(c.g);
}

TEST(Verifier, AcceptsAnInputWithADefaultValue) {
  Chain c;
  c.x->set_constant(Tensor::zeros(DType::f32, {4}));
  verify(c.g);
}

TEST(Verifier, AcceptsAnEmptyGraph) { verify(Graph("empty")); }

TEST(Verifier, RefusesWrongOrder) {
  Chain c;
  c.g.move_before(c.b, c.a);
  expect_refused(c.g, "'second'");
}

TEST(Verifier, RefusesACycle) {
  Chain c;
  c.a->set_input(0, c.b->output());
  expect_refused(c.g, "'first'");
}

TEST(Verifier, RefusesASubgraphThatReadsLaterValues) {
  Chain c;
  c.a->attributes["body"] = body_reading(c.g, c.b->output());
  expect_refused(c.g, "before it is computed");
}

TEST(Verifier, RefusesASubgraphThatReadsItsOwnNodesOutput) {
  Chain c;
  c.a->attributes["body"] = body_reading(c.g, c.a->output());
  expect_refused(c.g, "before it is computed");
}

TEST(Verifier, RefusesValuesOfAForeignGraph) {
  Graph other("other");
  Value* foreign = other.add_input("foreign", kVectorType);
  Chain c;
  c.b->set_input(1, foreign);
  expect_refused(c.g, "'second'");
}

TEST(Verifier, RefusesValuesOfASiblingSubgraph) {
  Chain c;
  auto first = body_reading(c.g, c.x);
  auto second = body_reading(c.g, first->outputs()[0]);
  c.a->attributes["a"] = second;
  c.a->attributes["b"] = first;
  expect_refused(c.g, "neither the graph nor an ancestor");
  second->nodes()[0]->set_inputs({});
}

TEST(Verifier, RefusesValuesOfASiblingThatCameBefore) {
  Chain c;
  auto first = body_reading(c.g, c.x);
  auto second = body_reading(c.g, first->outputs()[0]);
  c.a->attributes["a"] = first;
  c.a->attributes["b"] = second;
  expect_refused(c.g, "value 'v_0' lists 1 uses, 0 inputs read it");
  second->nodes()[0]->set_inputs({});
}

TEST(Verifier, ErrorsNameTheGraphAndTheNode) {
  const auto message_for = [](const Graph& g) {
    try {
      verify(g);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("accepted");
  };
  Chain order;
  order.g.move_before(order.b, order.a);
  EXPECT_EQ(message_for(order.g),
            "graph 'chain': B node 'second': input 'v_0' is read before it is "
            "computed");
  Chain typed;
  typed.x->type = {DType::f32, true, {1, 2}, {"N"}};
  EXPECT_EQ(message_for(typed.g), "graph 'chain': value 'x' has 1 symbols for 2 dimensions");
  typed.x->type = ValueType::of(DType::f32, {-1});
  EXPECT_EQ(message_for(typed.g), "accepted") << "unknown";
  Chain constant;
  Value* w = constant.g.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  w->type.shape = {3};
  EXPECT_EQ(message_for(constant.g),
            "graph 'chain': constant 'w' is typed f32[3], its tensor is f32[2]");
  w->type = {DType::f32, false, {}, {}};
  EXPECT_EQ(message_for(constant.g),
            "graph 'chain': constant 'w' is typed f32[*], its tensor is f32[2]");
  w->set_constant(Tensor());
  EXPECT_EQ(message_for(constant.g), "graph 'chain': constant 'w' has no tensor");
  Chain undefined_input;
  undefined_input.g.remove_input(undefined_input.g.add_input("y", kVectorType));
  EXPECT_EQ(message_for(undefined_input.g),
            "graph 'chain': value 'y' is neither an input, nor a constant, nor an output of a "
            "node of the graph");
  Chain outer;
  auto sub = std::make_shared<Graph>("body");
  sub->parent = &outer.g;
  sub->add_output(outer.x);
  outer.a->attributes["body"] = sub;
  EXPECT_EQ(message_for(outer.g), "graph 'body': output 'x' belongs to an outer graph");
  sub->set_output(0, outer.a->output());
  EXPECT_EQ(message_for(outer.g), "graph 'body': output 'v_0' is read before it is computed");
}

TEST(Verifier, RefusesAWrongParent) {
  Chain c;
  auto sub = body_reading(c.g, c.x);
  sub->parent = nullptr;
  c.a->attributes["body"] = sub;
  expect_refused(c.g, "another parent");
}

TEST(Verifier, RefusesANullSubgraph) {
  Chain c;
  c.a->attributes["body"] = std::shared_ptr<Graph>();
  expect_refused(c.g, "'body' is null");
  c.a->attributes.clear();
}

TEST(Verifier, RefusesAConstantWithAnotherType) {
  Chain c;
  Value* w = c.g.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  w->type.dtype = DType::s32;
  expect_refused(c.g, "'w'");
  w->type = ValueType::of(DType::f32, {1, 2});
  expect_refused(c.g, "f32[1,2]");
}

TEST(Verifier, RefusesMalformedTypes) {
  Chain c;
  c.x->type.shape = {-2};
  expect_refused(c.g, "dimension -2");
  c.x->type = {DType::f32, false, {1}, {}};
  expect_refused(c.g, "has_shape");
  c.x->type = {DType::f32, true, {1}, {"N", "M"}};
  expect_refused(c.g, "symbols");
}

TEST(Verifier, RefusesANullOutput) {
  Chain c;
  c.g.set_output(0, nullptr);
  expect_refused(c.g, "output is null");
}

TEST(Verifier, RefusesACapturedValueAsOutput) {
  Chain c;
  auto sub = std::make_shared<Graph>("body");
  sub->parent = &c.g;
  sub->add_output(c.x);
  c.a->attributes["body"] = sub;
  expect_refused(c.g, "outer graph");
}

TEST(Verifier, RefusesANodeWithoutType) {
  Chain c;
  c.a->op_type.clear();
  expect_refused(c.g, "'first'");
}

TEST(Verifier, RefusesUndefinedValues) {
  Chain c;
  Value* y = c.g.add_input("y", kVectorType);
  c.g.remove_input(y);
  expect_refused(c.g, "'y'");
}

// Uses are searched in two ways, for few and for many readers. Both must find every error.
struct ManyReaders : testing::TestWithParam<int> {
  Graph g{"many"};
  Value* x = g.add_input("x", kVectorType);
  Value* w = g.add_input("w", kVectorType);
  std::vector<Node*> readers;
  ManyReaders() {
    for (int i = 0; i < GetParam(); i++) readers.push_back(g.add_node("Relu", "", {x}));
    g.add_output(readers.back()->output());
  }
  // The list of uses, which only the graph's own functions should touch.
  static std::vector<Use>& uses(Value* v) { return const_cast<std::vector<Use>&>(v->uses()); }
};

TEST_P(ManyReaders, AreAccepted) { verify(g); }

TEST_P(ManyReaders, AUseOfAnotherInputIsNoUse) {
  uses(x).back().input = 1;
  expect_refused(g, "missing from the uses of 'x'");
  uses(x).back().input = 0;
}

TEST_P(ManyReaders, AUseByAnotherNodeIsNoUse) {
  uses(x).back().node = readers.front();
  expect_refused(g, "missing from the uses of 'x'");
  uses(x).back().node = readers.back();
}

TEST_P(ManyReaders, RefusesAListedUseThatNoNodeHas) {
  uses(x).push_back(uses(x).front());
  expect_refused(g, "value 'x' lists");
  uses(x).pop_back();
  uses(w).push_back({readers.front(), 0});
  expect_refused(g, "value 'w' lists 1 uses, 0 inputs read it");
  uses(w).pop_back();
}

INSTANTIATE_TEST_SUITE_P(Counts, ManyReaders, testing::Values(2, 31, 32, 33, 100),
                         testing::PrintToStringParamName());

TEST(Verifier, RefusesALaterGraphsMistakesInEveryListOfGraphs) {
  Chain c;
  auto good = body_reading(c.g, c.x), bad = body_reading(c.g, c.b->output());
  c.a->attributes["bodies"] = std::vector<std::shared_ptr<Graph>>{good, bad};
  expect_refused(c.g, "before it is computed");
  c.a->attributes["bodies"] = std::vector<std::shared_ptr<Graph>>{good, nullptr};
  expect_refused(c.g, "'bodies' is null");
  c.a->attributes.clear();
}

std::unique_ptr<Graph> nested(int depth) {
  auto g = std::make_unique<Graph>();
  Graph* inner = g.get();
  for (int i = 0; i < depth; i++) {
    auto sub = std::make_shared<Graph>();
    sub->parent = inner;
    Graph* next = sub.get();
    inner->add_node("If", "", {})->attributes["body"] = std::move(sub);
    inner = next;
  }
  return g;
}

TEST(Verifier, LimitsTheDepthOfSubgraphs) {
  verify(*nested(kMaxSubgraphDepth));
  expect_refused(*nested(kMaxSubgraphDepth + 1), "nested deeper");
}

// Links that no function of a graph breaks, as a bug of a function could.
TEST(Verifier, FindsDamageOfNamesAndOutputs) {
  const auto name_of = [](Value* v) -> std::string& { return const_cast<std::string&>(v->name()); };
  Chain c;
  Value* const first = c.a->output();
  const auto with_name = [&](const std::string& damaged, std::string_view part) {
    const std::string name = std::exchange(name_of(first), damaged);
    expect_refused(c.g, part);
    name_of(first) = name;
  };
  with_name("", "'first': a value has no name");
  with_name("x", "'first': two values are named 'x'");
  with_name("y", "'first': value 'y' is not found by its name");

  Graph other("other");
  const auto with_output = [](const Graph& g, Node* node, Value* damaged, std::string_view part) {
    Value*& output = const_cast<Value*&>(node->outputs()[0]);
    Value* const whole = std::exchange(output, damaged);
    expect_refused(g, part);
    output = whole;
  };
  with_output(c.g, c.a, nullptr, "'first': an output is null");
  with_output(c.g, c.a, other.add_input("z", kVectorType),
              "'first': a value it defines does not belong to the graph");
  with_output(c.g, c.a, c.b->output(), "' as its producer");
  with_output(c.g, c.a, c.x, "value 'x' names no node as its producer");
  Graph pair("pair");
  Node* const split = pair.add_node("Split", "", {pair.add_input("x", kVectorType)}, 2);
  with_output(pair, split, split->output(1), "' is defined twice");
  verify(pair);
  verify(c.g);
}

}  // namespace
}  // namespace poprt::ir
