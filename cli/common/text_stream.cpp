#include "common/text_stream.h"

#include <algorithm>

namespace poprt::cli {
namespace {

constexpr size_t kContext = 8;      // tokens before a piece that its text may depend on
constexpr size_t kMostWaiting = 8;  // tokens that may wait for the rest of a character
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// The position of the first character in which the texts differ.
size_t first_difference(std::string_view before, std::string_view now) {
  const auto differs = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  auto at = static_cast<size_t>(differs.second - now.begin());
  while (at > 0 && at < now.size() && (static_cast<unsigned char>(now[at]) & 0xc0) == 0x80) at--;
  return at;
}

// The number of bytes at the end of the text that could begin a stop string.
size_t begun_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t most = 0;
  for (const std::string& stop : stops)
    for (size_t size = std::min(stop.size() - 1, text.size()); size > most; size--)
      if (text.ends_with(std::string_view(stop).substr(0, size))) most = size;
  return most;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const int64_t> prompt,
                       std::vector<std::string> stops, int64_t min_tokens)
    : tokenizer_(tokenizer), stops_(std::move(stops)), min_tokens_(min_tokens) {
  const auto context = prompt.last(std::min(prompt.size(), kContext));
  tokens_.assign(context.begin(), context.end());
  taken_ = tokens_.size();
}

std::string TextStream::decode(size_t first, size_t last) const {
  return tokenizer_.decode(std::span(tokens_).subspan(first, last - first));
}

// Appends the text of the tokens from taken_ to `last` to held_, and keeps tokens as context.
void TextStream::take(size_t last, const std::string& before, const std::string& now) {
  held_ += now.substr(first_difference(before, now));
  // Tokens without a text are not kept as context, because decode() removes the space of a token
  // that follows no text.
  if (now == before)
    tokens_.erase(tokens_.begin() + static_cast<ptrdiff_t>(taken_),
                  tokens_.begin() + static_cast<ptrdiff_t>(last));
  else
    taken_ = last;
  if (taken_ > 2 * kContext) {
    tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(taken_ - kContext));
    taken_ = kContext;
  }
}

// Moves the text that later tokens cannot make part of a stop string from held_ to the result. With
// `all`, which means that no token follows, this is the whole text. If held_ contains a stop
// string, only the text before it is returned, and the stream stops. Up to token min_tokens_, stop
// strings have no effect, and the whole text is moved.
std::string TextStream::release_held(bool all) {
  size_t size = held_.size();
  if (count_ > min_tokens_) {
    size_t first = std::string::npos;
    for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
    stopped_ = first != std::string::npos;
    size = stopped_ ? first : size - (all ? 0 : begun_stop(held_, stops_));
  }
  std::string text = held_.substr(0, size);
  held_.erase(0, size);
  return text;
}

std::string TextStream::add(int64_t token) {
  if (stopped_) return {};
  tokens_.push_back(token);
  count_++;
  const std::string before = decode(0, taken_), now = decode(0, tokens_.size());
  if (!now.ends_with(kReplacement)) {
    take(tokens_.size(), before, now);
    return release_held(false);
  }
  // The last tokens may begin a character. It has up to four bytes, and a token has at least one,
  // so of more than kMostWaiting tokens only the last three wait.
  if (tokens_.size() - taken_ <= kMostWaiting) return {};
  const size_t last = tokens_.size() - 3;
  take(last, before, decode(0, last));
  return release_held(false);
}

std::string TextStream::finish() {
  if (stopped_) return {};
  take(tokens_.size(), decode(0, taken_), decode(0, tokens_.size()));
  return release_held(true);
}

}  // namespace poprt::cli
