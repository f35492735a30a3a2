#include "model/tensor_statistics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/half.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

TEST(TensorStatistics, EqualPlainLoops) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(2, 5);
  std::vector<float> values(50000);
  for (float& v : values) v = normal(random);
  values[7] = 0;
  const TensorStatistics s =
      tensor_statistics(Tensor::of<float>({50, 1000}, std::span<const float>(values)));
  double sum = 0, squares = 0;
  for (const float v : values) sum += static_cast<double>(v);
  const double mean = sum / 50000;
  for (const float v : values)
    squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  EXPECT_NEAR(s.mean, mean, 1e-9);
  EXPECT_NEAR(s.deviation, std::sqrt(squares / 50000), 1e-9);
  EXPECT_EQ(s.least, static_cast<double>(*std::min_element(values.begin(), values.end())));
  EXPECT_EQ(s.most, static_cast<double>(*std::max_element(values.begin(), values.end())));
  EXPECT_EQ(s.zeros, 1u);
  EXPECT_EQ(std::accumulate(s.histogram.begin(), s.histogram.end(), uint64_t{0}), 50000u);
}

TEST(TensorStatistics, CountNonFiniteValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const TensorStatistics s = tensor_statistics(Tensor::of<float>({5}, {nan, inf, -inf, 1, 3}));
  EXPECT_EQ(s.nans, 1u);
  EXPECT_EQ(s.infinities, 2u);
  EXPECT_EQ(s.mean, 2);
  const TensorStatistics none = tensor_statistics(Tensor::of<float>({2}, {nan, inf}));
  EXPECT_TRUE(s.has_finite());
  EXPECT_FALSE(none.has_finite()) << "there is no range";
}

TEST(TensorStatistics, HugeTensorsAreSampled) {
  const TensorStatistics s = tensor_statistics(Tensor::zeros(DType::u8, {1 << 20}), 1 << 16);
  EXPECT_LT(s.examined, uint64_t{1} << 18);
  EXPECT_EQ(s.elements, uint64_t{1} << 20);
  EXPECT_EQ(s.zeros, s.examined);
}

