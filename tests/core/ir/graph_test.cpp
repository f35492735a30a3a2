#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/newest.h"
#include "ir/verifier.h"
#include "ir/work.h"

namespace poprt::ir {
namespace {

const ValueType kVector = ValueType::of(DType::f32, {4});

template <class F>
Error thrown_by(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::ok, "no error");
}

TEST(ValueType, Prints) {
  EXPECT_EQ(type_string({}), "?");
  EXPECT_EQ(type_string({DType::f32, false, {}, {}}), "f32[*]");
  EXPECT_EQ(type_string(ValueType::of(DType::s64, {})), "s64[]");
  EXPECT_EQ(type_string({DType::f32, true, {-1, 3, -1}, {"N", "", ""}}), "f32[N,3,?]");
}

TEST(ValueType, StaticNeedsTypeRankAndDimensions) {
  EXPECT_TRUE(ValueType::of(DType::f32, {}).is_static());
  EXPECT_FALSE(ValueType::of(DType::f32, {kUnknownDim}).is_static());
  EXPECT_FALSE((ValueType{DType::f32, false, {}, {}}).is_static());
  EXPECT_FALSE(ValueType::of(DType::undefined, {1}).is_static());
}

TEST(Graph, TracksUsesOfEachInput) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* n = g.add_node("Add", "", {x, x});
  ASSERT_EQ(x->uses().size(), 2u);
  n->set_input(0, nullptr);
  ASSERT_EQ(x->uses().size(), 1u);
  EXPECT_EQ(x->uses()[0].input, 1u);
  n->set_input(3, x);
  EXPECT_EQ(n->inputs().size(), 4u);
  EXPECT_EQ(n->input(2), nullptr);
  EXPECT_EQ(n->input(9), nullptr);
  n->set_inputs({});
  EXPECT_TRUE(x->uses().empty());
}

TEST(Graph, AnErasedNodeReleasesItsBodies) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* n = g.add_node("If", "", {});
  auto body = std::make_shared<Graph>("body");
  body->parent = &g;
  body->add_output(body->add_node("Relu", "", {x})->output());
  const std::weak_ptr<Graph> seen = body;
  n->attributes["body"] = std::move(body);
  EXPECT_EQ(x->uses().size(), 1u);
  g.erase_node(n);
  EXPECT_TRUE(seen.expired());
  EXPECT_TRUE(x->uses().empty());
  verify(g);
}

TEST(Graph, GivesUniqueNames) {
  Graph g;
  EXPECT_EQ(g.add_input("x", kVector)->name(), "x");
  EXPECT_EQ(g.add_input("x", kVector)->name(), "x_0");
  EXPECT_EQ(g.add_input("x", kVector)->name(), "x_1");
  EXPECT_FALSE(g.add_input("", kVector)->name().empty());
  Value* v = g.find("x_0");
  g.rename(v, "x");
  EXPECT_NE(v->name(), "x");
  g.rename(v, "y");
  EXPECT_EQ(g.find("y"), v);
  EXPECT_EQ(g.find("x_0"), nullptr);
}

TEST(Graph, InsertsAndMovesNodes) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* b = g.add_node("B", "", {x});
  Node* a = g.add_node("A", "", {x}, 1, b);
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{a, b}));
  g.move_before(b, a);
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{b, a}));
  EXPECT_EQ(g.node_count(), 2u);
}

TEST(Graph, ReplaceAllUsesMovesReadersAndKeepsTheOutputName) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  Node* b = g.add_node("B", "", {a->output()});
  g.rename(b->output(), "result");
  g.add_output(b->output());
  Node* c = g.add_node("C", "", {b->output()});
  g.replace_all_uses(b->output(), a->output());
  EXPECT_EQ(c->input(0), a->output());
  EXPECT_EQ(g.outputs()[0], a->output());
  EXPECT_EQ(a->output()->name(), "result");
  g.erase_node(b);
  verify(g);
}

