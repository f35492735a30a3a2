#include "generate/beams.h"

#include "core/generate/support.h"

namespace poprt::test {
namespace {

using generate::BeamOptions;
using generate::EarlyStopping;
using generate::Generator;
using generate::SequenceOptions;

// A search that NumPy computed (tests/data/generation/make_encoder_decoder.py).
struct ExpectedSearch {
  std::vector<int64_t> prompt;
  SequenceOptions options;
  std::vector<std::vector<int64_t>> texts;
  std::vector<double> scores;
};

std::vector<ExpectedSearch> expected_searches(const std::string& kind,
                                              const generate::Description& d) {
  std::vector<ExpectedSearch> searches;
  const nlohmann::json all = read_json("expected_beams.json");
  for (const auto& item : all.at(kind)) {
    ExpectedSearch e;
    e.prompt = item.at("prompt").get<std::vector<int64_t>>();
    SequenceOptions& o = e.options;
    o.source = item.value("source", std::vector<int64_t>());
    o.features = features_of(item);
    o.beams = {item.at("num_beams"), item.at("num_return_sequences"), item.at("length_penalty"),
               EarlyStopping::no};
    const nlohmann::json& early = item.at("early_stopping");
    if (early == true) o.beams.early_stopping = EarlyStopping::yes;
    if (early == "never") o.beams.early_stopping = EarlyStopping::never;
    o.sampling.max_new_tokens = item.at("max_new_tokens");
    for (const int64_t stop : item.at("stops").get<std::vector<int64_t>>())
      if (std::ranges::find(d.stop_tokens, stop) == d.stop_tokens.end())
        o.sampling.stop_tokens.push_back(stop);
    for (const auto& text : item.at("texts")) {
      e.texts.push_back(text.at("tokens"));
      e.scores.push_back(text.at("score"));
    }
    searches.push_back(std::move(e));
  }
  return searches;
}

generate::GenerationSizes beam_sizes(const std::string& kind) {
  if (kind == "whisper") return {36, 5, {}, 0};
  if (kind == "t5" || kind == "t5_old" || kind == "bart") return {36, 5, {}, 40};
  return {64, 5, {8}, 0};
}

void expect_search(generate::Sequence& s, const ExpectedSearch& wanted) {
  for (size_t i = 0; i < wanted.texts.size(); i++) {
    EXPECT_EQ(read_text(s).tokens, wanted.texts[i]) << "text " << i;
    EXPECT_NEAR(s.score(), wanted.scores[i], 2e-3);
    EXPECT_EQ(s.next_text(), i + 1 < wanted.texts.size());
  }
}

class Beams : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, Beams,
                         testing::Values("genai", "optimum", "gpt2", "t5", "t5_old", "bart",
                                         "whisper"),
                         [](const auto& info) { return info.param; });

TEST_P(Beams, GiveTheTextsAndScoresOfTheReference) {
  Generator generator(generation_model(GetParam(), beam_sizes(GetParam())));
  for (const ExpectedSearch& wanted : expected_searches(GetParam(), generator.description()))
    expect_search(*generator.submit(wanted.prompt, wanted.options), wanted);
}

TEST_P(Beams, ShareTheGeneratorWithOtherSequences) {
  Generator generator(generation_model(GetParam(), beam_sizes(GetParam())));
  const auto searches = expected_searches(GetParam(), generator.description());
  std::vector<std::shared_ptr<generate::Sequence>> running;
  for (int round = 0; round < 3; round++)
    for (const ExpectedSearch& wanted : searches)
      running.push_back(generator.submit(wanted.prompt, wanted.options));
  for (size_t i = 0; i < running.size(); i++)
    expect_search(*running[i], searches[i % searches.size()]);
  EXPECT_EQ(parse_json(generator.statistics())["active"], 0);
}

TEST(BeamOptionsOfSequences, AreChecked) {
  Generator generator(generation_model("genai", beam_sizes("genai")));
  const auto refused = [&](BeamOptions beams, double temperature = 0, bool waits = false) {
    SequenceOptions options;
    options.beams = beams;
    options.sampling.temperature = temperature;
    options.sampling.max_new_tokens = 2;
    options.wait_for_logits = waits;
    try {
      generator.submit(std::vector<int64_t>{1}, options);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_FALSE(refused({5, 5, 1}));
  EXPECT_TRUE(refused({6, 1, 1}));  // there are 5 slots
  EXPECT_TRUE(refused({0, 1, 1}));
  EXPECT_TRUE(refused({2, 3, 1}));
  EXPECT_TRUE(refused({2, 0, 1}));
  EXPECT_TRUE(refused({2, 1, 1e9}));
  EXPECT_TRUE(refused({2, 1, std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_TRUE(refused({2, 1, 1}, 0.5));
  EXPECT_TRUE(refused({2, 1, 1}, 0, true));
}

TEST(BeamOptionsOfSequences, TheRefusalNamesTheValueAndItsRange) {
  const auto refusal = [](const BeamOptions& options, int64_t slots) {
    try {
      generate::check(options, slots);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("taken");
  };
  EXPECT_EQ(refusal({6, 1, 1}, 5),
            "num_beams is 6, and the generator has 5 slots; each beam needs one");
  EXPECT_EQ(refusal({3, 4, 1}, 5), "num_return_sequences is 4, expected 1 to num_beams (3)");
  EXPECT_EQ(refusal({3, 1, 101}, 5), "length_penalty is 101, expected -100 to 100");
  EXPECT_EQ(refusal({5, 5, 100}, 5), "taken");
  EXPECT_EQ(refusal({1, 1, -100}, 1), "taken");
}

TEST(BeamSearches, CanBeCancelledWhileTheyWaitForSlots) {
  Generator generator(generation_model("genai", beam_sizes("genai")));
  SequenceOptions holding;
  holding.wait_for_logits = true;  // holds one of the 5 slots until its logits are taken
  const auto holder = generator.submit(std::vector<int64_t>{1}, holding);
  SequenceOptions options;
  options.beams.num_beams = 5;
  options.sampling.ignore_stop = true;
  const auto search = generator.submit(std::vector<int64_t>{1}, options);
  search->cancel();
  EXPECT_EQ(search->next(), std::nullopt);
  EXPECT_EQ(search->finish(), generate::Finish::cancelled);
  EXPECT_FALSE(search->next_text());
  holder->cancel();
  EXPECT_EQ(holder->next(), std::nullopt);
  EXPECT_EQ(holder->finish(), generate::Finish::cancelled);
}

TEST(BeamSearches, EndWhenTheyAreCancelled) {
  Generator generator(generation_model("genai", beam_sizes("genai")));
  SequenceOptions options;
  options.beams.num_beams = 5;
  options.sampling.ignore_stop = true;
  const auto search = generator.submit(std::vector<int64_t>{1}, options);
  search->cancel();
  while (search->finish() == generate::Finish::none) static_cast<void>(search->next());
  options.sampling.max_new_tokens = 2;
  const auto next = generator.submit(std::vector<int64_t>{1}, options);
  EXPECT_TRUE(next->next().has_value()) << "its slots are free again";
}

}  // namespace
}  // namespace poprt::test
