// Models with recurrent states, compared with a reference of NumPy (tests/data/generation).
#include <random>

#include "core/generate/support.h"

namespace poprt::test {
namespace {

using generate::Decoder;
using generate::Finish;
using generate::Generator;
using nlohmann::json;

constexpr const char* kRecurrent = "expected_recurrent.json";

generate::GenerationSizes sizes_with(int64_t slots, const std::string& kind) {
  generate::GenerationSizes sizes{64, slots};
  if (kind != "rwkv") sizes.prefill = {8};
  return sizes;
}

class Recurrent : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const runtime::Model> model(int64_t slots) const {
    return generation_model(GetParam(), sizes_with(slots, GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Models, Recurrent,
                         testing::Values("mamba", "rwkv", "rwkv_states", "qwen_next", "lfm2",
                                         "lstm"),
                         [](const auto& info) { return info.param; });

TEST_P(Recurrent, GivesTheTokensAndProbabilitiesOfTheReference) {
  Generator generator(model(1));
  const auto texts = expected_texts(GetParam(), kRecurrent);
  ASSERT_EQ(texts.size(), 5u);
  for (const ExpectedText& wanted : texts) expect_text(generator, wanted, 1e-4);
}

TEST_P(Recurrent, GivesTheSameTokensToSequencesThatJoinAndLeave) {
  Generator generator(model(3));
  const auto texts = expected_texts(GetParam(), kRecurrent);
  expect_same_tokens_together(generator, texts, 60);
}

// A slot continues only if the new prompt begins with all of its tokens.
TEST_P(Recurrent, ReusesAStateThatThePromptContinues) {
  Generator generator(model(1), {.reuse_prefixes = true});
  const auto reused = [&] {
    return parse_json(generator.statistics())["reused_tokens"].get<int64_t>();
  };
  const ExpectedText text = expected_texts(GetParam(), kRecurrent)[2];
  generate::SequenceOptions options = as_expected(text);
  options.sampling.max_new_tokens = 6;
  EXPECT_EQ(read_text(*generator.submit(text.prompt, options)).tokens.size(), 6u);
  std::vector<int64_t> longer = text.prompt;
  longer.insert(longer.end(), text.tokens.begin(), text.tokens.begin() + 8);
  options.sampling.max_new_tokens = 3;
  EXPECT_EQ(read_text(*generator.submit(longer, options)).tokens,
            std::vector<int64_t>(text.tokens.begin() + 8, text.tokens.begin() + 11));
  EXPECT_EQ(reused(), static_cast<int64_t>(text.prompt.size()) + 5);
  // The slot has more tokens than this prompt, so it is computed again.
  options.sampling.max_new_tokens = 4;
  EXPECT_EQ(read_text(*generator.submit(text.prompt, options)).tokens,
            std::vector<int64_t>(text.tokens.begin(), text.tokens.begin() + 4));
  EXPECT_EQ(reused(), static_cast<int64_t>(text.prompt.size()) + 5);
}

std::vector<float> row_of(Decoder& decoder, size_t row) {
  const auto logits = decoder.logits(row);
  return {logits.begin(), logits.end()};
}

void append(Decoder& decoder, size_t slot, std::span<const int64_t> tokens) {
  for (size_t done = 0; done < tokens.size();) done += decoder.prefill(slot, tokens.subspan(done));
}

// A step computes all rows, and keeps the states of slots without a token.
TEST_P(Recurrent, AStepDoesNotChangeSlotsWithoutAToken) {
  Decoder decoder(model(3), {});
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30};
  for (size_t slot = 0; slot < 3; slot++) append(decoder, slot, prompt);
  decoder.decode(std::vector<int64_t>{4, 4, 4});
  const std::vector<float> wanted = row_of(decoder, 1);
  EXPECT_EQ(row_of(decoder, 0), wanted);
  decoder.roll_back(1, 0);
  append(decoder, 1, prompt);
  for (const int64_t token : {7, 8, 9}) decoder.decode(std::vector<int64_t>{token, -1, -1});
  decoder.decode(std::vector<int64_t>{-1, 4, -1});
  EXPECT_EQ(row_of(decoder, 1), wanted);
  EXPECT_EQ(decoder.length(0), 9);
  EXPECT_EQ(decoder.length(1), 6);
}

TEST_P(Recurrent, ASlotIsResetOrCopiedAndNotRolledBack) {
  Decoder decoder(model(3), {});
  append(decoder, 0, std::vector<int64_t>{5, 9, 2});
  decoder.copy(0, 2);
  decoder.decode(std::vector<int64_t>{4, -1, -1});
  const std::vector<float> wanted = row_of(decoder, 0);
  try {
    decoder.roll_back(0, 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(e.message(),
              "slot 0 has 4 tokens, cannot keep 2: the model has recurrent states, which can only "
              "be reset; copy the slot before the tokens that may be removed");
  }
  EXPECT_EQ(decoder.length(0), 4);
  decoder.roll_back(0, 4);
  decoder.copy(2, 0);
  decoder.decode(std::vector<int64_t>{4, -1, -1});
  EXPECT_EQ(row_of(decoder, 0), wanted);
  decoder.roll_back(0, 0);
  append(decoder, 0, std::vector<int64_t>{5, 9, 2});
  decoder.decode(std::vector<int64_t>{4, -1, -1});
  EXPECT_EQ(row_of(decoder, 0), wanted);
}

// Pieces of a prompt are full: 11 tokens are 8, 2 and 1.
TEST(RecurrentDecoder, ComputesAPromptInFullPieces) {
  Decoder decoder(generation_model("mamba", sizes_with(3, "mamba")), {});
  std::vector<size_t> taken;
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30, 7, 8, 1, 3, 12, 40};
  for (size_t done = 0; done < prompt.size(); done += taken.back())
    taken.push_back(decoder.prefill(1, std::span(prompt).subspan(done)));
  EXPECT_EQ(taken, (std::vector<size_t>{8, 2, 1}));
}

TEST(RecurrentDecoder, ABeamSearchCopiesStates) {
  Generator one(generation_model("lfm2", sizes_with(3, "lfm2")));
  const ExpectedText text = expected_texts("lfm2", kRecurrent)[1];
  generate::SequenceOptions options = as_expected(text);
  options.sampling.max_new_tokens = 8;
  options.beams.num_beams = 3;
  const auto s = one.submit(text.prompt, options);
  const Text best = read_text(*s);
  ASSERT_EQ(best.tokens.size(), 8u);
  // The log-probabilities equal those of the same text in a separate slot.
  Decoder decoder(generation_model("lfm2", sizes_with(1, "lfm2")), {});
  append(decoder, 0, text.prompt);
  for (size_t i = 0; i < best.tokens.size(); i++) {
    const auto logits = decoder.logits(0);
    double sum = 0;
    for (const float v : logits) sum += std::exp(static_cast<double>(v));
    const double log =
        static_cast<double>(logits[static_cast<size_t>(best.tokens[i])]) - std::log(sum);
    EXPECT_NEAR(best.log_probabilities[i], log, 1e-4) << i;
    decoder.decode(std::vector<int64_t>{best.tokens[i]});
  }
}

TEST(RecurrentDescription, IsCheckedAgainstTheProgram) {
  const auto refusal = [](const json& states) -> std::string {
    runtime::Model model = *generation_model("mamba", sizes_with(3, "mamba"));
    json changed = parse_json(model.opaque.at(generate::kGeneration));
    changed["states"] = states;
    model.opaque[generate::kGeneration] = json_text(changed);
    try {
      generate::read_description(model);
    } catch (const Error& e) {
      return e.message();
    }
    return "taken";
  };
  const auto d = generate::read_description(*generation_model("mamba", sizes_with(3, "mamba")));
  EXPECT_EQ(d.states.size(), 4u);
  EXPECT_TRUE(d.caches.empty());
  EXPECT_TRUE(d.mask_of_new_tokens);
  const std::string blob = "blob 'poprt.generation': ";
  const json conv = {"cache_params.past.conv.0", "cache_params.present.conv.0"};
  const json ssm = {"cache_params.past.ssm.0", "cache_params.present.ssm.0"};
  EXPECT_EQ(refusal(7), blob + "'states' is not a list");
  EXPECT_EQ(refusal(json::array({7})), blob + "a state is not [past, present]");
  EXPECT_EQ(refusal(json::array({json::array({"none", conv[1]})})),
            blob + "the program has no input 'none'");
  EXPECT_EQ(refusal(json::array({conv, json::array({ssm[0], conv[1]})})),
            blob +
                "state 'cache_params.past.ssm.0' has the shapes [3,32,4] and [3,32,4], or occurs "
                "twice");
  EXPECT_EQ(refusal(json::array({conv, conv})),
            blob +
                "state 'cache_params.past.conv.0' has the shapes "
                "[3,32,4] and [3,32,4], or occurs twice");
  EXPECT_EQ(refusal(json::array({conv})), blob + "the program has 5 outputs for 1 caches");
}

}  // namespace
}  // namespace poprt::test
