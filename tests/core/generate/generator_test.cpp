#include "generate/generator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "core/generate/support.h"
#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::test {
namespace {

using generate::Finish;
using generate::Generator;
using generate::Sequence;
using generate::SequenceOptions;
using std::chrono::nanoseconds;

class Generation : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Models, Generation,
                         testing::Values("genai", "optimum", "gpt2", "static", "gpt2_packed",
                                         "transformers", "ring", "sliding", "sizes", "causal"),
                         [](const auto& info) { return info.param; });

TEST_P(Generation, GivesTheTokensAndProbabilitiesOfTheReference) {
  Generator generator(generation_model(GetParam(), {64, 1, {8}}));
  for (const ExpectedText& wanted : expected_texts(GetParam()))
    expect_text(generator, wanted, 1e-4);
}

TEST_P(Generation, UpdatesItsCachesInPlace) {
  const auto model = generation_model(GetParam(), {64, 3, {8}});
  for (const generate::Cache& c : generate::read_description(*model).caches)
    EXPECT_TRUE(c.in_place) << model->inputs()[c.input].name;
}

// Neither a step nor a piece of a prompt joins a cache with new rows.
TEST(Generator, AttentionReadsCachesThatGrowAfterTheWrite) {
  for (const char* kind :
       {"optimum", "gpt2", "gpt2_packed", "transformers", "sliding", "sizes", "causal"}) {
    const auto model = generation_model(kind, {64, 3, {8}});
    const auto& kernels = model->program().kernels;
    EXPECT_TRUE(std::ranges::count(kernels, "attention_generic")) << kind;
    EXPECT_FALSE(std::ranges::count(kernels, "softmax")) << kind;
  }
}

TEST_P(Generation, GivesTheSameTokensToSequencesThatJoinAndLeave) {
  Generator generator(generation_model(GetParam(), {64, 3, {8}}));
  const auto texts = expected_texts(GetParam());
  expect_same_tokens_together(generator, texts, 60);
}

TEST_P(Generation, GivesTheSameTokensAfterASharedPrefix) {
  Generator generator(generation_model(GetParam(), {64, 2, {8}}), {.reuse_prefixes = true});
  for (const ExpectedText& text : expected_texts(GetParam())) {
    for (size_t cut = 1; cut <= text.tokens.size(); cut += 7) {
      std::vector<int64_t> prompt = text.prompt;
      prompt.insert(prompt.end(), text.tokens.begin(),
                    text.tokens.begin() + static_cast<std::ptrdiff_t>(cut - 1));
      SequenceOptions options = as_expected(text);
      options.sampling.max_new_tokens = 1;
      EXPECT_EQ(read_text(*generator.submit(prompt, options)).tokens[0], text.tokens[cut - 1]);
    }
  }
  EXPECT_GT(parse_json(generator.statistics())["reused_tokens"], 50);
}

class ByteCacheGeneration : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, ByteCacheGeneration,
                         testing::Values("genai", "optimum", "gpt2", "static", "gpt2_packed",
                                         "transformers", "ring", "sliding", "sizes", "causal"),
                         [](const auto& info) { return info.param; });

// The tokens are those of exact caches, until two tokens are almost equally probable. Alone and
// with others, a text has the same tokens.
TEST_P(ByteCacheGeneration, GivesTheTokensOfExactCachesUntilTheMarginIsSmall) {
  constexpr float kMargin = 0.5f;
  const auto model = generation_model(GetParam() + std::string(kByteCaches), {64, 3, {8}});
  Generator exact(generation_model(GetParam(), {64, 3, {8}})), alone(model), together(model);
  size_t equal = 0;
  std::vector<std::vector<int64_t>> wanted;
  for (const ExpectedText& text : expected_texts(GetParam())) {
    wanted.push_back(read_text(*alone.submit(text.prompt, as_expected(text))).tokens);
    SequenceOptions options = as_expected(text);
    options.wait_for_logits = true;
    const auto s = exact.submit(text.prompt, options);
    for (size_t i = 0; i < text.tokens.size(); i++) {
      std::vector<float> logits = s->logits();
      s->resume(logits);
      const int64_t token = s->next()->id;
      std::ranges::sort(logits, std::greater<>());
      if (wanted.back()[i] == token) {
        equal++;
        continue;
      }
      EXPECT_LT(logits[0] - logits[1], kMargin) << "token " << i;
      break;
    }
    s->cancel();
  }
  EXPECT_GT(equal, 60u);
  std::vector<std::shared_ptr<generate::Sequence>> running;
  const auto texts = expected_texts(GetParam());
  for (int round = 0; round < 3; round++)
    for (const ExpectedText& text : texts)
      running.push_back(together.submit(text.prompt, as_expected(text)));
  for (size_t i = 0; i < running.size(); i++)
    EXPECT_EQ(read_text(*running[i]).tokens, wanted[i % wanted.size()]);
}

