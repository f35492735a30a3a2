#include "generate/saved_sequence.h"

#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <tuple>

#include "codecs/crc32c.h"
#include "core/generate/support.h"
#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::test {
namespace {

using generate::Finish;
using generate::Generator;

const char* expected_of(const std::string& kind) {
  if (kind == "genai" || kind == "optimum" || kind == "static" || kind == "ring")
    return "expected.json";
  return kind == "t5" || kind == "whisper" ? kEncoderDecoder : "expected_recurrent.json";
}

std::shared_ptr<const runtime::Model> model_with(const std::string& kind, int64_t slots) {
  generate::GenerationSizes sizes{64, slots};
  if (kind == "t5" || kind == "whisper") {
    sizes.max_length = 36;
    sizes.encoder_length = kind == "t5" ? 40 : 0;
  } else {
    sizes.prefill = {8};
  }
  return generation_model(kind, sizes);
}

class SavedSequences : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, SavedSequences,
                         testing::Values("genai", "optimum", "static", "ring", "mamba", "qwen_next",
                                         "t5", "whisper"),
                         [](const auto& info) { return info.param; });

// Saved at any time, a text continues with the token that its caller would read next.
TEST_P(SavedSequences, ContinueWithTheSameTokensInAnotherGenerator) {
  const auto texts = expected_texts(GetParam(), expected_of(GetParam()));
  Generator first(model_with(GetParam(), 3));
  std::mt19937 random(7);
  for (int round = 0; round < 24; round++) {
    const ExpectedText& text = texts[random() % texts.size()];
    const auto s = first.submit(text.prompt, as_expected(text));
    const size_t read = random() % (text.tokens.size() + 1);
    std::vector<int64_t> got;
    for (size_t i = 0; i < read; i++) got.push_back(s->next()->id);
    const std::vector<std::byte> saved = first.save(*s);
    if (random() % 2) s->cancel();
    Generator second(model_with(GetParam(), 3));
    const auto other = second.submit(texts[0].prompt, as_expected(texts[0]));
    const auto continued = second.restore(saved);
    const Text rest = read_text(*continued);
    got.insert(got.end(), rest.tokens.begin(), rest.tokens.end());
    EXPECT_EQ(got, text.tokens) << "saved after " << read;
    for (size_t i = 0; i < rest.tokens.size(); i++)
      EXPECT_NEAR(rest.log_probabilities[i], text.log_probabilities[read + i], 1e-4);
    EXPECT_EQ(continued->finish(), Finish::length);
    EXPECT_EQ(read_text(*other).tokens, texts[0].tokens);
  }
}

// The bytes of a text with caches of 8 bits, which an exact generator refuses.
TEST(SavedSequence, OfByteCachesContinuesWithTheSameTokens) {
  for (const char* kind : {"genai_int8", "optimum_int8", "static_int8"}) {
    Generator first(model_with(kind, 3)), second(model_with(kind, 3));
    generate::SequenceOptions options;
    options.sampling.ignore_stop = true;
    options.sampling.max_new_tokens = 40;
    const std::vector<int64_t> prompt = {5, 9, 2, 40, 1, 1, 8, 12, 3, 17};
    const Text wanted = read_text(*first.submit(prompt, options));
    ASSERT_EQ(wanted.tokens.size(), 40u);
    for (const size_t read : {0, 1, 17, 39}) {
      const auto s = first.submit(prompt, options);
      for (size_t i = 0; i < read; i++) s->next();
      const std::vector<std::byte> saved = first.save(*s);
      EXPECT_EQ(read_text(*second.restore(saved)).tokens,
                std::vector<int64_t>(wanted.tokens.begin() + static_cast<std::ptrdiff_t>(read),
                                     wanted.tokens.end()))
          << kind;
      Generator exact(model_with(std::string(kind).substr(0, std::string(kind).size() - 5), 3));
      EXPECT_THROW(exact.restore(saved), Error) << kind;
    }
  }
}

TEST(SavedSequence, DrawsTheSameTokens) {
  Generator generator(model_with("genai", 3));
  generate::SequenceOptions options;
  options.sampling.temperature = 1.5;
  options.sampling.seed = 11;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = 30;
  const std::vector<int64_t> prompt = {5, 9, 2};
  const Text wanted = read_text(*generator.submit(prompt, options));
  for (const size_t read : {0, 1, 12, 29, 30}) {
    const auto s = generator.submit(prompt, options);
    for (size_t i = 0; i < read; i++) s->next();
    const Text rest = read_text(*generator.restore(generator.save(*s)));
    EXPECT_EQ(rest.tokens,
              std::vector<int64_t>(wanted.tokens.begin() + static_cast<std::ptrdiff_t>(read),
                                   wanted.tokens.end()));
  }
}

