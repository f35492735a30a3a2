// Programs whose precision changes: their results, compared with sums in double of rounded factors,
// and the weights that they keep.
#include "device/execution_precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "device/emulator/emulator.h"
#include "kernels/calls/conv.h"
#include "kernels/calls/conv_dilated.h"
#include "kernels/calls/conv_stem.h"
#include "kernels/calls/matmul.h"
#include "kernels/calls/matmul_narrow.h"
#include "kernels/common/half_products.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/pack_conv.h"
#include "kernels/common/pack_matmul.h"
#include "kernels/common/pack_narrow.h"
#include "program/serialize.h"
#include "support/copy_model.h"
#include "support/shard_program.h"

namespace poprt::device {
namespace {

using program::BufferId;
using program::Builder;
using program::kNoBuffer;
using program::Program;

namespace calls = kernels::calls;

float as_bf16(float v) { return to_float(to_bf16(v)); }
float as_f16(float v) { return to_float(to_f16(v)); }

template <class Call>
void emit_call(Builder& b, const Call& call, const std::vector<BufferId>& operands) {
  const calls::Encoded numbers = calls::encode(call);
  b.emit(Call::kKernel, operands, numbers.ints, numbers.floats, std::string(Call::kKernel));
}

BufferId add_floats(Builder& b, std::vector<float> values) {
  const uint64_t bytes = values.size() * 4;
  const Shape shape = {static_cast<int64_t>(values.size())};
  return b.weights(bytes, DType::f32, shape, [values = std::move(values)](std::span<std::byte> to) {
    std::memcpy(to.data(), values.data(), to.size());
  });
}

std::vector<float> in_panels(const std::vector<float>& w, int64_t k, int64_t n) {
  std::vector<float> p(static_cast<size_t>(kernels::matmul_panels(n) * k * kernels::kMatmulPanel));
  kernels::pack_matmul(w, n, 1, k, n, 1, p);
  return p;
}

Image loaded_image(const Program& program, std::span<const program::Weight> weights) {
  program::LoadedProgram loaded = program::load_in_memory(program, weights);
  return {std::make_shared<Program>(std::move(loaded.program)), loaded.weights, loaded.owner};
}

Image rewritten(const Image& image, ExecutionPrecision precision) {
  const auto changed = with_execution_precision(image, precision);
  if (!changed) fail(ErrorCode::internal, "nothing changes");
  program::verify(changed->program);
  return loaded_image(changed->program, changed->weights);
}

std::vector<float> run_once(const Image& image, const std::vector<float>& x, size_t count) {
  EmulatedDevice device;
  const auto engine = device.load(image, {});
  std::vector<float> y(count);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  engine->run(Flow::load, nullptr, nullptr);
  engine->run(Flow::main, in, out);
  if (const auto failure = engine->take_failure()) throw *failure;
  return y;
}

std::vector<std::string> names_of_kernels(const Image& image) {
  std::vector<std::string> names;
  for (const auto& in : image.program->main) names.push_back(image.program->kernels[in.kernel]);
  return names;
}

// y [m, n] = x [m, k] w + bias.
struct PreciseProduct {
  PreciseProduct(int64_t rows, int64_t depth, int64_t columns)
      : m(rows),
        k(depth),
        n(columns),
        x(test::random_floats(static_cast<size_t>(m * k), 3)),
        w(test::random_floats(static_cast<size_t>(k * n), 4)),
        bias(test::random_floats(static_cast<size_t>(kernels::matmul_panels(n) * 48), 5)) {}

  Image image() const {
    Builder b;
    const auto bytes = [](int64_t count) { return static_cast<uint64_t>(count) * 4; };
    const auto in =
        b.input(b.add_input({"x", DType::f32, {m, k}}), 0, bytes(m * k), DType::f32, {m, k});
    const auto out =
        b.output(b.add_output({"y", DType::f32, {m, n}}), 0, bytes(m * n), DType::f32, {m, n});
    emit_call(b, calls::Matmul{.m = m, .n = n, .k = k, .epilogue = {}},
              {in, add_floats(b, in_panels(w, k, n)), add_floats(b, bias), kNoBuffer, out});
    return loaded_image(b.program(), b.weight_records());
  }

