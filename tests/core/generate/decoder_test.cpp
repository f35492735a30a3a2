#include "generate/decoder.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "core/generate/support.h"

namespace poprt::test {
namespace {

using generate::Decoder;

// The logits of a text from a decoder that has only this text, computed token by token.
std::vector<float> logits_of(Decoder& fresh, std::span<const int64_t> text) {
  fresh.roll_back(0, 0);
  for (const int64_t token : text) fresh.prefill(0, std::span(&token, 1));
  const auto logits = fresh.logits(0);
  return {logits.begin(), logits.end()};
}

void expect_close_to(std::span<const float> got, const std::vector<float>& wanted,
                     float tolerance) {
  for (size_t i = 0; i < wanted.size(); i++) ASSERT_NEAR(got[i], wanted[i], tolerance) << i;
}

class DecoderSlots : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, DecoderSlots,
                         testing::Values("genai", "optimum", "gpt2", "static", "gpt2_packed",
                                         "transformers", "ring", "sliding", "sizes", "causal",
                                         "genai_int8", "optimum_int8", "gpt2_int8", "static_int8",
                                         "gpt2_packed_int8", "ring_int8", "sliding_int8",
                                         "causal_int8"),
                         [](const auto& info) { return info.param; });

// The places of the caches of "ring" (tests/data/generation/make.py).
constexpr size_t kRing = 16;

// Random operations on the slots, compared with a decoder without state.
TEST_P(DecoderSlots, HoldTheirTextsAfterRandomOperations) {
  // A number that is in the middle of two bytes may become either, which changes the logits more.
  const float tolerance = GetParam().ends_with(kByteCaches) ? 0.1f : 1e-4f;
  Decoder decoder(generation_model(GetParam(), {64, 3, {4, 8}}), {});
  Decoder fresh(generation_model(GetParam(), {64, 1, {8}}), {});
  std::vector<std::vector<int64_t>> texts(3);
  std::mt19937 random(3);
  const auto token = [&] { return static_cast<int64_t>(random() % 53); };
  const char* const wanted = std::getenv("POPRT_SLOT_OPERATIONS");
  const int steps = wanted ? std::atoi(wanted) : 150;
  for (int step = 0; step < steps; step++) {
    const size_t slot = random() % 3, other = random() % 3;
    std::vector<int64_t>& text = texts[slot];
    switch (random() % 5) {
      case 0:
        if (decoder.description().ring && text.size() >= kRing) {
          if (text.size() > 1)
            EXPECT_THROW(decoder.roll_back(slot, static_cast<int64_t>(text.size()) - 1), Error);
          text.clear();
        }
        text.resize(random() % (text.size() + 1));
        decoder.roll_back(slot, static_cast<int64_t>(text.size()));
        break;
      case 1:
        decoder.copy(slot, other);
        texts[other] = text;
        break;
      case 2: {
        std::vector<int64_t> added(1 + random() % 20);
        for (int64_t& t : added) t = token();
        if (text.size() + added.size() >= 64) {
          EXPECT_THROW(decoder.prefill(slot, added), Error);
          break;
        }
        for (size_t done = 0; done < added.size();)
          done += decoder.prefill(slot, std::span(added).subspan(done));
        text.insert(text.end(), added.begin(), added.end());
        expect_close_to(decoder.logits(0), logits_of(fresh, text), tolerance);
        break;
      }
      default: {
        std::vector<int64_t> next(3, -1);
        for (size_t s = 0; s < 3; s++)
          if (random() % 3 && texts[s].size() < 63) next[s] = token();
        decoder.decode(next);
        for (size_t s = 0; s < 3; s++) {
          if (next[s] < 0) continue;
          texts[s].push_back(next[s]);
          expect_close_to(decoder.logits(s), logits_of(fresh, texts[s]), tolerance);
        }
      }
    }
    for (size_t s = 0; s < 3; s++)
      ASSERT_EQ(decoder.length(s), static_cast<int64_t>(texts[s].size()));
  }
}

class ByteCaches : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, ByteCaches, testing::Values("genai", "optimum", "gpt2", "static"),
                         [](const auto& info) { return info.param; });

// Rows of 4 numbers and a scale have 8 bytes instead of 16. In real models, whose rows are longer,
// caches have about a quarter of the bytes.
TEST_P(ByteCaches, AreSmallerAndInPlace) {
  const auto plain = generation_model(GetParam(), {64, 3, {8}}),
             bytes = generation_model(GetParam() + std::string(kByteCaches), {64, 3, {8}});
  EXPECT_EQ(Decoder(plain, {}).cache_bytes(), 2 * Decoder(bytes, {}).cache_bytes());
  const generate::Description d = generate::read_description(*bytes);
  EXPECT_EQ(d.cache_precision, "int8");
  EXPECT_EQ(generate::read_description(*plain).cache_precision, "");
  for (const generate::Cache& c : d.caches) {
    EXPECT_EQ(bytes->inputs()[c.input].dtype, DType::s8);
    EXPECT_TRUE(c.in_place) << bytes->inputs()[c.input].name;
  }
}