TEST(Graph, ReplaceAllUsesLeavesNamesOfInputsAndOfOtherOutputs) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  g.rename(a->output(), "first");
  g.add_output(a->output());
  Node* b = g.add_node("B", "", {a->output()});
  g.rename(b->output(), "second");
  g.add_output(b->output());
  g.replace_all_uses(b->output(), a->output());
  EXPECT_EQ(a->output()->name(), "first");
  EXPECT_EQ(g.outputs()[1], a->output());
  g.replace_all_uses(a->output(), x);
  EXPECT_EQ(x->name(), "x");
  EXPECT_EQ(g.outputs()[0], x);
}

TEST(Graph, ReplaceAllUsesReachesIntoSubgraphs) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Value* y = g.add_input("y", kVector);
  Node* outer = g.add_node("If", "", {x});
  auto sub = std::make_shared<Graph>("body");
  sub->parent = &g;
  Node* inner = sub->add_node("Relu", "", {x});
  sub->add_output(inner->output());
  outer->attributes["then_branch"] = sub;
  g.replace_all_uses(x, y);
  EXPECT_EQ(inner->input(0), y);
  EXPECT_TRUE(x->uses().empty());
  verify(g);
}

TEST(Graph, ErasesNodesAndTheirCaptures) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* outer = g.add_node("If", "", {});
  {
    auto sub = std::make_shared<Graph>("body");
    sub->parent = &g;
    sub->add_output(sub->add_node("Relu", "", {x})->output());
    outer->attributes["then_branch"] = std::move(sub);
  }
  EXPECT_EQ(x->uses().size(), 1u);
  g.erase_node(outer);
  EXPECT_TRUE(x->uses().empty());
  g.erase_value(x);
  EXPECT_TRUE(g.values().empty());
  EXPECT_TRUE(g.inputs().empty());
}

TEST(Graph, RefusesToEraseUsedNodesAndValues) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  g.add_node("B", "", {a->output()});
  EXPECT_EQ(thrown_by([&] { g.erase_node(a); }).code(), ErrorCode::internal);
  EXPECT_EQ(thrown_by([&] { g.erase_value(x); }).code(), ErrorCode::internal);
}

TEST(Graph, ErasesNodesThatReadEachOther) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  Node* b = g.add_node("B", "", {a->output(), x, nullptr});
  Node* kept = g.add_node("C", "", {x});
  g.erase_nodes(std::vector<Node*>{a, b});
  EXPECT_EQ(g.nodes(), std::vector<Node*>{kept});
  ASSERT_EQ(x->uses().size(), 1u);
  EXPECT_EQ(x->uses()[0].node, kept);
  verify(g);
  Node* read = g.add_node("A", "", {x});
  g.add_node("B", "", {read->output()});
  EXPECT_EQ(thrown_by([&] { g.erase_nodes(std::vector<Node*>{read}); }).code(),
            ErrorCode::internal);
}

TEST(Graph, ErasesManyReadersFromTheMiddleOfTheUsesInLinearTime) {
  constexpr size_t kMany = 3000;
  Graph g;
  Value* x = g.add_input("x", kVector);
  std::vector<Node*> readers;
  for (size_t i = 0; i < 3 * kMany; i++) readers.push_back(g.add_node("A", "", {x}));
  const uint64_t before = work_done;
  g.erase_nodes(std::span(readers).subspan(kMany, kMany));
  EXPECT_LE(work_done - before, 6 * kMany);
  EXPECT_EQ(x->uses().size(), 2 * kMany);
  EXPECT_EQ(g.node_count(), 2 * kMany);
}

TEST(Graph, ConstantsCarryTheirType) {
  Graph g;
  Value* w = g.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  EXPECT_TRUE(w->is_constant());
  EXPECT_EQ(type_string(w->type), "f32[2]");
  w->set_constant(Tensor::scalar<int64_t>(3));
  EXPECT_EQ(type_string(w->type), "s64[]");
  Node* n = g.add_node("A", "", {w});
  EXPECT_EQ(thrown_by([&] { n->output()->set_constant(Tensor::scalar(1.0f)); }).code(),
            ErrorCode::internal);
}

TEST(Graph, SortRestoresTheOrderAndIsStable) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  Node* b = g.add_node("B", "", {a->output()});
  Node* c = g.add_node("C", "", {x});
  Node* d = g.add_node("D", "", {b->output(), c->output()});
  g.move_before(d, a);
  g.move_before(b, a);
  g.sort();
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{a, b, c, d}));
  g.sort();
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{a, b, c, d}));
}