  // The largest difference to the product in double of rounded factors, relative to the sum of the
  // magnitudes of its terms.
  double error(const std::vector<float>& y, const std::function<float(float)>& round_x,
               const std::function<float(float)>& round_w) const {
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = bias[static_cast<size_t>(j)], magnitude = std::abs(sum);
        for (int64_t c = 0; c < k; c++) {
          const double term = static_cast<double>(round_x(x[static_cast<size_t>(i * k + c)])) *
                              static_cast<double>(round_w(w[static_cast<size_t>(c * n + j)]));
          sum += term;
          magnitude += std::abs(term);
        }
        worst =
            std::max(worst, std::abs(static_cast<double>(y[static_cast<size_t>(i * n + j)]) - sum) /
                                magnitude);
      }
    return worst;
  }

  int64_t m, k, n;
  std::vector<float> x, w, bias;
};

float not_rounded(float v) { return v; }

TEST(ExecutionPrecision, AProductOfBf16RoundsBothFactors) {
  for (const auto& [m, k, n] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 96, 160}, {5, 33, 17}, {17, 7, 49}, {2, 1, 1}}) {
    const PreciseProduct p(m, k, n);
    const Image image = rewritten(p.image(), ExecutionPrecision::bf16);
    EXPECT_EQ(names_of_kernels(image), std::vector<std::string>{"matmul_narrow"});
    EXPECT_EQ(image.program->buffers[image.program->main[0].operands.at(7)].shape.at(0), m);
    const auto y = run_once(image, p.x, static_cast<size_t>(m * n));
    if (kernels::can_use_bf16())
      EXPECT_LT(p.error(y, as_bf16, as_bf16), 1e-6) << m << "x" << k << "x" << n;
    else
      EXPECT_LT(p.error(y, not_rounded, as_bf16), 1e-6) << m << "x" << k << "x" << n;
    EXPECT_LT(p.error(y, not_rounded, not_rounded), 0x1p-7 + 0x1p-16);
    EXPECT_LE(image.weights.size(), p.image().weights.size() * 2 / 3 + 64);
  }
}

TEST(ExecutionPrecision, AProductOfF16RoundsTheWeights) {
  const PreciseProduct p(3, 50, 70);
  const Image image = rewritten(p.image(), ExecutionPrecision::f16);
  const auto y = run_once(image, p.x, static_cast<size_t>(p.m * p.n));
  EXPECT_LT(p.error(y, not_rounded, as_f16), 1e-6);
  EXPECT_GT(p.error(y, not_rounded, not_rounded), 1e-6) << "the weights are rounded";
  PreciseProduct large(3, 50, 70);
  large.w[7] = 70000;
  EXPECT_FALSE(with_execution_precision(large.image(), ExecutionPrecision::f16))
      << "f16 does not represent this weight";
}

TEST(ExecutionPrecision, AutoChangesWeightsThatBf16Represents) {
  PreciseProduct p(3, 50, 70);
  EXPECT_FALSE(with_execution_precision(p.image(), ExecutionPrecision::automatic));
  for (float& w : p.w) w = as_bf16(w);
  EXPECT_TRUE(with_execution_precision(p.image(), ExecutionPrecision::automatic));
  for (const bool half_products : {false, true})
    EXPECT_FALSE(with_execution_precision(p.image(), ExecutionPrecision::f32, half_products));
}

