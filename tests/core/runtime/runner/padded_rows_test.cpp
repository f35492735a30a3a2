#include "runtime/runner/padded_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "program/batch_rows.h"

namespace poprt::runtime {
namespace {

using program::kOpen;

OpenSizes rows_of_x() {
  return OpenSizes({{{"x", DType::f32, {kOpen, 2}, {"n", ""}}, {"w", DType::f32, {2}, {""}}},
                    {{"y", DType::f32, {kOpen, 2}, {"n", ""}}}});
}

// A model with anchors only.
Model of_rows(int64_t rows, const program::BatchRows& proof, Shape output = {}) {
  auto p = std::make_shared<program::Program>();
  p->inputs = {{"x", DType::f32, {rows, 2}}, {"w", DType::f32, {2}}};
  p->outputs = {{"y", DType::f32, output.empty() ? Shape{rows, 2} : output}};
  Model model;
  model.image.program = p;
  model.opaque[program::kBatchRows] = program::note_of_batch_rows({proof});
  return model;
}

TEST(PaddedRows, NeedsTheProofOfTheCompiler) {
  const OpenSizes open = rows_of_x();
  const program::BatchRows proof{0, 4, {"x"}, ""};
  const auto rows = paddable_rows(open, of_rows(4, proof), {4});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size, 0u);
  EXPECT_EQ(rows->rows, 4);
  EXPECT_FALSE(paddable_rows(open, of_rows(4, {0, 4, {"x"}, "node s mixes rows"}), {4}));
  EXPECT_FALSE(paddable_rows(open, of_rows(4, {1, 4, {"x"}, ""}), {4}));
  EXPECT_FALSE(paddable_rows(open, of_rows(4, {0, 4, {"x", "w"}, ""}), {4}));
  EXPECT_FALSE(paddable_rows(open, of_rows(4, proof, {2, 4}), {4}));
  EXPECT_FALSE(paddable_rows(open, of_rows(4, proof), {5}));
  Model without = of_rows(4, proof);
  without.opaque.clear();
  EXPECT_FALSE(paddable_rows(open, without, {4}));
}

TEST(PaddedRows, CopiesRowsAndFillsTheRestWithZeros) {
  const OpenSizes open = rows_of_x();
  const Model model = of_rows(4, {0, 4, {"x"}, ""});
  const PaddableRows rows{0, 4};
  std::vector<float> x(6), w{8, 9}, y(6, -1);
  std::iota(x.begin(), x.end(), 1.0f);
  const InputBinding in[] = {{"w", 0, w.data(), 8}, {{}, 0, x.data(), 24}};
  const OutputBinding out[] = {{"y", 0, y.data(), 24}};
  const PaddedRows padded(open, model, rows, 3, in, out);
  ASSERT_EQ(padded.inputs().size(), 2u);
  EXPECT_EQ(padded.inputs()[0].data, w.data()) << "an input without rows is used in place";
  EXPECT_EQ(padded.inputs()[1].bytes, 32u);
  const auto* given = static_cast<const float*>(padded.inputs()[1].data);
  EXPECT_EQ(std::vector<float>(given, given + 8), (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0}));
  auto* made = static_cast<float*>(padded.outputs()[0].data);
  std::iota(made, made + 8, 10.0f);
  padded.crop();
  EXPECT_EQ(y, (std::vector<float>{10, 11, 12, 13, 14, 15}));
}

TEST(PaddedRows, WrongMemoryIsRefused) {
  const OpenSizes open = rows_of_x();
  const Model model = of_rows(4, {0, 4, {"x"}, ""});
  std::vector<float> x(8), y(8);
  const auto code = [&](const void* data, uint64_t in_bytes, uint64_t out_bytes) {
    const InputBinding in[] = {{"x", 0, data, in_bytes}};
    const OutputBinding out[] = {{"y", 0, y.data(), out_bytes}};
    try {
      PaddedRows(open, model, {0, 4}, 3, in, out);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code(x.data(), 24, 24), ErrorCode::ok);
  EXPECT_EQ(code(x.data(), 32, 24), ErrorCode::invalid_argument);
  EXPECT_EQ(code(x.data(), 24, 32), ErrorCode::invalid_argument);
  EXPECT_EQ(code(nullptr, 24, 24), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace poprt::runtime
