#include "serve/request_parameters.h"

#include <gtest/gtest.h>

#include <tuple>

#include "refusal.h"

namespace poprt::serve {
namespace {

using Value = decltype(Parameter::value);

std::string request(const std::string& name, const Value& value) {
  RequestParameters to;
  return refusal_of([&] { read_request_parameter({name, value, "TEXT"}, to); });
}

TEST(RequestParameters, OfARequestAreItsFormatAndItsTime) {
  RequestParameters to;
  read_request_parameter({"binary_data_output", true, "true"}, to);
  EXPECT_TRUE(to.binary);
  read_request_parameter({"binary_data_output", false, "false"}, to);
  EXPECT_FALSE(to.binary);
  read_request_parameter({"timeout", uint64_t{5000}, "5000"}, to);
  EXPECT_EQ(to.timeout_ns, 5'000'000);
  read_request_parameter({"timeout", int64_t{7}, "7"}, to);
  EXPECT_EQ(to.timeout_ns, 7000);
  read_request_parameter({"timeout", uint64_t{9223372036854775}, "9223372036854775"}, to);
  EXPECT_EQ(to.timeout_ns, 9223372036854775000);
  EXPECT_EQ(request("timeout", uint64_t{9223372036854776}),
            "parameter 'timeout' is TEXT; expected at most 9223372036854775");
  for (const Value& value :
       {Value(int64_t{-1}), Value(1.0), Value(true), Value(std::string("1")), Value()})
    EXPECT_EQ(request("timeout", value),
              "parameter 'timeout' is TEXT; expected a whole number from 0 on");
}

// Values that request nothing are taken.
TEST(RequestParameters, ThatTheServerDoesNotSupportAreRefused) {
  const Value zero = uint64_t{0}, one = uint64_t{1}, signed_zero = int64_t{0},
              negative = int64_t{-1};
  const Value none = std::string(), word = std::string("s");
  const std::tuple<std::string, Value, std::string> cases[] = {
      {"priority", zero, ""},
      {"priority", signed_zero, ""},
      {"priority", one, "0: the server has no priorities"},
      {"priority", negative, "a whole number from 0 on"},
      {"sequence_id", zero, ""},
      {"sequence_id", signed_zero, ""},
      {"sequence_id", none, ""},
      {"sequence_id", one, "0 or none: the server has no sequences"},
      {"sequence_id", negative, "0 or none: the server has no sequences"},
      {"sequence_id", word, "0 or none: the server has no sequences"},
      {"sequence_id", false, "0 or none: the server has no sequences"},
      {"sequence_start", false, ""},
      {"sequence_start", true, "false: the server has no sequences"},
      {"sequence_end", false, ""},
      {"sequence_end", true, "false: the server has no sequences"},
      {"sequence_end", zero, "true or false"},
      {"triton_enable_empty_final_response", false, ""},
      {"triton_enable_empty_final_response", true, "false: a request has one response"}};
  for (const auto& [name, value, expected] : cases)
    EXPECT_EQ(request(name, value), expected.empty()
                                        ? "taken"
                                        : "parameter '" + name + "' is TEXT; expected " + expected);
  EXPECT_EQ(request("other", zero),
            "there is no parameter 'other'; expected binary_data_output, timeout, priority, "
            "sequence_id, sequence_start, "
            "sequence_end or triton_enable_empty_final_response");
}

TEST(RequestParameters, OfAnInputAreTheSizeOfItsBytes) {
  EXPECT_EQ(read_input_parameter({"binary_data_size", uint64_t{12}, ""}, ""), 12U);
  EXPECT_EQ(read_input_parameter({"binary_data_size", int64_t{0}, ""}, ""), 0U);
  const auto refused = [](const char* name, const Value& value) {
    return refusal_of([&] { read_input_parameter({name, value, "TEXT"}, "input 'x': "); });
  };
  EXPECT_EQ(refused("binary_data_size", int64_t{-3}),
            "input 'x': parameter 'binary_data_size' is TEXT; expected a whole number from 0 on");
  EXPECT_EQ(refused("shared_memory_region", std::string("r")),
            "input 'x': parameter 'shared_memory_region' is TEXT; expected none: the server has no "
            "shared memory, send "
            "the tensor");
  EXPECT_EQ(refused("binary_data", true),
            "input 'x': there is no parameter 'binary_data'; expected binary_data_size");
}

TEST(RequestParameters, OfAnOutputAreItsFormat) {
  bool binary = false;
  read_output_parameter({"binary_data", true, ""}, "", binary);
  EXPECT_TRUE(binary);
  read_output_parameter({"classification", uint64_t{0}, ""}, "", binary);
  EXPECT_TRUE(binary);
  read_output_parameter({"binary_data", false, ""}, "", binary);
  EXPECT_FALSE(binary);
  const auto refused = [&](const char* name, const Value& value) {
    return refusal_of(
        [&] { read_output_parameter({name, value, "TEXT"}, "output 'y': ", binary); });
  };
  EXPECT_EQ(refused("classification", uint64_t{3}),
            "output 'y': parameter 'classification' is TEXT; expected 0: the server returns "
            "tensors, not their largest "
            "values");
  EXPECT_EQ(refused("binary_data", uint64_t{1}),
            "output 'y': parameter 'binary_data' is TEXT; expected true or false");
  EXPECT_EQ(refused("shared_memory_offset", uint64_t{1}),
            "output 'y': parameter 'shared_memory_offset' is TEXT; expected none: the server has "
            "no shared memory, send "
            "the tensor");
  EXPECT_EQ(refused("binary_data_size", uint64_t{1}),
            "output 'y': there is no parameter 'binary_data_size'; expected binary_data or "
            "classification");
}

TEST(RequestParameters, LongTextsOfMessagesAreCut) {
  const std::string longest(64, 'n'), longer(65, 'n');
  EXPECT_EQ(in_quotes(longest), "'" + longest + "'");
  EXPECT_EQ(in_quotes(longer), "'" + longest + "...'");
  RequestParameters to;
  const auto shown = [&](const std::string& text) {
    return refusal_of([&] { read_request_parameter({"timeout", true, text}, to); });
  };
  EXPECT_EQ(shown(longest),
            "parameter 'timeout' is " + longest + "; expected a whole number from 0 on");
  EXPECT_EQ(shown(longer),
            "parameter 'timeout' is " + longest + "...; expected a whole number from 0 on");
}

}  // namespace
}  // namespace poprt::serve