// y = x w + bias + residual. The factors are numbers of bf16.
TEST(ExecutionPrecision, AProductKeepsItsResidual) {
  PreciseProduct p(3, 20, 48);
  for (float& v : p.x) v = as_bf16(v);
  for (float& v : p.w) v = as_bf16(v);
  const std::vector<float> added = test::random_floats(3 * 48, 9);
  Builder b;
  const auto in = b.input(b.add_input({"x", DType::f32, {3, 20}}), 0, 240, DType::f32, {3, 20});
  const auto out = b.output(b.add_output({"y", DType::f32, {3, 48}}), 0, 576, DType::f32, {3, 48});
  const auto bias = add_floats(b, p.bias);  // the first buffer of weights is one that stays
  const auto w = add_floats(b, in_panels(p.w, 20, 48));
  const auto residual = b.weights(576, DType::f32, {3, 48}, [&](std::span<std::byte> to) {
    std::memcpy(to.data(), added.data(), 576);
  });
  emit_call(b, calls::Matmul{.m = 3, .n = 48, .k = 20, .epilogue = {}},
            {in, w, bias, residual, out});
  const Image image = loaded_image(b.program(), b.weight_records());
  for (const auto precision : {ExecutionPrecision::bf16, ExecutionPrecision::f16}) {
    std::vector<float> y = run_once(rewritten(image, precision), p.x, 144);
    for (size_t i = 0; i < y.size(); i++) y[i] -= added[i];
    EXPECT_LT(p.error(y, not_rounded, not_rounded), 2e-6);
  }
}

// The value of an input may be in the weights, where no instruction reads it.
TEST(ExecutionPrecision, DataOfInputsMovesWithTheWeights) {
  const PreciseProduct p(2, 16, 48);
  const std::vector<float> data = test::random_floats(64, 7);
  Builder b;
  const auto kept = add_floats(b, data);  // buffer 0
  const auto x = b.input(b.add_input({"x", DType::f32, {2, 16}}), 0, 128, DType::f32, {2, 16});
  const auto y = b.output(b.add_output({"y", DType::f32, {2, 48}}), 0, 384, DType::f32, {2, 48});
  const auto c = b.output(b.add_output({"c", DType::f32, {64}}), 0, 256, DType::f32, {64});
  const std::vector<float> other = test::random_floats(16, 8);
  const auto unread = add_floats(b, other);
  emit_call(b, calls::Matmul{.m = 2, .n = 48, .k = 16, .epilogue = {}},
            {x, add_floats(b, in_panels(p.w, 16, 48)), add_floats(b, p.bias), kNoBuffer, y});
  const BufferId copied[] = {kept, c};
  b.emit("copy", copied, {}, {}, "copy");
  b.program().inputs.push_back({"state", DType::f32, {16}});
  b.program().inputs.back().data = b.buffer(unread).offset;
  const Image image =
      rewritten(loaded_image(b.program(), b.weight_records()), ExecutionPrecision::bf16);
  const program::Anchor& state = image.program->inputs.at(1);
  ASSERT_LE(state.data + 64, image.weights.size());
  EXPECT_EQ(std::memcmp(image.weights.data() + state.data, other.data(), 64), 0);
  std::vector<float> results(96), copy(64);
  const void* in[] = {p.x.data(), other.data()};
  void* out[] = {results.data(), copy.data()};
  EmulatedDevice().load(image, {})->run(Flow::main, in, out);
  EXPECT_EQ(copy, data);
}

