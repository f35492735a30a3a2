// Scenarios 85 to 88, 95 to 99, 109 and 110: generators.
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <utility>

#include "scenario_support.h"

namespace {

using namespace scenario;
using poprt::Generator;
using poprt::GeneratorOptions;
using poprt::Sequence;

const std::vector<int64_t> kPrompt = {6, 42, 26};
const std::vector<int64_t> kTokens = {33, 33, 24, 21, 43, 37, 34, 43};

Generator generator(int64_t slots = 1) {
  GeneratorOptions options;
  options.threads = 1;
  options.slots = slots;
  return Generator(model("../../data/generation/genai"), options);
}

Sequence sequence(const Generator& g, double maxNewTokens = 8) {
  Sequence s = g.newSequence();
  s.append(kPrompt);
  s.setOption("max_new_tokens", maxNewTokens);
  s.setOption("ignore_stop", 1);
  return s;
}

TEST(scenario, s85_generate) {
  const Generator g = generator(2);
  EXPECT_EQ(g.maxLength(), 64);
  EXPECT_EQ(g.slots(), 2);
  EXPECT_EQ(g.vocabulary(), 53);
  Sequence first = sequence(g), second = sequence(g);
  first.start();
  second.start();
  EXPECT_EQ(first.readAll(), kTokens);
  EXPECT_LT(first.logProbability(), 0);
  EXPECT_EQ(first.finishReason(), "length");
  EXPECT_EQ(second.readAll(), kTokens);
  g.save("generator_cpp.popef");
  Sequence again =
      sequence(Generator("generator_cpp.popef"));  // the sequence keeps its generator alive
  std::remove("generator_cpp.popef");
  again.start();
  EXPECT_EQ(again.readAll(), kTokens);
  EXPECT_NE(g.statistics().find("\"ended\":2"), std::string::npos) << g.statistics();
}

TEST(Sequence, CallsBackWhenItHasProgress) {
  const Generator g = generator(2);
  std::mutex mutex;
  std::condition_variable changed;
  bool progress = false;
  const auto report = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    progress = true;
    changed.notify_one();
  };
  Sequence s = sequence(g);
  s.setCallback([] {});
  s.setCallback(report);
  s.start();
  std::vector<int64_t> tokens;
  for (bool ended = false; !ended;) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return std::exchange(progress, false); });
    }
    try {
      int64_t token = 0;
      while ((token = s.next(0)) >= 0) tokens.push_back(token);
      ended = true;
    } catch (const poprt::Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::deadline_exceeded);
    }
  }
  EXPECT_EQ(tokens, kTokens);
  // The sequence owns the callback, also when it is moved.
  for (int i = 0; i < 20; i++) {
    Sequence next = sequence(g, 0);
    next.setCallback([words = std::vector<int>(1000)]() mutable { words[0]++; });
    next.start();
    s = std::move(next);
  }
  s.setCallback({});
}

TEST(scenario, s86_wrong_generators) {
  fails([] { Generator g("missing_folder"); }, ErrorCode::not_found, {"missing_folder"});
  fails([] { Generator g(model("affine.onnx")); }, ErrorCode::unimplemented, {"input_ids"});
  affine()->save("affine_cpp.popef");
  fails([] { Generator g("affine_cpp.popef"); }, ErrorCode::failed_precondition,
        {"not compiled for generation"});
  std::remove("affine_cpp.popef");
  Sequence s = generator().newSequence();
  fails([&] { s.append(53); }, ErrorCode::invalid_argument, {"53"});
  fails([&] { s.setOption("heat", 1); }, ErrorCode::not_found, {"temperature"});
  fails([&] { s.setOption("top_p", 2); }, ErrorCode::invalid_argument, {"top_p"});
  fails([&] { s.start(); }, ErrorCode::invalid_argument, {"empty"});
  fails([&] { s.next(-1); }, ErrorCode::failed_precondition, {"not started"});
}

