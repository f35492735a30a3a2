#include "ipu/calibration.h"

#include <gtest/gtest.h>

#include <string>

namespace poprt::ipu {
namespace {

TEST(Calibration, EveryConstantHasASourceAndAGrade) {
  for (const CalibrationRow& row : calibration_rows()) {
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_FALSE(row.grade.empty()) << row.name;
  }
}

TEST(Calibration, OnlyResNet50IsFittedOnTheDevice) {
  for (const CalibrationRow& row : calibration_rows())
    if (!row.rows.empty() && row.unit.find("GB/s") == std::string_view::npos)
      EXPECT_EQ(row.rows.substr(0, 9), "ResNet-50") << row.name;
}

TEST(Calibration, TheTableHasTheValuesThatAreUsed) {
  const Calibration& c = calibration();
  const auto value = [](std::string_view name) {
    for (const CalibrationRow& row : calibration_rows())
      if (row.name == name) return std::stod(std::string(row.value));
    return -1.0;
  };
  EXPECT_EQ(value("sync"), c.sync);
  EXPECT_EQ(value("step_overhead"), c.step_overhead);
  EXPECT_EQ(value("call_overlap_ms"), c.call_overlap_ms);
  EXPECT_EQ(value("exchange_efficiency"), c.exchange_efficiency);
  EXPECT_EQ(value("fragment"), c.fragment);
  EXPECT_EQ(value("host_gbytes"), Target{}.host_gbytes);
}

}  // namespace
}  // namespace poprt::ipu
