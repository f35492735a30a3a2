// Models with an encoder: T5, BART and Whisper in the forms of optimum, and Whisper in that of
// onnxruntime-genai.
#include "generate/generator.h"

#include <random>
#include <thread>

#include "core/generate/support.h"

namespace poprt::test {
namespace {

using generate::Decoder;
using generate::Finish;
using generate::Generator;
using generate::SequenceOptions;

class EncoderDecoder : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Models, EncoderDecoder,
                         testing::Values("t5", "t5_old", "bart", "whisper", "whisper_genai",
                                         "whisper_genai_init"),
                         [](const auto& info) { return info.param; });

generate::GenerationSizes sizes_of(const std::string& kind, int64_t slots) {
  return {.max_length = 36,
          .slots = slots,
          .prefill = {},
          .encoder_length = kind.starts_with("whisper") ? 0 : 40};
}

// The texts of a model. All forms of Whisper have the same weights.
std::vector<ExpectedText> texts_of(const std::string& kind) {
  return expected_texts(kind.starts_with("whisper") ? "whisper" : kind, kEncoderDecoder);
}

TEST_P(EncoderDecoder, GivesTheTokensAndProbabilitiesOfTheReference) {
  for (const int64_t slots : {1, 3}) {
    Generator generator(generation_model(GetParam(), sizes_of(GetParam(), slots)));
    for (const ExpectedText& wanted : texts_of(GetParam())) expect_text(generator, wanted, 1e-3);
  }
}

TEST_P(EncoderDecoder, UpdatesItsCachesInPlaceAndRunsTheEncoderOnce) {
  const auto model = generation_model(GetParam(), sizes_of(GetParam(), 3));
  const generate::Description d = generate::read_description(*model);
  for (const generate::Cache& c : d.caches)
    EXPECT_TRUE(c.in_place) << model->inputs()[c.input].name;
  ASSERT_TRUE(d.encoder);
  EXPECT_EQ(d.encoder->cross.size(), 4u);
  EXPECT_EQ(d.encoder->places, GetParam().starts_with("whisper") ? 24 : 40);
  Generator generator(model);
  const ExpectedText text = texts_of(GetParam())[1];
  for (int i = 0; i < 3; i++) read_text(*generator.submit(text.prompt, as_expected(text)));
  EXPECT_EQ(parse_json(generator.statistics())["encoder_runs"], 3);
}

TEST_P(EncoderDecoder, GivesTheSameTokensToSequencesThatJoinAndLeave) {
  Generator generator(generation_model(GetParam(), sizes_of(GetParam(), 3)));
  const auto texts = texts_of(GetParam());
  expect_same_tokens_together(generator, texts, 40);
}

TEST_P(EncoderDecoder, StartsWithTheTokenOfTheModel) {
  Generator generator(generation_model(GetParam(), sizes_of(GetParam(), 1)));
  EXPECT_EQ(generator.description().start_tokens, std::vector<int64_t>{3});
  EXPECT_EQ(generator.description().stop_tokens, std::vector<int64_t>{2});
  const ExpectedText text = texts_of(GetParam())[0];
  ASSERT_EQ(text.prompt, std::vector<int64_t>{3});
  EXPECT_EQ(read_text(*generator.submit({}, as_expected(text))).tokens, text.tokens);
}

TEST_P(EncoderDecoder, KeepsTheSourceOfACopiedSlot) {
  Decoder decoder(generation_model(GetParam(), sizes_of(GetParam(), 3)), {});
  const auto texts = texts_of(GetParam());
  for (size_t slot = 0; slot < 2; slot++) {
    decoder.encode(slot, texts[slot].source, texts[slot].features);
    decoder.prefill(slot, std::vector<int64_t>{3});
  }
  decoder.copy(1, 2);
  decoder.decode(std::vector<int64_t>{8, 8, 8});
  const std::vector<float> first(decoder.logits(0).begin(), decoder.logits(0).end());
  EXPECT_TRUE(std::ranges::equal(decoder.logits(1), decoder.logits(2)));
  EXPECT_FALSE(std::ranges::equal(decoder.logits(1), first));
}

TEST(EncoderDecoderSources, AreChecked) {
  const auto code_of = [](const std::string& kind, SequenceOptions options) {
    Generator generator(generation_model(kind, sizes_of(kind, 1)));
    try {
      generator.submit({}, options);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  SequenceOptions tokens, features, none;
  tokens.source = {1, 2};
  features.features = std::vector<float>(6 * 48);
  EXPECT_EQ(code_of("t5", tokens), ErrorCode::ok);
  EXPECT_EQ(code_of("whisper", features), ErrorCode::ok);
  EXPECT_EQ(code_of("t5", none), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of("t5", features), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of("whisper", tokens), ErrorCode::invalid_argument);
  features.features.pop_back();
  EXPECT_EQ(code_of("whisper", features), ErrorCode::invalid_argument);
  tokens.source = {1, 53};
  EXPECT_EQ(code_of("t5", tokens), ErrorCode::invalid_argument);
  tokens.source.assign(41, 1);
  EXPECT_EQ(code_of("t5", tokens), ErrorCode::out_of_range);
  Generator decoder_only(generation_model("genai", {64, 1, {8}, 0}));
  tokens.source = {1};
  EXPECT_THROW(decoder_only.submit(std::vector<int64_t>{1}, tokens), Error);
}

// The model of a folder with further settings in its generation_config.json.
std::shared_ptr<const runtime::Model> model_with(const std::string& kind,
                                                 const std::string& settings, int64_t slots = 1) {
  generate::ModelFolder folder = generate::open_folder(generation_data() / kind);
  const nlohmann::json json = parse_json(settings);
  if (json.contains("first")) folder.forced_first = json["first"].get<int64_t>();
  if (json.contains("last")) folder.forced_last = json["last"].get<int64_t>();
  if (json.contains("never")) folder.suppressed = json["never"].get<std::vector<int64_t>>();
  if (json.contains("begin")) folder.suppressed_first = json["begin"].get<std::vector<int64_t>>();
  return compile_model_of(folder, sizes_of(kind, slots));
}

TEST(EncoderDecoderSettings, ForceTheFirstAndTheLastToken) {
  Generator generator(model_with("bart", R"({"first": 17, "last": 19})"));
  SequenceOptions options;
  options.source = {5, 6, 7};
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 6;
  const Text text = read_text(*generator.submit({}, options));
  ASSERT_EQ(text.tokens.size(), 6u);
  EXPECT_EQ(text.tokens.front(), 17);
  EXPECT_EQ(text.tokens.back(), 19);
  EXPECT_LT(text.log_probabilities.front(), 0);
}

// As in transformers, a forced token has the probability 1 in the score of a text.
TEST(EncoderDecoderSettings, ForceTokensOfAllBeams) {
  Generator generator(model_with("bart", R"({"first": 17, "last": 19})", 3));
  SequenceOptions options;
  options.source = {5, 6, 7};
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 5;
  options.beams = {3, 3, 0};  // the score is the sum of the log-probabilities
  const auto s = generator.submit({}, options);
  for (int i = 0; i < 3; i++) {
    const Text text = read_text(*s);
    ASSERT_EQ(text.tokens.size(), 5u);
    EXPECT_EQ(text.tokens.front(), 17);
    EXPECT_EQ(text.tokens.back(), 19);
    const auto& p = text.log_probabilities;
    EXPECT_NEAR(s->score(), p[1] + p[2] + p[3], 1e-4);
    EXPECT_EQ(s->next_text(), i < 2);
  }
}

TEST(EncoderDecoderSettings, SuppressTokens) {
  const ExpectedText text = expected_texts("whisper", kEncoderDecoder)[0];
  const auto first_of = [&](const std::string& settings) {
    Generator generator(model_with("whisper", settings));
    return read_text(*generator.submit({}, as_expected(text))).tokens;
  };
  const std::string token = std::to_string(text.tokens[0]);
  EXPECT_NE(first_of("{\"begin\": [" + token + "]}")[0], text.tokens[0]);
  const auto without = first_of("{\"never\": [" + token + "]}");
  EXPECT_EQ(std::ranges::count(without, text.tokens[0]), 0);
}

}  // namespace
}  // namespace poprt::test
