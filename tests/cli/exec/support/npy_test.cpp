#include "exec/support/npy.h"

#include <cstring>

#include "base/error.h"
#include "cli/command_line.h"

namespace poprt::cli {
namespace {

Array bytes(poprt_dtype dtype, const std::vector<int>& values) {
  Array array{dtype, {static_cast<int64_t>(values.size())}, {}, {}};
  for (const int v : values) array.data.push_back(static_cast<std::byte>(v));
  return array;
}

std::vector<int> numbers(const Array& array) {
  std::vector<int> values;
  for (const std::byte b : array.data) values.push_back(static_cast<int>(b));
  return values;
}

TEST(Npy, BitsOfSmallIntegersArePacked) {
  const Array s4 = as_stored_type(bytes(POPRT_DTYPE_S8, {-8, 7, -1}), POPRT_DTYPE_S4, "f");
  EXPECT_EQ(s4.dtype, POPRT_DTYPE_S4);
  EXPECT_EQ(numbers(s4), (std::vector<int>{0x78, 0x0f}));
  EXPECT_EQ(numbers(as_stored_type(bytes(POPRT_DTYPE_U8, {15, 0, 9, 1}), POPRT_DTYPE_U4, "f")),
            (std::vector<int>{0x0f, 0x19}));
  EXPECT_EQ(numbers(as_stored_type(bytes(POPRT_DTYPE_S8, {-2, 1, -1, 0, 1}), POPRT_DTYPE_S2, "f")),
            (std::vector<int>{0b00110110, 0b01}));
  EXPECT_EQ(numbers(as_stored_type(bytes(POPRT_DTYPE_U8, {3, 0, 2, 1}), POPRT_DTYPE_U2, "f")),
            std::vector<int>{0b01100011});
  EXPECT_EQ(numbers(as_stored_type(bytes(POPRT_DTYPE_U8, {15, 3}), POPRT_DTYPE_F4E2M1, "f")),
            std::vector<int>{0x3f});
  EXPECT_TRUE(as_stored_type(bytes(POPRT_DTYPE_U8, {}), POPRT_DTYPE_U4, "f").data.empty());
}

TEST(Npy, NumbersThatDoNotFitAreRefused) {
  const auto message_for = [](poprt_dtype from, std::vector<int> values, poprt_dtype to) {
    return message_of<Failure>([&] { (void)as_stored_type(bytes(from, values), to, "f.npy"); });
  };
  EXPECT_EQ(message_for(POPRT_DTYPE_S8, {0, 8}, POPRT_DTYPE_S4),
            "f.npy: element 1 is 8, s4 holds -8 to 7");
  EXPECT_EQ(message_for(POPRT_DTYPE_S8, {-9}, POPRT_DTYPE_S4),
            "f.npy: element 0 is -9, s4 holds -8 to 7");
  EXPECT_EQ(message_for(POPRT_DTYPE_S8, {-3}, POPRT_DTYPE_S2),
            "f.npy: element 0 is -3, s2 holds -2 to 1");
  EXPECT_EQ(message_for(POPRT_DTYPE_U8, {0, 0, 16}, POPRT_DTYPE_U4),
            "f.npy: element 2 is 16, u4 holds 0 to 15");
  EXPECT_EQ(message_for(POPRT_DTYPE_U8, {4}, POPRT_DTYPE_U2),
            "f.npy: element 0 is 4, u2 holds 0 to 3");
}

TEST(Npy, BitsOfWholeBytesAreUnchanged) {
  const Array bf16 = as_stored_type(bytes(POPRT_DTYPE_U16, {1, 2}), POPRT_DTYPE_BF16, "f");
  EXPECT_EQ(bf16.dtype, POPRT_DTYPE_BF16);
  EXPECT_EQ(numbers(bf16), (std::vector<int>{1, 2}));
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_U8, {255}), POPRT_DTYPE_F8143, "f").dtype,
            POPRT_DTYPE_F8143);
  // The bits of the other types are not stored in this type, so it does not change.
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_U8, {1}), POPRT_DTYPE_S4, "f").dtype, POPRT_DTYPE_U8);
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_S8, {1}), POPRT_DTYPE_U4, "f").dtype, POPRT_DTYPE_S8);
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_U8, {1}), POPRT_DTYPE_BF16, "f").dtype,
            POPRT_DTYPE_U8);
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_U16, {1}), POPRT_DTYPE_F16, "f").dtype,
            POPRT_DTYPE_U16);
  EXPECT_EQ(as_stored_type(bytes(POPRT_DTYPE_U8, {1}), POPRT_DTYPE_STRING, "f").dtype,
            POPRT_DTYPE_U8);
  const Array same = as_stored_type(bytes(POPRT_DTYPE_U4, {200}), POPRT_DTYPE_U4, "f");
  EXPECT_EQ(numbers(same), std::vector<int>{200});
}