TEST(Graph, SortSeesCapturesOfSubgraphs) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* holder = g.add_node("If", "", {x});
  Node* a = g.add_node("A", "", {x});
  auto sub = std::make_shared<Graph>("body");
  sub->parent = &g;
  sub->add_output(sub->add_node("Relu", "", {a->output()})->output());
  holder->attributes["then_branch"] = sub;
  g.sort();
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{a, holder}));
}

TEST(Graph, SortNamesANodeOfACycle) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  a->name = "guilty";
  Node* b = g.add_node("B", "", {a->output()});
  a->set_input(0, b->output());
  const Error e = thrown_by([&] { g.sort(); });
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_NE(e.message().find("guilty"), std::string::npos);
  EXPECT_EQ(g.node_count(), 2u) << "the nodes are still there";
}

TEST(Graph, CloneIsDeepButSharesBytes) {
  Graph g("original");
  g.opsets[""] = 17;
  g.metadata["author"] = "me";
  Value* x = g.add_input("x", kVector);
  Value* w = g.add_constant("w", Tensor::of<float>({4}, {1, 2, 3, 4}));
  Node* add = g.add_node("Add", "", {x, w, nullptr});
  add->name = "adder";
  add->attributes["axis"] = int64_t{1};
  add->output()->type = kVector;
  g.add_output(add->output());

  const std::unique_ptr<Graph> copy = g.clone();
  verify(*copy);
  EXPECT_EQ(copy->name, "original");
  EXPECT_EQ(copy->opsets, g.opsets);
  EXPECT_EQ(copy->metadata, g.metadata);
  const Node* n = copy->nodes().at(0);
  EXPECT_NE(n, add);
  EXPECT_EQ(n->name, "adder");
  EXPECT_EQ(n->inputs().size(), 3u);
  EXPECT_EQ(n->input(2), nullptr);
  EXPECT_EQ(n->int_attr("axis", 0), 1);
  EXPECT_EQ(n->input(1)->constant().data(), w->constant().data());
  EXPECT_EQ(copy->outputs()[0]->name(), add->output()->name());
  EXPECT_EQ(type_string(copy->outputs()[0]->type), "f32[4]");
  EXPECT_EQ(x->uses().size(), 1u) << "the copy reads its own input";
}

TEST(Graph, ClonedSubgraphsCaptureFromTheClone) {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", kVector);
  Node* holder = g->add_node("If", "", {x});
  auto body = std::make_shared<Graph>("body");
  body->parent = g.get();
  Node* deep_holder = body->add_node("If", "", {});
  auto deep = std::make_shared<Graph>("deep");
  deep->parent = body.get();
  deep->add_output(deep->add_node("Relu", "", {x})->output());
  deep_holder->attributes["branches"] = std::vector<std::shared_ptr<Graph>>{deep};
  body->add_output(deep_holder->output());
  holder->attributes["then_branch"] = body;
  g->add_output(holder->output());

  const std::unique_ptr<Graph> copy = g->clone();
  body.reset();
  deep.reset();
  g.reset();  // nothing of the copy may point here
  verify(*copy);
  EXPECT_EQ(copy->find("x")->uses().size(), 2u);
}

TEST(Graph, ManyReadersOfOneValueAreNotQuadratic) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  for (int i = 0; i < 100000; i++) g.add_node("A", "", {x, x});
  verify(g);
  EXPECT_EQ(x->uses().size(), 200000u);
}

