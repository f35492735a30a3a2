#include "ir/text_element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "ir/text.h"

namespace poprt::ir {
namespace {

struct Range {
  DType dtype;
  std::string low, below, high, above;
};

// The limits follow from the widths.
TEST(TextElement, IntegersAreOfTheirRange) {
  for (const Range& r :
       std::vector<Range>{{DType::u2, "0", "-1", "3", "4"},
                          {DType::s2, "-2", "-3", "1", "2"},
                          {DType::u4, "0", "-1", "15", "16"},
                          {DType::s4, "-8", "-9", "7", "8"},
                          {DType::u8, "0", "-1", "255", "256"},
                          {DType::s8, "-128", "-129", "127", "128"},
                          {DType::u16, "0", "-1", "65535", "65536"},
                          {DType::s16, "-32768", "-32769", "32767", "32768"},
                          {DType::u32, "0", "-1", "4294967295", "4294967296"},
                          {DType::s32, "-2147483648", "-2147483649", "2147483647", "2147483648"},
                          {DType::u64, "0", "-1", "18446744073709551615", "18446744073709551616"},
                          {DType::s64, "-9223372036854775808", "-9223372036854775809",
                           "9223372036854775807", "9223372036854775808"}}) {
    for (const std::string& in : {r.low, r.high}) {
      const auto bits = parse_element(r.dtype, in);
      ASSERT_TRUE(bits) << dtype_name(r.dtype) << " " << in;
      EXPECT_EQ(element_text(r.dtype, *bits), in) << dtype_name(r.dtype);
      const int width = dtype_bits(r.dtype);
      EXPECT_EQ(width == 64 ? 0 : *bits >> width, 0u) << "no bits outside the element";
    }
    for (const std::string& out : {r.below, r.above})
      EXPECT_FALSE(parse_element(r.dtype, out)) << dtype_name(r.dtype) << " " << out;
    for (const char* no : {"", "+1", "1x", " 1", "1 ", "1.0", "0x1", "true", "-"})
      EXPECT_FALSE(parse_element(r.dtype, no)) << dtype_name(r.dtype) << " '" << no << "'";
  }
}

TEST(TextElement, BooleansAreWords) {
  EXPECT_EQ(parse_element(DType::boolean, "true"), 1u);
  EXPECT_EQ(parse_element(DType::boolean, "false"), 0u);
  for (const char* no : {"1", "0", "", "True", "truex"})
    EXPECT_FALSE(parse_element(DType::boolean, no)) << no;
  EXPECT_EQ(element_text(DType::boolean, 1), "true");
  EXPECT_EQ(element_text(DType::boolean, 0), "false");
}

TEST(TextElement, SomeTypesHaveNone) {
  for (int d = 0; d < kDTypeCount; d++) {
    const auto dtype = static_cast<DType>(d);
    const bool none = dtype == DType::undefined || dtype == DType::string || dtype == DType::c64 ||
                      dtype == DType::c128;
    EXPECT_EQ(has_element_text(dtype), !none) << dtype_name(dtype);
    if (none) EXPECT_FALSE(parse_element(dtype, "1")) << dtype_name(dtype);
  }
}

// Constants of IEEE 754 and of ONNX's table of 8-bit formats.
TEST(TextElement, FloatsAreReadAndRounded) {
  const std::tuple<DType, const char*, uint64_t> cases[] = {
      {DType::f32, "1", 0x3f800000},
      {DType::f32, "1e5", 0x47c35000},
      {DType::f32, "1E5", 0x47c35000},
      {DType::f32, "1e+5", 0x47c35000},
      {DType::f32, "1e-5", 0x3727c5ac},
      {DType::f32, "-0.0", 0x80000000},
      {DType::f32, ".5", 0x3f000000},
      {DType::f32, "inf", 0x7f800000},
      {DType::f32, "-inf", 0xff800000},
      {DType::f32, "nan", 0x7fc00000},
      {DType::f32, "nan:0x7fc00001", 0x7fc00001},
      {DType::f32, "nan:0xffffffff", 0xffffffff},
      {DType::f64, "0.1", 0x3fb999999999999a},
      {DType::f64, "-inf", 0xfff0000000000000},
      {DType::f64, "nan", 0x7ff8000000000000},
      {DType::f64, "nan:0x7ff0000000000001", 0x7ff0000000000001},
      {DType::f16, "1", 0x3c00},
      {DType::f16, "65519", 0x7bff},
      {DType::f16, "inf", 0x7c00},
      {DType::f16, "nan", 0x7e00},
      {DType::bf16, "1", 0x3f80},
      {DType::bf16, "1.00390625", 0x3f80},
      {DType::bf16, "1.01171875", 0x3f82},
      {DType::f8e4m3fn, "448", 0x7e},
      {DType::f8e5m2, "inf", 0x7c},
      {DType::f8e5m2, "1", 0x3c},
  };
  for (const auto& [dtype, text, bits] : cases) {
    const auto found = parse_element(dtype, text);
    ASSERT_TRUE(found) << dtype_name(dtype) << " " << text;
    EXPECT_EQ(*found, bits) << dtype_name(dtype) << " " << text;
  }
}

TEST(TextElement, OtherFloatsAreRefused) {
  const std::pair<DType, const char*> cases[] = {
      {DType::f32, ""},
      {DType::f32, "-"},
      {DType::f32, "infinity"},
      {DType::f32, "nan(1)"},
      {DType::f32, "-nan"},
      {DType::f32, "+1"},
      {DType::f32, "0x1p3"},
      {DType::f32, "1e39"},
      {DType::f32, "-1e39"},
      {DType::f32, "nan:0x7f800000"},
      {DType::f32, "nan:0x3f800000"},
      {DType::f32, "nan:0x17fc00001"},
      {DType::f32, "nan:0x"},
      {DType::f32, "nan:0xg"},
      {DType::f32, "--1"},
      {DType::f64, "1e309"},
      {DType::f64, "infinity"},
      {DType::f64, "nan:0x7ff0000000000000"},
      {DType::f16, "65520"},
      {DType::f16, "-65520"},
      {DType::f16, "nan:0x17e01"},
      {DType::f8e4m3fn, "inf"},
      {DType::f8e4m3fn, "-inf"},
      {DType::f8e4m3fnuz, "inf"},
      {DType::f4e2m1, "nan"},
      {DType::f4e2m1, "inf"},
  };
  for (const auto& [dtype, text] : cases)
    EXPECT_FALSE(parse_element(dtype, text)) << dtype_name(dtype) << " '" << text << "'";
}

TEST(TextElement, FloatsPrintAsFloats) {
  const auto f32 = [](float v) { return element_text(DType::f32, std::bit_cast<uint32_t>(v)); };
  EXPECT_EQ(f32(1), "1.0");
  EXPECT_EQ(f32(-0.0F), "-0.0");
  EXPECT_EQ(f32(0.1F), "0.1");
  EXPECT_EQ(f32(1e20F), "1e+20");
  EXPECT_EQ(f32(INFINITY), "inf");
  EXPECT_EQ(f32(-INFINITY), "-inf");
  EXPECT_EQ(element_text(DType::f32, 0x7fc00000), "nan");
  EXPECT_EQ(element_text(DType::f32, 0xffc00000), "nan:0xffc00000");
  EXPECT_EQ(element_text(DType::f64, std::bit_cast<uint64_t>(0.1)), "0.1");
  EXPECT_EQ(element_text(DType::f16, 0x3555), "0.33325195");
}

// Compares with a loop over single bits.
TEST(TextElement, IsStoredInItsBits) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::u2, DType::s4, DType::f4e2m1, DType::u8, DType::f16, DType::s32,
                            DType::f64, DType::boolean}) {
    const int width = dtype_bits(dtype);
    constexpr int64_t kCount = 13;
    std::vector<uint8_t> data(static_cast<size_t>(kCount * width + 7) / 8);
    std::vector<uint64_t> wanted;
    for (int64_t i = 0; i < kCount; i++) {
      uint64_t v = random();
      v = v << 32 | random();
      store_element(dtype, data.data(), i, v);
      uint64_t bits = 0;
      for (int b = 0; b < width; b++) bits |= v & uint64_t{1} << b;
      wanted.push_back(bits);
    }
    for (int64_t i = 0; i < kCount; i++) {
      uint64_t bits = 0;
      for (int b = 0; b < width; b++) {
        const auto at = static_cast<size_t>(i * width + b);
        bits |= static_cast<uint64_t>(data[at / 8] >> at % 8 & 1) << b;
      }
      EXPECT_EQ(bits, wanted[static_cast<size_t>(i)]) << dtype_name(dtype) << " " << i;
      EXPECT_EQ(load_element(dtype, data.data(), i), bits) << dtype_name(dtype) << " " << i;
    }
  }
}

