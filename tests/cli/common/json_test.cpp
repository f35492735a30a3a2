#include "common/json.h"

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

TEST(Json, InvalidUtf8IsReplaced) {
  EXPECT_EQ(to_text(nlohmann::json{{"b", 1}, {"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\",\"b\":1}");
  EXPECT_EQ(to_text(nlohmann::ordered_json{{"b", 1}, {"a", "\xff\xc3\xa9"}}, 1),
            "{\n \"b\": 1,\n \"a\": \"\xef\xbf\xbd\xc3\xa9\"\n}");
}

TEST(Json, KeepsTheOrderOfKeysOnRequest) {
  EXPECT_EQ(to_text(parse_json(R"({"b":1,"a":2})")), R"({"a":2,"b":1})");
  EXPECT_EQ(to_text(parse_ordered_json(R"({"b":1,"a":2})")), R"({"b":1,"a":2})");
  EXPECT_ANY_THROW((void)parse_json("{"));
  EXPECT_ANY_THROW((void)parse_ordered_json("{"));
}

TEST(Json, InvalidAndMissingFilesAreDiscarded) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_json(write_file(folder, "a", "[1, 2]").string()).size(), 2U);
  EXPECT_TRUE(read_json(write_file(folder, "b", "[1, 2").string()).is_discarded());
  EXPECT_TRUE(read_json((folder.path() / "none").string()).is_discarded());
}

TEST(Json, DocumentsArePrintedWithTwoBlanks) {
  testing::internal::CaptureStdout();
  print_json({{"a", {1}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\n  \"a\": [\n    1\n  ]\n}\n");
}

}  // namespace
}  // namespace poprt::cli