// The weights of the product are stored as f16 or bf16.
TEST(ExecutionPrecision, NarrowWeightsBecomePairs) {
  const PreciseProduct p(3, 50, 70);
  for (const auto format : {kernels::isa::NarrowFormat::f16, kernels::isa::NarrowFormat::bf16}) {
    const bool half = format == kernels::isa::NarrowFormat::f16;
    std::vector<uint16_t> halves;
    for (const float w : p.w) halves.push_back(half ? to_f16(w).bits : to_bf16(w).bits);
    Builder b;
    const auto in = b.input(b.add_input({"x", DType::f32, {3, 50}}), 0, 600, DType::f32, {3, 50});
    const auto out =
        b.output(b.add_output({"y", DType::f32, {3, 70}}), 0, 840, DType::f32, {3, 70});
    const int64_t bytes = kernels::packed_narrow_bytes(format, 50, 70);
    const auto panels =
        b.weights(static_cast<uint64_t>(bytes), DType::u8, {bytes}, [&](std::span<std::byte> to) {
          kernels::pack_narrow_halves(halves, format, {50, 70, 70, 1},
                                      program::as_array<uint16_t>(to));
        });
    emit_call(b,
              calls::MatmulNarrow{
                  .m = 3, .n = 70, .k = 50, .format = format, .block = 52, .epilogue = {}},
              {in, panels, kNoBuffer, kNoBuffer, add_floats(b, p.bias), kNoBuffer, out});
    const Image image = loaded_image(b.program(), b.weight_records());
    const auto y = run_once(rewritten(image, ExecutionPrecision::bf16), p.x, 210);
    const auto weight = [&](float w) { return as_bf16(half ? as_f16(w) : w); };
    EXPECT_LT(p.error(y, kernels::can_use_bf16() ? as_bf16 : not_rounded, weight), 1e-6);
    EXPECT_EQ(with_execution_precision(image, ExecutionPrecision::automatic).has_value(), !half);
    EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::f16))
        << "three rows have no products of f16";
    EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::f32, true)) << "it is f32";
    Program damaged = *image.program;
    damaged.buffers[panels].bytes /= 2;
    EXPECT_EQ(
        with_execution_precision({std::make_shared<Program>(damaged), image.weights, image.owner},
                                 ExecutionPrecision::bf16)
            .has_value(),
        !half)
        << "the kernel refuses what it reads itself";
  }
}

calls::NarrowProducts products_of(const Image& image) {
  const auto& in = image.program->main[0];
  return calls::decode<calls::MatmulNarrow>(in.ints, in.floats).products;
}

TEST(ExecutionPrecision, ManyRowsOfF16HaveProductsOfF16) {
  const PreciseProduct p(5, 50, 70);
  const auto bound = [](const Image& of) {
    return kernels::can_use_half_products() && products_of(of) == calls::NarrowProducts::f16
               ? 33 * 0x1p-11
               : 1e-6;
  };
  const Image image = rewritten(p.image(), ExecutionPrecision::f16);
  EXPECT_EQ(products_of(image), calls::NarrowProducts::f16);
  EXPECT_EQ(image.program->main[0].operands.size(), 8u) << "with memory for rows";
  EXPECT_EQ(image.program->buffers[image.program->main[0].operands[7]].shape.at(0), 5);
  EXPECT_LT(p.error(run_once(image, p.x, 350), not_rounded, as_f16), bound(image));
  EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::f16)) << "it is f16";
  EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::automatic)) << "it is f16";
  // f32 has the same weights.
  EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::f32, false))
      << "a CPU that does not compute in f16 computes in f32";
  const auto changed = with_execution_precision(image, ExecutionPrecision::f32, true);
  ASSERT_TRUE(changed);
  const Image exact = loaded_image(changed->program, changed->weights);
  EXPECT_EQ(products_of(exact), calls::NarrowProducts::f32);
  EXPECT_EQ(exact.program->main[0].operands.size(), 7u);
  EXPECT_LT(p.error(run_once(exact, p.x, 350), not_rounded, as_f16), 1e-6);
  // These products can become f16, and those of f16 can become bf16.
  EXPECT_EQ(products_of(rewritten(exact, ExecutionPrecision::automatic)),
            calls::NarrowProducts::f16);
  const Image pairs = rewritten(image, ExecutionPrecision::bf16);
  EXPECT_EQ(products_of(pairs), calls::NarrowProducts::bf16);
  EXPECT_LT(p.error(run_once(pairs, p.x, 350), kernels::can_use_bf16() ? as_bf16 : not_rounded,
                    [](float w) { return as_bf16(as_f16(w)); }),
            1e-6);
}

