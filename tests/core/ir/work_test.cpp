#include "ir/work.h"

#include <gtest/gtest.h>

#include <thread>

namespace poprt::ir {
namespace {

TEST(Work, StepsOfAThreadAddUp) {
  const uint64_t before = work_done;
  count_work(5);
  count_work(0);
  count_work(7);
  EXPECT_EQ(work_done, before + 12);
  std::thread([] { count_work(100); }).join();
  EXPECT_EQ(work_done, before + 12) << "of this thread alone";
}

}  // namespace
}  // namespace poprt::ir