// The program for a piece that fills the cache does not read it.
TEST_P(ByteCaches, TakeAPieceThatFillsThem) {
  const auto model = generation_model(GetParam() + std::string(kByteCaches), {64, 1, {64}});
  Decoder bytes(model, {}), plain(generation_model(GetParam(), {64, 1, {8}}), {});
  const std::vector<int64_t> tokens(40, 5);
  EXPECT_EQ(bytes.prefill(0, tokens), 40u);
  for (size_t done = 0; done < tokens.size();)
    done += plain.prefill(0, std::span(tokens).subspan(done));
  for (Decoder* d : {&plain, &bytes}) d->prefill(0, std::vector<int64_t>{7});
  for (size_t i = 0; i < 53; i++) EXPECT_NEAR(plain.logits(0)[i], bytes.logits(0)[i], 0.3f) << i;
}

// The logits of random texts differ little from those with exact caches.
TEST_P(ByteCaches, ChangeTheLogitsLittle) {
  Decoder plain(generation_model(GetParam(), {64, 3, {8}}), {});
  Decoder bytes(generation_model(GetParam() + std::string(kByteCaches), {64, 3, {8}}), {});
  std::mt19937 random(9);
  double error = 0, size = 0;
  for (int text = 0; text < 6; text++) {
    std::vector<int64_t> tokens(62);
    for (int64_t& t : tokens) t = static_cast<int64_t>(random() % 53);
    for (Decoder* d : {&plain, &bytes}) d->roll_back(0, 0);
    for (size_t done = 0; done < tokens.size();) {
      const auto rest =
          std::span(tokens).subspan(done, std::min(tokens.size() - done, done % 9 + 1));
      const size_t count = plain.prefill(0, rest);
      ASSERT_EQ(bytes.prefill(0, rest.first(count)), count);
      done += count;
      for (size_t i = 0; i < 53; i++) {
        const double want = static_cast<double>(plain.logits(0)[i]),
                     got = static_cast<double>(bytes.logits(0)[i]);
        error += (got - want) * (got - want);
        size += want * want;
      }
    }
  }
  EXPECT_LT(std::sqrt(error / size), 0.02);
  EXPECT_GT(std::sqrt(error / size), 1e-4) << "the caches have 8 bits";
}

TEST(Decoder, GivesTheSameLogitsInEachSlotBitForBit) {
  Decoder decoder(generation_model("genai", {64, 3, {8}}), {});
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30, 7, 8, 1, 3};
  for (size_t slot = 0; slot < 3; slot++)
    for (size_t done = 0; done < prompt.size();)
      done += decoder.prefill(slot, std::span(prompt).subspan(done));
  decoder.decode(std::vector<int64_t>{4, 4, 4});
  const std::vector<float> first(decoder.logits(0).begin(), decoder.logits(0).end());
  for (size_t slot = 1; slot < 3; slot++)
    EXPECT_TRUE(std::ranges::equal(decoder.logits(slot), first));
  decoder.roll_back(1, 9);
  decoder.decode(std::vector<int64_t>{-1, 4, -1});  // alone
  EXPECT_TRUE(std::ranges::equal(decoder.logits(1), first));
}

std::string refusal_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "taken";
}

// The program whose runs take the least time for all tokens, if its padding fits; else the largest
// that is full.
TEST(Decoder, PrefillsAsManyTokensAsOneProgramTakes) {
  Decoder wide(generation_model("genai", {64, 2, {4, 32}}), {});
  const std::vector<int64_t> many(40, 5);
  const auto first_piece = [&](size_t count) {
    wide.roll_back(0, 0);
    return wide.prefill(0, std::span(many).first(count));
  };
  EXPECT_EQ(first_piece(40), 32u);
  EXPECT_EQ(first_piece(17), 17u);
  EXPECT_EQ(first_piece(16), 4u) << "four runs of 4 tokens take less time than one of 32";
  Decoder decoder(generation_model("genai", {64, 2, {4, 8}}), {});
  const std::vector<int64_t> tokens(63, 5);
  const auto taken = [&](int64_t length, size_t count) {
    decoder.roll_back(1, 0);
    while (decoder.length(1) < length)
      decoder.prefill(1, std::span(tokens).first(static_cast<size_t>(length - decoder.length(1))));
    const size_t n = decoder.prefill(1, std::span(tokens).first(count));
    EXPECT_EQ(decoder.length(1), length + static_cast<int64_t>(n));
    EXPECT_EQ(decoder.length(0), 0);
    return n;
  };
  EXPECT_EQ(taken(0, 1), 1u);
  EXPECT_EQ(taken(0, 3), 3u);
  EXPECT_EQ(taken(0, 4), 4u);
  EXPECT_EQ(taken(0, 5), 5u);
  EXPECT_EQ(taken(0, 9), 8u);
  EXPECT_EQ(taken(56, 7), 7u) << "padded to the end of the cache";
  EXPECT_EQ(taken(57, 6), 4u) << "eight places do not fit";
  EXPECT_EQ(taken(60, 3), 3u);
  EXPECT_EQ(taken(61, 2), 1u) << "four places do not fit";
}

