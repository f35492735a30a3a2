#include "plugins/record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <utility>

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

// Returns "read", or the message of the error.
std::string result_of(const std::string& bytes) {
  try {
    decode(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.message();
  }
  return "read";
}

// The bytes of a record that has one tensor: its type, its shape and its data are at the end.
std::string with_tensor(int dtype, const std::vector<int64_t>& shape, const std::string& data) {
  Record record{"org.example", "Op", 7, "plug-in", "1.2", "", {}};
  record.attributes["t"] = Tensor::zeros(DType::u8, {0});
  std::string bytes = encode(record);
  bytes.resize(bytes.size() - (1 + 4 + 8 + 4));
  const auto number = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(static_cast<uint8_t>(dtype));
  number(static_cast<uint32_t>(shape.size()));
  for (const int64_t d : shape) number(d);
  number(static_cast<uint32_t>(data.size()));
  return bytes + data;
}

TEST(Record, ATensorHasAKnownTypeAFixedShapeAndAllItsBytes) {
  const std::string none = "custom operator: a tensor of its record is none";
  const int u8 = static_cast<int>(DType::u8), u16 = static_cast<int>(DType::u16);
  for (const auto& [shape, data] : {std::pair<std::vector<int64_t>, std::string>{{3}, "abc"},
                                    {{0, 3}, ""},
                                    {{3, 1}, "abc"},
                                    {{}, "a"}}) {
    EXPECT_EQ(result_of(with_tensor(u8, shape, data)), "read");
    for (const int dtype : {0, static_cast<int>(DType::string), kDTypeCount, kDTypeCount + 1, 255})
      EXPECT_EQ(result_of(with_tensor(dtype, shape, data)), none) << dtype;
    EXPECT_EQ(result_of(with_tensor(u8, shape, data + "x")), none);
    if (!data.empty()) EXPECT_EQ(result_of(with_tensor(u16, shape, data)), none);
  }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{-1}, {-1, -3}, {0, -1}, {-3, 0}})
    for (const char* data : {"", "abc"})
      EXPECT_EQ(result_of(with_tensor(u8, shape, data)), none) << shape[0];
  EXPECT_EQ(result_of(with_tensor(u16, {2}, "abcd")), "read");
}

TEST(Record, ErrorsNameTheFault) {
  const std::string early = "custom operator: its record ends too early";
  std::string bytes = with_tensor(static_cast<int>(DType::u8), {3}, "abc");
  EXPECT_EQ(result_of(bytes + "x"), "custom operator: its record goes on");
  EXPECT_EQ(result_of(bytes.substr(0, bytes.size() - 1)), early);
  EXPECT_EQ(result_of(""), early);
  const size_t kind = bytes.size() - (1 + 1 + 4 + 8 + 4 + 3);
  for (const int unknown : {7, 8, 255}) {
    bytes[kind] = static_cast<char>(unknown);
    EXPECT_EQ(result_of(bytes), "custom operator: attribute of kind " + std::to_string(unknown) +
                                    ", made by a newer poprt?");
  }
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

std::string message_for(const Record& record) {
  try {
    operator_of(record);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "found";
}

TEST(Record, TheOperatorHasTheSameDomainNameAndVersion) {
  poprt_operator op{};
  op.domain = "org.record";
  op.name = "Kept";
  op.version = 3;
  poprt_plugin_contents contents{};
  contents.name = "record plug-in";
  contents.path = "/lib/record.so";
  contents.operators = &op;
  contents.operator_count = 1;
  adopt(contents);
  Record record{"org.record", "Kept", 3, "older", "0.9", "", {}};
  const OperatorRef found = operator_of(record);
  EXPECT_STREQ(found.op->name, "Kept");
  EXPECT_EQ(found.library->path, "/lib/record.so");
  for (const int32_t version : {2, 4}) {
    record.version = version;
    EXPECT_EQ(message_for(record),
              "failed_precondition: the model needs version " + std::to_string(version) +
                  " of operator org.record.Kept, plug-in 'record plug-in' (/lib/record.so) has "
                  "version 3: compile the model again, or load the plug-in that it was compiled "
                  "with ('older' 0.9)");
  }
  record.version = 3;
  std::swap(record.domain, record.name);
  EXPECT_TRUE(message_for(record).starts_with(
      "failed_precondition: the model needs operator Kept.org.record (version 3)"))
      << message_for(record);
}

TEST(Record, PluginsOfTheEnvironmentAreLoadedFirst) {
  ::setenv("POPRT_PLUGINS", "/none/record.so", 1);
  const std::string message = message_for(sample());
  ::unsetenv("POPRT_PLUGINS");
  EXPECT_EQ(message,
            "not_found: POPRT_PLUGINS: plug-in '/none/record.so': cannot be found: No such file or "
            "directory");
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