TEST(TensorStatistics, SubByteElementsAndRangesOfThem) {
  Tensor t = Tensor::zeros(DType::u4, {5});
  auto* bytes = static_cast<uint8_t*>(t.mutable_data());
  bytes[0] = 0x21, bytes[1] = 0x43, bytes[2] = 0x05;
  EXPECT_EQ(tensor_values(t, 1, 3), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(element_text(t, 4), "5");
  EXPECT_EQ(element_text(Tensor::scalar<int64_t>(INT64_MAX), 0), "9223372036854775807");
}

TEST(TensorStatistics, EmptyTensors) {
  const TensorStatistics s = tensor_statistics(Tensor::zeros(DType::f32, {0, 3}));
  EXPECT_EQ(s.elements, 0u);
  EXPECT_EQ(s.examined, 0u);
}

// The runs of elements that are examined have equal distances, and the first run is one of them.
// For example, 4 of 65 runs are 0, 17, 34 and 51.
TEST(TensorStatistics, SamplesAreRunsAtEqualDistances) {
  constexpr int64_t kRun = 1 << 14;
  Tensor t = Tensor::zeros(DType::u8, {64 * kRun + 5});
  for (int64_t i = 0; i < t.count(); i++)
    t.mutable_values<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(i / kRun);
  const auto examined = [&](uint64_t limit) { return tensor_statistics(t, limit).examined; };
  EXPECT_EQ(examined(64 * kRun), 33u * kRun - kRun + 5) << "65 runs are one too many: every second";
  EXPECT_EQ(examined(65 * kRun), 64u * kRun + 5);
  EXPECT_EQ(examined(5 * kRun), 5u * kRun);
  EXPECT_EQ(examined(1), 1u * kRun);
  const TensorStatistics s = tensor_statistics(t, 4 * kRun);  // runs 0, 17, 34 and 51
  EXPECT_EQ(s.examined, 4u * kRun);
  EXPECT_EQ(s.most, 51);
  EXPECT_NEAR(s.mean, (0 + 17 + 34 + 51) / 4.0, 1e-9);
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(tensor_statistics(t, 1, &cancel), Error);
}

TEST(TensorStatistics, BinsAreEqualPartsOfTheRange) {
  constexpr size_t kBins = TensorStatistics::kBins;
  std::vector<double> values;
  for (size_t i = 0; i <= kBins; i++) values.push_back(10 + 2 * static_cast<double>(i));
  values.push_back(11.9);
  TensorStatistics s = tensor_statistics(
      Tensor::of<double>({static_cast<int64_t>(values.size())}, std::span<const double>(values)));
  EXPECT_EQ(s.histogram[0], 2u);
  for (size_t i = 1; i + 1 < kBins; i++) EXPECT_EQ(s.histogram[i], 1u) << i;
  EXPECT_EQ(s.histogram[kBins - 1], 2u) << "the greatest is in the last";
  // The first range is larger than the largest double, the second is empty.
  s = tensor_statistics(Tensor::of<double>({2}, {-1.7e308, 1.7e308}));
  EXPECT_EQ(s.histogram[0] + s.histogram[kBins - 1], 2u);
  EXPECT_EQ(s.histogram[0], 1u);
  s = tensor_statistics(Tensor::of<float>({3}, {-4, -4, -4}));
  EXPECT_EQ(s.histogram[kBins / 2], 3u);
  EXPECT_EQ(s.least, -4);
  EXPECT_EQ(s.most, -4);
  EXPECT_EQ(s.deviation, 0);
  s = tensor_statistics(Tensor::of<float>({2}, {INFINITY, NAN}));
  EXPECT_EQ(s.mean, 0);
  EXPECT_EQ(s.deviation, 0);
  EXPECT_EQ(s.examined, 2u);
}

TEST(TensorStatistics, OnlyNumbersAreNumeric) {
  EXPECT_TRUE(tensor_statistics(Tensor::zeros(DType::boolean, {2})).numeric);
  EXPECT_TRUE(tensor_statistics(Tensor::zeros(DType::f8e8m0, {2})).numeric);
  EXPECT_FALSE(tensor_statistics(Tensor::zeros(DType::c64, {2})).numeric);
  EXPECT_FALSE(tensor_statistics(Tensor::strings({1}, {"a"})).numeric);
  EXPECT_EQ(element_text(Tensor::strings({2}, {"a", "b\n"}), 1), "b\\x0a");
  EXPECT_EQ(element_text(Tensor::zeros(DType::c64, {2}), 1), "?");
  EXPECT_EQ(element_text(Tensor::of<uint64_t>({2}, {0, UINT64_MAX}), 1), "18446744073709551615");
  EXPECT_EQ(element_text(Tensor::of<double>({2}, {0, 0.1}), 1), "0.10000000000000001");
  EXPECT_EQ(element_text(Tensor::of<float>({2}, {0, 0.1f}), 1), "0.1");
  EXPECT_TRUE(tensor_values(Tensor::zeros(DType::f32, {2}), 1, 0).empty());
}

// Elements that differ have different texts.
TEST(TensorStatistics, TextsOfElementsAreExact) {
  EXPECT_EQ(element_text(Tensor::scalar<int32_t>(1234567890), 0), "1234567890");
  EXPECT_EQ(element_text(Tensor::scalar<int32_t>(INT32_MIN), 0), "-2147483648");
  EXPECT_EQ(element_text(Tensor::scalar<uint32_t>(UINT32_MAX), 0), "4294967295");
  EXPECT_EQ(element_text(Tensor::scalar<int16_t>(-32768), 0), "-32768");
  EXPECT_EQ(element_text(Tensor::zeros(DType::boolean, {1}), 0), "0");
  EXPECT_EQ(element_text(Tensor::scalar(16777215.0f), 0), "16777215");
  EXPECT_EQ(element_text(Tensor::scalar(-0.0f), 0), "-0");
  EXPECT_EQ(element_text(Tensor::scalar(-INFINITY), 0), "-inf");
  EXPECT_EQ(element_text(Tensor::scalar<float>(NAN), 0), "nan");
  std::mt19937 random(11);
  for (int i = 0; i < 20000; i++) {
    const auto bits = static_cast<uint32_t>(random());
    const auto v = std::bit_cast<float>(bits);
    if (!std::isfinite(v)) continue;
    const std::string text = element_text(Tensor::scalar(v), 0);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), v) << text;
  }
  for (uint32_t bits = 0; bits < 0x7c00; bits++) {
    const float v = to_float(f16_t{static_cast<uint16_t>(bits)});
    const std::string text = element_text(Tensor::scalar(f16_t{static_cast<uint16_t>(bits)}), 0);
    EXPECT_EQ(to_f16(std::strtof(text.c_str(), nullptr)).bits, bits) << text << " " << v;
  }
}