// A prefix that another text left gives the logits that the text itself would give.
TEST_P(ByteCacheGeneration, ReusesPrefixes) {
  const auto model = generation_model(GetParam() + std::string(kByteCaches), {64, 2, {8}});
  Generator generator(model, {.reuse_prefixes = true}), fresh(model);
  const ExpectedText text = expected_texts(GetParam())[2];
  SequenceOptions options;
  options.sampling.max_new_tokens = 1;
  options.sampling.ignore_stop = true;
  std::vector<int64_t> prompt = text.prompt;
  for (const int64_t token : text.tokens) {
    const Text got = read_text(*generator.submit(prompt, options)),
               wanted = read_text(*fresh.submit(prompt, options));
    EXPECT_NEAR(got.log_probabilities[0], wanted.log_probabilities[0], 0.1);
    prompt.push_back(token);
  }
  EXPECT_GT(parse_json(generator.statistics())["reused_tokens"], 50);
}

TEST(Generator, EndsAtAStopTokenOfTheModel) {
  Generator generator(generation_model("genai", {64, 1, {8}}));
  // Stop token 7 of genai_config.json does not occur in the text; stop token 24 of the caller does.
  const ExpectedText text = expected_texts("genai")[0];
  SequenceOptions options;
  options.sampling.stop_tokens = {24};
  const auto s = generator.submit(text.prompt, options);
  const auto end = std::find(text.tokens.begin(), text.tokens.end(), 24);
  ASSERT_NE(end, text.tokens.end());
  EXPECT_EQ(read_text(*s).tokens, std::vector<int64_t>(text.tokens.begin(), end + 1));
  EXPECT_EQ(s->finish(), Finish::stop);
  EXPECT_EQ(generator.description().stop_tokens, (std::vector<int64_t>{7}));
}

// Before min_new_tokens, stop tokens of the model and of the caller are not chosen.
TEST(Generator, ChoosesNoStopTokenBeforeTheFewestNewTokens) {
  Generator generator(generation_model("genai", {64, 1, {8}}));
  const ExpectedText text = expected_texts("genai")[0];
  for (const int64_t least : {0, 1, 2, 3}) {
    SequenceOptions options;
    options.wait_for_logits = true;
    options.sampling.stop_tokens = {24};
    options.sampling.min_new_tokens = least;
    for (const size_t stop : {7, 24}) {
      const auto s = generator.submit(text.prompt, options);
      int64_t made = 0;
      for (std::vector<float> logits = s->logits(); !logits.empty(); logits = s->logits()) {
        logits[stop] = 1e6f;
        s->resume(logits);
        const auto token = s->next();
        made++;
        EXPECT_EQ(token->id == static_cast<int64_t>(stop), made > least);
      }
      EXPECT_EQ(made, least + 1);
      EXPECT_EQ(s->finish(), Finish::stop);
    }
  }
}

TEST(Generator, IgnoresTheStopTokensOfTheModelOnlyOnRequest) {
  Generator generator(generation_model("genai", {64, 1, {8}}));
  const auto finish = [&](bool ignore, std::vector<int64_t> stop) {
    SequenceOptions options;
    options.wait_for_logits = true;
    options.sampling.max_new_tokens = 2;
    options.sampling.ignore_stop = ignore;
    options.sampling.stop_tokens = std::move(stop);
    const auto s = generator.submit(std::vector<int64_t>{1, 2}, options);
    for (std::vector<float> logits = s->logits(); !logits.empty(); logits = s->logits()) {
      logits[7] = 1e6f;
      s->resume(logits);
      s->next();
    }
    return s->finish();
  };
  EXPECT_EQ(finish(false, {}), Finish::stop);
  EXPECT_EQ(finish(true, {}), Finish::length);
  EXPECT_EQ(finish(true, {7}), Finish::stop);
}

