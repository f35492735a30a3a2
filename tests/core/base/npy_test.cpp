#include "base/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace poprt {
namespace {

std::string npy(const std::string& header, const std::string& data) {
  std::string s = std::string("\x93NUMPY\x01\x00", 8);
  s += static_cast<char>(header.size() & 255);
  s += static_cast<char>(header.size() >> 8);
  return s + header + data;
}

Tensor parsed(const std::string& bytes) {
  size_t at = 0;
  return parse_npy(
      bytes.size(),
      [&](void* to, size_t n) {
        ASSERT_LE(at + n, bytes.size());
        std::memcpy(to, bytes.data() + at, n);
        at += n;
      },
      "x.npy");
}

TEST(Npy, ReadsNumbers) {
  const float values[] = {1.5f, -2};
  const Tensor t = parsed(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }",
                              {reinterpret_cast<const char*>(values), sizeof values}));
  EXPECT_EQ(t.dtype(), DType::f32);
  EXPECT_EQ(t.shape(), (Shape{2, 1}));
  EXPECT_EQ(t.values<float>()[1], -2);
}

TEST(Npy, ReadsText) {
  const std::u32string text = U"a\u00e9b\U0001F600";  // two elements of two characters
  const Tensor t = parsed(npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }",
                              {reinterpret_cast<const char*>(text.data()), text.size() * 4}));
  EXPECT_EQ(t.string_values(), (std::vector<std::string>{"a\u00e9", "b\U0001F600"}));
}

TEST(Npy, RefusesWhatItsShapeDoesNotSay) {
  EXPECT_THROW(parsed(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "abc")),
               Error);
  EXPECT_THROW(parsed("PK\x03\x04 and so on, which is another format"), Error);
}

TEST(Npy, FilesThatCannotBeOpenedAreNamed) {
  try {
    read_npy("/nowhere/x.npy");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find("/nowhere/x.npy"), std::string::npos);
  }
  EXPECT_THROW(read_npy(std::filesystem::temp_directory_path().string()), Error);
}

TEST(Npy, CodesAreNumpys) {
  EXPECT_EQ(npy_code(DType::f32), "f4");
  EXPECT_EQ(npy_code(DType::bf16), "");
}

}  // namespace
}  // namespace poprt
