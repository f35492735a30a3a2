// The compiler computes the result from a constant input (ops/common/images.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::image_decoder_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& stream = ctx.in(0);
  if (stream.dtype != DType::undefined && stream.dtype != DType::u8)
    ctx.fail_input("does not take {}, an encoded image is u8", dtype_name(stream.dtype));
  if (stream.has_shape && stream.shape.size() != 1)
    ctx.fail_input("the encoded image is {}, expected one dimension", shape_string(stream.shape));
  const std::string format = ctx.node.string_attr("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    ctx.fail_input("pixel_format is '{}', expected RGB, BGR or Grayscale", format);
  ctx.out(0, DType::u8, {kUnknownDim, kUnknownDim, format == "Grayscale" ? 1 : 3});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ImageDecoder",
                   .since = 20,
                   .infer = infer,
                   .lower = lower_image,
                   .axes = axes::none,
                   .cost = cost::image_decoder,
                   .facts = {.constant_inputs = 0b1}};

}  // namespace poprt::ops::image_decoder_op