// Convolutions of 3x3 with 20 channels, and of a plain image of 3 channels.
template <class Call>
std::pair<Image, std::vector<float>> convolution(int64_t c, int64_t x_count, bool stem) {
  const int64_t m = 24, size = 9, blocks = 2;
  Call call;
  call.conv = {.batch = 1,
               .groups = 1,
               .c = c,
               .m = m,
               .h = size,
               .w = size,
               .oh = size,
               .ow = size,
               .kh = 3,
               .kw = 3,
               .pad_h = 1,
               .pad_w = 1,
               .epilogue = {}};
  const auto w = test::random_floats(static_cast<size_t>(m * c * 9), 8);
  std::vector<float> p(static_cast<size_t>(blocks * c * 9 * 16));
  if (stem)
    kernels::pack_conv({w, 1, m, c * 9, 1, 1}, p);
  else
    kernels::pack_conv({w, 1, m, c, 3, 3}, p);
  Builder b;
  const int64_t y_count = blocks * size * size * 16;
  const auto in = b.input(b.add_input({"x", DType::f32, {x_count}}), 0,
                          static_cast<uint64_t>(x_count) * 4, DType::f32, {x_count});
  const auto out = b.output(b.add_output({"y", DType::f32, {y_count}}), 0,
                            static_cast<uint64_t>(y_count) * 4, DType::f32, {y_count});
  emit_call(b, call, {in, add_floats(b, p), kNoBuffer, kNoBuffer, out});
  return {loaded_image(b.program(), b.weight_records()),
          test::random_floats(static_cast<size_t>(x_count), 6)};
}

void expect_close(const Image& image, const std::vector<float>& x, const std::string& kernel,
                  int64_t terms) {
  const size_t count = static_cast<size_t>(2 * 81 * 16);
  const auto exactly = run_once(image, x, count);
  const Image changed = rewritten(image, ExecutionPrecision::bf16);
  EXPECT_EQ(names_of_kernels(changed), std::vector<std::string>{kernel});
  const auto y = run_once(changed, x, count);
  double square = 0, difference = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    const double d = static_cast<double>(y[i]) - static_cast<double>(exactly[i]);
    square += static_cast<double>(exactly[i]) * static_cast<double>(exactly[i]);
    difference += d * d;
    worst = std::max(worst, std::abs(d));
  }
  EXPECT_LT(std::sqrt(difference / square), 5e-3);
  EXPECT_GT(difference, 0);
  EXPECT_LT(worst, static_cast<double>(terms) * (0x1p-7 + 0x1p-16));
  EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::f16));
}

TEST(ExecutionPrecision, ConvolutionsOfBlocks) {
  auto [image, x] = convolution<calls::Conv>(20, 2 * 81 * 16, false);
  for (size_t i = 81 * 16; i < x.size(); i++)
    if (i % 16 >= 4) x[i] = 0;  // there are 20 channels
  expect_close(image, x, "conv_bf16", 180);
}

TEST(ExecutionPrecision, ConvolutionsOfPlainImages) {
  const auto [image, x] = convolution<calls::ConvStem>(3, 3 * 81, true);
  expect_close(image, x, "conv_stem_bf16", 27);
}

// A kernel that skips padding stays if more than half of the products are those of the padding.
TEST(ExecutionPrecision, ConvolutionsThatSkipPadding) {
  const auto [image, x] = convolution<calls::ConvDilated>(16, 81 * 16, false);
  expect_close(image, x, "conv_bf16", 144);
  Program far = *image.program;
  auto call = calls::decode<calls::ConvDilated>(far.main[0].ints, far.main[0].floats);
  call.conv.dilation_h = call.conv.dilation_w = call.conv.pad_h = call.conv.pad_w = 8;
  far.main[0].ints = calls::encode(call).ints;
  EXPECT_FALSE(with_execution_precision(
      {std::make_shared<Program>(far), image.weights, image.owner}, ExecutionPrecision::bf16));
}

