#include "program/narrow_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <tuple>

#include "base/denormals.h"
#include "base/error.h"
#include "base/half.h"
#include "base/quarter.h"
#include "program/serialize.h"
#include "support/few_threads.h"

namespace poprt::program {
namespace {

std::optional<NarrowWeights> narrowest(std::vector<float> values) {
  Narrowing narrowing;
  narrowing.add(values);
  return narrowing.narrowest();
}

std::vector<float> there_and_back(const NarrowWeights& form, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(dtype_bits(form.dtype)) / 8);
  std::vector<float> back(values.size());
  narrow(form, values, bytes);
  widen(form, bytes, back);
  return back;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(Narrowing, FindsEveryQuarterAtEveryScale) {
  for (const DType dtype : {DType::f8_143, DType::f8_152})
    for (int scale = -32; scale < 32; scale++) {
      std::vector<float> values;
      for (int code = 0; code < 256; code++)
        if (code != 0x80)
          values.push_back(std::ldexp(quarter_to_float(dtype, static_cast<uint8_t>(code)), scale));
      const auto form = narrowest(values);
      ASSERT_TRUE(form) << scale;
      EXPECT_EQ(form->dtype, dtype);
      EXPECT_EQ(form->exponent, scale);
      expect_same_bits(there_and_back(*form, values), values);
    }
}

TEST(Narrowing, FindsEveryFiniteHalf) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 65536; bits++)
    if ((bits >> 10 & 31) != 31) values.push_back(to_float(f16_t{static_cast<uint16_t>(bits)}));
  const auto form = narrowest(values);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->dtype, DType::f16);
  expect_same_bits(there_and_back(*form, values), values);
}

// A process may flush subnormal floats, for example because a library of it was compiled with
// -ffast-math.
TEST(Narrowing, EveryFormIsWidenedWhileSubnormalNumbersAreFlushed) {
  std::vector<float> halves, quarters;
  for (uint32_t bits = 0; bits < 65536; bits++)
    if ((bits >> 10 & 31) != 31) halves.push_back(to_float(f16_t{static_cast<uint16_t>(bits)}));
  for (int code = 0; code < 256; code++)
    if (code != 0x80)
      quarters.push_back(
          std::ldexp(quarter_to_float(DType::f8_152, static_cast<uint8_t>(code)), -64));
  for (const auto& values : {halves, quarters, std::vector<float>{0x1p-126f, 1, 0x1p127f}}) {
    const auto form = narrowest(values);
    ASSERT_TRUE(form);
    const FlushDenormals flush;
    expect_same_bits(there_and_back(*form, values), values);
  }
}

TEST(Narrowing, StoresAWideRangeAsBfloat16) {
  std::vector<float> values = {1.0f, -0x1.8p100f, 0x1p-120f, 0.0f, -0.0f};
  const auto form = narrowest(values);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->dtype, DType::bf16);
  expect_same_bits(there_and_back(*form, values), values);
}

TEST(Narrowing, LeavesValuesThatNoNarrowTypeRepresents) {
  EXPECT_FALSE(narrowest({0.1f}));
  EXPECT_FALSE(narrowest({1.0f, INFINITY}));
  EXPECT_FALSE(narrowest({1.0f, NAN}));
  EXPECT_FALSE(narrowest({1.0f, 0x1p-140f}));
  // The exponents are too far apart for f8_143; eleven significant bits need a half.
  EXPECT_EQ(narrowest({1.0f, 0x1p-20f})->dtype, DType::f8_152);
  EXPECT_EQ(narrowest({1.0f + 0x1p-10f})->dtype, DType::f16);
  // 8-bit floats have no negative zero.
  EXPECT_EQ(narrowest({1.0f, -0.0f})->dtype, DType::f16);
  EXPECT_EQ(narrowest({0.0f, 0.0f})->dtype, DType::f8_143);
}