TEST(Format, UnitsChangeWhereNumbersGetLong) {
  const std::pair<uint64_t, const char*> sizes[] = {{0, "0 B"},
                                                    {1023, "1023 B"},
                                                    {1024, "1.00 KiB"},
                                                    {10239, "10.00 KiB"},
                                                    {10240, "10.0 KiB"},
                                                    {(1 << 20) - 1, "1024.0 KiB"},
                                                    {1 << 20, "1.00 MiB"},
                                                    {uint64_t{1} << 30, "1.00 GiB"},
                                                    {uint64_t{1} << 40, "1.00 TiB"},
                                                    {uint64_t{1} << 50, "1.00 PiB"},
                                                    {uint64_t{1} << 63, "8192.0 PiB"}};
  for (const auto& [bytes, text] : sizes) EXPECT_EQ(bytes_text(bytes), text);
  const std::pair<double, const char*> durations[] = {
      {-1, "-"},        {std::nan(""), "-"},  {0, "0 ns"},      {999, "999 ns"},
      {1000, "1.0 µs"}, {999949, "999.9 µs"}, {1e6, "1.00 ms"}, {999e6, "999.00 ms"},
      {1e9, "1.00 s"},  {61.5e9, "61.50 s"}};
  for (const auto& [ns, text] : durations) EXPECT_EQ(duration_text(ns), text);
  const std::pair<double, const char*> rates[] = {
      {0, "0/s"},           {0.25, "0.25/s"},        {999.4, "999/s"},  {999.5, "1.00 k/s"},
      {12345, "12.35 k/s"}, {999999, "1000.00 k/s"}, {1e6, "1.00 M/s"}, {2.5e6, "2.50 M/s"}};
  for (const auto& [rate, text] : rates) EXPECT_EQ(rate_text(rate), text);
  EXPECT_EQ(number_text(1234567), "1.23457e+06");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(2, "node"), "2 nodes");
  EXPECT_EQ(dimensions_text({}), "scalar");
  EXPECT_EQ(dimensions_text(std::vector<int64_t>{0, -1, 7}), "0×?×7");
}

// Names of files may have any bytes; a shortened name stays valid.
TEST(Format, OnlyValidSequencesArePrinted) {
  for (const char* valid :
       {" ", "~", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xef\xbf\xbd", "\xf0\x9f\x98\x80",
        "\xf4\x80\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(printable(valid), valid);
  const std::pair<std::string, const char*> invalid[] = {
      {"\x1f", "\\x1f"},
      {"\x7f", "\\x7f"},
      {"\x80", "\\x80"},
      {"\xc1\x80", "\\xc1\\x80"},
      {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
      {"\xe2\x82", "\\xe2\\x82"},
      {"\xc2", "\\xc2"},
      {"\xe2"
       "A\x80",
       "\\xe2"
       "A\\x80"},
      {"\xf0\x9f\x98z", "\\xf0\\x9f\\x98z"},
      // Overlong, surrogates, above the last character.
      {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
      {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}};
  for (const auto& [text, wanted] : invalid) EXPECT_EQ(printable(text), wanted);
  EXPECT_EQ(shortened("abcdefg", 7), "abcdefg");
  EXPECT_EQ(shortened("abcdefgh", 7), "abc…fgh");
  EXPECT_EQ(shortened("abcdefgh", 6), "ab…fgh");
  EXPECT_EQ(shortened("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(shortened("abcdefgh", 4), "abcd");
  EXPECT_EQ(shortened("ééééé", 7), "é…é");
  EXPECT_EQ(shortened("ééééé", 9), "éé…éé");
}

TEST(Format, SearchesWithoutCase) {
  EXPECT_TRUE(contains_text("Hello", "ELL"));
  EXPECT_TRUE(contains_text("AZ", "az"));
  EXPECT_TRUE(contains_text("az", "AZ"));
  EXPECT_TRUE(contains_text("", ""));
  EXPECT_FALSE(contains_text("", "a"));
  EXPECT_FALSE(contains_text("Hello", "Helloo"));
  EXPECT_FALSE(contains_text("@", "`")) << "the character before A has no other case";
  EXPECT_FALSE(contains_text("[", "{")) << "nor the character after Z";
}

TEST(Format, IsShortAndPrintable) {
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(duration_text(1.5e6), "1.50 ms");
  EXPECT_EQ(dimensions_text(std::vector<int64_t>{1, -1, 3}), "1×?×3");
  EXPECT_EQ(printable("a\n\xff"
                      "b"),
            "a\\x0a\\xffb");
  EXPECT_EQ(printable("é"), "é");
  EXPECT_EQ(shortened("abcdefghij", 7), "abc…hij");
}

TEST(TensorStatistics, NonNumericTensorsHaveNoStatistics) {
  for (const Tensor& t : {Tensor::strings({2}, {"a", "b"}), Tensor::zeros(DType::c64, {2})}) {
    const TensorStatistics s = tensor_statistics(t);
    EXPECT_FALSE(s.numeric);
    EXPECT_EQ(s.elements, 2u);
    EXPECT_EQ(s.zeros + s.nans + s.infinities, 0u);
    EXPECT_EQ(s.least, 0);
    EXPECT_EQ(s.most, 0);
    EXPECT_EQ(s.mean, 0);
    EXPECT_EQ(s.deviation, 0);
  }
}

}  // namespace
}  // namespace poprt::inspector
