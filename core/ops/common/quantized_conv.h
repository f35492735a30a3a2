// Which quantised convolutions have a form with channels last (poprt.QLinearConv).
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// True for a QLinearConv of ai.onnx (or, when `last`, of poprt) whose x is an image and whose other
// inputs are constants of the kind that poprt.QLinearConv wants.
bool channels_last_conv_fits(const ir::Node& node, bool last);

}  // namespace poprt::ops
