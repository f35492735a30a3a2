#include "plugins/report.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace poprt::plugins {
namespace {

int32_t set(Report& report, int32_t code, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int32_t returned = report.set(code, format, arguments);
  va_end(arguments);
  return returned;
}

std::string checked(const Report& report, int32_t code) {
  try {
    check(report, code, "infer of Twice");
  } catch (const Error& e) {
    EXPECT_GE(e.code(), ErrorCode::cancelled);
    EXPECT_LE(e.code(), ErrorCode::data_loss);
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "passed";
}

TEST(Report, KeepsTheFirstFailureAndItsFirstLine) {
  Report report;
  EXPECT_EQ(set(report, 5, "%s %d\nrest", "row", 3), 5);
  EXPECT_EQ(set(report, 9, "later"), 9);
  EXPECT_TRUE(report.failed);
  EXPECT_EQ(report.code, 5);
  EXPECT_EQ(report.message, "row 3");
  EXPECT_EQ(checked(report, 0), "not_found: infer of Twice: row 3");
  EXPECT_EQ(checked(report, 13), "not_found: infer of Twice: row 3") << "the report is the cause";
}

TEST(Report, LinesAreCutAt1023Characters) {
  Report report;
  set(report, 3, "%s", std::string(5000, 'x').c_str());
  EXPECT_EQ(report.message, std::string(1023, 'x'));
}

TEST(Report, AFailureMayHaveNoMessage) {
  Report report;
  EXPECT_EQ(set(report, 3, nullptr), 3);
  EXPECT_EQ(checked(report, 0), "invalid_argument: infer of Twice: failed without a message");
  EXPECT_EQ(report.message, "");
}

TEST(Report, CodesWithoutAMeaningAreUnknown) {
  for (const int32_t code : {1, 15}) {
    Report report;
    set(report, code, "x");
    EXPECT_EQ(checked(report, 0),
              std::string(error_code_name(static_cast<ErrorCode>(code))) + ": infer of Twice: x");
    EXPECT_EQ(checked({}, code), std::string(error_code_name(static_cast<ErrorCode>(code))) +
                                     ": infer of Twice: returned " + std::to_string(code) +
                                     " without a message");
  }
  for (const int32_t code : {-1, 0, 16}) {
    Report report;
    set(report, code, "x");
    EXPECT_EQ(checked(report, 0), "unknown: infer of Twice: x") << code;
  }
  EXPECT_EQ(checked({}, 0), "passed");
  for (const int32_t code : {-1, 16})
    EXPECT_EQ(checked({}, code),
              "unknown: infer of Twice: returned " + std::to_string(code) + " without a message");
}

TEST(Report, ExceptionsAreFailures) {
  Report report;
  EXPECT_EQ(caught(report, [] { return 4; }), 4);
  EXPECT_FALSE(report.failed);
  EXPECT_EQ(caught(report, []() -> int32_t { throw std::runtime_error("a\nb"); }), 13);
  EXPECT_EQ(report.message, "threw an exception: a");
  report = {};
  EXPECT_EQ(caught(report, []() -> int32_t { throw 1; }), 13);
  EXPECT_EQ(report.message, "threw an exception that is no std::exception");
}

}  // namespace
}  // namespace poprt::plugins
