// Determines which quantised convolutions can have the channels last (poprt.QLinearConv).
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Whether a QLinearConv of ai.onnx (or, if `last`, of poprt) has one to three spatial dimensions,
// and inputs other than x and a residual that are constants which poprt.QLinearConv supports.
bool channels_last_conv_fits(const ir::Node& node, bool last);

}  // namespace poprt::ops