TEST(TextElement, EveryCharacterOfNames) {
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  for (int i = 0; i < 256; i++) {
    const std::string c(1, static_cast<char>(i));
    const bool letter = letters.find(c) != letters.npos;
    const bool digit = std::string_view("0123456789").find(c) != letters.npos;
    const bool mark = c == "." || c == "/" || c == "-";
    EXPECT_EQ(is_identifier(c), letter) << i;
    EXPECT_EQ(is_identifier("a" + c), letter || digit) << i;
    EXPECT_EQ(is_plain_name(c), letter || digit || mark) << i;
    EXPECT_EQ(is_plain_name("a" + c), letter || digit || mark) << i;
  }
  EXPECT_FALSE(is_identifier(""));
  EXPECT_FALSE(is_plain_name(""));
}

TEST(TextElement, QuotesEscapeUnprintableBytes) {
  for (int i = 0; i < 256; i++) {
    const char c = static_cast<char>(i);
    std::string wanted(1, c);
    if (c == '"' || c == '\\') wanted = std::string("\\") + c;
    if (i < 0x20 || i >= 0x7f) wanted = fmt::format("\\x{:02x}", i);
    if (c == '\n') wanted = "\\n";
    if (c == '\r') wanted = "\\r";
    if (c == '\t') wanted = "\\t";
    EXPECT_EQ(ir::quoted(std::string(1, c)), "\"" + wanted + "\"") << i;
    const auto graph = parse_text("graph " + ir::quoted(std::string("<") + c) + " {}");
    EXPECT_EQ(graph->name, std::string("<") + c) << i;
  }
}

