#include "plugins/record.h"

#include <gtest/gtest.h>

#include <random>

namespace poprt::plugins {
namespace {

Record sample() {
  Record record{"org.example", "Op", 7, "plug-in", "1.2", "node \"x\"", {}};
  record.attributes["i"] = int64_t{-5};
  record.attributes["f"] = 0.25f;
  record.attributes["text"] = std::string("a\0b", 3);
  record.attributes["tensor"] = Tensor::of<float>({2, 1}, {1.5f, -2.0f});
  record.attributes["scalar"] = Tensor::scalar<int64_t>(9);
  record.attributes["empty"] = Tensor::zeros(DType::u8, {0, 3});
  record.attributes["ints"] = std::vector<int64_t>{1, -2, 3};
  record.attributes["floats"] = std::vector<float>{0.5f};
  record.attributes["texts"] = std::vector<std::string>{"", "two"};
  return record;
}

TEST(Record, RoundTrips) {
  const Record record = sample(), back = decode(encode(record));
  EXPECT_EQ(back.domain, record.domain);
  EXPECT_EQ(back.name, record.name);
  EXPECT_EQ(back.version, record.version);
  EXPECT_EQ(back.plugin, record.plugin);
  EXPECT_EQ(back.plugin_version, record.plugin_version);
  EXPECT_EQ(back.node, record.node);
  ASSERT_EQ(back.attributes.size(), record.attributes.size());
  for (const auto& [name, value] : record.attributes) {
    const AttributeValue& other = back.attributes.at(name);
    ASSERT_EQ(other.index(), value.index()) << name;
    if (const auto* tensor = std::get_if<Tensor>(&value))
      EXPECT_TRUE(std::get<Tensor>(other).same_as(*tensor)) << name;
  }
  EXPECT_EQ(std::get<int64_t>(back.attributes.at("i")), -5);
  EXPECT_EQ(std::get<std::string>(back.attributes.at("text")), std::string("a\0b", 3));
  EXPECT_EQ(std::get<std::vector<int64_t>>(back.attributes.at("ints")),
            (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(std::get<std::vector<std::string>>(back.attributes.at("texts")),
            (std::vector<std::string>{"", "two"}));
  EXPECT_EQ(encode(back), encode(record));
}

TEST(Record, EveryBeginningOfOneIsRefused) {
  const std::string bytes = encode(sample());
  for (size_t size = 0; size < bytes.size(); size++)
    EXPECT_THROW(decode(std::string_view(bytes).substr(0, size)), Error) << size;
  EXPECT_THROW(decode(bytes + '\0'), Error);
}

// A program may be hostile: any bytes result in a record or an Error.
TEST(Record, DamagedOnesAreReadOrRefused) {
  const std::string bytes = encode(sample());
  std::mt19937_64 random(11);
  size_t refused = 0;
  for (int round = 0; round < 20000; round++) {
    std::string damaged = bytes;
    for (int i = 0; i < 3; i++) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      decode(damaged);
    } catch (const Error&) {
      refused++;
    }
  }
  EXPECT_GT(refused, 5000u);
}

TEST(Record, ErrorNamesTheMissingPlugIn) {
  try {
    operator_of(sample());
    ADD_FAILURE() << "no such plug-in is loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    for (const char* part : {"org.example.Op", "version 7", "'plug-in' 1.2", "POPRT_PLUGINS"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::plugins
