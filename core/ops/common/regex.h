// Regular expressions in linear time, for patterns that come from a model.
//
// RE2's syntax without Unicode and named classes and flags: literals and escapes (\d \w \s \D \W \S
// \n \r \t \f \v \a \xHH), ., [...], groups, |, * + ? {m,n} (greedy or not is the same for a full
// match), ^ $ \A \z \b \B. Bytes above 127 form whole UTF-8 characters.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace poprt::ops {

class Regex {
 public:
  // Throws invalid_argument for a pattern that is none, resource_exhausted for one that is too big.
  explicit Regex(std::string_view pattern);

  // True when the whole text matches. Steps: text length times pattern size at most.
  bool full_match(std::string_view text) const;

 private:
  friend class RegexCompiler;
  struct Range {
    uint32_t low, high;
  };
  struct State {
    enum Kind : uint8_t { set, split, begin, end, boundary, inside, match } kind = match;
    uint32_t next = 0, other = 0;  // other: the second way of a split
    bool inverted = false;
    std::vector<Range> ranges;
  };
  std::vector<State> states_;
  uint32_t start_ = 0;
};

}  // namespace poprt::ops