// The destructor of the generator ends the sequences, whose callbacks may submit others.
TEST(Generator, RefusesSequencesWhileItIsDestroyed) {
  auto generator = std::make_unique<Generator>(generation_model("genai", {64, 1, {8}}));
  Generator* const ending = generator.get();
  std::atomic<bool> destroyed = false;
  std::set<std::string> refusals;
  SequenceOptions options;
  options.wait_for_logits = true;
  const auto s = generator->submit(std::vector<int64_t>{1, 2}, options, [&] {
    if (!destroyed) return;
    std::thread([&] {  // the thread of the generator must not submit
      try {
        ending->submit(std::vector<int64_t>{1}, {});
        refusals.insert("submitted");
      } catch (const Error& e) {
        refusals.insert(e.message());
      }
    })
        .join();
  });
  EXPECT_FALSE(s->logits().empty());  // the sequence waits for its caller from now on
  destroyed = true;
  generator.reset();
  EXPECT_EQ(refusals, std::set<std::string>{"the generator was stopped"});
  EXPECT_NE(s->finish(), Finish::none);
}

// Telemetry of the process in a folder of the test.
class GeneratorTelemetry : public testing::Test {
 protected:
  GeneratorTelemetry() {
    char name[] = "/tmp/poprt_generator_XXXXXX";
    folder = ::mkdtemp(name);
    ::setenv("POPRT_TELEMETRY_DIR", folder.c_str(), 1);
    ::setenv("POPRT_TELEMETRY", "1", 1);
  }
  ~GeneratorTelemetry() override {
    ::unsetenv("POPRT_TELEMETRY_DIR");
    ::unsetenv("POPRT_TELEMETRY");
    std::filesystem::remove_all(folder);
  }
  runtime::TelemetrySnapshot read() const {
    const auto found = runtime::list_segments(folder);
    EXPECT_EQ(found.size(), 1u);
    return runtime::read_segment(found.at(0).path);
  }

  std::filesystem::path folder;
};

TEST_F(GeneratorTelemetry, HasTheStateOfSlotsTokensAndCaches) {
  const auto model = generation_model("genai", {64, 2, {8}});
  uint64_t bytes = 0;
  for (const generate::Cache& c : generate::read_description(*model).caches)
    bytes += model->inputs()[c.input].bytes();
  Generator generator(model);
  runtime::GeneratorSnapshot g = *read().generator;
  EXPECT_EQ(g.slots, 2u);
  EXPECT_EQ(g.max_length, 64u);
  EXPECT_EQ(g.cache_bytes, bytes);
  EXPECT_EQ(g.busy + g.waiting + g.used + g.submitted, 0u);
  // Two sequences wait for their logits in slots, and one waits for a slot.
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 4;
  options.wait_for_logits = true;
  const std::vector<int64_t> prompt = {5, 9, 2};
  std::vector<std::shared_ptr<generate::Sequence>> all;
  for (int i = 0; i < 3; i++) all.push_back(generator.submit(prompt, options));
  std::vector<std::vector<float>> logits;
  for (int i = 0; i < 2; i++) logits.push_back(all[static_cast<size_t>(i)]->logits());
  // The thread publishes the state before it waits.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while ((g = *read().generator).used != 6 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(g.busy, 2u);
  EXPECT_EQ(g.waiting, 1u);
  EXPECT_EQ(g.used, 6u);
  EXPECT_EQ(g.submitted, 3u);
  EXPECT_EQ(g.prompt_tokens, 6u);
  EXPECT_GT(g.prompt_ns, 0u);
  const auto statistics = parse_json(generator.statistics());
  EXPECT_EQ(statistics["busy_slots"], 2);
  EXPECT_EQ(statistics["places"], 128);
  EXPECT_EQ(statistics["used_places"], 6);
  EXPECT_EQ(statistics["cache_bytes"], bytes);
  for (const auto& s : all) {
    for (auto l = s->logits(); !l.empty(); l = s->logits()) s->resume(l);
    read_text(*s);
  }
  while ((g = *read().generator).busy != 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(g.busy + g.waiting + g.used, 0u);
  EXPECT_EQ(g.ended, 3u);
  EXPECT_EQ(read().completed, 3u) << "a request is a text";
  EXPECT_EQ(read().in_flight, 0u);
  EXPECT_GT(read().latency_sum_ns, 0u);
  generator.submit(prompt, options)->cancel();
  while (read().failed == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(read().failed, 1u);
  EXPECT_EQ(g.decode_tokens, 9u);
  EXPECT_GT(g.decode_ns, 0u);
  EXPECT_LE(g.decode_steps, 9u);
}

TEST(Generator, CountsComputedTokens) {
  Generator generator(generation_model("genai", {64, 2, {8}}), {.reuse_prefixes = true});
  const auto count = [&](const char* name) {
    return parse_json(generator.statistics()).at(name).get<int64_t>();
  };
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 3;
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30, 7, 8, 1, 3, 12};
  read_text(*generator.submit(prompt, options));
  EXPECT_EQ(count("slots"), 2);
  EXPECT_EQ(count("max_length"), 64);
  EXPECT_EQ(count("submitted"), 1);
  EXPECT_EQ(count("ended"), 1);
  EXPECT_EQ(count("waiting"), 0);
  EXPECT_EQ(count("active"), 0);
  EXPECT_EQ(count("prompt_tokens"), 10);
  EXPECT_EQ(count("reused_tokens"), 0);
  EXPECT_EQ(count("decode_tokens"), 2);
  EXPECT_EQ(count("decode_steps"), 2);
  // Nine tokens of an equal prompt are used again; the last one is computed for its logits.
  read_text(*generator.submit(prompt, options));
  EXPECT_EQ(count("prompt_tokens"), 11);
  EXPECT_EQ(count("reused_tokens"), 9);
  // Four tokens of a prompt that differs after them are used again.
  read_text(*generator.submit(std::vector<int64_t>{5, 9, 2, 11, 31, 7}, options));
  EXPECT_EQ(count("prompt_tokens"), 13);
  EXPECT_EQ(count("reused_tokens"), 13);
  EXPECT_EQ(count("ended"), 3);
  const auto parsed = parse_json(generator.statistics());
  EXPECT_GT(parsed["prompt_seconds"], 0);
  EXPECT_GT(parsed["decode_seconds"], 0);
}

TEST(Generator, ReusesTokensOnlyOnRequest) {
  Generator generator(generation_model("genai", {64, 2, {8}}));
  SequenceOptions options;
  options.sampling.max_new_tokens = 1;
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30};
  for (const int64_t computed : {5, 10}) {
    read_text(*generator.submit(prompt, options));
    const auto statistics = parse_json(generator.statistics());
    EXPECT_EQ(statistics["prompt_tokens"], computed);
    EXPECT_EQ(statistics["reused_tokens"], 0);
    EXPECT_EQ(statistics["decode_tokens"], 0);
    EXPECT_EQ(statistics["decode_steps"], 0);
  }
}

