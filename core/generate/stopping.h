// The rules of a model and of the options by which a text ends, and the tokens that they force or
// hide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "generate/description.h"
#include "generate/sampler.h"

namespace poprt::generate {

struct Stopping {
  const Description& model;
  const SamplingOptions& options;
  size_t prompt_length = 0;

  // Whether the text ends with this token.
  bool is_stop(int64_t token) const;
  // The tokens of is_stop(), ascending.
  std::vector<int64_t> stop_tokens() const;
  // The most tokens of the text, including the prompt.
  size_t most_tokens() const;
  // Returns the token that must come next in a text of `length` tokens, if there is one, as in
  // Hugging Face's transformers.
  std::optional<int64_t> forced_token(size_t length) const;
  // The tokens that must not come next after `made` new tokens.
  std::vector<int64_t> hidden_tokens(size_t made) const;
};

}  // namespace poprt::generate
