// The language models of tests/data/generation, and the tokens that NumPy computed for them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compiler/driver.h"
#include "generate/folder.h"
#include "generate/generator.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"

namespace poprt::test {

inline std::filesystem::path generation_data() {
  return std::filesystem::path(POPRT_TEST_DATA) / "generation";
}

inline std::shared_ptr<const runtime::Model> compile_model_of(
    const generate::ModelFolder& folder, const generate::GenerationSizes& sizes) {
  compiler::DriverOptions options;
  options.generation = compiler::read_generation(generate::generation_text(folder, sizes));
  const compiler::Executable e =
      compiler::compile_model(compiler::read_model({.path = folder.model}), options);
  const auto payload = std::make_shared<runtime::PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            e.program, e.weights, e.notes, e.narrow);
  return runtime::open_payload("model", payload->bytes(), payload);
}

// The end of the name of a model whose caches have 8 bits.
inline constexpr std::string_view kByteCaches = "_int8";

// Returns the model of a folder. Compiled models are kept for later tests.
inline std::shared_ptr<const runtime::Model> generation_model(const std::string& kind,
                                                              generate::GenerationSizes sizes) {
  static std::map<std::string, std::shared_ptr<const runtime::Model>> made;
  std::string key =
      fmt::format("{} {} {} {}", kind, sizes.max_length, sizes.slots, sizes.encoder_length);
  for (const int64_t p : sizes.prefill) key += fmt::format(" {}", p);
  auto& model = made[key];
  std::string folder = kind;
  if (kind.ends_with(kByteCaches)) {
    folder.resize(kind.size() - kByteCaches.size());
    sizes.cache_precision = "int8";
  }
  if (!model) model = compile_model_of(generate::open_folder(generation_data() / folder), sizes);
  return model;
}

struct ExpectedText {
  std::vector<int64_t> prompt, tokens;
  std::vector<double> log_probabilities;
  // The input of the encoder.
  std::vector<int64_t> source = {};
  std::vector<float> features = {};
};

inline constexpr const char* kEncoderDecoder = "expected_encoder_decoder.json";

inline nlohmann::json read_json(const std::string& name) {
  std::ifstream file(generation_data() / name);
  return parse_json(std::string((std::istreambuf_iterator<char>(file)), {}));
}

inline std::vector<float> features_of(const nlohmann::json& item) {
  std::vector<float> features;
  for (const auto& row : item.value("features", nlohmann::json::array()))
    for (const auto& value : row) features.push_back(value.get<float>());
  return features;
}

inline std::vector<ExpectedText> expected_texts(const std::string& kind,
                                                const std::string& name = "expected.json") {
  std::vector<ExpectedText> texts;
  const nlohmann::json all = read_json(name);
  for (const auto& item : all.at(kind))
    texts.push_back({item.at("prompt"), item.at("tokens"), item.at("log_probabilities"),
                     item.value("source", std::vector<int64_t>()), features_of(item)});
  return texts;
}

struct Text {
  std::vector<int64_t> tokens;
  std::vector<double> log_probabilities;
};
// Reads a sequence to its end.
inline Text read_text(generate::Sequence& s) {
  Text text;
  while (const auto token = s.next()) {
    text.tokens.push_back(token->id);
    text.log_probabilities.push_back(token->log_probability);
  }
  return text;
}

// Options that generate as many tokens as the reference has.
inline generate::SequenceOptions as_expected(const ExpectedText& text) {
  generate::SequenceOptions options;
  options.sampling.ignore_stop = true;
  options.sampling.max_new_tokens = static_cast<int64_t>(text.tokens.size());
  options.source = text.source;
  options.features = text.features;
  return options;
}

// Compares the tokens of a text, and their log-probabilities within a tolerance.
inline void expect_text(generate::Generator& generator, const ExpectedText& wanted,
                        double tolerance) {
  SCOPED_TRACE(
      fmt::format("prompt of {}, source of {}", wanted.prompt.size(), wanted.source.size()));
  const auto s = generator.submit(wanted.prompt, as_expected(wanted));
  const Text got = read_text(*s);
  EXPECT_EQ(got.tokens, wanted.tokens);
  ASSERT_EQ(got.log_probabilities.size(), wanted.log_probabilities.size());
  for (size_t i = 0; i < got.tokens.size(); i++)
    EXPECT_NEAR(got.log_probabilities[i], wanted.log_probabilities[i], tolerance) << i;
  EXPECT_EQ(s->finish(), generate::Finish::length);
}

// Compares the tokens of random texts, of which at most seven run at the same time.
inline void expect_same_tokens_together(generate::Generator& generator,
                                        const std::vector<ExpectedText>& texts, int rounds) {
  std::mt19937 random(5);
  std::vector<std::pair<size_t, std::shared_ptr<generate::Sequence>>> running;
  const auto finish = [&](size_t i) {
    const auto [text, s] = running[i];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(read_text(*s).tokens, texts[text].tokens);
  };
  for (int round = 0; round < rounds; round++) {
    const size_t text = random() % texts.size();
    running.emplace_back(text, generator.submit(texts[text].prompt, as_expected(texts[text])));
    if (running.size() > 6) finish(random() % running.size());
  }
  while (!running.empty()) finish(0);
}

}  // namespace poprt::test
