#include "compiler/narrow_storage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/half.h"
#include "compiler/compiler.h"
#include "ir/text.h"
#include "program/builder.h"

namespace poprt::compiler {
namespace {

TEST(Narrow, ConstantsOfFewBitsAreLookedFor) {
  const auto has = [](const std::string& body) {
    return has_narrow_constants(*ir::parse_text(
        "graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\n  input %x : f32[2]\n" + body +
        "  output %y\n}\n"));
  };
  const auto add = [&](const char* type) {
    return has(std::string("  const %k : ") + type + "[2] = [1, 2]\n  %y : ? = Add(%x, %k)\n");
  };
  for (const char* type : {"s8", "u8", "s16", "s32", "s64"}) EXPECT_FALSE(add(type)) << type;
  const auto floats = [&](const char* type) {
    return has(std::string("  const %k : ") + type + "[2] = [1.0, 2.0]\n  %y : ? = Add(%x, %k)\n");
  };
  for (const char* type : {"f16", "bf16", "f8e4m3fn", "f8_143"}) EXPECT_TRUE(floats(type)) << type;
  for (const char* type : {"f32", "f64"}) EXPECT_FALSE(floats(type)) << type;
  EXPECT_FALSE(has("  %y : f16[2] = Neg(%x)\n")) << "no constant";
  // The bytes that this operator of PopRT reads are floats.
  EXPECT_TRUE(has("  const %k : u8[2] = [1, 2]\n  %y : ? = ai.graphcore.Any(%x, %k)\n"));
  EXPECT_FALSE(has("  const %k : s8[2] = [1, 2]\n  %y : ? = ai.graphcore.Any(%x, %k)\n"));
  // The node is in a branch of a branch.
  const auto nested = [&](const char* type) {
    return has(
        std::string("  const %c : bool[] = true\n  %y : ? = If(%c) {then_branch = graph \"t\" "
                    "{ %m : ? = Exp(%x) output %m }, else_branch = graph \"e\" { %n : ? = "
                    "If(%c) {then_branch = graph \"a\" { const %k : ") +
        type +
        "[2] = [1.0, 2.0] %o : ? = Add(%x, %k) output %o }, else_branch = graph \"b\" { %p : "
        "? = Neg(%x) output %p }} output %n }}\n");
  };
  EXPECT_TRUE(nested("f16"));
  EXPECT_FALSE(nested("f32"));
}

TEST(Narrow, WeightsOf16BitsHaveTwoDimensions) {
  const auto has = [](const std::string& type, DType dtype = DType::bf16) {
    return has_weights_of(
        *ir::parse_text("graph \"g\" opset {\"\": 17} {\n  input %x : f32[2]\n  const %k : " +
                        type + "\n  %y : ? = Add(%x, %k)\n  output %y\n}\n"),
        dtype);
  };
  EXPECT_TRUE(has("bf16[1,2] = [1.0, 2.0]"));
  EXPECT_FALSE(has("bf16[2] = [1.0, 2.0]"));
  EXPECT_FALSE(has("f16[1,2] = [1.0, 2.0]"));
  EXPECT_TRUE(has("f16[1,2] = [1.0, 2.0]", DType::f16));
}

// One weight of `count` floats, all of `value`, which instructions read as f32, and as `other`.
std::vector<program::NarrowWeights> narrow_of(size_t count, float value,
                                              DType other = DType::undefined,
                                              bool of_an_input = false, float last = 0.5f) {
  program::Builder b;
  const auto n = static_cast<int64_t>(count);
  const uint64_t bytes = count * 4;
  const auto y = b.add_output({"y", DType::f32, {n}});
  Tensor values = Tensor::zeros(DType::f32, {n});
  for (float& v : values.mutable_values<float>()) v = value;
  values.mutable_values<float>().back() = last;
  const program::BufferId w = b.weights(bytes, DType::f32, {n}, program::WeightForm::plain(values));
  const program::BufferId copy[] = {w, b.output(y, 0, bytes, DType::f32, {n})};
  b.emit("copy", copy, {}, {}, "y");
  if (other != DType::undefined) {
    program::Buffer also = b.program().buffers[w];
    also.dtype = other;
    b.program().buffers.push_back(also);
  }
  if (of_an_input) {
    b.add_input({"x", DType::f32, {n}});
    b.program().inputs[0].data = b.program().buffers[w].offset;
  }
  return narrow_weights(b.program(), b.weight_records());
}

TEST(Narrow, FloatsThatFewerBitsHoldAreInTheTable) {
  const auto table = narrow_of(2000, 1.5f);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].offset, 0u);
  EXPECT_EQ(table[0].bytes, 8000u);
  EXPECT_EQ(table[0].count(), 2000u);
  EXPECT_LE(dtype_bits(table[0].dtype), 8);
  EXPECT_EQ(narrow_of(2000, 1 + 0x1p-10f).at(0).dtype, DType::f16);
  EXPECT_TRUE(narrow_of(2000, 0.1f).empty()) << "a third of 24 bits";
  // The same holds if only the last value, after the first piece, needs more bits.
  EXPECT_TRUE(narrow_of(5000, 1.5f, DType::undefined, false, 0.1f).empty());
}