TEST(scenario, s87_logits) {
  const Generator g = generator();
  Sequence s = sequence(g, 1);
  s.setOption("wait_for_logits", 1);
  s.start();
  EXPECT_EQ(s.waitLogits(-1), 53);
  for (int64_t i = 0; i < 53; i++) EXPECT_LE(s.logit(i), s.logit(kTokens[0]));
  s.setLogit(5, 1e6);
  s.resume();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{5}));
}

TEST(scenario, s88_ends) {
  const Generator g = generator();
  Sequence s = sequence(g, 0);
  s.addStopToken(24);
  s.addBadToken(21);
  s.start();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{33, 33, 24}));
  EXPECT_EQ(s.finishReason(), "stop");
  Sequence first = sequence(g, 0), second = sequence(g);
  first.setOption("wait_for_logits", 1);
  first.start();
  second.start();
  fails([&] { second.next(1000); }, ErrorCode::deadline_exceeded, {"1000 ns"});
  first.cancel();
  EXPECT_EQ(second.readAll(), kTokens);
  EXPECT_EQ(first.next(-1), -1);
  EXPECT_EQ(first.finishReason(), "cancelled");
}

Sequence eightTokens(const Generator& g) {
  Sequence s = g.newSequence();
  s.setOption("max_new_tokens", 8);
  s.setOption("ignore_stop", 1);
  return s;
}

TEST(scenario, s95_encoder) {
  GeneratorOptions options;
  options.threads = 1;
  options.encoderLength = 40;
  const Generator g(model("../../data/generation/t5"), options);
  Sequence s = eightTokens(g);
  s.append({11, 16, 27, 26, 4});
  for (const int64_t token : {3, 8, 1}) s.appendDecoder(token);
  s.start();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{1, 1, 30, 18, 35, 35, 42, 10}));
  Sequence wrong = eightTokens(g);
  fails([&] { wrong.appendFeature(1); }, ErrorCode::invalid_argument, {"features"});
  wrong.append(std::vector<int64_t>(41, 1));
  fails([&] { wrong.start(); }, ErrorCode::out_of_range, {"encoder_length"});
  options.encoderLength = 41;
  fails([&] { Generator(model("../../data/generation/t5"), options); }, ErrorCode::invalid_argument,
        {"encoder_length"});
  fails([&] { Generator(model("../../data/generation/genai"), options); },
        ErrorCode::invalid_argument, {"encoder_length"});
}

TEST(scenario, s96_features) {
  GeneratorOptions options;
  options.threads = 1;
  const Generator g(model("../../data/generation/whisper"), options);
  Sequence s = eightTokens(g);
  s.readFeatures(model("../../data/generation/whisper/features.npy"));
  fails([&] { s.appendFeature(1); }, ErrorCode::out_of_range, {"288"});
  s.start();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{14, 29, 41, 13, 40, 13, 15, 13}));
  Sequence wrong = eightTokens(g);
  fails([&] { wrong.readFeatures("missing.npy"); }, ErrorCode::not_found, {"missing.npy"});
  fails([&] { wrong.start(); }, ErrorCode::invalid_argument, {"features"});
}

TEST(scenario, s97_beams) {
  const Generator g = generator(3);
  Sequence s = g.newSequence();
  s.append({5, 9, 2});
  s.setOption("num_beams", 3);
  s.setOption("num_return_sequences", 2);
  s.setOption("length_penalty", 2);
  s.setOption("early_stopping", 1);
  s.setOption("max_new_tokens", 10);
  s.start();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{46, 25, 4, 46, 20, 33, 11, 25, 4, 47}));
  EXPECT_NEAR(s.score(), -0.053866, 1e-4);
  EXPECT_TRUE(s.nextText());
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{46, 25, 4, 46, 20, 33, 9, 23, 0, 34}));
  EXPECT_NEAR(s.score(), -0.064983, 1e-4);
  EXPECT_FALSE(s.nextText());
  Sequence wrong = sequence(g);
  wrong.setOption("num_beams", 4);
  fails([&] { wrong.start(); }, ErrorCode::invalid_argument, {"slots"});
}

