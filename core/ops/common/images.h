// ImageDecoder. The size of the result is encoded in its input, so images are decoded from
// constants at compile time. libpoprt_images.so reads the image formats.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace poprt::ops {

bool decodes_image(const ir::Node& node);

// Decodes an image to u8 [height, width, channels] with the channels of attribute pixel_format.
// Throws an error that names the node: data_loss if the stream is not an image, is damaged, too
// large or of an unsupported kind; failed_precondition with an installation hint if
// libpoprt_images.so cannot be loaded.
Tensor decode_image(const ir::Node& node, const Tensor& stream);
// Decodes the bytes of an image file as RGB. Throws the same errors, without a node.
Tensor decode_rgb(std::span<const uint8_t> file);

}  // namespace poprt::ops
