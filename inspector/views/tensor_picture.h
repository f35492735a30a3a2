// Draws a tensor as a picture or as lines.
#pragma once

#include <imgui.h>

#include <string>

#include "base/tensor.h"

namespace poprt::inspector {

// Whether the last dimensions are [H, W], [3, H, W] or [H, W, 3], with at least 8 x 8 pixels. Other
// dimensions may precede them.
bool is_picture(const Tensor& tensor);
// Draws the first picture of the tensor, in colours if it has 3 channels, from its smallest value
// (black) to its largest.
void draw_picture(const Tensor& tensor, ImVec2 size);
// Draws the elements of row `row` (the last dimension) as a line, with zero marked.
void draw_row(const char* name, const Tensor& tensor, int64_t row, ImVec2 size);

}  // namespace poprt::inspector
