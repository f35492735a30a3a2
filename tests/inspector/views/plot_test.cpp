#include "views/plot.h"

#include <gtest/gtest.h>

#include <limits>

namespace poprt::inspector {
namespace {

TEST(Plot, APointerOutsideOfALineHasNoValue) {
  constexpr float kGap = std::numeric_limits<float>::quiet_NaN();
  const ui::PlotLine line{"a", 0, {{-10, 1}, {-9, 2}, {-8, kGap}, {-3, 5}, {-2, 6}}};
  EXPECT_EQ(ui::value_at(line, -30, 0.5f), std::nullopt) << "before the process existed";
  EXPECT_EQ(ui::value_at(line, -10.4f, 0.5f), 1);
  EXPECT_EQ(ui::value_at(line, -9.8f, 0.5f), 1);
  EXPECT_EQ(ui::value_at(line, -9.3f, 0.5f), 2);
  EXPECT_EQ(ui::value_at(line, -6, 0.5f), std::nullopt) << "in the gap";
  EXPECT_EQ(ui::value_at(line, -2.9f, 0.5f), 5);
  EXPECT_EQ(ui::value_at(line, 0, 0.5f), std::nullopt) << "after the process ended";
  EXPECT_EQ(ui::value_at({"empty", 0, {}}, 0, 1), std::nullopt);
}

TEST(Plot, LogarithmicAxesHaveRoundLabels) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(ui::logarithmic_ticks(100, 1e6), (Ticks{100, 1e3, 1e4, 1e5, 1e6}));
  EXPECT_EQ(ui::logarithmic_ticks(10, 200), (Ticks{10, 20, 50, 100, 200}));
  EXPECT_EQ(ui::logarithmic_ticks(1, 10), (Ticks{1, 2, 5, 10}));
}

}  // namespace
}  // namespace poprt::inspector