// Pieces that would replace tokens which their first token sees are computed one token at a time.
TEST(Decoder, DoesNotReplaceTokensOfARingThatAPieceReads) {
  Decoder decoder(generation_model("ring", {64, 2, {4, 8}}), {});
  const generate::Description& d = decoder.description();
  EXPECT_EQ(d.ring, static_cast<int64_t>(kRing));
  EXPECT_EQ(d.max_length, 64);
  EXPECT_EQ(decoder.cache_bytes(), 2u * 4u * kRing * 16u * sizeof(float)) << "slots, caches";
  const std::vector<int64_t> tokens(40, 5);
  std::vector<size_t> pieces;
  for (size_t done = 0; done < tokens.size(); done += pieces.back())
    pieces.push_back(decoder.prefill(1, std::span(tokens).subspan(done)));
  std::vector<size_t> wanted = {8, 8};
  wanted.resize(2 + 24, 1);
  EXPECT_EQ(pieces, wanted);
  EXPECT_EQ(
      refusal_of([&] { decoder.roll_back(1, 39); }),
      "failed_precondition: slot 1 has 40 tokens, cannot keep 39: its caches are rings of 16 "
      "places, which do not have the first tokens; copy the slot before the tokens that may be "
      "removed");
  decoder.roll_back(1, 40);
  decoder.roll_back(1, 0);
  EXPECT_EQ(decoder.length(1), 0);
}

TEST(Decoder, RefusesTokensForAFullSlot) {
  Decoder decoder(generation_model("genai", {64, 2, {4, 8}}), {});
  const std::vector<int64_t> tokens(64, 5);
  const std::string failed = "failed_precondition: slot 1 has ";
  EXPECT_EQ(refusal_of([&] { decoder.prefill(1, tokens); }),
            failed + "0 of 64 tokens, cannot append 64");
  EXPECT_EQ(refusal_of([&] { decoder.prefill(1, {}); }),
            failed + "0 of 64 tokens, cannot append 0");
  while (decoder.length(1) < 62)
    decoder.prefill(1, std::span(tokens).first(static_cast<size_t>(62 - decoder.length(1))));
  EXPECT_EQ(refusal_of([&] { decoder.decode(std::vector<int64_t>{-1, 5}); }), "taken");
  EXPECT_EQ(decoder.length(0), 0);
  EXPECT_EQ(decoder.length(1), 63);
  EXPECT_EQ(refusal_of([&] { decoder.decode(std::vector<int64_t>{5, 5}); }),
            failed + "63 tokens and no place for a further one");
  EXPECT_EQ(refusal_of([&] { decoder.decode(std::vector<int64_t>{-1, 0}); }),
            failed + "63 tokens and no place for a further one");
  EXPECT_EQ(refusal_of([&] { decoder.decode(std::vector<int64_t>{0, -1}); }), "taken");
  EXPECT_EQ(decoder.length(0), 1);
  EXPECT_EQ(decoder.length(1), 63);
}

TEST(Decoder, RollsBackToAnyLengthThatItHad) {
  Decoder decoder(generation_model("genai", {64, 2, {4, 8}}), {});
  decoder.prefill(0, std::vector<int64_t>{1, 2, 3});
  decoder.copy(0, 0);
  EXPECT_EQ(decoder.length(0), 3);
  EXPECT_EQ(refusal_of([&] { decoder.roll_back(0, 4); }),
            "invalid_argument: slot 0 has 3 tokens, cannot keep 4");
  EXPECT_EQ(refusal_of([&] { decoder.roll_back(0, -1); }),
            "invalid_argument: slot 0 has 3 tokens, cannot keep -1");
  for (const int64_t length : {3, 2, 0}) {
    EXPECT_EQ(refusal_of([&] { decoder.roll_back(0, length); }), "taken");
    EXPECT_EQ(decoder.length(0), length);
  }
}

TEST(Decoder, RefusesToRollForward) {
  Decoder decoder(generation_model("genai", {64, 3, {8}}), {});
  EXPECT_THROW(decoder.roll_back(0, 1), Error);
  EXPECT_THROW(decoder.roll_back(0, -1), Error);
}

TEST(Decoder, FailsIfItIsStopped) {
  Decoder decoder(generation_model("genai", {64, 3, {8}}), {});
  decoder.stop();
  const int64_t token = 1;
  EXPECT_THROW(decoder.prefill(0, std::span(&token, 1)), Error);
}

}  // namespace
}  // namespace poprt::test
