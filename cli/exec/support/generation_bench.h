// Measures how fast a language model generates texts, for poprt_exec bench --generate.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct GenerationSettings {
  std::string model, cache_precision;
  int64_t prompt_tokens = 128, new_tokens = 64;
  int64_t max_length = 0, prefill = 0;  // 0: the defaults of the generator
  int64_t most_sequences = 1;           // of all measurements
  int64_t seed = 0;
  int threads = 0, warmup = 1;
};

// The results of several sequences that start together.
struct GenerationTimes {
  int64_t sequences = 0, repetitions = 0;
  double load_ms = 0;
  uint64_t private_bytes = 0;
  // One value for each repetition, for all sequences together.
  std::vector<double> prefill, decode, tokens_per_step;
  // One value for each sequence of each repetition, measured from the common start.
  std::vector<double> first_token_ms;

  nlohmann::json json() const;
  static std::string header();  // of a table
  std::string row() const;
};

class GenerationBench {
 public:
  // Compiles or opens the model with a slot for each sequence. Throws Failure if prompt and new
  // tokens exceed its context, or a PopEF file has fewer slots.
  GenerationBench(const GenerationSettings& settings, int64_t sequences);

  // Repeats texts with random prompts while `more(repetitions)` is true. If `stopped` becomes true,
  // a repetition ends early, and counts if each text has its first token and a step was computed.
  // The result may have no repetition then.
  GenerationTimes measure(const std::function<bool(int64_t)>& more,
                          const std::function<bool()>& stopped);

 private:
  using Stopped = std::function<bool()>;

  // The counts of the generator since it was created.
  struct Counts {
    double prompt_tokens = 0, prompt_seconds = 0, decode_tokens = 0, decode_seconds = 0, steps = 0;
  };

  void check_sizes() const;
  Counts counts() const;
  std::vector<int64_t> random_prompt();
  Sequence new_sequence(int64_t new_tokens);
  void repeat(GenerationTimes& times, const Stopped& stopped);
  // Reads tokens to the end, or only the first one. Returns false if `stopped` became true before.
  static bool read(poprt_sequence* sequence, bool first_only, const Stopped& stopped);

  const GenerationSettings settings_;
  const int64_t sequences_;
  Generator generator_;
  double load_ms_ = 0;
  int64_t prompts_ = 0;  // made so far
};

// Returns the resident memory that this process cannot share with others: all but mapped files,
// such as the weights of a PopEF file. 0 if the system does not report it.
uint64_t private_memory();

}  // namespace poprt::cli