TEST(scenario, s98_saved_text) {
  const Generator g = generator();
  const std::string file = "sequence_cpp.bin", part = "sequence_cpp_cut.bin";
  Sequence s = sequence(g);
  s.start();
  for (int i = 0; i < 3; i++) s.next(-1);
  s.save(file);
  const std::vector<int64_t> rest(kTokens.begin() + 3, kTokens.end());
  Sequence again = g.newSequence();
  {
    std::ifstream whole(file, std::ios::binary);
    std::string bytes(100, '\0');
    whole.read(bytes.data(), 100);
    std::ofstream(part, std::ios::binary) << bytes;
  }
  fails([&] { again.restore(part); }, ErrorCode::data_loss, {part});
  again.restore(file);
  fails([&] { again.append(1); }, ErrorCode::failed_precondition, {"saved text"});
  again.start();
  EXPECT_EQ(again.readAll(), rest);
  EXPECT_EQ(s.readAll(), rest);
  fails([&] { generator(2).newSequence().restore(file); }, ErrorCode::failed_precondition,
        {"another model"});
  std::remove(file.c_str());
  std::remove(part.c_str());
}

TEST(scenario, s109_saved_text_in_memory) {
  const Generator g = generator();
  Sequence s = sequence(g);
  fails([&] { s.saveBytes(); }, ErrorCode::failed_precondition, {"not started"});
  s.start();
  for (int i = 0; i < 3; i++) s.next(-1);
  const std::vector<uint8_t> saved = s.saveBytes();
  const std::vector<int64_t> rest(kTokens.begin() + 3, kTokens.end());
  Sequence again = g.newSequence();
  fails([&] { again.restoreBytes(saved.data(), 100); }, ErrorCode::data_loss, {"damaged"});
  fails([&] { again.restoreBytes({}); }, ErrorCode::data_loss, {"saved sequence"});
  again.restoreBytes(saved);
  fails([&] { again.append(1); }, ErrorCode::failed_precondition, {"saved text"});
  again.start();
  EXPECT_EQ(again.readAll(), rest);
  EXPECT_EQ(s.readAll(), rest);
  fails([&] { generator(2).newSequence().restoreBytes(saved); }, ErrorCode::failed_precondition,
        {"another model"});
}

TEST(scenario, s110_byte_caches) {
  GeneratorOptions options;
  options.cachePrecision = "int8";
  const std::string folder = model("../../data/generation/");
  const std::string file = "byte_caches_cpp.popef";
  {
    const Generator g(folder + "genai", options);
    EXPECT_NE(g.statistics().find("\"cache_bytes\":4096"), std::string::npos) << g.statistics();
    g.save(file);
  }
  {
    const Generator g(file, options);
    Sequence s = sequence(g);
    s.start();
    EXPECT_EQ(s.readAll(), std::vector<int64_t>(kTokens.begin(), kTokens.end()));
  }
  generator().save(file);
  fails([&] { Generator(file, options); }, ErrorCode::invalid_argument,
        {"the PopEF file was compiled without it"});
  std::remove(file.c_str());
  options.maxLength = 64;
  fails([&] { Generator(folder + "lstm", options); }, ErrorCode::invalid_argument,
        {"cache_precision"});
  options.cachePrecision = "int4";
  fails([&] { Generator(folder + "genai", options); }, ErrorCode::invalid_argument,
        {"cache_precision"});
}

TEST(scenario, s99_named_states) {
  GeneratorOptions options;
  options.maxLength = 64;
  options.states = "h%d_in=h%d_out,c%d_in=c%d_out";
  const std::string lstm = model("../../data/generation/lstm");
  Sequence s = eightTokens(Generator(lstm + "/model.onnx", options));
  s.append({36, 37, 43});
  s.start();
  EXPECT_EQ(s.readAll(), (std::vector<int64_t>{17, 1, 6, 52, 30, 7, 48, 19}));
  options.states = "h%d_in";
  fails([&] { Generator(lstm, options); }, ErrorCode::invalid_argument, {"past=present"});
  options.states = "none_in=none_out";
  fails([&] { Generator(lstm, options); }, ErrorCode::not_found, {"none_out"});
}

}  // namespace
