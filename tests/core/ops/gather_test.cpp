#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Gather, EveryAxisAndSizeWithNegativeIndices) {
  for (const DType dtype : kSizes)
    for (size_t axis = 0; axis < 3; axis++)
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{2, 3}, Shape{0}}) {
        const Tensor x = random_bytes(dtype, {4, 3, 5});
        Tensor index = Tensor::zeros(DType::s32, shape);
        const auto n = static_cast<int32_t>(x.shape()[axis]);
        for (int32_t k = 0; k < index.count(); k++)
          index.mutable_values<int32_t>()[static_cast<size_t>(k)] = k % 2 ? -1 - k % n : k % n;
        for (const bool runtime : {false, true}) {
          NodeCase c{"Gather", 13, {{"axis", static_cast<int64_t>(axis)}}, {x, index}};
          if (runtime) c.runtime = {1};
          const Tensor y = run_node(c)[0];
          expect_moved(y, x, [&](const std::vector<int64_t>& o) {
            std::vector<int64_t> at(3), k(o.begin() + static_cast<long>(axis),
                                          o.begin() + static_cast<long>(axis + shape.size()));
            for (size_t d = 0; d < 3; d++)
              at[d] = d < axis ? o[d] : d > axis ? o[d + shape.size() - 1] : 0;
            const int64_t i = index.to_int64s()[static_cast<size_t>(ravel(k, shape))];
            at[axis] = i < 0 ? i + n : i;
            return std::optional(at);
          });
        }
      }
}

TEST(Gather, GivesZerosForIndicesOutsideTheAxis) {
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  const Tensor y =
      run_node({"Gather", 13, {}, {x, ints({3, -3, -4, INT64_MAX, INT64_MIN, 2})}, 1, {1}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{0, 1, 0, 0, 0, 3}));
}

TEST(Gather, PicksColumnsOfManyRows) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::s64})
    for (const bool outside : {false, true}) {
      const Shape shape = {50, 9};
      const Tensor x = random_bytes(dtype, shape);
      const std::vector<int64_t> columns = {8, -9, 3, outside ? 9 : -1, 0};
      const Tensor y = run_node({.op = "Gather",
                                 .attributes = {{"axis", int64_t{1}}},
                                 .inputs = {x, ints(columns)},
                                 .runtime = {0, 1}})[0];
      expect_moved(y, x, [&](const std::vector<int64_t>& at) {
        const int64_t c = columns[static_cast<size_t>(at[1])];
        return c == 9 ? std::nullopt
                      : std::optional(std::vector<int64_t>{at[0], c < 0 ? c + 9 : c});
      });
    }
}

TEST(Gather, RefusesConstantIndicesOutsideTheAxis) {
  EXPECT_THROW(infer_node({"Gather", 13, {}, {Tensor::zeros(DType::f32, {3}), ints({3})}}), Error);
}

}  // namespace
}  // namespace poprt::test
