// Helpers shared by Resize, Upsample and the blocked poprt.Resize. The formulas are in ONNX
// Operators.md, Resize (coordinate_transformation_mode, nearest_mode, cubic).
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

struct ResizeAxis {
  size_t axis = 0;
  int64_t in = 0, out = 0;
  float scale = 1;
  float roi_start = 0, roi_end = 1;
};

struct ResizeSpec {
  std::string mode = "nearest";  // nearest, linear, cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";  // or "simple", the behaviour of opset 10
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation = 0;
  std::vector<ResizeAxis> axes;  // the axes that change, or all axes
};

// Throws invalid_argument for a mode that ONNX does not define.
void check_resize(const ir::Node& node, const ResizeSpec& spec);

// Reads mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, exclude_outside,
// antialias and extrapolation_value with their meaning in Resize of opset `opset`.
ResizeSpec resize_attributes(const ir::Node& node, int64_t opset);

// floor(in * scale).
int64_t resized(const ir::Node& node, int64_t in, float scale);

void lower_resize(LowerContext& ctx, const ResizeSpec& spec);
void axes_of_resize(AxesContext& ctx, const ResizeSpec& spec);

}  // namespace poprt::ops