// Two products share weights, one of which another instruction reads, too.
TEST(ExecutionPrecision, WeightsThatAreStillReadStay) {
  const PreciseProduct p(2, 16, 48);
  Builder b;
  const auto x = b.input(b.add_input({"x", DType::f32, {2, 16}}), 0, 128, DType::f32, {2, 16});
  const auto y = b.output(b.add_output({"y", DType::f32, {2, 2, 48}}), 0, 384, DType::f32, {2, 48});
  const auto y2 = b.output(0, 384, 384, DType::f32, {2, 48});
  const auto c = b.output(b.add_output({"c", DType::f32, {16, 48}}), 0, 3072, DType::f32, {16, 48});
  add_floats(b, test::random_floats(1000));  // no instruction reads these
  const auto w = add_floats(b, in_panels(p.w, 16, 48)), bias = add_floats(b, p.bias);
  const calls::Matmul call{.m = 2, .n = 48, .k = 16, .epilogue = {}};
  emit_call(b, call, {x, w, bias, kNoBuffer, y});
  emit_call(b, call, {x, w, bias, kNoBuffer, y2});
  const BufferId copied[] = {w, c};
  b.emit("copy", copied, {}, {}, "copy");
  b.program().outputs[0].shape = {4, 48};
  const Image image = loaded_image(b.program(), b.weight_records());
  const auto changed = with_execution_precision(image, ExecutionPrecision::bf16);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->program.weights_bytes, 16u * 48 * 2 + 16 * 48 * 4 + 48 * 4)
      << "one copy of the new panels, and what is still read";
  const Image loaded = loaded_image(changed->program, changed->weights);
  const auto engine = EmulatedDevice().load(loaded, {});
  std::vector<float> results(192), copy(768);
  const void* in[] = {p.x.data()};
  void* out[] = {results.data(), copy.data()};
  engine->run(Flow::main, in, out);
  EXPECT_EQ(copy, in_panels(p.w, 16, 48));
  EXPECT_LT(p.error({results.begin(), results.begin() + 96}, not_rounded, not_rounded),
            0x1p-7 + 0x1p-16);
  EXPECT_EQ(std::vector(results.begin(), results.begin() + 96),
            std::vector(results.begin() + 96, results.end()));
  EXPECT_FALSE(with_execution_precision(loaded, ExecutionPrecision::bf16)) << "nothing is left";
}

std::string precision_refusal(const Image& image, ExecutionPrecision precision, ErrorCode code) {
  try {
    static_cast<void>(with_execution_precision(image, precision));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.message();
  }
  return "nothing is refused";
}

TEST(ExecutionPrecision, ProductsWithoutTermsRowsOrAnOperandStay) {
  const Image good = PreciseProduct(2, 16, 48).image();
  const auto is_rewritten = [&](const calls::Matmul& call, size_t operands) {
    Program p = *good.program;
    p.main[0].ints = calls::encode(call).ints;
    p.main[0].operands.resize(operands);
    const Image image{std::make_shared<Program>(p), good.weights, good.owner};
    return with_execution_precision(image, ExecutionPrecision::bf16).has_value();
  };
  EXPECT_TRUE(is_rewritten({.m = 2, .n = 48, .k = 16, .epilogue = {}}, 5));
  EXPECT_FALSE(is_rewritten({.m = 0, .n = 48, .k = 16, .epilogue = {}}, 5));
  EXPECT_FALSE(is_rewritten({.m = 2, .n = 48, .k = 0, .epilogue = {}}, 5));
  EXPECT_FALSE(is_rewritten({.m = 2, .n = 48, .k = 16, .epilogue = {}}, 4));
  for (const size_t absent : {0u, 1u}) {
    Program p = *good.program;
    p.main[0].operands[absent] = kNoBuffer;
    const Image image{std::make_shared<Program>(p), good.weights, good.owner};
    EXPECT_FALSE(with_execution_precision(image, ExecutionPrecision::bf16)) << absent;
  }
}

