// Finds nodes that compute every token of [rows, length] independently, so that the row and place
// of a token do not matter.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// How tokens are stored in an operand or a result: its first dimensions are [rows, length], or rows
// * length.
enum class Tokens : uint8_t {
  none,      // does not depend on tokens
  flat,      // [rows * length, ...]
  matrix,    // [rows, length, ...]
  elsewhere  // depends on tokens in another form
};

struct TokenPlaces {
  int64_t rows = 0, length = 0;
};

struct ByToken {
  Tokens result = Tokens::matrix;
  // Inputs that are equal for all rows and differ by place, such as position embeddings.
  std::vector<size_t> by_place;
  // Whether the node is a product with weights or a table look-up, so that it should run on as few
  // tokens as possible.
  bool heavy = false;
};

// Returns nothing if the node combines tokens or this is unknown. `inputs[i]` describes input i.
std::optional<ByToken> computed_by_token(const ir::Node& node, std::span<const Tokens> inputs,
                                         TokenPlaces places);

}  // namespace poprt::passes