TEST(Narrowing, RandomHalvesAndQuartersComeBackAsTheyWere) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 0.05f);
  for (const DType dtype : {DType::f8_143, DType::f8_152, DType::f16, DType::bf16}) {
    std::vector<float> values(1001);
    for (float& v : values) {
      v = normal(rng);
      if (dtype == DType::f16) v = to_float(to_f16(v));
      if (dtype == DType::bf16) v = to_float(to_bf16(v));
      if (dtype_bits(dtype) == 8)
        v = quarter_to_float(dtype, float_to_quarter(dtype, v * 64, true)) / 64;
    }
    const auto form = narrowest(values);
    ASSERT_TRUE(form) << dtype_name(dtype);
    EXPECT_LE(dtype_bits(form->dtype), dtype_bits(dtype));
    expect_same_bits(there_and_back(*form, values), values);
  }
}

// Four significant bits near the greatest and the least values that scaled 8-bit floats have.
TEST(Narrowing, MovesEightBitsBySixtyFourAtMost) {
  const auto form = [](float v) {
    const auto found = narrowest({v});
    return found ? std::pair(found->dtype, found->exponent) : std::pair(DType::undefined, 0);
  };
  EXPECT_EQ(form(0x1.ep71f), std::pair(DType::f8_143, 64));
  EXPECT_EQ(form(0x1.ep72f), std::pair(DType::bf16, 0));
  EXPECT_EQ(form(0x1.cp72f), std::pair(DType::f8_152, 57));
  EXPECT_EQ(form(0x1.cp79f), std::pair(DType::f8_152, 64));
  EXPECT_EQ(form(0x1.cp80f), std::pair(DType::bf16, 0));
  EXPECT_EQ(form(0x1.ep-57f), std::pair(DType::f8_143, -64));
  EXPECT_EQ(form(0x1.ep-58f), std::pair(DType::bf16, 0));
  EXPECT_EQ(form(0x1.cp-49f), std::pair(DType::f8_143, -56));
  // The greatest and the least bit of a half, and the next bit in both directions.
  EXPECT_EQ(form(0x1.ffcp15f), std::pair(DType::f16, 0));
  EXPECT_EQ(form(0x1.ffcp16f), std::pair(DType::undefined, 0));
  EXPECT_EQ(form(0x1.fep16f), std::pair(DType::bf16, 0));
  EXPECT_EQ(form(0x1.ffcp-14f), std::pair(DType::f16, 0));
  EXPECT_EQ(form(0x1.ffcp-15f), std::pair(DType::undefined, 0));
  EXPECT_EQ(form(0x1.ffep0f), std::pair(DType::undefined, 0));
  // No narrow type is used for subnormal floats.
  EXPECT_EQ(form(0x1p-126f), std::pair(DType::bf16, 0));
  EXPECT_EQ(form(0x1p-127f), std::pair(DType::undefined, 0));
}

TEST(NarrowTable, IsSortedAndChecked) {
  const auto message_for = [](std::vector<NarrowWeights> table,
                              uint64_t bytes = 256) -> std::string {
    try {
      check_narrow(table, bytes);
    } catch (const Error& e) {
      return e.message();
    }
    return std::ranges::is_sorted(table, {}, &NarrowWeights::offset) ? "sorted" : "not sorted";
  };
  const auto unfit = [](int offset, int bytes) {
    return fmt::format("narrow weights [{}, +{}) do not fit into 256 bytes of weights", offset,
                       bytes);
  };
  EXPECT_EQ(
      message_for({{128, 128, DType::f16}, {0, 64, DType::bf16}, {64, 64, DType::f8_143, 64}}),
      "sorted");
  EXPECT_EQ(message_for({{0, 256, DType::f8_152, -64}}), "sorted");
  EXPECT_EQ(message_for({{0, 260, DType::f16}}), unfit(0, 260));
  EXPECT_EQ(message_for({{4, 256, DType::f16}}), unfit(4, 256));
  EXPECT_EQ(message_for({{252, 8, DType::f16}}), unfit(252, 8));
  EXPECT_EQ(message_for({{2, 64, DType::f16}}), unfit(2, 64));
  EXPECT_EQ(message_for({{0, 6, DType::f16}}), unfit(0, 6));
  EXPECT_EQ(message_for({{64, 0, DType::f16}}), unfit(64, 0));
  EXPECT_EQ(message_for({{0, 64, DType::f16}, {60, 8, DType::f16}}), unfit(60, 8));
  EXPECT_EQ(message_for({{0, 64, DType::f8_143, 65}}),
            "narrow weights at 0 are of f8_143 times 2^65");
  EXPECT_EQ(message_for({{8, 64, DType::f8_152, -65}}),
            "narrow weights at 8 are of f8_152 times 2^-65");
  EXPECT_EQ(message_for({{8, 64, DType::f32, 0}}), "narrow weights at 8 are of f32 times 2^0");
}