TEST(Node, AttributesAreTyped) {
  Graph g;
  Node* n = g.add_node("Op", "", {});
  n->name = "n";
  n->attributes["i"] = int64_t{3};
  n->attributes["f"] = 1.5f;
  n->attributes["s"] = std::string("text");
  n->attributes["is"] = std::vector<int64_t>{1, 2};
  n->attributes["fs"] = std::vector<float>{0.5f};
  EXPECT_EQ(n->int_attr("i", 0), 3);
  EXPECT_EQ(n->int_attr("none", 7), 7);
  EXPECT_EQ(n->float_attr("f", 0), 1.5f);
  EXPECT_EQ(n->string_attr("s", ""), "text");
  EXPECT_EQ(n->string_attr("none", "fallback"), "fallback");
  EXPECT_EQ(n->ints_attr("is"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(n->floats_attr("fs"), std::vector<float>{0.5f});
  EXPECT_EQ(n->ints_attr("none", {9}), std::vector<int64_t>{9});
  const Error e = thrown_by([&] { n->int_attr("f", 0); });
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_NE(e.message().find("'n'"), std::string::npos);
  EXPECT_NE(e.message().find("'f'"), std::string::npos);
}

TEST(Node, UsesTheOpsetOfTheNearestGraphThatImportsTheDomain) {
  Graph g;
  g.opsets["ai.onnx"] = 17;
  g.opsets["other"] = 2;
  Graph sub;
  sub.parent = &g;
  EXPECT_EQ(sub.add_node("A", "", {})->opset(), 17);
  EXPECT_EQ(sub.add_node("A", "other", {})->opset(), 2);
  EXPECT_EQ(sub.add_node("A", "poprt", {})->opset(), 1);
  EXPECT_EQ(sub.add_node("A", "none", {})->opset(), 0);
  sub.opsets[""] = 13;
  EXPECT_EQ(sub.add_node("A", "", {})->opset(), 13);
}

TEST(Node, DescribesItself) {
  Graph g;
  Node* n = g.add_node("Op", "my", {});
  g.rename(n->output(), "y");
  EXPECT_EQ(n->describe(), "my.Op node that makes 'y'");
  n->name = "called";
  EXPECT_EQ(n->describe(), "my.Op node 'called'");
}

std::vector<Value*> inputs_of(const Node& n) { return {n.inputs().begin(), n.inputs().end()}; }

TEST(Graph, InputsAreSetOneByOneAndAllAtOnce) {
  Graph g;
  Value *x = g.add_input("x", kVector), *y = g.add_input("y", kVector);
  Node* n = g.add_node("A", "", {x, y});
  n->set_input(2, x);
  EXPECT_EQ(inputs_of(*n), (std::vector<Value*>{x, y, x}));
  // The given value may be the current one.
  n->set_inputs(n->inputs());
  EXPECT_EQ(inputs_of(*n), (std::vector<Value*>{x, y, x}));
  EXPECT_EQ(x->uses().size(), 2u);
  n->set_inputs(std::vector<Value*>{nullptr, y});
  EXPECT_EQ(inputs_of(*n), (std::vector<Value*>{nullptr, y}));
  EXPECT_TRUE(x->uses().empty());
  ASSERT_EQ(y->uses().size(), 1u);
  EXPECT_EQ(y->uses()[0].input, 1u);
  EXPECT_EQ(y->uses()[0].node, n);
}

TEST(Graph, OutputsHaveGivenNamesThenFreshNames) {
  Graph g;
  const std::string names[] = {"a", "b"};
  Node* n = g.add_node("A", "", std::span<Value* const>(), 3, nullptr, names);
  EXPECT_EQ(n->output(0)->name(), "a");
  EXPECT_EQ(n->output(1)->name(), "b");
  EXPECT_EQ(n->output(2)->name(), "v_0");
  EXPECT_EQ(g.fresh_name(""), "v_1");
  EXPECT_EQ(g.fresh_name("a"), "a_0");
  EXPECT_EQ(g.fresh_name("c"), "c");
}

TEST(Graph, ReplacingAValueByItselfHasNoEffect) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x, x});
  g.add_output(a->output());
  const std::string name = a->output()->name();
  g.replace_all_uses(x, x);
  g.replace_all_uses(a->output(), a->output());
  EXPECT_EQ(x->uses().size(), 2u);
  EXPECT_EQ(a->output()->name(), name);
}

TEST(Graph, ReplaceAllUsesRenamesOnlyNodeResults) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Value* c = g.add_constant("c", Tensor::of<float>({4}, {1, 2, 3, 4}));
  Node* a = g.add_node("A", "", {x});
  g.rename(a->output(), "result");
  g.add_output(a->output());
  g.add_output(a->output());
  g.replace_all_uses(a->output(), c);
  EXPECT_EQ(c->name(), "c");
  EXPECT_EQ(g.outputs(), (std::vector<Value*>{c, c}));
  EXPECT_EQ(a->output()->name(), "result");
  // Only a graph output passes its name on to the value that replaces it.
  Node* b = g.add_node("B", "", {x});
  g.rename(b->output(), "other");
  Node* r = g.add_node("C", "", {a->output()});
  g.replace_all_uses(a->output(), b->output());
  EXPECT_EQ(b->output()->name(), "other");
  EXPECT_EQ(r->input(0), b->output());
}

