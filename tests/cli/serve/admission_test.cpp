#include "serve/admission.h"

#include <gtest/gtest.h>

#include <functional>

#include "serve/inference.h"

namespace poprt::serve {
namespace {

std::string admitted(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return std::string(poprt_error_code_name(e.code())) + ": " + e.what();
  }
  return "admitted";
}

TEST(Admission, EndsAtTheLimitAndCountsWhatItRejects) {
  Admission admission(5, "texts");
  std::atomic<uint64_t> rejected{7};
  const auto enter = [&](int64_t count) {
    return admitted([&] { admission.enter(count, rejected); });
  };
  const std::string full = "resource_exhausted: more than 5 texts wait; try again later";
  EXPECT_EQ(admission.in_flight(), 0);
  EXPECT_EQ(enter(3), "admitted");
  EXPECT_EQ(enter(3), full);
  EXPECT_EQ(admission.in_flight(), 3) << "nothing of a rejected request is admitted";
  EXPECT_EQ(enter(2), "admitted");
  EXPECT_EQ(enter(1), full);
  EXPECT_EQ(admission.in_flight(), 5);
  EXPECT_EQ(rejected, 9u);
  admission.leave();
  EXPECT_EQ(enter(2), full);
  EXPECT_EQ(enter(1), "admitted");
  admission.leave(4);
  EXPECT_EQ(admission.in_flight(), 1);
  EXPECT_EQ(enter(4), "admitted");
  EXPECT_EQ(rejected, 10u);
}

TEST(Admission, AdmitsNothingAfterItsEnd) {
  Admission admission(5, "requests");
  std::atomic<uint64_t> rejected{0};
  admission.enter(2, rejected);
  EXPECT_FALSE(admission.stopped());
  EXPECT_EQ(admitted([&] { admission.check_open(); }), "admitted");
  admission.stop();
  EXPECT_TRUE(admission.stopped());
  const std::string stops = "unavailable: the server stops";
  EXPECT_EQ(admitted([&] { admission.check_open(); }), stops);
  EXPECT_EQ(admitted([&] { admission.enter(1, rejected); }), stops);
  EXPECT_EQ(admission.in_flight(), 2);
  EXPECT_EQ(rejected, 0u);
  admission.leave(2);
  EXPECT_EQ(admission.in_flight(), 0);
}

}  // namespace
}  // namespace poprt::serve