// Returns whether a convolution changes to bf16 after a change of its call.
template <class Call>
bool changes_to_bf16(const Image& image, const std::function<void(Call&)>& change) {
  Program p = *image.program;
  auto call = calls::decode<Call>(p.main[0].ints, p.main[0].floats);
  change(call);
  p.main[0].ints = calls::encode(call).ints;
  return with_execution_precision({std::make_shared<Program>(p), image.weights, image.owner},
                                  ExecutionPrecision::bf16)
      .has_value();
}

TEST(ExecutionPrecision, ConvolutionsWithoutAKernelOfBf16Stay) {
  const Image blocks = convolution<calls::Conv>(64, 4 * 81 * 16, false).first;
  const auto blocked = [&](const std::function<void(calls::Conv&)>& change) {
    return changes_to_bf16<calls::Conv>(blocks, change);
  };
  EXPECT_TRUE(blocked([](calls::Conv&) {}));
  EXPECT_TRUE(blocked([](calls::Conv& c) { c.conv.groups = 2, c.conv.c = 16; }));
  EXPECT_FALSE(blocked([](calls::Conv& c) { c.conv.groups = 2, c.conv.c = 8; }));
  const auto paired = [](bool single) {
    return [single](calls::Conv& c) {
      c.conv.c = 32;
      c.conv.m = 16;
      c.depth = calls::ConvDepth{};
      c.pair_c = c.pair_m = 8;
      c.single = single;
    };
  };
  EXPECT_TRUE(blocked(paired(false)));
  EXPECT_FALSE(blocked(paired(true)));

  const Image plain = convolution<calls::ConvStem>(16, 16 * 81, true).first;
  const auto stem = [&](const std::function<void(calls::ConvStem&)>& change) {
    return changes_to_bf16<calls::ConvStem>(plain, change);
  };
  EXPECT_TRUE(stem([](calls::ConvStem& c) { c.conv.c = 15; }));
  EXPECT_FALSE(stem([](calls::ConvStem&) {})) << "16 channels";
  EXPECT_FALSE(stem([](calls::ConvStem& c) { c.conv.c = 7, c.conv.groups = 2; }));
  EXPECT_FALSE(stem([](calls::ConvStem& c) { c.conv.c = 7, c.conv.dilation_w = 2; }));
  EXPECT_TRUE(stem([](calls::ConvStem& c) { c.conv.c = 7, c.conv.dilation_h = 2; }));
  EXPECT_FALSE(stem([](calls::ConvStem& c) { c.conv.c = 7, c.depth = calls::ConvDepth{}; }));
}

// Counts the taps inside of the image one by one.
TEST(ExecutionPrecision, AKernelThatSkipsMostProductsStays) {
  const Image image = convolution<calls::ConvDilated>(16, 81 * 16, false).first;
  int changed = 0, all = 0;
  for (const int64_t pad : {0, 1, 3, 5, 8})
    for (const int64_t dilation : {1, 2, 4, 7})
      for (const int64_t kernel : {2, 3})
        for (const int64_t out : {4, 9, 14}) {
          int64_t inside = 0;
          for (int64_t o = 0; o < out; o++)
            for (int64_t k = 0; k < kernel; k++) {
              const int64_t at = o + k * dilation - pad;
              inside += at >= 0 && at < 9;
            }
          const double share = static_cast<double>(inside) / static_cast<double>(kernel * out);
          const bool pays = changes_to_bf16<calls::ConvDilated>(image, [&](auto& c) {
            c.conv.kh = kernel;
            c.conv.dilation_h = dilation;
            c.conv.pad_h = pad;
            c.conv.oh = out;
            c.conv.kw = 1;
            c.conv.pad_w = 0;
          });
          EXPECT_EQ(pays, share >= 0.5)
              << pad << " " << dilation << " " << kernel << " " << out << ": " << share;
          changed += pays;
          all++;
        }
  EXPECT_GT(changed, all / 4);
  EXPECT_LT(changed, all * 3 / 4);
}

