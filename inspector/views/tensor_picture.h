// A tensor as a picture or as lines.
#pragma once

#include <imgui.h>

#include <string>

#include "base/tensor.h"

namespace poprt::inspector {

// True for [..., H, W] with 1 or 3 channels, or [H, W], of at least 8 x 8.
bool is_picture(const Tensor& tensor);
// The first picture of the tensor, from its least value (black) to its largest.
void draw_picture(const Tensor& tensor, ImVec2 size);
// The elements of row `row` (the last dimension) as a line, zero marked.
void draw_row(const char* name, const Tensor& tensor, int64_t row, ImVec2 size);

}  // namespace poprt::inspector