TEST(NarrowTable, StoredPiecesAreAlignedTo64Bytes) {
  using Piece = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, bool>;
  const auto pieces = [](const std::vector<NarrowWeights>& table, uint64_t bytes) {
    std::vector<Piece> all;
    const auto found = stored_pieces(table, bytes);
    for (const StoredPiece& p : found)
      all.emplace_back(p.offset, p.bytes, p.stored, p.stored_bytes, p.narrow != nullptr);
    return std::pair(all, stored_bytes(found));
  };
  EXPECT_EQ(pieces({}, 0), std::pair(std::vector<Piece>{}, uint64_t{0}));
  EXPECT_EQ(pieces({}, 100), std::pair(std::vector<Piece>{{0, 100, 0, 100, false}}, uint64_t{100}));
  EXPECT_EQ(pieces({{64, 200, DType::f16}, {264, 40, DType::f8_143}}, 320),
            std::pair(std::vector<Piece>{{0, 64, 0, 64, false},
                                         {64, 200, 64, 100, true},
                                         {264, 40, 192, 10, true},
                                         {304, 16, 256, 16, false}},
                      uint64_t{272}));
  EXPECT_EQ(pieces({{0, 8, DType::bf16}}, 8),
            std::pair(std::vector<Piece>{{0, 8, 0, 4, true}}, uint64_t{4}));
}

// More values than one thread converts at a time, with exceptions at each end.
TEST(NarrowTable, LongPiecesAreWidenedInParts) {
  for (const DType dtype : {DType::f16, DType::f8_143}) {
    const size_t count = (size_t{1} << 18) * 2 + 5, before = 16;
    std::vector<float> wanted(count);
    for (size_t i = 0; i < count; i++)
      wanted[i] = static_cast<float>(static_cast<int>(i % 15) - 7) * 0.5f;
    const std::vector<NarrowWeights> table = {{before * 4, count * 4, dtype, 0}};
    const auto pieces = stored_pieces(table, (before + count) * 4);
    std::vector<std::byte> stored(stored_bytes(pieces));
    for (size_t i = 0; i < before * 4; i++) stored[i] = std::byte(i);
    narrow(table[0], wanted, std::span(stored).subspan(pieces[1].stored, pieces[1].stored_bytes));
    std::vector<float> got(before + count);
    widen_all(pieces, stored, std::as_writable_bytes(std::span(got)));
    expect_same_bits({got.begin() + before, got.end()}, wanted);
    EXPECT_EQ(std::memcmp(got.data(), stored.data(), before * 4), 0);
  }
}

struct NarrowSample {
  Builder builder;
  std::vector<NarrowWeights> narrow;
  std::vector<float> halves, floats;
};

// A record of halves between two others, of sizes that are no multiples of 64.
NarrowSample narrow_sample() {
  NarrowSample s;
  std::mt19937 rng(7);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 777; i++) s.halves.push_back(to_float(to_f16(normal(rng))));
  for (int i = 0; i < 33; i++) s.floats.push_back(normal(rng));
  const auto add = [&](const std::vector<float>& values) {
    return s.builder.weights(
        values.size() * sizeof(float), DType::f32, {static_cast<int64_t>(values.size())},
        [values](auto to) { std::memcpy(to.data(), values.data(), to.size()); });
  };
  const BufferId a = add(s.floats), b = add(s.halves), c = add(s.floats);
  const auto out = s.builder.add_output({"y", DType::f32, {1}});
  const BufferId operands[] = {a, b, c, s.builder.output(out, 0, 4, DType::f32, {1})};
  s.builder.emit("copy", operands, {}, {}, "");
  const Buffer& place = s.builder.buffer(b);
  s.narrow = {{place.offset, place.bytes, DType::f16, 0}};
  return s;
}

