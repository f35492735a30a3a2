#include "codecs/sha256.h"

#include <gtest/gtest.h>

namespace poprt {
namespace {

std::string hash(std::string_view text) { return Sha256().add(text).finish(); }

// FIPS 180-4 examples and the NIST long vector.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSame) {
  std::string text;
  for (int i = 0; i < 300; i++) text += static_cast<char>(i * 7);
  for (size_t length = 0; length <= text.size(); length++) {
    const std::string_view all(text.data(), length);
    Sha256 pieces;
    for (size_t at = 0, n = 1; at < length; at += n, n = n % 70 + 1) pieces.add(all.substr(at, n));
    ASSERT_EQ(pieces.finish(), hash(all)) << length;
  }
}

TEST(Sha256, TheProcessorsInstructionsGiveTheSame) {
  std::array<std::byte, 64 * 37> bytes{};
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<std::byte>(i * i % 251);
  for (size_t count = 0; count <= 37; count++) {
    std::array<uint32_t, 8> own = {1, 2, 3, 0x80000000, 5, 0xffffffff, 7, 8}, portable = own;
    sha256_blocks(own, bytes.data(), count);
    sha256_blocks(portable, bytes.data(), count, true);
    ASSERT_EQ(own, portable) << count;
  }
}

TEST(Sha256, SizedPartsDoNotRunTogether) {
  EXPECT_NE(Sha256().add_sized("ab").add_sized("c").finish(),
            Sha256().add_sized("a").add_sized("bc").finish());
}

}  // namespace
}  // namespace poprt