// Weights of 64 to 64 channels that were `type` in the model, for Winograd's tile `choice`.
std::vector<program::NarrowWeights> of_convolution(const char* type, Winograd choice) {
  const auto graph = ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
    input %x : {0}[1,64,28,28]
    const %w : {0}[64,64,3,3] = fill 0.0
    %y : ? = Conv(%x, %w) {{pads = [1, 1, 1, 1]}}
    output %y
  }})",
                                                type));
  ir::Value* w = graph->find("w");
  Tensor values = Tensor::zeros(w->dtype(), w->shape());
  std::mt19937 rng(5);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < values.count(); i++) {
    const float v = normal(rng);
    if (w->dtype() == DType::f16)
      values.mutable_values<f16_t>()[static_cast<size_t>(i)] = to_f16(v);
    else
      values.mutable_values<float>()[static_cast<size_t>(i)] = v;
  }
  w->set_constant(values);
  Options options;
  options.winograd = choice;
  convert(*graph, options);
  return compile(*graph, options).narrow;
}

// Kernels read them in plain form, which has the numbers of the model.
TEST(Narrow, WeightsOfWinogradAreStoredAsTheyWere) {
  for (const Winograd choice : {Winograd::exact, Winograd::fast, Winograd::off}) {
    const auto table = of_convolution("f16", choice);
    ASSERT_EQ(table.size(), 1u);
    EXPECT_EQ(table[0].dtype, DType::f16);
    EXPECT_EQ(table[0].bytes, sizeof(float) * 64 * 64 * 9);
  }
  EXPECT_TRUE(of_convolution("f32", Winograd::fast).empty()) << "numbers of 24 bits";
}

// Wide weights are not stored narrow although fewer bits would represent them. Products read narrow
// weights as they are stored, so those need no table either.
TEST(Narrow, WeightsThatWereWideStayWide) {
  const auto compiled = [](const char* type) {
    const auto graph =
        ir::parse_text(fmt::format("graph \"g\" opset {{\"\": 17}} {{ input %x : {0}[4,96] const "
                                   "%w : {0}[96,96] = fill 0.5 %y "
                                   ": ? = MatMul(%x, %w) output %y }}",
                                   type));
    convert(*graph, {});
    return compile(*graph, {});
  };
  const Executable wide = compiled("f32"), narrow = compiled("f16");
  EXPECT_EQ(wide.program.weights_bytes, 96u * 96 * 4);
  EXPECT_LE(narrow.program.weights_bytes, 96u * 96 + 96 * 4) << "f8_143 and scales";
  EXPECT_TRUE(wide.narrow.empty() && narrow.narrow.empty());
}

// A file with a table is not mapped, so a small bias does not make one.
TEST(Narrow, ATableSavesAPartOfTheFile) {
  const auto entries = [](int64_t rows) {
    const auto graph = ir::parse_text(fmt::format(
        "graph \"g\" opset {{\"\": 17}} {{ input %x : f16[4,{0}] const %w : f16[{0},2048] "
        "= fill 1.001 const %b : f16[2048] = fill 0.5 %p : ? = MatMul(%x, %w) %y : ? = "
        "Add(%p, %b) output %y }}",
        rows));
    convert(*graph, {});
    return compile(*graph, {}).narrow.size();
  };
  EXPECT_EQ(entries(2), 1u);
  EXPECT_EQ(entries(96), 0u);
}

TEST(Narrow, KeepsSmallWeightsIntegersAndInputs) {
  EXPECT_EQ(narrow_of(1024, 1.5f).size(), 1u);
  EXPECT_TRUE(narrow_of(1023, 1.5f).empty());
  EXPECT_EQ(narrow_of(2000, 1.5f, DType::f32).size(), 1u);
  EXPECT_TRUE(narrow_of(2000, 1.5f, DType::s32).empty());
  EXPECT_TRUE(narrow_of(2000, 1.5f, DType::undefined, true).empty()) << "an input's value";
}

}  // namespace
}  // namespace poprt::compiler