std::vector<std::byte> payload_of(const NarrowSample& s, Builder& builder) {
  std::vector<std::byte> bytes;
  write_executable(
      [&](std::span<const std::byte> piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
      },
      builder.program(), builder.weight_records(), {}, s.narrow);
  return bytes;
}

void expect_same_weights(const LoadedProgram& read, const LoadedProgram& wide) {
  ASSERT_EQ(read.weights.size(), wide.weights.size());
  EXPECT_EQ(std::memcmp(read.weights.data(), wide.weights.data(), wide.weights.size()), 0);
}

TEST(NarrowPayload, IsSmallerAndReadsAsTheWideOne) {
  NarrowSample s = narrow_sample();
  const std::vector<std::byte> payload = payload_of(s, s.builder);
  const LoadedProgram wide = load_in_memory(s.builder.program(), s.builder.weight_records());
  const LoadedProgram read = read_executable(payload, nullptr);
  expect_same_weights(read, wide);
  EXPECT_EQ(read.narrow, s.narrow);
  EXPECT_LT(weights_of(payload).size(), wide.weights.size() - s.halves.size() * 2 + 64);
}

TEST(NarrowPayload, MayBeSeparateFromItsWeights) {
  NarrowSample s = narrow_sample();
  const std::vector<std::byte> payload = payload_of(s, s.builder);
  const auto weights = weights_of(payload);
  const std::vector<std::byte> program = without_weights(payload);
  const LoadedProgram apart = read_executable(program, weights, nullptr);
  const LoadedProgram whole = read_executable(payload, nullptr);
  ASSERT_EQ(apart.weights.size(), whole.weights.size());
  EXPECT_EQ(std::memcmp(apart.weights.data(), whole.weights.data(), whole.weights.size()), 0);
  EXPECT_THROW(read_executable(program, weights.first(weights.size() - 64), nullptr), Error);
}

// Development versions wrote plain weights for transformed ones, with a tile of 2 or 4.
TEST(NarrowPayload, RefusesWeightsWithATile) {
  NarrowSample s = narrow_sample();
  std::vector<std::byte> payload = payload_of(s, s.builder);
  const uint64_t record[] = {s.narrow[0].offset, s.narrow[0].bytes};
  const auto found = std::ranges::find_end(payload, std::as_bytes(std::span(record))).begin();
  ASSERT_NE(found, payload.end());
  found[21] = std::byte(2);  // Narrow.tile of program.capnp
  try {
    read_executable(payload, nullptr);
    ADD_FAILURE() << "it is read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_TRUE(e.message().ends_with("does not read; compile the model again")) << e.message();
  }
}

TEST(NarrowPayload, IsWrittenAndReadWhereNoThreadsCanBeHad) {
  NarrowSample s = narrow_sample();
  const LoadedProgram wide = load_in_memory(s.builder.program(), s.builder.weight_records());
  const test::FewThreads none(0);
  expect_same_weights(read_executable(payload_of(s, s.builder), nullptr), wide);
}

TEST(NarrowPayload, RefusesATableThatDoesNotFit) {
  NarrowSample s = narrow_sample();
  const NarrowWeights good = s.narrow[0];
  const auto refused = [&](NarrowWeights bad) {
    s.narrow = {bad};
    try {
      payload_of(s, s.builder);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(refused({good.offset + 2, good.bytes, DType::f16, 0}), ErrorCode::data_loss);
  EXPECT_EQ(refused({good.offset, uint64_t{1} << 62, DType::f16, 0}), ErrorCode::data_loss);
  EXPECT_EQ(refused({good.offset, good.bytes, DType::f32, 0}), ErrorCode::data_loss);
  EXPECT_EQ(refused({good.offset, good.bytes, DType::f8_143, 1000}), ErrorCode::data_loss);
  // The range is a part of a record.
  EXPECT_EQ(refused({good.offset, good.bytes - 4, DType::f16, 0}), ErrorCode::invalid_argument);
  std::vector<NarrowWeights> overlap = {good, good};
  EXPECT_THROW(check_narrow(overlap, 1 << 20), Error);
}

}  // namespace
}  // namespace poprt::program
