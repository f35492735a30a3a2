#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ops/bound.h"

namespace poprt::ops {
namespace {

// A chain of nodes that read the one before twice. The number of paths doubles with each node.
TEST(BoundContext, ManyPathsToOneValueTakeNoTime) {
  for (const char* op : {"Min", "Add"}) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    ir::Value* x = g.add_input("x", ir::ValueType::of(DType::s64, {}));
    ir::Value* limit = g.add_constant("limit", Tensor::scalar(int64_t{7}));
    ir::Value* v = x;
    for (int i = 0; i < 200; i++) {
      v = g.add_node(op, "", {v, i == 0 ? limit : v})->output();
      v->type = ir::ValueType::of(DType::s64, {});
    }
    EXPECT_EQ(upper_limit(v), op == std::string("Min") ? std::optional<int64_t>(7) : std::nullopt);
    EXPECT_EQ(is_linear_in(v, x), op == std::string("Add"));
  }
}

// A recursion for each node would exceed the stack.
TEST(BoundContext, AVeryLongChainHasALimit) {
  for (const char* op : {"Min", "Add"}) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    ir::Value* x = g.add_input("x", ir::ValueType::of(DType::s64, {}));
    ir::Value* limit = g.add_constant("limit", Tensor::scalar(int64_t{7}));
    ir::Value* v = x;
    for (int i = 0; i < 100'000; i++) {
      v = g.add_node(op, "", {v, limit})->output();
      v->type = ir::ValueType::of(DType::s64, {});
    }
    EXPECT_EQ(upper_limit(v), op == std::string("Min") ? std::optional<int64_t>(7) : std::nullopt);
    EXPECT_EQ(is_linear_in(v, x), op == std::string("Add"));
  }
}

}  // namespace
}  // namespace poprt::ops