TEST(Generator, ReportsWhyACallIsRefused) {
  Generator generator(generation_model("gpt2", {24, 1, {8}}));
  const auto message_for = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "taken";
  };
  const auto submitted = [&](std::vector<int64_t> prompt, SequenceOptions options = {}) {
    return message_for([&] { generator.submit(prompt, options); });
  };
  EXPECT_EQ(submitted({}), "invalid_argument: the prompt is empty");
  EXPECT_EQ(submitted({1, 53}),
            "invalid_argument: token 53 of the prompt is outside of the vocabulary of 53");
  EXPECT_EQ(submitted(std::vector<int64_t>(25, 1)),
            "out_of_range: the prompt has 25 tokens, and prompt and new tokens have room for 24; "
            "make the generator with a greater max_length");
  SequenceOptions options;
  options.time_limit = nanoseconds(-1);
  EXPECT_EQ(submitted({1}, options), "invalid_argument: the time limit is negative");
  options = {};
  options.sampling.max_new_tokens = 1;
  const auto plain = generator.submit(std::vector<int64_t>{52, 0}, options);
  EXPECT_EQ(message_for([&] { plain->logits(); }),
            "failed_precondition: the sequence was submitted without wait_for_logits");
  read_text(*plain);
  options.wait_for_logits = true;
  const auto waits = generator.submit(std::vector<int64_t>{1}, options);
  EXPECT_EQ(waits->logits().size(), 53u);
  EXPECT_EQ(message_for([&] { waits->next(); }),
            "failed_precondition: the sequence waits for its logits: resume gives them back");
  EXPECT_EQ(message_for([&] { waits->resume(std::vector<float>(52)); }),
            "invalid_argument: there are 52 logits, expected 53");
  const auto second = generator.submit(std::vector<int64_t>{1}, options);
  EXPECT_EQ(message_for([&] { second->next(nanoseconds(1000)); }),
            "deadline_exceeded: there was no token within 1000 ns");
  EXPECT_EQ(message_for([&] { second->logits(nanoseconds(1000)); }),
            "deadline_exceeded: there was no token within 1000 ns");
  EXPECT_EQ(message_for([&] { second->resume(std::vector<float>(53)); }),
            "failed_precondition: the sequence does not wait for logits");
  waits->resume(std::vector<float>(53));
  EXPECT_TRUE(waits->next().has_value());
  EXPECT_EQ(waits->logits(), std::vector<float>()) << "it has ended";
  EXPECT_EQ(waits->finish(), Finish::length);
}

