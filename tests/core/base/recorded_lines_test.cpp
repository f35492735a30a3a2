// The records of tests (support/recorded_lines.h): a changed line changes its digest, and messages
// are kept without names and numbers.
#include "support/recorded_lines.h"

#include <gtest/gtest.h>

namespace poprt::test {
namespace {

TEST(RecordedLines, DigestsChangeWithEveryLine) {
  const RecordedLines lines = {{"one", {"a", "b"}}, {"two", {"a"}}};
  RecordedLines changed = lines, fewer = lines, moved = lines;
  changed["one"] = {"a", "c"};
  fewer["one"] = {"a"};
  moved["one"] = {"a"}, moved["two"] = {"a", "b"};
  for (const RecordedLines& other : {changed, fewer, moved})
    EXPECT_NE(digests_of(lines), digests_of(other));
  const std::set<std::string> digests = digests_of(lines)["digests"];
  ASSERT_EQ(digests.size(), 2u);
  EXPECT_TRUE(digests.begin()->starts_with("one: 2 lines, ")) << *digests.begin();
  EXPECT_EQ(digests_of(fewer)["digests"].begin()->substr(0, 14), "one: 1 lines, ");
}

// FNV-1a of 64 bits has published values.
TEST(RecordedLines, DigestsAreFnv1a) {
  EXPECT_EQ(Digest().text(), "cbf29ce484222325");
  EXPECT_EQ(Digest().add("a").text(), "af63dc4c8601ec8c");
  EXPECT_EQ(Digest().add("foo").add("bar").text(), "85944171f73967e8");
}

TEST(RecordedLines, PatternsHaveNoNamesAndNumbers) {
  EXPECT_EQ(message_pattern("input 'x' is f32[2,3], found 17"), "input '' is f#[#], found #");
  EXPECT_EQ(message_pattern("the node's input 'a b' is 5"), "the node's input '' is #");
  EXPECT_EQ(message_pattern("expected \"y\", found #,#"), "expected \"\", found #");
  EXPECT_EQ(message_pattern("a\x01z\xff"), "a?z?");
  EXPECT_EQ(message_pattern(std::string(200, 'a')).size(), 160u);
}

TEST(RecordedLines, MessagesAreFoundInLines) {
  EXPECT_EQ(error_message_of("x = 1: not_found: there is no 'x'"), "not_found: there is no 'x'");
  EXPECT_EQ(error_message_of("a | data_loss: b | y = 1"), "data_loss: b");
  EXPECT_EQ(error_message_of("unimplemented: Det (here opset 11) is supported"),
            "unimplemented: Det");
  EXPECT_EQ(error_message_of("y = 1"), "");
  EXPECT_EQ(message_after_colon("1 of 2: too long: 3"), "too long: 3");
  EXPECT_EQ(counted_message_of("3 x too long"), "too long");
  EXPECT_EQ(counted_message_of("3 x taken: a"), "");
  const RecordedLines lines = {{"one", {"1: not_found: no 'x'", "2: not_found: no 'y'"}}};
  EXPECT_EQ(digests_of(lines)["messages"], std::set<std::string>{"not_found: no ''"});
}

}  // namespace
}  // namespace poprt::test