// Each option changes the text, so one that is not saved changes the rest.
TEST(SavedSequence, KeepsEveryOptionOfItsSampling) {
  Generator generator(model_with("genai", 3));
  generate::SequenceOptions plain;
  plain.sampling.temperature = 1.5;
  plain.sampling.seed = 11;
  plain.sampling.ignore_stop = true;
  plain.sampling.max_new_tokens = 24;
  const std::vector<int64_t> prompt = {5, 9, 2};
  const auto text_of = [&](const generate::SequenceOptions& o) {
    return read_text(*generator.submit(prompt, o)).tokens;
  };
  const std::vector<int64_t> unchanged = text_of(plain);
  using Sampling = generate::SamplingOptions;
  const std::pair<const char*, std::function<void(Sampling&)>> changes[] = {
      {"temperature", [](Sampling& o) { o.temperature = 0.3; }},
      {"top_k", [](Sampling& o) { o.top_k = 2; }},
      {"top_p", [](Sampling& o) { o.top_p = 0.3; }},
      {"min_p", [](Sampling& o) { o.min_p = 0.6; }},
      {"repetition_penalty", [](Sampling& o) { o.repetition_penalty = 3; }},
      {"seed", [](Sampling& o) { o.seed = 12; }},
      {"bad_tokens", [&](Sampling& o) { o.bad_tokens = {unchanged[8], unchanged[20]}; }},
      {"stop_tokens", [&](Sampling& o) { o.stop_tokens = {unchanged[20]}; }},
      {"max_new_tokens", [](Sampling& o) { o.max_new_tokens = 20; }},
  };
  for (const auto& [name, change] : changes) {
    generate::SequenceOptions options = plain;
    change(options.sampling);
    const std::vector<int64_t> wanted = text_of(options);
    EXPECT_NE(wanted, unchanged) << name;
    const auto s = generator.submit(prompt, options);
    s->next();
    const std::vector<std::byte> saved = generator.save(*s);
    s->cancel();
    EXPECT_EQ(read_text(*generator.restore(saved)).tokens,
              std::vector<int64_t>(wanted.begin() + 1, wanted.end()))
        << name;
  }
}

TEST(SavedSequence, WaitsForItsCallerAsBefore) {
  Generator generator(model_with("genai", 1));
  generate::SequenceOptions options;
  options.wait_for_logits = true;
  options.sampling.max_new_tokens = 3;
  const auto s = generator.submit(std::vector<int64_t>{5, 9}, options);
  const std::vector<float> logits = s->logits();
  const std::vector<std::byte> saved = generator.save(*s);
  s->cancel();
  const auto continued = generator.restore(saved);
  EXPECT_EQ(continued->logits(), logits);
  std::vector<float> changed(logits.size(), -1e9f);
  changed[13] = 0;
  continued->resume(changed);
  EXPECT_EQ(continued->next()->id, 13);
}

// One slot: the second sequence waits for it.
TEST(SavedSequence, OneThatWaitsForASlotStartsAtItsPrompt) {
  const auto texts = expected_texts("optimum");
  Generator generator(model_with("optimum", 1));
  generate::SequenceOptions options;
  options.wait_for_logits = true;
  const auto holder = generator.submit(std::vector<int64_t>{5}, options);
  const auto waiting = generator.submit(texts[2].prompt, as_expected(texts[2]));
  const std::vector<std::byte> saved = generator.save(*waiting);
  EXPECT_LT(saved.size(), 2000u);
  holder->cancel();
  EXPECT_EQ(read_text(*generator.restore(saved)).tokens, texts[2].tokens);
  EXPECT_EQ(read_text(*waiting).tokens, texts[2].tokens);
}