TEST(Npy, ElementsOfLessThanAByteBecomeBytes) {
  const uint8_t packed[] = {0x78, 0x2f};
  const Array s4 = to_npy_type(POPRT_DTYPE_S4, {3}, packed, 2);
  EXPECT_EQ(s4.dtype, POPRT_DTYPE_S8);
  EXPECT_EQ(s4.shape, std::vector<int64_t>{3});
  EXPECT_EQ(numbers(s4), (std::vector<int>{0xf8, 7, 0xff}));
  EXPECT_EQ(numbers(to_npy_type(POPRT_DTYPE_U4, {2, 2}, packed, 2)),
            (std::vector<int>{8, 7, 15, 2}));
  const uint8_t quarters[] = {0b00110110, 0b01};
  EXPECT_EQ(numbers(to_npy_type(POPRT_DTYPE_S2, {5}, quarters, 2)),
            (std::vector<int>{0xfe, 1, 0xff, 0, 1}));
  EXPECT_EQ(numbers(to_npy_type(POPRT_DTYPE_U2, {4}, quarters, 1)), (std::vector<int>{2, 1, 3, 0}));
  EXPECT_EQ(to_npy_type(POPRT_DTYPE_BF16, {1}, packed, 2).dtype, POPRT_DTYPE_U16);
  EXPECT_EQ(to_npy_type(POPRT_DTYPE_F8152, {2}, packed, 2).dtype, POPRT_DTYPE_U8);
  const Array f16 = to_npy_type(POPRT_DTYPE_F16, {1}, packed, 2);
  EXPECT_EQ(f16.dtype, POPRT_DTYPE_F16);
  EXPECT_EQ(numbers(f16), (std::vector<int>{0x78, 0x2f}));
  EXPECT_TRUE(to_npy_type(POPRT_DTYPE_U4, {0, 3}, packed, 0).data.empty());
}

TEST(Npy, FilesContainTheWrittenArray) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npy").string();
  Array floats{POPRT_DTYPE_F32, {2, 1}, std::vector<std::byte>(8), {}};
  const float values[] = {1.5F, -2};
  std::memcpy(floats.data.data(), values, 8);
  write_npy(path, floats);
  const std::string written = read_file(path);
  EXPECT_NE(written.find("'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)"),
            std::string::npos);
  EXPECT_EQ(written.substr(written.size() - 8),
            std::string(reinterpret_cast<const char*>(values), 8));
  const Array read = read_npy(path);
  EXPECT_EQ(read.dtype, POPRT_DTYPE_F32);
  EXPECT_EQ(read.shape, floats.shape);
  EXPECT_EQ(read.data, floats.data);
  write_npy(path, bytes(POPRT_DTYPE_BOOL, {1, 0}));
  EXPECT_NE(read_file(path).find("'|b1'"), std::string::npos);
  EXPECT_EQ(numbers(read_npy(path)), (std::vector<int>{1, 0}));
}

