// The text of a generator's sequence, in pieces that follow its tokens.
//
// For example, with the stop string "\n\n": the tokens "Hel", "lo\n", "you" become "Hel",
// "lo" and "\nyou", because "\n" could begin the stop string. An incomplete character
// is also held back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/tokenizer.h"

namespace poprt::cli {

class TextStream {
 public:
  // The text continues `prompt`, so that it begins with a space where it needs one. Stop strings
  // are not empty; they are searched in the text of the tokens after the first `min_tokens`. The
  // tokenizer must outlive this object.
  TextStream(const Tokenizer& tokenizer, std::span<const int64_t> prompt,
             std::vector<std::string> stops = {}, int64_t min_tokens = 0);

  // Returns the text that is complete with this token.
  std::string add(int64_t token);
  // Returns the rest after the last token. U+FFFD replaces bytes of incomplete characters.
  std::string finish();
  // Whether the text has ended before a stop string. Then add() and finish() return "".
  bool stopped() const { return stopped_; }

 private:
  std::string decode(size_t first, size_t last) const;
  void take(size_t last, const std::string& before, const std::string& now);
  std::string release_held(bool all);

  const Tokenizer& tokenizer_;
  const std::vector<std::string> stops_;
  const int64_t min_tokens_;
  int64_t count_ = 0;            // of tokens that were added
  std::vector<int64_t> tokens_;  // the last ones
  size_t taken_ = 0;             // tokens whose text is in held_, or was returned
  std::string held_;             // text that may begin a stop string
  bool stopped_ = false;
};

}  // namespace poprt::cli
