// ImageDecoder. The size of its result is in the bytes that it reads, so images are decoded here,
// on constants, when a model is compiled; libpoprt_images.so does the reading of formats.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace poprt::ops {

bool decodes_image(const ir::Node& node);

// The image as u8 [height, width, channels], channels as attribute pixel_format says. Throws naming
// the node: data_loss when the stream is no image, damaged, too large or of a kind that cannot be
// read; failed_precondition saying what to install when libpoprt_images.so cannot be loaded.
Tensor decode_image(const ir::Node& node, const Tensor& stream);
// The same of an image file's bytes, as RGB. Throws naming nothing.
Tensor decode_rgb(std::span<const uint8_t> file);

}  // namespace poprt::ops
