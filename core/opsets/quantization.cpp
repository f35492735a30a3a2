// QuantizeLinear and DequantizeLinear. Opset 10 has one scale for a tensor of bytes; later features
// are converted to arithmetic with the same results.
#include "base/onnx_dtype.h"
#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

// Reshapes a value; a constant is folded at once.
Value* shaped(Rewriter& r, Value* v, const Shape& shape) {
  return v->is_constant() ? r.constant(v->constant().reshaped(shape)) : r.reshape(v, shape);
}

struct Range {
  double least, most;
};

Range range_of(const Rewriter& r, DType dtype) {
  switch (dtype) {
    case DType::s8: return {-128, 127};
    case DType::u8: return {0, 255};
    case DType::s16: return {-32768, 32767};
    case DType::u16: return {0, 65535};
    default: r.reject("it has no {} there", dtype_name(dtype));
  }
}

// The shapes to which x and its scale (and zero point) are reshaped so that the scale broadcasts to
// x.
struct Grid {
  Shape x, scale;
};

Grid grid_of(const Rewriter& r) {
  Grid g{r.shape(0), Shape(r.shape(0).size(), 1)};
  const auto rank = static_cast<int64_t>(g.x.size());
  const Shape& scale = r.shape(1);
  if (element_count(scale) == 1) return g;
  int64_t axis = r.at.int_attr("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) r.reject("axis {} is not one of {}", axis, rank);
  const auto a = static_cast<size_t>(axis);
  if (const int64_t block = r.at.int_attr("block_size", 0)) {
    if (scale.size() != g.x.size() || g.x[a] != scale[a] * block)
      r.reject("blocks of {} do not divide the axis", block);
    g.scale = scale;
    g.x[a] = scale[a];
    g.x.insert(g.x.begin() + axis + 1, block);
    g.scale.insert(g.scale.begin() + axis + 1, 1);
    return g;
  }
  if (element_count(scale) != g.x[a]) r.reject("scales do not fit the axis");
  g.scale[a] = g.x[a];
  return g;
}

bool is_per_tensor(const Rewriter& r) { return element_count(r.shape(1)) == 1; }

// Converts to one scale and one zero point without an axis.
void make_scalars(Rewriter& r) {
  r.drop("axis");
  for (size_t i = 1; i < 3; i++)
    if (r.has(i) && !r.shape(i).empty()) r.at.set_input(i, shaped(r, r.in(i), {}));
}

void quantize_by_parts(Rewriter& r) {
  r.slower("it is several operators there");
  const DType dtype = r.at.output()->dtype();
  const Range range = range_of(r, dtype);
  const Grid g = grid_of(r);
  Value* x = r.cast(r.reshape(r.in(0), g.x), DType::f32);
  Value* scale = r.cast(shaped(r, r.in(1), g.scale), DType::f32);
  Value* y = r.newest("Round", {r.newest("Div", {x, scale})});
  if (r.has(2)) y = r.newest("Add", {y, r.cast(shaped(r, r.in(2), g.scale), DType::f32)});
  y = r.newest("Clip", {y, r.number(DType::f32, range.least), r.number(DType::f32, range.most)});
  r.result(0, r.reshape(r.cast(y, dtype), r.shape(0)));
}

void dequantize_by_parts(Rewriter& r) {
  r.slower("it is several operators there");
  const DType dtype = r.at.output()->dtype();
  const Grid g = grid_of(r);
  Value* x = r.cast(r.reshape(r.in(0), g.x), r.has(2) ? DType::s32 : DType::f32);
  if (r.dtype(0) != DType::s32) range_of(r, r.dtype(0));
  if (r.has(2)) x = r.newest("Sub", {x, r.cast(shaped(r, r.in(2), g.scale), DType::s32)});
  Value* scale = r.cast(shaped(r, r.in(1), g.scale), DType::f32);
  Value* y = r.newest("Mul", {r.cast(x, DType::f32), scale});
  r.result(0, r.reshape(r.cast(y, dtype), r.shape(0)));
}

}  // namespace

void quantize_per_tensor(Rewriter& r) {
  if (!is_per_tensor(r)) return quantize_by_parts(r);
  make_scalars(r);
}

void quantize_without_saturate(Rewriter& r) {
  r.drop("saturate");
  if (r.dtype(0) == DType::f32 || r.dtype(0) == DType::s32) {
    if (r.dtype(1) != DType::f32) r.at.set_input(1, r.cast(r.in(1), DType::f32));
    return;
  }
  r.at.set_input(0, r.cast(r.in(0), DType::f32));
  r.at.set_input(1, r.cast(r.in(1), DType::f32));
}

void quantize_without_blocks(Rewriter& r) {
  const DType dtype = r.at.output()->dtype();
  if (r.at.int_attr("block_size", 0) != 0 || !is_byte(dtype)) return quantize_by_parts(r);
  if (r.at.int_attr("output_dtype", 0) && !r.has(2))
    r.at.set_input(2, r.constant(Tensor::zeros(dtype, r.shape(1))));
  r.drop("block_size");
  r.drop("output_dtype");
}

void quantize_without_precision(Rewriter& r) {
  const auto precision = dtype_from_onnx(r.at.int_attr("precision", 0)).value_or(DType::f32);
  if (precision != DType::f32)
    r.reject("it divides in f32 there, not in {}", dtype_name(precision));
  r.drop("precision");
}

void dequantize_per_tensor(Rewriter& r) {
  if (!is_per_tensor(r)) return dequantize_by_parts(r);
  make_scalars(r);
}

void dequantize_to_f32(Rewriter& r) {
  if (r.dtype(1) == DType::f32) return;
  r.result(0, r.cast(r.like_with(1, r.cast(r.in(1), DType::f32))->output(), r.dtype(1)));
}

void dequantize_without_blocks(Rewriter& r) {
  const DType dtype = r.dtype(0);
  if (r.at.int_attr("block_size", 0) != 0 || (!is_byte(dtype) && dtype != DType::s32))
    return dequantize_by_parts(r);
  r.drop("block_size");
}

void dequantize_without_dtype(Rewriter& r) {
  const DType dtype = r.at.output()->dtype();
  const bool other = dtype != r.dtype(1);
  r.drop("output_dtype");
  if (other) r.result(0, r.cast(r.like_with(1, r.in(1))->output(), dtype));
}

}  // namespace poprt::opsets