// A pair of channels has 32 values of two bytes for each tap and block.
TEST(ExecutionPrecision, WeightsOfConvolutionsHaveHalfTheBytes) {
  const auto bytes_of = [](const Image& image) {
    const auto changed = with_execution_precision(image, ExecutionPrecision::bf16);
    return changed ? changed->program.weights_bytes : 0;
  };
  EXPECT_EQ(bytes_of(convolution<calls::Conv>(20, 2 * 81 * 16, false).first), 2u * 10 * 9 * 64);
  EXPECT_EQ(bytes_of(convolution<calls::ConvStem>(3, 3 * 81, true).first), 2u * 2 * 9 * 64);
}

TEST(ExecutionPrecision, RoundedWeightsAreNotF32) {
  const Image image = rewritten(PreciseProduct(2, 16, 48).image(), ExecutionPrecision::bf16);
  EXPECT_EQ(
      precision_refusal(image, ExecutionPrecision::f32, ErrorCode::failed_precondition),
      "execution_precision f32: the executable was compiled for products of bf16 and contains "
      "rounded weights; compile the model with execution_precision f32");
}

TEST(ExecutionPrecision, ProgramsOfSeveralIpusAreRefused) {
  const Image image = test::shard_program(2, false, {16});
  EXPECT_NE(precision_refusal(image, ExecutionPrecision::bf16, ErrorCode::unimplemented)
                .find("over 2 IPUs"),
            std::string::npos);
}

TEST(ExecutionPrecision, TheCpuComputesInF16IfItsKernelsDo) {
  EXPECT_EQ(computes_in_f16(), kernels::can_use_half_products());
}

TEST(ExecutionPrecision, NamesMatchTheOption) {
  EXPECT_EQ(execution_precision_named("auto"), ExecutionPrecision::automatic);
  EXPECT_EQ(execution_precision_named("f16"), ExecutionPrecision::f16);
  EXPECT_EQ(execution_precision_named("bf16"), ExecutionPrecision::bf16);
  EXPECT_EQ(execution_precision_named("f32"), ExecutionPrecision::f32);
  EXPECT_THROW(execution_precision_named("fp16"), Error);
  EXPECT_THROW(execution_precision_named(""), Error);
}

// Programs whose numbers contradict their operands: the device refuses the result, or what
// with_execution_precision() throws names the kernel. No byte outside of the weights is read.
TEST(ExecutionPrecision, HostileProgramsAreRefused) {
  const Image images[] = {
      PreciseProduct(2, 16, 48).image(),
      rewritten(PreciseProduct(5, 16, 48).image(), ExecutionPrecision::f16),
  };
  constexpr ExecutionPrecision kAll[] = {ExecutionPrecision::bf16, ExecutionPrecision::f32,
                                         ExecutionPrecision::automatic, ExecutionPrecision::f16};
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 3000; trial++) {
    const Image& good = images[trial % 2];
    Program p = *good.program;
    std::vector<int64_t>& ints = p.main[0].ints;
    const int64_t values[] = {0, 1, -1, 17, 49, 1000, int64_t{1} << 39, int64_t{1} << 62};
    for (int i = 0; i < 2; i++) ints[random() % ints.size()] = values[random() % 8];
    if (trial % 3 == 0) p.main[0].operands[random() % 5] = static_cast<uint32_t>(random() % 4);
    if (trial % 5 == 0) p.buffers[1].offset = random() % 3 * 4;
    try {
      program::verify(p);
      const Image hostile{std::make_shared<Program>(p), good.weights, good.owner};
      const auto changed = with_execution_precision(hostile, kAll[random() % 4], true);
      const Image image = changed ? loaded_image(changed->program, changed->weights) : hostile;
      const auto engine = EmulatedDevice().load(image, {});
    } catch (const Error&) {
      refused++;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace poprt::device
