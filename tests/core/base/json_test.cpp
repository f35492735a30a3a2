#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

namespace poprt::test {
namespace {

std::string nested(size_t depth, char begin, char end) {
  std::string text;
  for (size_t i = 0; i < depth; i++) text += begin == '{' ? std::string("{\"a\":") : "[";
  text += "1";
  return text + std::string(depth, end);
}

TEST(Json, RefusesTextsThatNestTooDeepForRecursion) {
  for (const auto& [begin, end] : {std::pair('[', ']'), std::pair('{', '}')}) {
    for (const size_t depth : {1001ul, 1000000ul}) {
      const std::string text = nested(depth, begin, end);
      EXPECT_THROW(parse_json(text), nlohmann::json::exception) << depth;
      EXPECT_THROW(parse_ordered_json(text), nlohmann::json::exception) << depth;
      EXPECT_TRUE(try_parse_json(text).is_discarded()) << depth;
      EXPECT_TRUE(try_parse_ordered_json(text).is_discarded()) << depth;
    }
    const std::string text = nested(1000, begin, end);
    EXPECT_EQ(json_text(parse_json(text)), text);
    EXPECT_EQ(json_text(try_parse_ordered_json(text)), text);
  }
}

TEST(Json, CountsNoBracketsInStrings) {
  const std::string text = "[\"" + std::string(5000, '[') + "\\\"" + std::string(5000, '{') + "\"]";
  EXPECT_EQ(json_text(parse_json(text)), text);
}

TEST(Json, RefusesNumbersThatAreNotWhole) {
  for (const char* text : {"1.5", "1e300", "\"1\"", "[1]", "null", "9223372036854775808"})
    EXPECT_THROW(whole_number(parse_json(text)), Error) << text;
  EXPECT_EQ(whole_number(parse_json("-7")), -7);
}

}  // namespace
}  // namespace poprt::test
