// Determines which quantised convolutions can have the channels last (poprt.QLinearConv).
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Whether a QLinearConv of ai.onnx (or, if `last`, of poprt) has an image as x, and constants that
// poprt.QLinearConv supports as its other inputs.
bool channels_last_conv_fits(const ir::Node& node, bool last);

}  // namespace poprt::ops
