#include "codecs/npy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
        if (n > 0) std::memcpy(to, bytes.data() + at, n);
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

TEST(Npy, RefusesDataThatContradictsTheShape) {
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

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string refusal(const std::string& bytes) {
  try {
    parsed(bytes);
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}

TEST(Npy, RefusesUnsupportedHeaders) {
  const std::string no = "'x.npy' is no usable .npy file: ";
  const std::string four(4, '\0');
  const std::pair<std::string, std::string> cases[] = {
      {header_of("'<f4'", "(1,)"), "taken"},
      {header_of("'=f4'", "(1,)"), "taken"},
      {header_of("'|f4'", "(1,)"), "taken"},
      {header_of("'f4'", "(1,)"), "taken"},
      {header_of("'>f4'", "(1,)"),
       no + "it is big-endian; save it with .astype(a.dtype.newbyteorder('<'))"},
      {header_of("'<f3'", "(1,)"), no + "dtype 'f3' is not supported"},
      {header_of("'O'", "(1,)"), no + "no simple 'descr'"},
      {header_of("[('a', '<f4')]", "(1,)"), no + "no simple 'descr'"},
      {header_of("'<U'", "(1,)"), no + "its shape needs 0 bytes of data, found 4"},
      {header_of("'<U1'", "(1,)"), "taken"},
      {header_of("'<U1x'", "(1,)"), no + "dtype 'U1x' is not supported"},
      {header_of("'<U123456789'", "(1,)"), no + "dtype 'U123456789' is not supported"},
      {header_of("'<U12345678'", "(1,)"), no + "its shape needs 49382712 bytes of data, found 4"},
      {header_of("'<f4'", "(1,)", "True"),
       no + "it is in Fortran order; save numpy.ascontiguousarray(a)"},
      {"{'descr': '<f4', 'shape': (1,), }",
       no + "it is in Fortran order; save numpy.ascontiguousarray(a)"},
      {header_of("'<f4'", "1"), no + "no 'shape'"},
      {header_of("'<f4'", "()"), "taken"},
      {header_of("'<f4'", "( 1 , 1 )"), "taken"},
      {header_of("'<f4'", "(-1,)"), no + "no 'shape'"},
      {header_of("'<f4'", "(2,)"), no + "its shape needs 8 bytes of data, found 4"},
      {header_of("'<f4'", "(0,)"), no + "its shape needs 0 bytes of data, found 4"},
      {header_of("'<f4'", "(4294967296, 4294967296)"), no + "the shape overflows"},
      {header_of("'<f4'", "(4611686018427387904,)"), no + "the shape overflows"},
      {"{'descr' : '<f4' , 'fortran_order' : False , 'shape' : () }", "taken"},
      {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", no + "no simple 'descr'"},
      {"{'fortran_order': False, 'shape': (), 'descr':", no + "no simple 'descr'"},
      {"{'fortran_order': False, 'descr': '<f4', 'shape': (1", no + "no 'shape'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (2,), }",
       no + "key 'shape' of its header is unknown or repeated"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
       no + "key 'descr' of its header is unknown or repeated"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'order': 'C', }",
       no + "key 'order' of its header is unknown or repeated"},
      {"{'descr': '<f4', 'fortran_order': False, \"extra\" : {'shape': (2,)}, 'shape': (1,), }",
       no + "key 'extra' of its header is unknown or repeated"},
  };
  for (const auto& [header, expected] : cases)
    EXPECT_EQ(refusal(npy(header, four)), expected) << header;
  std::string dimensions = "(";
  for (int i = 0; i < 64; i++) dimensions += "1, ";
  EXPECT_EQ(refusal(npy(header_of("'<f4'", dimensions + ")"), four)), "taken");
  EXPECT_EQ(refusal(npy(header_of("'<f4'", dimensions + "1)"), four)),
            no + "more than 64 dimensions");
  EXPECT_EQ(refusal(npy(header_of("'<U0'", "(2,)"), "")), no + "its text elements have no size");
  EXPECT_EQ(refusal(npy(header_of("'<U0'", "(0,)"), "")), "taken");
}

TEST(Npy, HeadersOfEveryVersion) {
  const std::string no = "'x.npy' is no usable .npy file: ";
  const std::string header = header_of("'|u1'", "(2,)");
  const auto with = [&](int version, const std::string& size) {
    return refusal(std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + size + header +
                   "ab");
  };
  const std::string two{static_cast<char>(header.size()), '\0'};
  EXPECT_EQ(with(0, two), no + "unknown format version 0");
  EXPECT_EQ(with(1, two), "taken");
  EXPECT_EQ(with(2, two + std::string(2, '\0')), "taken");
  EXPECT_EQ(with(3, two + std::string(2, '\0')), "taken");
  EXPECT_EQ(with(4, two + std::string(2, '\0')), no + "unknown format version 4");
  EXPECT_EQ(with(1, "\xff\x01"), no + "the header is truncated");
  EXPECT_EQ(with(2, two + std::string("\x01\x00", 2)), no + "the header is truncated");
  EXPECT_EQ(with(2, two + std::string("\x00\x01", 2)), no + "the header is truncated");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x01\x00\x00\x00", 10)), no + "no simple 'descr'");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x01\x00\x00", 9)), no + "the magic bytes are missing");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x02\x00\x00\x00\x00", 11)),
            no + "unknown format version 2");
  const auto blank = [&](size_t size) {
    std::string bytes = std::string("\x93NUMPY\x02\x00", 8);
    for (int i = 0; i < 4; i++) bytes += static_cast<char>(size >> 8 * i & 255);
    return refusal(bytes + header + std::string(size - header.size(), ' ') + "ab");
  };
  EXPECT_EQ(blank(65536), "taken");
  EXPECT_EQ(blank(65537), no + "a header of 65537 bytes");
}

