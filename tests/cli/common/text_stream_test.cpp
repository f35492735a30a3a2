#include "common/text_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace poprt::cli {
namespace {

constexpr std::string_view kQuestion = "\xef\xbf\xbd";  // U+FFFD

// Each token is a byte; the text is that of sentencepiece: bytes that are not UTF-8 become U+FFFD
// one by one, and a space at the start is removed. Token 256 has no text.
class ByteTokens : public Tokenizer {
 public:
  int64_t size() const override { return 257; }
  std::vector<int64_t> encode(std::string_view text, bool) const override {
    std::vector<int64_t> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::string chat(std::string_view text) const override { return std::string(text); }
  std::string decode(std::span<const int64_t> tokens) const override {
    std::string bytes, text;
    for (const int64_t token : tokens)
      if (token < 256) bytes += static_cast<char>(token);
    if (bytes.starts_with(' ')) bytes.erase(0, 1);
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = character(std::string_view(bytes).substr(at));
      text += size ? bytes.substr(at, size) : kQuestion;
      at += std::max(size, size_t{1});
    }
    return text;
  }
  std::string name(int64_t) const override { return {}; }

 private:
  // The number of bytes of the character that the bytes begin with, or 0.
  static size_t character(std::string_view bytes) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    const size_t size = first < 0x80                     ? 1
                        : first >= 0xc2 && first <= 0xdf ? 2
                        : (first & 0xf0) == 0xe0         ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
    if (size == 0 || size > bytes.size()) return 0;
    for (size_t i = 1; i < size; i++)
      if ((static_cast<unsigned char>(bytes[i]) & 0xc0) != 0x80) return 0;
    return size;
  }
};

std::vector<std::string> pieces_of(TextStream& stream, std::string_view text) {
  std::vector<std::string> pieces;
  for (const int64_t token : ByteTokens().encode(text, false)) pieces.push_back(stream.add(token));
  pieces.push_back(stream.finish());
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, ACharacterWaitsForItsLastByte) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {});
  EXPECT_EQ(pieces_of(stream, "a\u20acb"), (Pieces{"a", "", "", "\u20ac", "b", ""}));
}

TEST(TextStream, BytesOfNoCharacterAreReplacedAtTheEnd) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {});
  const std::string two = std::string(kQuestion) + std::string(kQuestion);
  EXPECT_EQ(pieces_of(stream, "a\xe2\x82"), (Pieces{"a", "", "", two}));
}

TEST(TextStream, ManyBytesOfNoCharacterDoNotWaitForTheEnd) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {});
  std::string given, wanted;
  for (int i = 0; i < 100; i++) given += stream.add(0x80), wanted += kQuestion;
  EXPECT_GE(given.size(), kQuestion.size() * 90);
  for (const int64_t token : {0xf0, 0x9f, 0x98, 0x80}) given += stream.add(token);
  EXPECT_EQ(given, wanted + "\U0001f600");
}

TEST(TextStream, ATextContinuesItsPrompt) {
  const ByteTokens tokenizer;
  const auto prompt = tokenizer.encode("some prompt that is long", false);
  TextStream stream(tokenizer, prompt);
  EXPECT_EQ(joined(pieces_of(stream, " word")), " word");
  TextStream first(tokenizer, {});
  EXPECT_EQ(joined(pieces_of(first, " word")), "word");
}

TEST(TextStream, TokensWithoutATextKeepTheSpaceAfterThem) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {});
  std::string text = stream.add('a');
  for (int i = 0; i < 40; i++) text += stream.add(256);
  text += stream.add(' ') + stream.add('b') + stream.finish();
  EXPECT_EQ(text, "a b");
}

TEST(TextStream, TheTextEndsBeforeAStopString) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {}, {"END", "\n\n"});
  EXPECT_EQ(pieces_of(stream, "aE\nENDb"), (Pieces{"a", "", "E", "\n", "", "", "", ""}));
  EXPECT_TRUE(stream.stopped());
  TextStream other(tokenizer, {}, {"END", "\n\n"});
  EXPECT_EQ(joined(pieces_of(other, "EEN\n")), "EEN\n");
  EXPECT_FALSE(other.stopped());
}

TEST(TextStream, TheFirstStopStringEndsTheText) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {}, {"bcd", "ab"});
  EXPECT_EQ(joined(pieces_of(stream, "xabcd")), "x");
}

TEST(TextStream, StopStringsAreFoundInTextThatWaited) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {}, {std::string(kQuestion)});
  EXPECT_EQ(joined(pieces_of(stream, "ab\xe2\x82")), "ab");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, StopStringsCountAfterTheLeastTokens) {
  const ByteTokens tokenizer;
  TextStream stream(tokenizer, {}, {"b"}, 3);
  EXPECT_EQ(joined(pieces_of(stream, "abcabc")), "abca");
  EXPECT_TRUE(stream.stopped());
}

// The pieces of random bytes are the text of all bytes, cut at the first stop string.
TEST(TextStream, PiecesOfRandomBytesAreTheWholeText) {
  const ByteTokens tokenizer;
  std::mt19937 random(7);
  const std::string alphabet = "ab \xe2\x82\xac\xf0\x9f\x98\x80";
  for (int round = 0; round < 3000; round++) {
    std::string bytes;
    for (size_t i = random() % 60; i > 0; i--) bytes += alphabet[random() % alphabet.size()];
    std::vector<std::string> stops;
    for (size_t i = random() % 3; i > 0; i--) stops.push_back(round % 2 ? "aba" : "b\u20ac");
    TextStream stream(tokenizer, tokenizer.encode("x", false), stops);
    std::string wanted = tokenizer.decode(tokenizer.encode("x" + bytes, false)).substr(1);
    size_t end = std::string::npos;
    for (const std::string& stop : stops) end = std::min(end, wanted.find(stop));
    if (end != std::string::npos) wanted.resize(end);
    EXPECT_EQ(joined(pieces_of(stream, bytes)), wanted) << testing::PrintToString(bytes);
    EXPECT_EQ(stream.stopped(), end != std::string::npos);
  }
}

}  // namespace
}  // namespace poprt::cli
