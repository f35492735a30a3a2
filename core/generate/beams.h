// Beam search: keeps the most probable texts instead of one.
//
// The definition is that of Hugging Face's transformers. In each step, every running text has a
// continuation for each token. The best continuations that end join the finished texts if they are
// among the first num_beams; the best of the others continue. The score of a finished text is the
// sum of the log-probabilities of its tokens after penalties (Sampler::Scores::changed), divided by
// its number of new tokens to the power length_penalty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "generate/sampler.h"

namespace poprt::generate {

// yes: the search ends when num_beams texts have finished. no: it ends when, in addition, the best
// running text, with its score divided as for its current length, is not better than the worst
// finished one. never: like `no`, but a length_penalty above 0 applies to the maximum length.
enum class EarlyStopping : uint8_t { no, yes, never };

struct BeamOptions {
  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
};

// Throws invalid_argument with the name of the option if one is out of range. Each beam needs one
// of the `slots` of the generator.
void check(const BeamOptions& options, int64_t slots);

struct BeamText {
  std::vector<Token> tokens;
  double score = 0;  // of a running text: the sum that is not divided yet
};

class BeamSearch {
 public:
  // `most` is the maximum number of new tokens of a text, `stops` the number of different tokens
  // that end one.
  BeamSearch(const BeamOptions& options, size_t most, size_t stops);

  // Texts that continue. At the beginning there is one without tokens.
  const std::vector<BeamText>& running() const { return running_; }
  // For each running text, the index of the text that it continues, in running() before the last
  // step.
  const std::vector<size_t>& parents() const { return parents_; }
  bool is_done() const { return done_; }

  // `rows` contains the changed log-probabilities of all tokens for each running text, -inf for
  // tokens that must not be chosen, and `plain` those of the model. Throws failed_precondition if
  // no token is left.
  void step(std::span<const std::vector<double>> rows, std::span<const std::vector<double>> plain,
            const std::function<bool(int64_t)>& is_stop);

  // The finished texts, the best one first: at most num_return_sequences.
  std::vector<BeamText> results() const;

 private:
  struct Candidate {
    double score;
    size_t parent;
    int64_t token;
  };
  std::vector<Candidate> best_of(std::span<const std::vector<double>> rows) const;

  const BeamOptions options_;
  const size_t beams_, most_, kept_;
  std::vector<BeamText> running_, finished_;
  std::vector<size_t> parents_;
  size_t length_ = 0;
  bool done_ = false;
};

}  // namespace poprt::generate