// Tests the first and the last character of each length in UTF-8, and invalid characters.
TEST(Npy, TextBecomesUtf8) {
  const std::pair<char32_t, const char*> characters[] = {{0x1, "\x01"},
                                                         {0x7f, "\x7f"},
                                                         {0x80, "\xc2\x80"},
                                                         {0x7ff, "\xdf\xbf"},
                                                         {0x800, "\xe0\xa0\x80"},
                                                         {0xd7ff, "\xed\x9f\xbf"},
                                                         {0xd800, "\xef\xbf\xbd"},
                                                         {0xdfff, "\xef\xbf\xbd"},
                                                         {0xe000, "\xee\x80\x80"},
                                                         {0xffff, "\xef\xbf\xbf"},
                                                         {0x10000, "\xf0\x90\x80\x80"},
                                                         {0x10ffff, "\xf4\x8f\xbf\xbf"},
                                                         {0x110000, "\xef\xbf\xbd"},
                                                         {0xffffffff, "\xef\xbf\xbd"}};
  for (const auto& [c, utf8] : characters) {
    const char32_t text[] = {c, 0, 'x', c, 0, 0};  // two elements of three
    const Tensor t =
        parsed(npy(header_of("'<U3'", "(2,)"), {reinterpret_cast<const char*>(text), sizeof text}));
    EXPECT_EQ(t.string_values(),
              (std::vector<std::string>{std::string(utf8) + std::string(1, '\0') + "x", utf8}));
  }
}

TEST(Npy, EveryTypeHasItsCode) {
  const std::pair<DType, const char*> codes[] = {
      {DType::f32, "f4"}, {DType::f64, "f8"},  {DType::f16, "f2"}, {DType::s8, "i1"},
      {DType::u8, "u1"},  {DType::s16, "i2"},  {DType::u16, "u2"}, {DType::s32, "i4"},
      {DType::u32, "u4"}, {DType::s64, "i8"},  {DType::u64, "u8"}, {DType::boolean, "b1"},
      {DType::c64, "c8"}, {DType::c128, "c16"}};
  for (const auto& [dtype, code] : codes) {
    EXPECT_EQ(npy_code(dtype), code);
    const Tensor t = parsed(npy(header_of("'<" + std::string(code) + "'", "(1, 1)"),
                                std::string(static_cast<size_t>(dtype_bits(dtype) / 8), '\x01')));
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(t.shape(), (Shape{1, 1}));
    EXPECT_EQ(static_cast<const char*>(t.data())[t.bytes() - 1], '\x01');
  }
}

TEST(Npy, FilesAreRegular) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("npy_files_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto message_for = [](const std::filesystem::path& path) {
    try {
      read_npy(path.string());
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return std::string("taken");
  };
  const std::string fifo = folder / "fifo", file = folder / "a.npy";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(message_for(folder),
            "invalid_argument: cannot read '" + folder.string() + "': it is a folder");
  EXPECT_EQ(message_for(fifo),
            "invalid_argument: cannot read '" + fifo + "': it is no regular file");
  std::ofstream(file, std::ios::binary) << npy(header_of("'|u1'", "(3,)"), "abc");
  EXPECT_EQ(read_npy(file).to_int64s(), (std::vector<int64_t>{'a', 'b', 'c'}));
  // A process that closed its standard input gets descriptor 0 for the next file.
  EXPECT_EXIT(
      {
        ::close(0);
        ::_exit(read_npy(file).count() == 3 && ::fcntl(0, F_GETFD) == -1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(message_for("/nowhere/x.npy"),
            "not_found: cannot read '/nowhere/x.npy': No such file or directory");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace poprt
