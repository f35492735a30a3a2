// Compares poprt.Gather with the rows of its table: every type, sizes that leave panels and groups
// partly empty, negative indices and indices outside the table.
#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(PanelGather) {
  samples.add("Gather", 1, "poprt")
      .constant_input(random_f32({50, 6}))
      .input(Tensor::of<int64_t>({3}, {3, -1, 48}))
      .shape({3, 6})
      .reference([](const SampleValues& in) {
        std::vector<double> rows;
        for (const size_t row : {3, 49, 48})
          rows.insert(rows.end(), in[0].begin() + static_cast<std::ptrdiff_t>(row * 6),
                      in[0].begin() + static_cast<std::ptrdiff_t>(row * 6 + 6));
        return SampleValues{rows};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

namespace poprt::test {
namespace {

TEST(PanelGather, SelectsRowsOfEveryTypeAndSize) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const int64_t columns : {1, 15, 16, 48, 49, 131})
      for (const int64_t depth : {1, 3, 4, 8, 37}) {
        const Tensor table = random_bytes(dtype, {columns, depth});
        Tensor index = Tensor::zeros(DType::s32, {2, columns});
        for (int32_t i = 0; i < index.count(); i++)
          index.mutable_values<int32_t>()[static_cast<size_t>(i)] =
              i < columns ? static_cast<int32_t>(columns) - 1 - i
                          : i - 2 * static_cast<int32_t>(columns);
        const Tensor y = run_node(
            {.op = "Gather", .inputs = {table, index}, .runtime = {1}, .domain = "poprt"})[0];
        EXPECT_EQ(y.shape(), (Shape{2, columns, depth}));
        expect_moved(y, table, [&](const std::vector<int64_t>& at) {
          return std::optional(
              std::vector<int64_t>{at[0] == 0 ? columns - 1 - at[1] : at[1], at[2]});
        });
      }
}

TEST(PanelGather, RowsOfIntegersAreTheirBytes) {
  for (const DType dtype : {DType::u2, DType::s2, DType::u4, DType::s4, DType::u8, DType::s8})
    for (const int64_t columns : {1, 17}) {
      const Tensor table = any_bytes(dtype, {columns, 48}, 1);
      const int64_t row = 48 * dtype_bits(dtype) / 8;
      const Tensor y = run_node({.op = "Gather",
                                 .inputs = {table, ints({columns - 1, 0, -1})},
                                 .runtime = {1},
                                 .domain = "poprt"})[0];
      EXPECT_EQ(y.dtype(), DType::u8);
      EXPECT_EQ(y.shape(), (Shape{3, row}));
      const auto* from = static_cast<const uint8_t*>(table.data());
      const int64_t wanted[] = {columns - 1, 0, columns - 1};
      for (int64_t i = 0; i < 3; i++)
        EXPECT_EQ(std::memcmp(static_cast<const uint8_t*>(y.data()) + i * row,
                              from + wanted[i] * row, static_cast<size_t>(row)),
                  0)
            << dtype_name(dtype);
    }
}

TEST(PanelGather, GivesZerosForIndicesOutsideTheTable) {
  const Tensor table = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor y = run_node({.op = "Gather",
                             .inputs = {table, ints({2, 3, -3, -4, INT64_MIN})},
                             .runtime = {1},
                             .domain = "poprt"})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{5, 6, 0, 0, 1, 2, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace poprt::test