std::string saved_refusal(Generator& generator, std::span<const std::byte> bytes) {
  try {
    generator.restore(bytes);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "taken";
}

void expect_begins(const std::string& text, const std::string& wanted) {
  EXPECT_TRUE(text.starts_with(wanted)) << text;
}

// A sequence of 4 tokens in the cache.
std::vector<std::byte> saved_sequence(Generator& generator) {
  generate::SequenceOptions options;
  options.wait_for_logits = true;
  options.sampling.max_new_tokens = 5;
  const auto s = generator.submit(std::vector<int64_t>{5, 9, 2, 11}, options);
  s->logits();
  return generator.save(*s);
}

// One sequence continues, and one had ended before it was saved.
TEST(SavedSequence, IsARequestInTheTelemetry) {
  char name[] = "/tmp/poprt_saved_XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(name);
  ::setenv("POPRT_TELEMETRY_DIR", folder.c_str(), 1);
  ::setenv("POPRT_TELEMETRY", "1", 1);
  {
    std::vector<std::vector<std::byte>> saved;
    {
      Generator first(model_with("genai", 3));
      saved.push_back(saved_sequence(first));
      generate::SequenceOptions options;
      options.sampling.max_new_tokens = 1;
      options.sampling.ignore_stop = true;
      const auto ended = first.submit(std::vector<int64_t>{5, 9}, options);
      read_text(*ended);
      saved.push_back(first.save(*ended));
    }
    const auto begin = std::chrono::steady_clock::now();
    Generator second(model_with("genai", 3));
    const auto continued = second.restore(saved[0]);
    for (auto l = continued->logits(); !l.empty(); l = continued->logits()) continued->resume(l);
    EXPECT_EQ(continued->finish(), Finish::length);
    EXPECT_EQ(second.restore(saved[1])->finish(), Finish::length);
    const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
    const auto found = runtime::list_segments(folder);
    ASSERT_EQ(found.size(), 1u);
    const runtime::TelemetrySnapshot t = runtime::read_segment(found[0].path);
    EXPECT_EQ(t.submitted, 2u);
    EXPECT_EQ(t.completed, 2u);
    EXPECT_LE(t.latency_sum_ns, static_cast<uint64_t>(elapsed.count()));
    EXPECT_EQ(t.generator->submitted, 2u);
    const auto statistics = parse_json(second.statistics());
    EXPECT_EQ(statistics["submitted"], 2);
    EXPECT_EQ(statistics["ended"], 2);
  }
  ::unsetenv("POPRT_TELEMETRY_DIR");
  ::unsetenv("POPRT_TELEMETRY");
  std::filesystem::remove_all(folder);
}

TEST(SavedSequence, OfAnotherModelOrSizeIsRefused) {
  Generator genai(model_with("genai", 1)), more(model_with("genai", 3)),
      optimum(model_with("optimum", 1));
  const std::vector<std::byte> saved = saved_sequence(genai);
  EXPECT_EQ(saved_refusal(genai, saved), "taken");
  const std::string other =
      "failed_precondition: the sequence was saved by a generator of another model, build or size: "
      "'poprt ";
  expect_begins(saved_refusal(more, saved), other);
  expect_begins(saved_refusal(optimum, saved), other);
}

// The states of RWKV have one size for every length, so the program does not depend on max_length.
TEST(SavedSequence, LongerThanAnotherGeneratorIsRefused) {
  const auto of_length = [](int64_t max_length) {
    generate::GenerationSizes sizes;
    sizes.max_length = max_length;
    sizes.slots = 1;
    return generation_model("rwkv", sizes);
  };
  Generator longer(of_length(40)), equal(of_length(24)), shorter(of_length(23));
  generate::SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.wait_for_logits = true;
  const auto s = longer.submit(std::vector<int64_t>{41, 3, 7}, options);
  for (size_t i = 0; i < 20; i++) {
    s->resume(s->logits());
    s->next();
  }
  s->logits();
  const std::vector<std::byte> saved = longer.save(*s);
  EXPECT_EQ(saved_refusal(equal, saved), "taken");
  EXPECT_EQ(saved_refusal(shorter, saved),
            "failed_precondition: the saved sequence has 23 tokens, which a generator with "
            "max_length 23 cannot continue");
}

TEST(SavedSequence, DamagedBytesAreRefused) {
  Generator generator(model_with("genai", 1));
  const std::vector<std::byte> saved = saved_sequence(generator);
  const std::string damaged = "data_loss: the saved sequence is damaged or truncated: ";
  for (size_t size = 0; size < saved.size(); size += size < 64 ? 1 : 97)
    expect_begins(saved_refusal(generator, std::span(saved).first(size)), "data_loss: ");
  expect_begins(saved_refusal(generator, std::span(saved).first(saved.size() - 1)),
                damaged + "it has ");
  for (size_t at = 24; at < saved.size(); at += 61) {
    std::vector<std::byte> changed = saved;
    changed[at] ^= std::byte{4};
    EXPECT_EQ(saved_refusal(generator, changed), damaged + "its checksum differs");
  }
}

// Text with a right checksum that contradicts the model.
TEST(SavedSequence, HostileTextIsRefused) {
  Generator generator(model_with("genai", 1));
  const std::vector<std::byte> saved = saved_sequence(generator);
  uint64_t size = 0;
  std::memcpy(&size, saved.data() + 16, sizeof size);
  const nlohmann::json text =
      parse_json(std::string_view(reinterpret_cast<const char*>(saved.data()) + 24, size));
  const auto with = [&](const std::string& key, const nlohmann::json& value) {
    nlohmann::json changed = text;
    changed[nlohmann::json::json_pointer(key)] = value;
    const std::string dumped = json_text(changed);
    std::vector<std::byte> bytes(saved.begin(), saved.begin() + 24);
    const auto* const chars = reinterpret_cast<const std::byte*>(dumped.data());
    bytes.insert(bytes.end(), chars, chars + dumped.size());
    bytes.insert(bytes.end(), saved.begin() + static_cast<std::ptrdiff_t>(24 + size),
                 saved.end() - 4);
    const uint64_t whole = bytes.size() + 4, length = dumped.size();
    std::memcpy(bytes.data() + 8, &whole, sizeof whole);
    std::memcpy(bytes.data() + 16, &length, sizeof length);
    Crc32c crc;
    crc.update(bytes);
    const uint32_t sum = crc.value();
    const auto* const end = reinterpret_cast<const std::byte*>(&sum);
    bytes.insert(bytes.end(), end, end + sizeof sum);
    return saved_refusal(generator, bytes);
  };
  EXPECT_EQ(with("/computed", 4), "taken");
  const std::string damaged = "data_loss: the saved sequence is damaged or truncated: ";
  const std::pair<const char*, nlohmann::json> cases[] = {
      {"/computed", 3},
      {"/computed", 5},
      {"/computed", 1e18},
      {"/computed", -1},
      {"/prompt_length", 0},
      {"/prompt_length", 5},
      {"/tokens", {5, 9, 2, 53}},
      {"/tokens", {5, 9, 2, -1}},
      {"/tokens", 7},
      {"/unread", {{1, 0}}},
      {"/finish", 5},
      {"/finish", -1},
      {"/draws", 1},
      {"/encoded", true},
      {"/source_length", 1},
      {"/pending", 52},
      {"/pending", 1e12},
      {"/pending", 1e300},
      {"/features", 1},
      {"/features", 268435456},
      {"/features", -1},
      {"/draws", 1e300},
      {"/prompt_length", 1e300},
      {"/options/seed", 0.5},
      {"/model", 7},
      {"/waits", 1},
      {"/options", 3},
      {"/options/temperature", -1},
      {"/options/top_p", nullptr},
      {"/options/time_limit", -5},
      {"/options/source", {1}},
      {"/options/bad_tokens", {99}},
      {"/options/wait_for_logits", false},
  };
  for (const auto& [key, value] : cases) expect_begins(with(key, value), "data_loss: ");
  EXPECT_EQ(with("/version", 2),
            "failed_precondition: the sequence was saved by another version of poprt");
  const std::tuple<const char*, nlohmann::json, const char*> reasons[] = {
      {"/prompt_length", 0, "'prompt_length'"},
      {"/prompt_length", 5, "'prompt_length'"},
      {"/computed", 3, "'computed'"},
      {"/computed", 5, "'computed'"},
      {"/pending", 52, "'computed'"},
      {"/tokens", {5, 9, 2, 53}, "'tokens'"},
      {"/unread", {{53, 0}}, "'unread'"},
      {"/unread", {{1, 0}}, "'draws'"},
      {"/draws", 1, "'draws'"},
      {"/finish", 5, "'finish'"},
      {"/finish", -1, "'finish'"},
      {"/encoded", true, "'encoded'"},
      {"/source_length", 1, "'source_length'"},
      {"/options/wait_for_logits", false, "'waits'"},
  };
  for (const auto& [key, value, reason] : reasons)
    EXPECT_EQ(with(key, value), damaged + reason) << key << " " << value.dump();
}

// Each call returns the state between two runs, so each of the texts continues as the reference.
TEST(SavedSequence, OfSeveralThreadsAtATimeIsWhole) {
  const auto texts = expected_texts("genai");
  const ExpectedText& text = texts[0];
  Generator first(model_with("genai", 3)), second(model_with("genai", 3));
  for (int round = 0; round < 20; round++) {
    const auto s = first.submit(text.prompt, as_expected(text));
    std::vector<std::vector<std::byte>> saved(4);
    std::vector<std::thread> threads;
    for (auto& to : saved) threads.emplace_back([&] { to = first.save(*s); });
    for (std::thread& t : threads) t.join();
    for (const auto& bytes : saved)
      EXPECT_EQ(read_text(*second.restore(bytes)).tokens, text.tokens);
  }
}

TEST(SavedSequence, ABeamSearchIsRefused) {
  Generator generator(model_with("genai", 3)), other(model_with("genai", 3));
  generate::SequenceOptions options;
  options.beams.num_beams = 2;
  const auto s = generator.submit(std::vector<int64_t>{5}, options);
  EXPECT_THROW(generator.save(*s), Error);
  EXPECT_THROW(other.save(*generator.submit(std::vector<int64_t>{5})), Error);
}

}  // namespace
}  // namespace poprt::test