// The lengths that lead bytes state, and the bytes that may follow them.
TEST(TextElement, Utf8StaysReadable) {
  for (const std::string good :
       {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf", "a\xc3\xa4z", "\xe2\x82\xac\xc3\xa4"})
    EXPECT_EQ(ir::quoted(good), "\"" + good + "\"");
  for (const std::string bad : {"\x80", "\xbf", "\xc1\x80", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xdf",
                                "\xe0\xa0", "\xe0\xa0\xc0", "\xe0\x41\x80", "\xf0\x90\x80",
                                "\xf0\x90\x80\x41", "\xf5\x80\x80\x80", "\xff", "\xc2\x80\x80"}) {
    std::string wanted = "\"";
    for (const char c : bad)
      wanted += (c & 0x80) || c == 0x7f ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c))
                                        : std::string(1, c);
    EXPECT_EQ(ir::quoted(bad), wanted + "\"");
  }
}

TEST(TextElement, WhereListsEndAndHexBegins) {
  const auto printed = [](Tensor t, const TextOptions& options = {}) {
    Graph g;
    g.add_constant("c", std::move(t));
    const std::string text = to_text(g, options);
    const size_t begin = text.find(" = ") + 3;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const auto bytes = [](DType dtype, int64_t count, std::initializer_list<uint8_t> values) {
    Tensor t = Tensor::zeros(dtype, {count});
    std::copy(values.begin(), values.end(), static_cast<uint8_t*>(t.mutable_data()));
    return t;
  };
  const TextOptions two{.list_elements = 2};
  const TextOptions elided{.list_elements = 2, .large = TextOptions::Large::elide};
  EXPECT_EQ(printed(bytes(DType::u8, 2, {1, 2}), two), "[1, 2]");
  EXPECT_EQ(printed(bytes(DType::u8, 3, {1, 2, 3}), two), "hex\"010203\"");
  EXPECT_EQ(printed(bytes(DType::u8, 3, {1, 2, 0xaf}), elided), "<elided>");
  EXPECT_EQ(printed(bytes(DType::u8, 1, {1}), {.list_elements = 0}), "[1]") << "one is not large";
  EXPECT_EQ(printed(bytes(DType::u8, 2, {1, 2}), {.list_elements = 0}), "hex\"0102\"");
  // Equal elements of whole bytes are printed as a fill.
  EXPECT_EQ(printed(bytes(DType::u8, 3, {7, 7, 7}), two), "fill 7");
  EXPECT_EQ(printed(bytes(DType::u8, 3, {7, 7, 7}), elided), "fill 7");
  EXPECT_EQ(printed(bytes(DType::u8, 3, {7, 7, 6}), two), "hex\"070706\"");
  EXPECT_EQ(printed(bytes(DType::u8, 3, {6, 7, 7}), two), "hex\"060707\"");
  EXPECT_EQ(printed(bytes(DType::u16, 3, {7, 1, 7, 1, 7, 1}), two), "fill 263");
  EXPECT_EQ(printed(bytes(DType::u16, 3, {7, 1, 7, 1, 7, 2}), two), "hex\"070107010702\"");
  EXPECT_EQ(printed(bytes(DType::u4, 4, {0x33, 0x33}), two), "hex\"3333\"");
  EXPECT_EQ(printed(bytes(DType::boolean, 3, {1, 1, 1}), two), "fill true");
  EXPECT_EQ(printed(bytes(DType::boolean, 3, {2, 2, 2}), two), "hex\"020202\"");
  // A list would lose these bits.
  EXPECT_EQ(printed(bytes(DType::boolean, 2, {1, 0})), "[true, false]");
  EXPECT_EQ(printed(bytes(DType::boolean, 2, {1, 2})), "hex\"0102\"");
  EXPECT_EQ(printed(bytes(DType::boolean, 2, {1, 2}), elided), "hex\"0102\"") << "not large";
  EXPECT_EQ(printed(bytes(DType::u4, 3, {0x21, 0x03})), "[1, 2, 3]");
  EXPECT_EQ(printed(bytes(DType::u4, 3, {0x21, 0x13})), "hex\"2113\"");
  EXPECT_EQ(printed(bytes(DType::u4, 2, {0x21})), "[1, 2]");
  // Complex numbers have no spelling.
  EXPECT_EQ(printed(Tensor::zeros(DType::c64, {1})), "hex\"0000000000000000\"");
  EXPECT_EQ(printed(Tensor::zeros(DType::c64, {3}), elided), "<elided>");
  EXPECT_EQ(printed(Tensor::strings({3}, {"a", "", "b"}), elided), "[\"a\", \"\", \"b\"]");
  EXPECT_EQ(printed(Tensor::strings({}, {"a"})), "\"a\"");
  EXPECT_EQ(printed(Tensor::zeros(DType::u8, {64})).front(), '[') << "64 unless told";
  EXPECT_EQ(printed(Tensor::zeros(DType::u8, {65})), "fill 0");
}

TEST(TextElement, DomainsAreWordsWithDotsOrQuoted) {
  for (const auto& [domain, text] : {std::pair<std::string, std::string>{"a", "a.Op"},
                                     {"com.example", "com.example.Op"},
                                     {"a.b.c", "a.b.c.Op"},
                                     {"a..b", "\"a..b\".Op"},
                                     {".a", "\".a\".Op"},
                                     {"a.", "\"a.\".Op"},
                                     {"a.1b", "\"a.1b\".Op"},
                                     {"a-b", "\"a-b\".Op"},
                                     {"", "Op"}}) {
    Graph g;
    g.add_node("Op", domain, std::span<Value* const>(), 0);
    const std::string printed = to_text(g);
    EXPECT_EQ(printed, "graph \"graph\" {\n  () = " + text + "()\n}\n");
    EXPECT_EQ(parse_text(printed)->nodes()[0]->domain, domain);
  }
}

// Just above the middle of two numbers; a float in between would be the middle itself.
TEST(TextElement, NarrowFloatsAreRoundedOnce) {
  for (const auto& [dtype, text, above] :
       {std::tuple(DType::f16, "1.0004882812509094947", "1.0009765625"),
        {DType::bf16, "1.0039062500009094947", "1.0078125"},
        {DType::f8e4m3fn, "1.0625000000009094947", "1.125"},
        {DType::f8_143, "-1.0625000000009094947", "-1.125"}})
    EXPECT_EQ(parse_element(dtype, text), parse_element(dtype, above)) << dtype_name(dtype);
  // Just below the middle of the largest number and the first one that is refused.
  EXPECT_EQ(parse_element(DType::f16, "65519.999999999"), parse_element(DType::f16, "65504"));
}

// ONNX defines the powers of two from floats.
TEST(TextElement, PowersOfTwoAreRoundedUpFromFloats) {
  for (const auto& [text, power] : {std::pair("1.0000000000000002", "1"),
                                    {"1.9999999999999998", "2"},
                                    {"1.0000001192092896", "2"}})
    EXPECT_EQ(parse_element(DType::f8e8m0, text), parse_element(DType::f8e8m0, power)) << text;
}

}  // namespace
}  // namespace poprt::ir
