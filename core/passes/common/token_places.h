// Which nodes compute every token of [rows, length] by itself, so that it does not matter in which
// row and place of it a token stands.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// How an operand or a result has tokens: its first dimensions are [rows, length], or rows * length.
enum class Tokens : uint8_t {
  none,      // the same whatever the tokens are
  flat,      // [rows * length, ...]
  matrix,    // [rows, length, ...]
  elsewhere  // depends on tokens, and has them in another way
};

struct TokenPlaces {
  int64_t rows = 0, length = 0;
};

struct ByToken {
  Tokens result = Tokens::matrix;
  // Inputs that are the same for all rows and have something of their own for every place, as
  // position embeddings have.
  std::vector<size_t> by_place;
  // A product with weights or a look-up in a table: worth computing for as few tokens as there are.
  bool heavy = false;
};

// Nothing: the node brings tokens together, or it cannot be told. `inputs[i]` is input i's.
std::optional<ByToken> computed_by_token(const ir::Node& node, std::span<const Tokens> inputs,
                                         TokenPlaces places);

}  // namespace poprt::passes