TEST(Graph, ReplaceAllUsesInABodyLeavesNamesOfTheOuterGraph) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  g.rename(a->output(), "outer");
  auto body = std::make_shared<Graph>("body");
  body->parent = &g;
  Node* b = body->add_node("B", "", {x});
  body->rename(b->output(), "inner");
  body->add_output(b->output());
  body->replace_all_uses(b->output(), a->output());
  EXPECT_EQ(a->output()->name(), "outer");
  EXPECT_EQ(g.find("outer"), a->output());
  EXPECT_EQ(b->output()->name(), "inner");
}

TEST(Graph, RefusesToEraseGraphOutputsAndNodeResults) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* a = g.add_node("A", "", {x});
  g.add_output(a->output());
  EXPECT_EQ(thrown_by([&] { g.erase_node(a); }).code(), ErrorCode::internal);
  EXPECT_EQ(thrown_by([&] { g.erase_value(a->output()); }).code(), ErrorCode::internal);
  Value* y = g.add_input("y", kVector);
  g.remove_input(y);
  EXPECT_EQ(thrown_by([&] { g.remove_input(y); }).code(), ErrorCode::internal);
  EXPECT_EQ(g.inputs(), std::vector<Value*>{x});
  EXPECT_FALSE(g.is_input(y));
  EXPECT_TRUE(g.is_input(x));
  EXPECT_TRUE(g.is_output(a->output()));
  EXPECT_FALSE(g.is_output(x));
  g.erase_value(y);
  EXPECT_EQ(g.find("y"), nullptr);
  EXPECT_EQ(g.values().size(), 2u);
}

TEST(Graph, AClonedBodyStillReadsTheOuterGraph) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  auto body = std::make_shared<Graph>("body");
  body->parent = &g;
  Value* own = body->add_input("own", ValueType{DType::f32, true, {kUnknownDim}, {"N"}});
  own->set_constant(Tensor::of<float>({2}, {1, 2}));
  Value* c = body->add_constant("c", Tensor::of<float>({1}, {5}));
  Node* n = body->add_node("A", "", {own, x, c, nullptr}, 2);
  body->add_output(n->output(1));
  body->add_output(x);
  {
    const std::shared_ptr<Graph> copy = body->clone();
    EXPECT_EQ(copy->parent, &g);
    ASSERT_EQ(copy->inputs().size(), 1u);
    EXPECT_TRUE(copy->inputs()[0]->is_constant());
    EXPECT_EQ(copy->inputs()[0]->constant().to_doubles(), (std::vector<double>{1, 2}));
    EXPECT_EQ(copy->values().size(), 4u) << "no constant twice";
    const Node* m = copy->nodes().at(0);
    EXPECT_EQ(inputs_of(*m), (std::vector<Value*>{copy->inputs()[0], x, copy->find("c"), nullptr}));
    EXPECT_EQ(copy->outputs(), (std::vector<Value*>{m->output(1), x}));
    EXPECT_EQ(m->output(1)->name(), n->output(1)->name());
    EXPECT_EQ(x->uses().size(), 2u);
  }
  EXPECT_EQ(x->uses().size(), 1u) << "the copy is gone";
}

TEST(Graph, SortIsStableAmongMany) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  std::vector<Node*> nodes;
  for (int i = 0; i < 6; i++)
    nodes.push_back(g.add_node("N" + std::to_string(i), "",
                               {i == 3 ? nodes[1]->output() : x, i == 3 ? nodes[1]->output() : x}));
  nodes[0]->set_input(0, nodes[4]->output());
  g.sort();
  EXPECT_EQ(g.nodes(),
            (std::vector<Node*>{nodes[1], nodes[2], nodes[3], nodes[4], nodes[0], nodes[5]}))
      << "one that waits comes as soon as it may";
}

