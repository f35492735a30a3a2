#include "serve/json_tensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "refusal.h"

namespace poprt::serve {
namespace {

JsonRequest parsed(const std::string& json, const std::string& tail = "") {
  JsonRequest request;
  request.body = json + tail;
  parse_request(request, json.size(), {});
  return request;
}

std::string refused(const std::string& json, const std::string& tail = "") {
  return refusal_of([&] { parsed(json, tail); });
}

std::string input(const std::string& datatype, const std::string& shape, const std::string& rest) {
  return R"({"inputs": [{"name": "x", "datatype": ")" + datatype + R"(", "shape": )" + shape +
         ", " + rest + "}]}";
}

std::string data(const std::string& datatype, size_t count, const std::string& values) {
  return input(datatype, "[" + std::to_string(count) + "]", "\"data\": [" + values + "]");
}

template <class T>
std::vector<T> values_of(const JsonRequest& request) {
  const InputTensor& x = request.inputs.at(0);
  EXPECT_EQ(x.bytes % sizeof(T), 0U);
  std::vector<T> values(x.bytes / sizeof(T));
  if (x.bytes) std::memcpy(values.data(), x.data, x.bytes);
  return values;
}

TEST(JsonRequests, HaveTheirInputsAndOutputsInOrder) {
  const JsonRequest r =
      parsed(R"({"id": "7", "parameters": {"binary_data_output": true, "timeout": 3},
    "inputs": [{"name": "a", "shape": [2, 1], "datatype": "INT32", "data": [[-5], [6]]},
               {"name": "b", "shape": [], "datatype": "BOOL", "data": [true]}],
    "outputs": [{"name": "y"}, {"name": "z", "parameters": {"binary_data": false}}]})");
  EXPECT_EQ(r.id, "7");
  EXPECT_TRUE(r.parameters.binary);
  EXPECT_EQ(r.parameters.timeout_ns, 3000);
  ASSERT_EQ(r.inputs.size(), 2U);
  EXPECT_EQ(r.inputs[0].name, "a");
  EXPECT_EQ(r.inputs[0].dtype, POPRT_DTYPE_S32);
  EXPECT_EQ(r.inputs[0].shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(values_of<int32_t>(r), (std::vector<int32_t>{-5, 6}));
  EXPECT_EQ(r.inputs[1].name, "b");
  EXPECT_TRUE(r.inputs[1].shape.empty());
  EXPECT_EQ(r.inputs[1].bytes, 1U);
  EXPECT_EQ(r.wanted, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(r.wanted_binary, (std::vector<bool>{true, false}));
}

TEST(JsonRequests, MayLeaveOutEverything) {
  const JsonRequest r = parsed("{}");
  EXPECT_TRUE(r.id.empty() && r.inputs.empty() && r.wanted.empty());
  EXPECT_FALSE(r.parameters.binary);
  EXPECT_EQ(r.parameters.timeout_ns, 0);
}

TEST(JsonRequests, BinaryTensorsFollowTheJsonInOrder) {
  const auto binary = [](const char* name, int size) {
    return std::string(R"({"name": ")") + name +
           R"(", "shape": [1], "datatype": "UINT8", "parameters": {"binary_data_size": )" +
           std::to_string(size) + "}}";
  };
  const auto two = [&](int a, int b) {
    return R"({"inputs": [)" + binary("a", a) + ", " + binary("b", b) + "]}";
  };
  const JsonRequest r = parsed(two(3, 2), "abcde");
  ASSERT_EQ(r.inputs.size(), 2U);
  EXPECT_EQ(std::string(static_cast<const char*>(r.inputs[0].data), r.inputs[0].bytes), "abc");
  EXPECT_EQ(std::string(static_cast<const char*>(r.inputs[1].data), r.inputs[1].bytes), "de");
  EXPECT_TRUE(r.converted.empty());
  EXPECT_EQ(
      refused(two(3, 3), "abcde"),
      "input 'b': the binary_data_size is 3, which is beyond the end of the body: 2 bytes follow");
  EXPECT_EQ(refused(two(3, 1), "abcde"), "the body has 1 bytes that belong to no input");
  EXPECT_EQ(refused("{}", "abc"), "the body has 3 bytes that belong to no input");
  EXPECT_EQ(
      refused(input("UINT8", "[1]", R"("data": [1], "parameters": {"binary_data_size": 1})"), "a"),
      "input 'x': there are 'data' and binary_data_size; expected one of them");
}

template <class T>
void expect_range(const std::string& datatype, poprt_dtype dtype) {
  SCOPED_TRACE(datatype);
  const std::string least = std::to_string(std::numeric_limits<T>::min());
  const std::string most = std::to_string(std::numeric_limits<T>::max());
  const JsonRequest r = parsed(data(datatype, 4, least + ", " + most + ", true, 0"));
  EXPECT_EQ(r.inputs[0].dtype, dtype);
  EXPECT_EQ(values_of<T>(r),
            (std::vector<T>{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 1, 0}));
  // The neighbours of the range: the last digit is increased, which 9 or 0 are not.
  const auto beyond = [](std::string text) {
    text.back()++;
    return text;
  };
  std::vector<std::string> outside = {beyond(most), "1.5", "\"1\"", "null", "{}"};
  if (std::is_signed_v<T>)
    outside.push_back(beyond(least));
  else
    outside.emplace_back("-1");
  for (const std::string& value : outside)
    EXPECT_EQ(refused(data(datatype, 1, value)),
              "input 'x' has the value " + value + ", which " + datatype + " does not have");
}

// The length of the name moves the tensor to each place within an element.
TEST(JsonTensors, BinaryTensorsAreAlignedForTheirElements) {
  for (size_t length = 1; length <= 8; length++) {
    const std::vector<float> values = {1.5f, -2, 0, 7};
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(float));
    const JsonRequest request =
        parsed(R"({"id": ")" + std::string(length, 'i') +
                   R"(", "inputs": [{"name": "x", "datatype": "FP32", "shape": [4], )" +
                   R"("parameters": {"binary_data_size": 16}}]})",
               bytes);
    const InputTensor& x = request.inputs.at(0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data) % alignof(float), 0U) << length;
    EXPECT_EQ(std::memcmp(x.data, bytes.data(), x.bytes), 0) << length;
  }
}

TEST(JsonRequests, IntegersHaveTheRangesOfTheirTypes) {
  expect_range<int8_t>("INT8", POPRT_DTYPE_S8);
  expect_range<int16_t>("INT16", POPRT_DTYPE_S16);
  expect_range<int32_t>("INT32", POPRT_DTYPE_S32);
  expect_range<uint8_t>("UINT8", POPRT_DTYPE_U8);
  expect_range<uint16_t>("UINT16", POPRT_DTYPE_U16);
  expect_range<uint32_t>("UINT32", POPRT_DTYPE_U32);
  EXPECT_EQ(
      values_of<int64_t>(parsed(data("INT64", 2, "-9223372036854775808, 9223372036854775807"))),
      (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_NE(refused(data("INT64", 1, "9223372036854775808")), "taken");
  EXPECT_EQ(values_of<uint64_t>(parsed(data("UINT64", 2, "0, 18446744073709551615"))),
            (std::vector<uint64_t>{0, UINT64_MAX}));
  EXPECT_NE(refused(data("UINT64", 1, "-1")), "taken");
  EXPECT_NE(refused(data("UINT64", 1, "18446744073709551616")), "taken");
  EXPECT_EQ(values_of<uint8_t>(parsed(data("BOOL", 4, "true, false, 1, 0"))),
            (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(refused(data("BOOL", 1, "2")), "input 'x' has the value 2, which BOOL does not have");
}

TEST(JsonRequests, FloatsAreFinite) {
  EXPECT_EQ(values_of<float>(parsed(data("FP32", 3, "1, -0.5, 3.4028234e38"))),
            (std::vector<float>{1, -0.5F, 3.4028234e38F}));
  EXPECT_NE(refused(data("FP32", 1, "3.5e38")), "taken");
  EXPECT_NE(refused(data("FP32", 1, "-3.5e38")), "taken");
  EXPECT_NE(refused(data("FP32", 1, "true")), "taken");
  EXPECT_EQ(values_of<double>(parsed(data("FP64", 2, "1e308, -7"))),
            (std::vector<double>{1e308, -7}));
  EXPECT_NE(refused(data("FP64", 1, "1e309")), "taken");
}

// The numbers of 16 bits are enumerated: the nearest one, of two the one whose last bit is 0.
template <class FromBits>
uint16_t nearest(double value, FromBits&& from_bits) {
  uint32_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (uint32_t bits = 0; bits < 0x8000; bits++) {
    const double candidate = from_bits(static_cast<uint16_t>(bits));
    if (!std::isfinite(candidate)) break;
    const double d = std::abs(candidate - std::abs(value));
    if (d < distance || (d == distance && bits % 2 == 0)) {
      best = bits;
      distance = d;
    }
  }
  return static_cast<uint16_t>(best | (std::signbit(value) ? 0x8000 : 0));
}

template <class FromBits>
void expect_rounded(const std::string& datatype, FromBits&& from_bits) {
  std::mt19937 random(5);
  for (int i = 0; i < 24; i++) {
    const auto bits = static_cast<uint16_t>(0x0100 + random() % 0x7000);
    const double low = from_bits(bits), high = from_bits(static_cast<uint16_t>(bits + 1));
    if (!std::isfinite(high)) continue;
    const double middle = (low + high) / 2;
    for (const double value :
         {low, middle, std::nextafter(middle, low), std::nextafter(middle, high), -middle,
          -std::nextafter(middle, high)}) {
      const std::string json = nlohmann::json(value).dump();
      EXPECT_EQ(values_of<uint16_t>(parsed(data(datatype, 1, json))),
                std::vector{nearest(value, from_bits)})
          << json;
    }
  }
}

TEST(JsonRequests, NumbersOf16BitsAreRoundedOnce) {
  const auto half = [](uint16_t bits) {
    return static_cast<double>(std::bit_cast<_Float16>(bits));
  };
  const auto brain = [](uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  };
  expect_rounded("FP16", half);
  expect_rounded("BF16", brain);
  EXPECT_EQ(values_of<uint16_t>(parsed(data("FP16", 2, "65519.99, -65504"))),
            (std::vector<uint16_t>{0x7bff, 0xfbff}));
  EXPECT_EQ(refused(data("FP16", 1, "65520")),
            "input 'x' has the value 65520, which FP16 does not have");
  EXPECT_EQ(refused(data("FP16", 1, "-65520")),
            "input 'x' has the value -65520, which FP16 does not have");
  EXPECT_EQ(values_of<uint16_t>(parsed(data("BF16", 1, "3.38e38"))),
            (std::vector<uint16_t>{0x7f7e}));
  EXPECT_EQ(refused(data("BF16", 1, "3.4e38")),
            "input 'x' has the value 3.4e+38, which BF16 does not have");
}

TEST(JsonRequests, ATensorHasAtMostTheValuesOfItsShape) {
  EXPECT_EQ(values_of<int16_t>(parsed(input("INT16", "[2, 2]", R"("data": [[1, 2], [3, 4]])"))),
            (std::vector<int16_t>{1, 2, 3, 4}));
  EXPECT_EQ(values_of<int16_t>(parsed(input("INT16", "[2, 2]", R"("data": [1, 2, 3])"))),
            (std::vector<int16_t>{1, 2, 3}));  // the model reports that values are missing
  EXPECT_EQ(refused(input("INT16", "[2, 2]", R"("data": [1, [[2]], 3])")),
            "input 'x': 'data' has a number next to an array");
  EXPECT_EQ(
      refused(input("INT16", "[2, 2]", R"("data": [[1, 2], [3, 4], [5]])")),
      "input 'x': 'data' has arrays with 2 and with 1 elements at one depth; expected arrays of "
      "one length, or one array of all numbers");
  EXPECT_EQ(refused(input("INT16", "[2, 2]", R"("data": [1, 2, 3, 4, 5])")),
            "input 'x' has more values than its shape");
  EXPECT_EQ(refused(input("INT16", "[0]", R"("data": [1])")),
            "input 'x' has more values than its shape");
}

TEST(JsonRequests, ErrorsOfFieldsAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "the body is not a JSON object"},
      {"{\"id\": 3}", "'id' is 3; expected a string"},
      {"{\"id\": [3]}", "'id' is an array; expected a string"},
      {"{\"id\": {}}", "'id' is an object; expected a string"},
      {"{\"inputs\": {}}", "'inputs' is an object; expected an array"},
      {"{\"inputs\": [1]}", "'inputs' is 1; expected objects in it"},
      {"{\"other\": 1}", "there is no field 'other'; expected one of id inputs outputs parameters"},
      {"{\"id inputs\": 1}",
       "there is no field 'id inputs'; expected one of id inputs outputs parameters"},
      {"{\"parameters\": 1}", "'parameters' is 1; expected an object"},
      {"{\"outputs\": [{\"name\": \"y\", \"data\": 1}]}",
       "output 'y': there is no field 'data'; expected one of name parameters"},
      {"{\"outputs\": [{\"name\": \"y\", \"parameters\": []}]}",
       "output 'y': 'parameters' is []; expected an object"},
      {"{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP7\"}]}",
       "input 'x' has datatype 'FP7', which is not known"},
      {"{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\"}]}",
       "input 'x': there is no 'shape'; expected an array of sizes"},
      {"{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": 4}]}",
       "input 'x': 'shape' is 4; expected an array of sizes"},
      {input("FP32", "[-1]", "\"data\": []"),
       "input 'x': 'shape' has a size of -1, which is not possible"},
      {input("FP32", "[1.0]", "\"data\": []"),
       "input 'x': 'shape' has a size of 1.0, which is not possible"},
      {input("FP32", "[1099511627777]", "\"data\": []"),
       "input 'x': 'shape' has a size of 1099511627777, which is not possible"},
      {input("FP32", "[1099511627776]", "\"data\": []"), "taken"},
      {input("FP32", "[1]", "\"data\": 1"),
       "input 'x': there are no 'data'; expected an array, or the parameter binary_data_size"},
      {input("FP32", "[1]", "\"parameters\": {}"),
       "input 'x': there are no 'data'; expected an array, or the parameter binary_data_size"},
  };
  for (const auto& [json, wanted] : cases) EXPECT_EQ(refused(json), wanted) << json;
  const std::string longest(64, 'v'), longer(65, 'v');
  EXPECT_EQ(refused("{\"inputs\": \"" + longest.substr(2) + "\"}"),
            "'inputs' is \"" + longest.substr(2) + "\"; expected an array");
  EXPECT_EQ(refused("{\"inputs\": \"" + longer.substr(2) + "\"}"),
            "'inputs' is \"" + longer.substr(2) + "...; expected an array");
}

