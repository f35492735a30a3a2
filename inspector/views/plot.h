// Plots of lines over time.
#pragma once

#include <imgui.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace poprt::inspector::ui {

struct PlotLine {
  std::string name;
  ImU32 colour;
  std::vector<ImVec2> points;  // y is NAN where there is no value
  bool filled = false;
  // Whether several points in one column of pixels are shown by their mean. Otherwise the largest
  // is shown, so that short peaks are visible.
  bool mean = false;
  float width = 1.6f;
};
struct PlotMarker {
  float x;
  ImU32 colour;
  std::string text;
};
// The pointer's actions in a plot.
struct PlotInput {
  float drag = 0;   // distance along x, in its units, positive to the right
  float wheel = 0;  // notches, positive away from the user
  float at = 0;     // x of the pointer
  bool double_click = false;
};
// On a logarithmic axis values range from a power of ten to 1, 2 or 5 times a power of ten, and
// values of zero or less are not drawn.
enum class Axis { linear, logarithmic };
// The labelled values of an axis from `least` to `most`: powers of ten, and 2 and 5 times those if
// the axis has fewer than three powers.
std::vector<double> logarithmic_ticks(double least, double most);
// Returns the value of the point nearest to x. Returns nothing in a gap and before the first or
// after the last point, unless the end of the line is within `reach` of x.
std::optional<float> value_at(const PlotLine& line, float x, float reach);
// Draws lines over [from, to]. On a linear axis y ranges from 0 to the largest visible value, which
// is rounded up, or to `least_top` if that is larger. A tooltip at the pointer shows the values of
// all lines.
PlotInput plot(const char* title, ImVec2 size, const std::vector<PlotLine>& lines, float from,
               float to, const std::function<std::string(double)>& y_text,
               const std::function<std::string(double)>& x_text,
               const std::vector<PlotMarker>& markers = {}, float least_top = 0,
               Axis axis = Axis::linear);

}  // namespace poprt::inspector::ui
