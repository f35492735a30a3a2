#include "compiler/memory_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/text.h"
#include "ops/op.h"
#include "support/allocation_counter.h"

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

TEST(MemoryPlan, OutputsAreInMemoryOfTheCaller) {
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

TEST(MemoryPlan, AResultIsWrittenOverAnInputThatDiesThere) {
  const auto g = graph_of(R"(
    input %x : f32[16]
    const %k : f32[2,16] = fill 1.0
    %a : ? = Relu(%x)
    %b : ? = Sigmoid(%a)
    %c : ? = Tanh(%a)
    %d : ? = Add(%b, %c)
    %e : ? = Mul(%d, %k)
    %f : ? = Sub(%k, %e)
    %y : ? = Transpose(%f)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_FALSE(same_place(plan, *g, "x", "a")) << "the caller's";
  EXPECT_FALSE(same_place(plan, *g, "a", "b")) << "it is read again";
  EXPECT_TRUE(same_place(plan, *g, "a", "c"));
  EXPECT_TRUE(same_place(plan, *g, "b", "d")) << "the first that can be";
  EXPECT_FALSE(same_place(plan, *g, "c", "d"));
  EXPECT_FALSE(same_place(plan, *g, "d", "e")) << "it has fewer elements";
  EXPECT_TRUE(same_place(plan, *g, "e", "f")) << "the second input";
  EXPECT_FALSE(same_place(plan, *g, "f", "y")) << "a transposition reads it out of order";
  const auto lifetime = [&](const char* name) {
    const Storage& s = plan.storage(plan.place(g->find(name)).storage);
    return std::pair(s.first, s.last);
  };
  EXPECT_EQ(lifetime("a"), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(lifetime("b"), std::pair(int64_t{1}, int64_t{4}));
  EXPECT_EQ(lifetime("e"), std::pair(int64_t{4}, int64_t{6}));
}

// A node with this many operands is computed in pieces, each of which adds to the result.
TEST(MemoryPlan, AResultIsNotWrittenOverAnOperandThatALaterPieceReadsAgain) {
  std::string sum = "input %a : f32[64]\n%x : ? = Relu(%a)\n%y : ? = Sum(%x";
  for (int i = 0; i < 15; i++) sum += ", %a";
  const auto g = graph_of(sum + ", %x)\n%z : ? = Neg(%y)\noutput %z\n");
  EXPECT_FALSE(same_place(MemoryPlan(*g), *g, "x", "y"));
}

// The memory of a part must not be used before the memory of the whole.
TEST(MemoryPlan, APartIsNotWrittenOverAnInputWhenTheWholeIsInUse) {
  const auto g = graph_of(R"(
    input %x : f32[1,16]
    %a : ? = Relu(%x)
    %b : ? = Sigmoid(%x)
    %c : ? = Tanh(%b)
    %d : ? = Concat(%a, %c) {axis = 1}
    %e : ? = Concat(%c, %d) {axis = 1}
    %y : ? = Transpose(%e)
    output %y
  )");
  const MemoryPlan plan(*g);
  EXPECT_FALSE(same_place(plan, *g, "b", "c"));
  const auto alone = graph_of(R"(
    input %x : f32[1,16]
    %b : ? = Sigmoid(%x)
    %c : ? = Tanh(%b)
    %a : ? = Relu(%x)
    %d : ? = Concat(%c, %a) {axis = 1}
    %y : ? = Transpose(%d)
    output %y
  )");
  EXPECT_TRUE(same_place(MemoryPlan(*alone), *alone, "b", "c"));
}

TEST(MemoryPlan, PartsThatDoNotBeginAtAMultipleOf64AreCopied) {
  const auto g = graph_of(R"(
    input %x : f32[1,8]
    input %z : f32[1,16]
    %a : ? = Relu(%x)
    %b : ? = Relu(%z)
    %c : ? = Concat(%a, %a, %b, %b) {axis = 1}
    %d : ? = Concat(%x, %b) {axis = 1}
    %y : ? = Tanh(%c)
    output %y
    output %d
  )");
  const MemoryPlan plan(*g);
  EXPECT_TRUE(plan.same_bytes(g->find("a"), g->find("c"), 0));
  EXPECT_TRUE(plan.same_bytes(g->find("b"), g->find("c"), 64)) << "after two results of 32 bytes";
  EXPECT_FALSE(plan.same_bytes(g->find("b"), g->find("d"), 32));
  EXPECT_FALSE(plan.same_bytes(g->find("x"), g->find("d"), 0)) << "the caller's";
}

TEST(MemoryPlan, PartsAreContiguousIfLeadingAxesAreOne) {
  const auto contiguous = [](const std::string& op, const Shape& shape, int64_t axis,
                             const char* type = "f32") {
    const std::string made =
        op == "Concat" ? "%y : ? = Concat(%x, %x)" : "%y : ?, %z : ? = Split(%x)";
    const auto g = graph_of(fmt::format("input %x : {}{}\n{} {{axis = {}}}\noutput %y\n", type,
                                        shape_string(shape), made, axis));
    return op == "Concat" ? is_contiguous_concat(*g->nodes()[0])
                          : is_contiguous_split(*g->nodes()[0]);
  };
  for (const char* op : {"Concat", "Split"}) {
    EXPECT_TRUE(contiguous(op, {4, 2}, 0)) << op;
    EXPECT_TRUE(contiguous(op, {1, 4, 2}, 1)) << op;
    EXPECT_TRUE(contiguous(op, {1, 1, 4}, -1)) << op;
    EXPECT_TRUE(contiguous(op, {4, 2}, 0, "s8")) << op;
    EXPECT_FALSE(contiguous(op, {2, 4}, 1)) << op;
    EXPECT_FALSE(contiguous(op, {1, 2, 4}, 2)) << op;
    EXPECT_FALSE(contiguous(op, {2, 1, 4}, -1)) << op;
  }
}

// The axis map determines the axis that is joined. There is none if the other parts are empty.
TEST(MemoryPlan, APartThatIsTheWholeIsOneRun) {
  const auto contiguous = [](const std::string& axis) {
    const auto g = graph_of(
        "input %a : f32[4,8]\ninput %b : f32[4,0]\ninput %c : f32[0,8]\n"
        "%y : ? = Concat(%a, %" +
        axis + "\noutput %y\n");
    return is_contiguous_concat(*g->nodes()[0]);
  };
  EXPECT_TRUE(contiguous("c) {axis = 0}"));
  EXPECT_TRUE(contiguous("b) {axis = 1}"));
  EXPECT_FALSE(contiguous("a) {axis = 1}"));
  EXPECT_FALSE(contiguous("b, %a) {axis = -1}"));
  const auto split = graph_of("input %a : f32[4,8]\n%y : ? = Split(%a) {axis = 1}\noutput %y\n");
  EXPECT_TRUE(is_contiguous_split(*split->nodes()[0]));
}

TEST(MemoryPlan, DisjointLifetimesShareMemoryAndStateIsFirst) {
  const auto g = graph_of(R"(
    input %x : f32[64]
    %v : ? = Transpose(%x)
    %a : ? = ReduceSum(%v)
    %b : ? = ReduceMax(%v)
    output %a
    output %b
  )");
  MemoryPlan plan(*g);
  const uint32_t v = plan.place(g->find("v")).storage;
  const uint32_t large = plan.add_temporary(500, 1), parallel = plan.add_temporary(512, 2),
                 small = plan.add_temporary(4, 2), after = plan.add_temporary(256, 3),
                 later = plan.add_temporary(64, 3), state = plan.add_state(65),
                 none = plan.add_temporary(0, 1);
  EXPECT_EQ(plan.plan_offsets(), 128u + 512 + 256 + 64);
  const auto at = [&](uint32_t id) { return plan.storage(id).offset; };
  EXPECT_EQ(at(state), 0u);
  EXPECT_EQ(plan.state_bytes(), 128u);
  EXPECT_EQ(at(parallel), 128u);
  EXPECT_EQ(at(large), 128u);
  EXPECT_EQ(at(v), 640u) << "after both, which are larger";
  EXPECT_EQ(at(after), 128u);
  EXPECT_EQ(at(later), 384u);
  EXPECT_EQ(at(small), 896u);
  EXPECT_EQ(at(none), 0u);
}

TEST(MemoryPlan, AGapThatIsJustWideEnoughIsFilled) {
  const auto g = graph_of(R"(
    input %x : f32[64]
    input %z : f32[48]
    %v : ? = Transpose(%x)
    %w : ? = Transpose(%z)
    %a : ? = ReduceSum(%v)
    %b : ? = ReduceSum(%w)
    %c : ? = ReduceMax(%v)
    %d : ? = ReduceMax(%w)
    output %a
    output %b
    output %c
    output %d
  )");
  MemoryPlan plan(*g);
  const auto place = [&](const char* name) { return plan.place(g->find(name)).storage; };
  // v (256 bytes) lives from 0 to 4, w (192) from 1 to 5.
  const uint32_t first = plan.add_temporary(512, 0), second = plan.add_temporary(320, 5),
                 third = plan.add_temporary(128, 4), fourth = plan.add_temporary(64, 4);
  const uint64_t total = plan.plan_offsets();
  const auto at = [&](uint32_t id) { return plan.storage(id).offset; };
  EXPECT_EQ(at(first), 0u);
  EXPECT_EQ(at(second), 0u);
  EXPECT_EQ(at(place("v")), 512u);
  EXPECT_EQ(at(place("w")), 320u) << "between what ends there and v, of which both are alive";
  EXPECT_EQ(at(third), 0u);
  EXPECT_EQ(at(fourth), 128u);
  EXPECT_EQ(total, 768u);
}

// Values that are alive at the same time must not overlap unless they share memory by design.
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

#if !POPRT_TEST_SANITIZED  // its malloc is not counted
// A chain of nodes that work in place merges a storage with the next one at every node.
TEST(MemoryPlan, MemoryForAChainGrowsWithItsLength) {
  const auto bytes_for = [](int nodes) {
    std::string body = "input %x : f32[16]\n%v0 : f32[16] = Softmax(%x)\n";
    for (int i = 1; i < nodes; i++)
      body += fmt::format("%v{} : f32[16] = {}(%v{})\n", i, i % 2 ? "Relu" : "Softmax", i - 1);
    const auto g = graph_of(body + fmt::format("output %v{}\n", nodes - 1));
    const test::AllocationCounter counter;
    MemoryPlan plan(*g);
    EXPECT_LE(plan.plan_offsets(), 192u);
    return counter.bytes();
  };
  const uint64_t few = bytes_for(500), many = bytes_for(4000);
  EXPECT_LT(many, 16 * few) << "8 times the nodes";
}
#endif

}  // namespace
}  // namespace poprt::compiler