TEST(JsonRequests, StructuresHaveLimits) {
  const auto nested = [](size_t depth) {
    return "{\"a\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(parse_object(nested(32)).contains("a"));
  EXPECT_EQ(refusal_of([&] { parse_object(nested(33)); }), "the JSON is nested deeper than 32");
  EXPECT_EQ(parse_object("{\"a\": [" + std::string("[],").append(200, ' ') + "[]]}")["a"].size(),
            2U);
  const auto fields = [](int count) {
    std::string text = "{";
    for (int i = 0; i < count; i++)
      text += (i ? ", \"f" : "\"f") + std::to_string(i) + "\": {\"f0\": 1}";
    return text + "}";
  };
  EXPECT_EQ(parse_object(fields(64)).size(), 64U);
  EXPECT_EQ(refusal_of([&] { parse_object(fields(65)); }),
            "the JSON has an object with more than 64 fields");
  const char* const twice = "the JSON has the field 'a' twice in one object";
  EXPECT_EQ(refusal_of([] { parse_object(R"({"a": 1, "b": 2, "a": 3})"); }), twice);
  EXPECT_EQ(refusal_of([] { parse_object(R"({"a": 1, "\u0061": 3})"); }), twice);
  EXPECT_EQ(refusal_of([] { parse_object(R"({"b": [{"a": 1}, {"a": 1, "a": 2}]})"); }), twice);
  EXPECT_EQ(parse_object(R"({"a": "}{\":\"", "b": {"a": [1, {"a": 2}]}})").size(), 2U);
  const std::string invalid =
      "the body is not a JSON object: the text is not valid JSON, which has no NaN and no numbers "
      "beyond the range of "
      "double";
  for (const char* text :
       {"{", "{\"a\": NaN}", "{\"a\": 1e999}", "}{", "{\"a", "{\"\\x\": 1}", ":"})
    EXPECT_EQ(refusal_of([&] { parse_object(text); }), invalid) << text;
  EXPECT_EQ(refusal_of([] { parse_object(""); }), "the body is not a JSON object: it is empty");
}

TEST(JsonRequests, ToTheRepositoryHaveTheirFlagOnly) {
  const auto read = [](const std::string& body, const char* flag, bool before = false) {
    bool value = before;
    const std::string refusal = refusal_of([&] { parse_repository_request(body, flag, value); });
    return refusal == "taken" ? (value ? "true" : "false") : refusal;
  };
  EXPECT_EQ(read("", "ready", true), "true");
  EXPECT_EQ(read("{}", "ready", true), "true");
  EXPECT_EQ(read(R"({"ready": true})", "ready"), "true");
  EXPECT_EQ(read(R"({"ready": false})", "ready", true), "false");
  EXPECT_EQ(read(R"({"ready": 1})", "ready"), "'ready' is 1; expected true or false");
  EXPECT_EQ(read(R"({"parameters": {}})", "ready"),
            "there is no field 'parameters'; expected one of ready");
  EXPECT_EQ(read(R"({"parameters": {"unload_dependents": true}})", "unload_dependents"), "true");
  EXPECT_EQ(read(R"({"ready": true})", "unload_dependents"),
            "there is no field 'ready'; expected one of parameters");
  EXPECT_EQ(read(R"({"parameters": {"config": "a"}})", "unload_dependents"),
            "there is no parameter 'config'; expected unload_dependents");
  EXPECT_EQ(
      read(R"({"parameters": {"": true}})", ""),
      "there is no parameter ''; expected none: models are loaded as they are in the repository");
}

TEST(JsonRequests, ErrorsAreObjectsAlsoOfBytesThatAreNotText) {
  EXPECT_EQ(format_error("a \"b\""), R"({"error":"a \"b\""})");
  EXPECT_EQ(format_error("a\xff"), "{\"error\":\"a\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace poprt::serve
