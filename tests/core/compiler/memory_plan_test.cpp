#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/text.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

std::unique_ptr<ir::Graph> graph_of(const std::string& body) {
  auto graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n");
  ops::infer(*graph);
  return graph;
}

bool same_place(const MemoryPlan& plan, const ir::Graph& g, const char* a, const char* b) {
  const Place x = plan.place(g.find(a)), y = plan.place(g.find(b));
  return x.storage == y.storage && x.offset == y.offset;
}

TEST(MemoryPlan, AReshapeIsAViewOfItsInput) {
  const auto g = graph_of(R"(
    input %x : f32[2,8]
    const %s : s64[1] = [16]
    %a : ? = Relu(%x)
    %b : ? = Reshape(%a, %s)
    %y : ? = Sigmoid(%b)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_TRUE(same_place(plan, *g, "a", "b"));
}

TEST(MemoryPlan, ResultsOfOutputsLieInCallerMemory) {
  const auto g = graph_of(R"(
    input %x : f32[16]
    const %s : s64[2] = [4, 4]
    %a : ? = Relu(%x)
    %y : ? = Reshape(%a, %s)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_EQ(plan.storage(plan.place(g->find("a")).storage).space, program::Space::output);
  EXPECT_TRUE(plan.is_free_view(g->nodes()[1]));
}

TEST(MemoryPlan, AReshapeFromInputToOutputIsACopy) {
  const auto g = graph_of(R"(
    input %x : f32[16]
    const %s : s64[2] = [4, 4]
    %y : ? = Reshape(%x, %s)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_FALSE(plan.is_free_view(g->nodes()[0]));
}

TEST(MemoryPlan, PartsOfAConcatAreMadeInPlace) {
  const auto g = graph_of(R"(
    input %x : f32[1,16]
    %a : ? = Relu(%x)
    %b : ? = Sigmoid(%x)
    %c : ? = Concat(%a, %b) {axis = 1}
    %y : ? = Tanh(%c)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_TRUE(plan.same_bytes(g->find("a"), g->find("c"), 0));
  EXPECT_TRUE(plan.same_bytes(g->find("b"), g->find("c"), 64));
}

TEST(MemoryPlan, APartThatAppearsTwiceIsCopiedOnce) {
  const auto g = graph_of(R"(
    input %x : f32[1,16]
    %a : ? = Relu(%x)
    %c : ? = Concat(%a, %a) {axis = 1}
    %y : ? = Tanh(%c)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_TRUE(plan.same_bytes(g->find("a"), g->find("c"), 0));
  EXPECT_FALSE(plan.same_bytes(g->find("a"), g->find("c"), 64));
}

TEST(MemoryPlan, PartsOfASplitAreViews) {
  const auto g = graph_of(R"(
    input %x : f32[1,32]
    %r : ? = Relu(%x)
    %a : ?, %b : ? = Split(%r) {axis = 1}
    %c : ? = Tanh(%a)
    %d : ? = Tanh(%b)
    output %c
    output %d
  )");
  const MemoryPlan plan(*g);
  EXPECT_TRUE(plan.same_bytes(g->find("b"), g->find("r"), 64));
}

// Whatever is alive at the same time and is not shared on purpose must not overlap.
TEST(MemoryPlan, LiveStoragesNeverOverlap) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < 50; trial++) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    std::vector<ir::Value*> values{g.add_input("x", ir::ValueType::of(DType::f32, {1, 16}))};
    for (int i = 0; i < 40; i++) {
      ir::Value* a = values[rng() % values.size()];
      ir::Value* b = values[rng() % values.size()];
      ir::Node* n = nullptr;
      if (rng() % 3 == 0) {
        n = g.add_node("Concat", "", {a, b});
        n->attributes["axis"] = int64_t{1};
      } else {
        n = g.add_node(rng() % 2 ? "Relu" : "Sigmoid", "", {a});
      }
      ops::infer(*n);
      if (n->output()->shape()[1] <= 4096) {
        values.push_back(n->output());
      } else {
        g.erase_node(n);
      }
    }
    g.add_output(values.back());
    MemoryPlan plan(g);
    const uint64_t total = plan.plan_offsets();
    const std::vector<ir::Node*> nodes = g.nodes();
    for (const ir::Value* v : values)
      for (const ir::Value* w : values) {
        const Place p = plan.place(v), q = plan.place(w);
        const Storage &s = plan.storage(p.storage), &t = plan.storage(q.storage);
        if (p.storage == q.storage || s.space != program::Space::arena ||
            t.space != program::Space::arena)
          continue;
        EXPECT_LE(s.offset + s.bytes, total);
        const bool in_time = s.first <= t.last && t.first <= s.last;
        const bool in_space = s.offset < t.offset + t.bytes && t.offset < s.offset + s.bytes;
        EXPECT_FALSE(in_time && in_space) << v->name() << " and " << w->name();
      }
  }
}

}  // namespace
}  // namespace poprt::compiler