TEST(Graph, SortRespectsOuterValuesReturnedByBodies) {
  Graph g;
  Value* x = g.add_input("x", kVector);
  Node* holder = g.add_node("If", "", {x});
  Node* a = g.add_node("A", "", {x});
  auto body = std::make_shared<Graph>("body");
  body->parent = &g;
  body->add_output(a->output());
  holder->attributes["bodies"] = std::vector<std::shared_ptr<Graph>>{body};
  g.sort();
  EXPECT_EQ(g.nodes(), (std::vector<Node*>{a, holder}));
}

TEST(Node, ErrorsNameTheExpectedAttributeType) {
  Graph g;
  Node* n = g.add_node("Op", "", {});
  n->name = "n";
  n->attributes["a"] = std::vector<Tensor>{};
  const auto message_for = [&](auto&& get) { return thrown_by([&] { get(); }).message(); };
  const std::string what = "Op node 'n': attribute 'a' should be ";
  EXPECT_EQ(message_for([&] { n->int_attr("a", 0); }), what + "an integer");
  EXPECT_EQ(message_for([&] { n->float_attr("a", 0); }), what + "a float");
  EXPECT_EQ(message_for([&] { n->string_attr("a", ""); }), what + "a string");
  EXPECT_EQ(message_for([&] { n->ints_attr("a"); }), what + "a list of integers");
  EXPECT_EQ(message_for([&] { n->floats_attr("a"); }), what + "a list of floats");
  EXPECT_EQ(n->floats_attr("none", {9.F}), std::vector<float>{9.F});
  EXPECT_EQ(n->float_attr("none", 2.5F), 2.5F);
}

TEST(Node, OpsetOfOurDomainsIsFixed) {
  Graph g;
  g.opsets = {{"poprt", 5}, {std::string(kNewestDomain), 3}, {"", 11}, {"ai.onnx", 12}};
  EXPECT_EQ(g.add_node("A", "poprt", {})->opset(), 1);
  EXPECT_EQ(g.add_node("A", kNewestDomain.data(), {})->opset(), kNewestOpset);
  EXPECT_EQ(g.add_node("A", "", {})->opset(), 11);
  EXPECT_EQ(g.add_node("A", "ai.onnx", {})->opset(), 12);
  g.opsets = {{"ai.onnx", 12}};
  EXPECT_EQ(g.add_node("A", "custom", {})->opset(), 0);
}

TEST(Node, DescribesItselfWithoutOutputs) {
  Graph g;
  EXPECT_EQ(g.add_node("Op", "", std::span<Value* const>(), 0)->describe(), "Op node");
  EXPECT_EQ(g.add_node("Op", "d", std::span<Value* const>(), 0)->describe(), "d.Op node");
}

TEST(ValueType, PrintsSymbolsWhereTheDimensionIsUnknown) {
  EXPECT_EQ(type_string({DType::f32, true, {0, kUnknownDim, 2}, {"A", "B", "C"}}), "f32[0,B,2]");
  EXPECT_EQ(type_string({DType::f32, true, {kUnknownDim, kUnknownDim}, {"A"}}), "f32[A,?]");
  EXPECT_EQ(type_string({DType::undefined, true, {1}, {}}), "undefined[1]");
}

// The domain of ONNX has two names.
TEST(Graph, TheOpsetOfOnnxIsFoundByBothNames) {
  Graph plain, named;
  plain.opsets[""] = 17;
  named.opsets["ai.onnx"] = 18;
  for (const char* domain : {"", "ai.onnx"}) {
    EXPECT_EQ(plain.add_node("A", domain, {})->opset(), 17);
    EXPECT_EQ(named.add_node("A", domain, {})->opset(), 18);
  }
}

TEST(Graph, ACloneHasTheSymbolsOfConstants) {
  Graph g;
  Value *w = g.add_constant("w", Tensor::zeros(DType::f32, {2, 3})), *x = g.add_input("x", {});
  x->set_constant(Tensor::zeros(DType::f32, {4}));
  w->type.symbols = {"N", ""};
  x->type.symbols = {"M"};
  const std::unique_ptr<Graph> copy = g.clone();
  EXPECT_EQ(copy->find("w")->type.symbols, w->type.symbols);
  EXPECT_EQ(copy->find("x")->type.symbols, x->type.symbols);
}

}  // namespace
}  // namespace poprt::ir
