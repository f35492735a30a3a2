// Chooses the next token of a sequence from the logits of a model.
//
// Steps, in this order: repetition penalty, bad tokens, stop tokens before the minimal length; then
// greedy choice (temperature 0), or temperature, top-k, top-p, min-p and a draw. Equal logits,
// options and seeds result in the same tokens, unless the exp() of another C library rounds
// differently.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace poprt::generate {

struct SamplingOptions {
  double temperature = 0;  // 0: the most probable token
  int64_t top_k = 0;       // the number of most probable tokens that are kept; 0: all
  double top_p = 1;        // keeps the fewest tokens with at least this sum of probabilities
  double min_p = 0;        // keeps tokens of at least this part of the greatest probability
  // Divides the logits above 0 of tokens that the text contains, and multiplies those below 0. In a
  // beam search it multiplies their log-probabilities.
  double repetition_penalty = 1;
  uint64_t seed = 0;
  std::vector<int64_t> bad_tokens;   // tokens that are never chosen
  std::vector<int64_t> stop_tokens;  // end the sequence, in addition to those of the model
  bool ignore_stop = false;          // the stop tokens of the model do not end the sequence
  int64_t max_new_tokens = 0;        // 0: until the maximum length
  int64_t min_new_tokens = 0;        // stop tokens are not chosen before
};

// The least and the greatest value of an option.
struct SamplingRange {
  double least, most;
};
inline constexpr SamplingRange kTemperatures{0, 1e6}, kTopP{1e-9, 1}, kMinP{0, 1},
    kRepetitionPenalties{1e-3, 1e3};

// Throws invalid_argument with the name of the option if one is out of range.
void check(const SamplingOptions& options, int64_t vocabulary);

struct Token {
  int64_t id = 0;
  // The logarithm of its probability according to the model, before penalties and temperature.
  double log_probability = 0;
};

class Sampler {
 public:
  explicit Sampler(SamplingOptions options);

  // The number of random numbers that were drawn since the seed. set_draws() seeds again and skips
  // `draws` numbers.
  uint64_t draws() const { return draws_; }
  void set_draws(uint64_t draws);

  // `tokens` are the prompt and the tokens since; `hidden` are tokens that must not be chosen now.
  // Changes the logits. Throws failed_precondition if they contain NaN, or if no token is left.
  Token choose(std::span<float> logits, std::span<const int64_t> tokens,
               std::span<const int64_t> hidden);

  // The token with its probability, whatever the options are. Throws failed_precondition for NaN.
  Token forced(std::span<const float> logits, int64_t token) const;

  // The logarithms of all probabilities, and the same after the repetition penalty and without
  // hidden and bad tokens, for a beam search. Throws failed_precondition for NaN.
  struct Scores {
    std::vector<double> plain, changed;
  };
  Scores scores(std::span<const float> logits, std::span<const int64_t> tokens,
                std::span<const int64_t> hidden) const;

  const SamplingOptions& options() const { return options_; }

 private:
  struct Candidate {
    int64_t id;
    double weight;
  };

  int64_t draw(std::span<const float> logits);

  const SamplingOptions options_;
  std::mt19937_64 random_;
  uint64_t draws_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace poprt::generate