TEST(Generator, ReasonsOfAnEndHaveNames) {
  const std::pair<Finish, const char*> names[] = {{Finish::none, ""},
                                                  {Finish::stop, "stop"},
                                                  {Finish::length, "length"},
                                                  {Finish::cancelled, "cancelled"},
                                                  {Finish::deadline, "deadline"},
                                                  {Finish::error, "error"}};
  for (const auto& [finish, name] : names) EXPECT_EQ(generate::finish_name(finish), name);
}

// A logit that is not a number ends the sequence, not the generator.
TEST(Generator, ASequenceWithoutAChoiceFailsWithoutOthers) {
  Generator generator(generation_model("gpt2", {24, 1, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;
  const auto failed = generator.submit(std::vector<int64_t>{1, 2}, options);
  std::vector<float> logits = failed->logits();
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  failed->resume(logits);
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { failed->next(); }, [&] { failed->logits(); }, [&] { failed->next_text(); }})
    try {
      call();
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.message(), "the logit of token 3 is not a number");
    }
  EXPECT_EQ(failed->finish(), Finish::error);
  const ExpectedText text = expected_texts("gpt2")[0];
  options = {};
  options.sampling.max_new_tokens = 1;
  EXPECT_EQ(read_text(*generator.submit(text.prompt, options)).tokens.size(), 1u);
}

TEST(Generator, EndsAtTheMaximumLengthOfTheModel) {
  Generator generator(generation_model("gpt2", {24, 1, {8}}));
  const ExpectedText text = expected_texts("gpt2")[4];  // 20 tokens
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  const auto s = generator.submit(text.prompt, options);
  EXPECT_EQ(read_text(*s).tokens,
            std::vector<int64_t>(text.tokens.begin(), text.tokens.begin() + 4));
  EXPECT_EQ(s->finish(), Finish::length);
}

