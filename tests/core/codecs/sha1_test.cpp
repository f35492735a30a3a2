#include "codecs/sha1.h"

#include <gtest/gtest.h>

#include <string>

namespace poprt {
namespace {

std::string sha1_text(const std::string& text) { return sha1_of(std::as_bytes(std::span(text))); }

TEST(Sha1, VectorsOfTheStandard) {
  EXPECT_EQ(sha1_text(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_text("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_text(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// The expected values were computed with Python's hashlib, for sizes around that of a block.
TEST(Sha1, SizesAroundABlock) {
  EXPECT_EQ(sha1_text(std::string(55, 'x')), "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
  EXPECT_EQ(sha1_text(std::string(56, 'x')), "901305367c259952f4e7af8323f480d59f81335b");
  EXPECT_EQ(sha1_text(std::string(64, 'x')), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
  EXPECT_EQ(sha1_text(std::string(119, 'x')), "4300320394f7ee239bcdce7d3b8bcee173a0cd5c");
}

TEST(Sha1, PartsAreHashedAsTheWhole) {
  std::string text(300, '\0');
  for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>(i * 7);
  const auto bytes = std::as_bytes(std::span(text));
  for (size_t first = 0; first <= 130; first++)
    for (const size_t second : {0, 1, 63, 64, 65, 128}) {
      Sha1 hash;
      hash.add(bytes.first(first)).add(bytes.subspan(first, second));
      EXPECT_EQ(hash.add(bytes.subspan(first + second)).finish(), sha1_of(bytes)) << first;
    }
}

}  // namespace
}  // namespace poprt
