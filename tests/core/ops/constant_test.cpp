#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Constant, TakesEveryNumericForm) {
  const auto run = [](std::string key, ir::Attribute value) {
    return run_node({"Constant", 13, {{std::move(key), std::move(value)}}})[0];
  };
  EXPECT_EQ(run("value", Tensor::of<int32_t>({2}, {3, 4})).to_int64s(),
            (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(run("value_float", 1.5f).to_doubles(), (std::vector<double>{1.5}));
  EXPECT_EQ(run("value_int", int64_t{7}).to_int64s(), (std::vector<int64_t>{7}));
  EXPECT_EQ(run("value_ints", std::vector<int64_t>{1, 2}).shape(), (Shape{2}));
  EXPECT_EQ(run("value_floats", std::vector<float>{1, 2, 3}).shape(), (Shape{3}));
  EXPECT_THROW(run("other", int64_t{1}), Error);
}

}  // namespace
}  // namespace poprt::test
