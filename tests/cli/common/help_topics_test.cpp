#include "common/help_topics.h"

#include <gtest/gtest.h>

#include <string>

#include "common/abi.h"

namespace poprt::cli::test {
namespace {

TEST(HelpTopics, AreFoundByNameAndAlias) {
  for (const char* name : {"precision", "shapes", "fusion", "generation", "estimate", "cache"}) {
    const HelpTopic* topic = find_topic(name);
    ASSERT_NE(topic, nullptr) << name;
    EXPECT_STREQ(topic->name, name);
    EXPECT_GT(std::string(topic->text).size(), 500U) << name;
  }
  EXPECT_EQ(find_topic("chip"), find_topic("estimate"));
  EXPECT_EQ(find_topic("nothing"), nullptr);
  for (size_t i = 0; i < kHelpAliasCount; i++)
    EXPECT_NE(find_topic(kHelpAliases[i].name), nullptr) << kHelpAliases[i].name;
}

TEST(HelpTopics, ParagraphsAreWrappedAndCodeIsNot) {
  const HelpTopic topic = {
      "t", "s", "one two three\n\n* item with words\n  - inner one\n\tcode stays as it is\n"};
  EXPECT_EQ(
      topic_text(topic, 10),
      "one two\nthree\n\n* item\n  with\n  words\n  - inner\n    one\n    code stays as it is\n");
}

TEST(HelpTopics, OtherCommandLinesAreNotHandled) {
  char program[] = "p", help[] = "help", topic[] = "prescision";
  char* words[] = {program, help, topic, topic};
  EXPECT_EQ(handle_help("p", 1, words), std::nullopt);
  EXPECT_THROW((void)handle_help("p", 4, words), Usage);
  try {
    (void)handle_help("p", 3, words);
    FAIL();
  } catch (const Usage& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean precision?"), std::string::npos);
  }
  testing::internal::CaptureStdout();
  EXPECT_EQ(handle_help("p", 2, words), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("precision"), std::string::npos);
  char empty[] = "";
  words[2] = empty;
  EXPECT_THROW((void)handle_help("p", 3, words), Usage);
}

}  // namespace
}  // namespace poprt::cli::test
