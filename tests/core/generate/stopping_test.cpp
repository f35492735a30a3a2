#include "generate/stopping.h"

#include <gtest/gtest.h>

namespace poprt::generate {
namespace {

using Tokens = std::vector<int64_t>;

TEST(Stopping, EndsWithTokensOfTheModelAndOfTheOptions) {
  Description model;
  model.stop_tokens = {9, 2};
  SamplingOptions options;
  options.stop_tokens = {5, 2};
  const Stopping stopping{model, options};
  EXPECT_EQ(stopping.stop_tokens(), (Tokens{2, 5, 9}));
  for (const int64_t t : {2, 5, 9}) EXPECT_TRUE(stopping.is_stop(t)) << t;
  EXPECT_FALSE(stopping.is_stop(3));
  options.ignore_stop = true;
  EXPECT_EQ(stopping.stop_tokens(), (Tokens{2, 5}));
  EXPECT_FALSE(stopping.is_stop(9));
}

TEST(Stopping, HasAMaximumLength) {
  Description model;
  model.max_length = 10;
  SamplingOptions options;
  options.max_new_tokens = 0;
  const Stopping stopping{model, options, 4};
  EXPECT_EQ(stopping.most_tokens(), 10u);
  options.max_new_tokens = 3;
  EXPECT_EQ(stopping.most_tokens(), 7u);
  options.max_new_tokens = 7;
  EXPECT_EQ(stopping.most_tokens(), 10u);
}

TEST(Stopping, ForcesTheFirstAndTheLastToken) {
  Description model;
  model.max_length = 10;
  SamplingOptions options;
  options.max_new_tokens = 0;
  const Stopping stopping{model, options, 1};
  EXPECT_EQ(stopping.forced_token(1), std::nullopt);
  EXPECT_EQ(stopping.forced_token(9), std::nullopt);
  model.forced_first = 3;
  model.forced_last = 2;
  EXPECT_EQ(stopping.forced_token(1), 3);
  EXPECT_EQ(stopping.forced_token(2), std::nullopt);
  EXPECT_EQ(stopping.forced_token(9), 2);
  options.max_new_tokens = 1;
  EXPECT_EQ(stopping.forced_token(1), 2);
}

TEST(Stopping, HidesStopTokensBeforeTheLeastLength) {
  Description model;
  model.stop_tokens = {2};
  model.suppressed = {1};
  model.suppressed_first = {7};
  SamplingOptions options;
  options.stop_tokens = {5};
  options.min_new_tokens = 2;
  const Stopping stopping{model, options};
  EXPECT_EQ(stopping.hidden_tokens(0), (Tokens{1, 7, 5, 2}));
  EXPECT_EQ(stopping.hidden_tokens(1), (Tokens{1, 5, 2}));
  EXPECT_EQ(stopping.hidden_tokens(2), (Tokens{1}));
}

}  // namespace
}  // namespace poprt::generate