TEST(Npy, TextHasOneWidth) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npy").string();
  const std::vector<std::string> words = {"a", "", "z\xc3\xb6lf", "\xe2\x82\xac\xf0\x9f\x98\x80"};
  write_npy(path, {POPRT_DTYPE_STRING, {4}, {}, words});
  EXPECT_NE(read_file(path).find("'<U4'"), std::string::npos);
  EXPECT_EQ(read_npy(path).strings, words);
  write_npy(path, {POPRT_DTYPE_STRING, {2}, {}, {"", ""}});
  EXPECT_NE(read_file(path).find("'<U1'"), std::string::npos);
  // Bytes that are no character are one each.
  write_npy(path, {POPRT_DTYPE_STRING, {1}, {}, {"\x80\xc3(\xe2\x82\xf5\x80\xc1\xc2\x80\x7f"}});
  const std::string no = "\xef\xbf\xbd";
  EXPECT_EQ(read_npy(path).strings.at(0), no + no + "(" + no + no + no + no + no + "\xc2\x80\x7f");
  write_npy(path,
            {POPRT_DTYPE_STRING, {1}, {}, {"\xf5\x80\x80\x80|\xc1\x80|\xf4\x8f\xbf\xbf|\xc2\xbf"}});
  EXPECT_EQ(read_npy(path).strings.at(0),
            no + no + no + no + "|" + no + no + "|\xf4\x8f\xbf\xbf|\xc2\xbf");
  // Surrogates, long forms and codes beyond U+10FFFF are no characters either.
  for (const std::string text : {"\xed\xa0\x80", "\xed\xbf\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                                 "\xf4\x90\x80\x80", "\xc0\x80", "\xf8\x88\x80\x80\x80"}) {
    write_npy(path, {POPRT_DTYPE_STRING, {1}, {}, {text}});
    std::string expected;
    for (size_t i = 0; i < text.size(); i++) expected += no;
    EXPECT_EQ(read_npy(path).strings.at(0), expected);
  }
  for (const std::string text :
       {"\xed\x9f\xbf", "\xee\x80\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    write_npy(path, {POPRT_DTYPE_STRING, {1}, {}, {text}});
    EXPECT_EQ(read_npy(path).strings.at(0), text);
  }
}

TEST(Npy, ArchivesKeepTheirOrder) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npz").string();
  std::vector<Array> arrays;
  for (int i = 0; i < 12; i++) arrays.push_back(bytes(POPRT_DTYPE_S8, {i, i + 1}));
  write_npz(path, arrays);
  const auto read = read_npz(path);
  ASSERT_EQ(read.size(), 12U);
  for (int i = 0; i < 12; i++)
    EXPECT_EQ(numbers(read[static_cast<size_t>(i)]), (std::vector<int>{i, i + 1}));
  EXPECT_NE(read_file(path).find("000011.npy"), std::string::npos);
}

TEST(Npy, MembersThatEndEarlyAreNamed) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npz").string();
  write_npz(path, {bytes(POPRT_DTYPE_S8, {1, 2})});
  std::string damaged = read_file(path);
  const auto replace = [&](const std::string& from, const std::string& to) {
    damaged.replace(damaged.find(from), from.size(), to);
  };
  replace("'shape': (2,)", "'shape': (9,)");
  // The checksum shows the damage before the elements are counted.
  EXPECT_EQ(
      message_of<Failure>([&] { (void)read_npz(write_file(folder, "b.npz", damaged).string()); }),
      "'" + (folder.path() / "b.npz").string() +
          "' is not a valid .npz file: member '000000.npy' is damaged");
  EXPECT_THROW((void)read_npz("/none.npz"), Error);
}

TEST(Npy, TensorsAreArrays) {
  const Array numbers_of = array_of(Tensor::of<int16_t>({2}, {1, -1}));
  EXPECT_EQ(numbers_of.dtype, POPRT_DTYPE_S16);
  EXPECT_EQ(numbers(numbers_of), (std::vector<int>{1, 0, 255, 255}));
  const Array text = array_of(Tensor::strings({1, 2}, {"a", "b"}));
  EXPECT_EQ(text.dtype, POPRT_DTYPE_STRING);
  EXPECT_EQ(text.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(text.strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(text.data.empty());
}

}  // namespace
}  // namespace poprt::cli
