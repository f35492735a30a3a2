// Lines over time.
#pragma once

#include <imgui.h>

#include <functional>
#include <string>
#include <vector>

namespace poprt::inspector::ui {

struct PlotLine {
  std::string name;
  ImU32 colour;
  std::vector<ImVec2> points;  // y is NAN where there is nothing
  bool filled = false;
  // Of several points in one column of pixels their mean; else the largest, which is seen once.
  bool mean = false;
  float width = 1.6f;
};
struct PlotMarker {
  float x;
  ImU32 colour;
  std::string text;
};
// What the pointer does in a plot.
struct PlotInput {
  float drag = 0;      // along x, in its units, to the right
  float wheel = 0;     // notches, away from the user
  float at = 0;        // where the pointer is, along x
  bool again = false;  // a double click
};
// Lines over [from, to]; y from 0 to the largest value in sight, or to `least_top` when that is
// more. Under the pointer it says what each line is there.
PlotInput plot(const char* title, ImVec2 size, const std::vector<PlotLine>& lines, float from,
               float to, const std::function<std::string(double)>& y_text,
               const std::function<std::string(double)>& x_text,
               const std::vector<PlotMarker>& markers = {}, float least_top = 0);

}  // namespace poprt::inspector::ui
