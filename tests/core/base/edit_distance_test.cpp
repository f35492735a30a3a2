#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace poprt {
namespace {

TEST(EditDistance, CountsInsertedRemovedAndReplacedLetters) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("batch", "batch"), 0u);
  EXPECT_EQ(edit_distance("", "batch"), 5u);
  EXPECT_EQ(edit_distance("batch", ""), 5u);
  EXPECT_EQ(edit_distance("btch", "batch"), 1u);
  EXPECT_EQ(edit_distance("batchs", "batch"), 1u);
  EXPECT_EQ(edit_distance("botch", "batch"), 1u);
  EXPECT_EQ(edit_distance("precisoin", "precision"), 2u) << "a swap is two replacements";
  EXPECT_EQ(edit_distance("kitten", "sitting"), edit_distance("sitting", "kitten"));
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace poprt
