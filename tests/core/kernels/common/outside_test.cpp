#include "kernels/common/outside.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace poprt::kernels {
namespace {

TEST(Outside, ReportsTheFirstPlaceOnceWhateverThreadFindsIt) {
  Outside outside;
  outside.wanted = true;
  for (int repeat = 0; repeat < 20; repeat++) {
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 4; t++)
      threads.emplace_back([&outside, t] {
        for (int64_t place = 100 + t; place >= 3 + t; place--) outside.found(place, -place, 3);
      });
    for (std::thread& t : threads) t.join();
    const auto failure = outside.take();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), ErrorCode::out_of_range);
    EXPECT_EQ(failure->message(), "index -3 at place 3 is outside [-3, 2]");
    EXPECT_FALSE(outside.take()) << "it was taken";
  }
}

TEST(Outside, ReportsNoFailureUnlessTheProgramRequestsIt) {
  const Outside outside;
  outside.found(0, 7, 3);
  EXPECT_FALSE(outside.take());
}

TEST(Outside, NamesNumbersThatDoNotCountFromTheEnd) {
  Outside outside("sequence length", false);
  outside.wanted = true;
  outside.found(1, -2, 5);
  EXPECT_EQ(outside.take()->message(), "sequence length -2 at place 1 is outside [0, 4]");
}

}  // namespace
}  // namespace poprt::kernels