TEST(Generator, RefusesAPromptWithoutRoomForAToken) {
  Generator generator(generation_model("gpt2", {24, 1, {8}}));
  const auto code_of = [&](std::vector<int64_t> prompt, SequenceOptions options = {}) {
    try {
      generator.submit(prompt, options);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code_of(std::vector<int64_t>(24, 1)), ErrorCode::out_of_range);
  EXPECT_EQ(code_of(std::vector<int64_t>(23, 1)), ErrorCode::ok);
  EXPECT_EQ(code_of({}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({53}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({-1}), ErrorCode::invalid_argument);
  SequenceOptions options;
  options.sampling.bad_tokens = {53};
  EXPECT_EQ(code_of({1}, options), ErrorCode::invalid_argument);
}

TEST(Generator, LetsTheCallerChangeTheLogits) {
  Generator generator(generation_model("optimum", {64, 2, {8}}));
  const ExpectedText text = expected_texts("optimum")[2];
  SequenceOptions options = as_expected(text);
  options.wait_for_logits = true;
  const auto s = generator.submit(text.prompt, options);
  const auto other = generator.submit(text.prompt, as_expected(text));  // does not wait for it
  EXPECT_EQ(read_text(*other).tokens, text.tokens);
  std::vector<int64_t> tokens;
  for (;;) {
    std::vector<float> logits = s->logits();
    if (logits.empty()) break;
    ASSERT_EQ(logits.size(), 53u);
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(),
              text.tokens[tokens.size()]);
    s->resume(logits);
    tokens.push_back(s->next()->id);
  }
  EXPECT_EQ(tokens, text.tokens);
  const auto forced = generator.submit(text.prompt, options);
  std::vector<float> logits = forced->logits();
  logits[5] = 1e6f;
  forced->resume(logits);
  EXPECT_EQ(forced->next()->id, 5);
  EXPECT_THROW(forced->resume(std::vector<float>(3)), Error);
}

TEST(Generator, TheNextTextIsKnownAtTheEnd) {
  Generator generator(generation_model("optimum", {64, 1, {8}}));
  SequenceOptions waits;
  waits.wait_for_logits = true;
  const auto s = generator.submit(std::vector<int64_t>{1, 2}, waits);
  EXPECT_FALSE(s->logits().empty());
  try {
    s->next_text(std::chrono::milliseconds(1));
    FAIL() << "there is one";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::deadline_exceeded);
  }
  s->cancel();
  EXPECT_FALSE(s->next_text());
}

TEST(Generator, EndsACancelledSequenceAndServesTheNext) {
  Generator generator(generation_model("optimum", {64, 1, {8}}));
  const ExpectedText text = expected_texts("optimum")[0];
  SequenceOptions waits;
  waits.wait_for_logits = true;
  const auto first = generator.submit(text.prompt, waits);
  const auto second = generator.submit(text.prompt, as_expected(text));
  EXPECT_EQ(first->logits().size(), 53u);
  EXPECT_THROW(second->next(nanoseconds(1'000'000)), Error);  // there is one slot
  first->cancel();
  EXPECT_EQ(first->next(), std::nullopt);
  EXPECT_EQ(first->finish(), Finish::cancelled);
  EXPECT_EQ(read_text(*second).tokens, text.tokens);
}

TEST(Generator, EndsASequenceAtItsTimeLimit) {
  Generator generator(generation_model("optimum", {64, 1, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;
  options.time_limit = std::chrono::milliseconds(30);
  const auto s = generator.submit(std::vector<int64_t>{1, 2}, options);
  // On a busy machine, the limit can pass before the logits are computed.
  if (s->logits().empty()) EXPECT_EQ(s->finish(), Finish::deadline);
  while (s->finish() == Finish::none) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(s->finish(), Finish::deadline);
  EXPECT_EQ(s->next(), std::nullopt);
}

TEST(Generator, CancelsSequencesWhenItIsDestroyed) {
  auto generator = std::make_unique<Generator>(generation_model("optimum", {64, 1, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;
  const auto active = generator->submit(std::vector<int64_t>{1, 2}, options);
  const auto waiting = generator->submit(std::vector<int64_t>{1, 2}, options);
  EXPECT_EQ(active->logits().size(), 53u);
  generator.reset();
  for (const auto& s : {active, waiting}) try {
      s->next();
      ADD_FAILURE() << "next() must fail";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::cancelled);
    }
}

// Counts the calls of a callback.
class Calls {
 public:
  std::function<void()> callback() {
    return [this] {
      const std::lock_guard lock(mutex_);
      count_++;
      changed_.notify_all();
    };
  }
  int wait_for_more_than(int before) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ > before; });
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Reads a text without a call that waits.
std::vector<int64_t> read_with_calls(Sequence& s, Calls& calls) {
  std::vector<int64_t> tokens;
  for (int count = 0;;) {
    count = calls.wait_for_more_than(count);
    try {
      for (;;) {
        const auto token = s.next(std::chrono::nanoseconds(0));
        if (!token) return tokens;
        tokens.push_back(token->id);
      }
    } catch (const Error& e) {
      if (e.code() != ErrorCode::deadline_exceeded) throw;
    }
  }
}

TEST(Generator, CallsBackWhenASequenceHasProgress) {
  Generator generator(generation_model("genai", {64, 2, {8}}));
  for (const ExpectedText& text : expected_texts("genai")) {
    std::array<Calls, 3> calls;
    std::array<std::shared_ptr<Sequence>, 3> sequences;
    for (size_t i = 0; i < 3; i++)
      sequences[i] = generator.submit(text.prompt, as_expected(text), calls[i].callback());
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(read_with_calls(*sequences[i], calls[i]), text.tokens);
  }
}

TEST(Generator, CallsBackForProgressBeforeTheCallbackWasSet) {
  Generator generator(generation_model("genai", {64, 2, {8}}));
  const ExpectedText text = expected_texts("genai").front();
  const auto s = generator.submit(text.prompt, as_expected(text));
  while (s->finish() == Finish::none) std::this_thread::yield();
  Calls calls, removed;
  s->set_callback(removed.callback());
  s->set_callback(calls.callback());
  EXPECT_EQ(read_with_calls(*s, calls), text.tokens);
  Calls restored;
  const auto again = generator.submit(text.prompt, as_expected(text));
  while (again->finish() == Finish::none) std::this_thread::yield();
  const auto bytes = generator.save(*again);
  EXPECT_EQ(read_with_calls(*generator.restore(bytes, restored.callback()), restored), text.tokens);
}

TEST(Generator, CallsBackForLogitsAndEnds) {
  Calls logits, cancelled, destroyed;
  auto generator = std::make_unique<Generator>(generation_model("genai", {64, 1, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;
  const std::vector<int64_t> prompt = {1, 2};
  const auto s = generator->submit(prompt, options, logits.callback());
  const int first = logits.wait_for_more_than(0);
  EXPECT_EQ(s->logits(std::chrono::nanoseconds(0)).size(), 53u);
  const auto other = generator->submit(prompt, {}, cancelled.callback());
  const auto last = generator->submit(prompt, {}, destroyed.callback());
  other->cancel();
  cancelled.wait_for_more_than(0);
  EXPECT_EQ(other->finish(), Finish::cancelled);
  generator.reset();
  logits.wait_for_more_than(first);
  destroyed.wait_for_more_than(0);
  EXPECT_EQ(s->finish(), Finish::error);
  EXPECT_EQ(last->finish(), Finish::error);
  last->set_callback(destroyed.callback());  // this callback is not called
}

TEST(Generator, ACallbackCancelsButSetsNoCallback) {
  Generator generator(generation_model("genai", {64, 1, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;  // the sequence continues until it is cancelled
  const auto s = generator.submit(std::vector<int64_t>{1, 2}, options);
  std::promise<ErrorCode> refused;
  bool first = true;  // of the thread of the generator
  s->set_callback([&, raw = s.get()] {
    if (!std::exchange(first, false)) return;
    raw->cancel();
    try {
      raw->set_callback({});
    } catch (const Error& e) {
      refused.set_value(e.code());
    }
  });
  EXPECT_EQ(refused.get_future().get(), ErrorCode::failed_precondition);
  while (s->next()) continue;
  EXPECT_EQ(s->finish(), Finish::cancelled);
  s->set_callback({});
}

// A step follows the prompts of up to four sequences, so six sequences of one piece need two steps.
TEST(Generator, AStepFollowsAPieceOfUpToFourPrompts) {
  Generator generator(generation_model("genai", {64, 8, {8}}));
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 1;
  const std::vector<int64_t> prompt = {5, 9, 2, 11, 30, 7, 8, 1};
  std::promise<void> waits, submitted;
  const auto first = generator.submit(prompt, options, [&] {
    waits.set_value();
    submitted.get_future().wait();
  });
  waits.get_future().wait();
  options.sampling.max_new_tokens = 2;
  std::vector<std::shared_ptr<Sequence>> sequences;
  for (int i = 0; i < 6; i++) sequences.push_back(generator.submit(prompt, options));
  submitted.set_value();
  for (const auto& s : sequences) read_text(*s);
  const auto statistics = parse_json(generator.statistics());
  EXPECT_EQ(statistics["prompt_tokens"], 7 * 8);
  EXPECT_EQ(statistics["decode_tokens"], 6);
  EXPECT_EQ(statistics["decode_steps"], 2);
}

// After set_callback(), the former function does not run, so what it refers to may be destroyed.
TEST(Generator, ARemovedCallbackDoesNotRun) {
  Generator generator(generation_model("genai", {64, 2, {8}}));
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  for (int i = 0; i < 50; i++) {
    const auto s = generator.submit(std::vector<int64_t>{1, 2}, options);
    auto alive = std::make_unique<std::atomic<bool>>(true);
    std::atomic<int> late = 0;
    s->set_callback([&late, raw = alive.get()] { late += *raw ? 0 : 1; });
    if (i % 2) s->next();
    s->set_callback({});
    *alive = false;
    while (s->next()) continue;
    EXPECT_EQ(late, 0);
  }
}

TEST(Generator, ServesManyThreads) {
  Generator generator(generation_model("genai", {64, 3, {8}}));
  const auto texts = expected_texts("genai");
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 6; t++)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 10; i++) {
        const ExpectedText& text = texts[(t + i) % texts.size()];
        EXPECT_EQ(read_text(*generator.submit(text.prompt, as_expected(text))).tokens, text.tokens);
      }
    });
  for (std::thread& t : threads) t.join();
  const auto statistics = parse_json(generator.statistics());
  EXPECT_EQ(statistics["ended"], 60);
  EXPECT_EQ(statistics["active"], 0);
}

// The longest time limit and timeout have no effect.
TEST(Generator, TakesTheLongestTimes) {
  Generator generator(generation_model("genai", {64, 3, {8}}));
  const auto texts = expected_texts("genai");
  SequenceOptions options = as_expected(texts[0]);
  options.time_limit = std::chrono::nanoseconds::max();
  const auto s = generator.submit(texts[0].prompt, options);
  std::vector<int64_t> tokens;
  while (const auto token = s->next(std::chrono::nanoseconds::max())) tokens.push_back(token->id);
  EXPECT_EQ(tokens, texts[0].tokens);
  EXPECT_EQ(s->finish(), Finish::length);
}

// The thread of the parent may have the lock of the sequences when the process forks.
TEST(Generator, AForkedChildDoesNotWaitForASequence) {
  auto generator = std::make_unique<Generator>(generation_model("genai", {64, 3, {8}}));
  SequenceOptions options;
  options.wait_for_logits = true;  // the sequence never ends by itself
  const auto waits = generator->submit(std::vector<int64_t>{5, 9}, options);
  for (int i = 0; i < 20; i++) {
    const auto s = generator->submit(std::vector<int64_t>{5, 9});
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);  // ends a child that waits for ever
      int refused = 0;
      const auto refuses = [&](auto&& call) {
        try {
          call();
        } catch (const Error& e) {
          refused += e.code() == ErrorCode::failed_precondition;
        }
      };
      refuses([&] { s->next(); });
      refuses([&] { s->next_text(); });
      refuses([&] { waits->logits(); });
      refuses([&] { generator->statistics(); });
      s->set_callback({});
      s->cancel();
      s->finish();
      generator.reset();
      _exit(refused == 4 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
    read_text(*s);
  }
  waits->cancel();
}

// A forked child has no thread for its copy of a generator.
TEST(Generator, AForkedChildIsRefusedAndEnds) {
  auto generator = std::make_unique<Generator>(generation_model("genai", {64, 3, {8}}));
  const auto s = generator->submit(std::vector<int64_t>{5, 9});
  read_text(*s);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // ends a child that waits for ever
    int refused = 0;
    try {
      generator->submit(std::vector<int64_t>{5});
    } catch (const Error& e) {
      refused += e.code() == ErrorCode::failed_precondition;
    }
    try {
      generator->save(*s);
    } catch (const Error& e) {
      refused += e.code() == ErrorCode::failed_precondition;
    }
    generator.reset();
    _exit(refused);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_FALSE(read_text(*generator->submit(std::vector<int64_t>{5, 9})).tokens.empty());
}

TEST(Generator, AppliesTheTokensThatTheFolderForcesAndSuppresses) {
  generate::ModelFolder folder = generate::open_folder(generation_data() / "optimum");
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 4;
  const auto tokens = [&](std::vector<int64_t> prompt) {
    Generator generator(compile_model_of(folder, {64, 1, {8}}));
    return read_text(*generator.submit(prompt, options)).tokens;
  };
  const auto plain = tokens({6, 42, 26});
  folder.suppressed = {plain[1]};
  folder.suppressed_first = {plain[0]};
  folder.forced_first = 41;
  folder.forced_last = 19;
  const auto changed = tokens({6, 42, 26});
  EXPECT_NE(changed[0], plain[0]);
  EXPECT_NE(changed[0], 41) << "a prompt of several tokens has no first token";
  EXPECT_EQ(std::ranges::count(changed, plain[1]), 0);
  EXPECT_EQ(changed[3], 19);
  EXPECT_EQ(tokens({6})[0], 41);
}

// A sequence that has not ended waits or is active. Moving it to a slot takes some time here,
// because it copies a large cache from another slot, so a reader would notice a state between the
// two.
TEST(Generator, StatisticsCountEverySequenceOnce) {
  generate::ModelFolder folder = generate::open_folder(generation_data() / "optimum");
  folder.context_length = 0;
  Generator generator(compile_model_of(folder, {65536, 2, {8}}), {.reuse_prefixes = true});
  SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 1;
  SequenceOptions waits = options;
  waits.wait_for_logits = true;
  const auto other = generator.submit(std::vector<int64_t>{1, 2, 3}, waits);
  EXPECT_EQ(other->logits().size(), 53u);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      const auto now = parse_json(generator.statistics());
      const auto count = [&](const char* name) { return now.at(name).get<int64_t>(); };
      ASSERT_EQ(count("submitted"), count("ended") + count("waiting") + count("active"));
    }
  });
  for (int i = 0; i < 50; i++)
    EXPECT_EQ(read_text(*generator.submit(std::vector<int64_t>{1, 2, 3}, options)).tokens.size(),
              1u);
  done = true;
  reader.join();
}

}  // namespace
}  // namespace poprt::test
