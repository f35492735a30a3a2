// Inputs: data (u8 that contains numbers of `bits` bits, u4, s4, or a float of 4 or 8 bits),
// indices, scales, zero_points?
#include "ops/common/block_quantized.h"

namespace poprt::ops::microsoft_gather_block_quantized_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  int64_t block = n.int_attr("block_size", 128);
  const int64_t bits = n.int_attr("bits", 4);
  const DType type = e.dtype(0);
  ir::Value* data = e.in(0);
  const auto rank = static_cast<int64_t>(e.shape(0).size());
  e.check(rank >= 1, "data must not be a scalar");
  const int64_t gather_axis = normalize_axis(n.int_attr("gather_axis", 0), rank),
                quantize_axis = normalize_axis(n.int_attr("quantize_axis", 1), rank);
  ir::Value* zero = e.in_or_null(3);
  DType packed = DType::undefined;  // the type that constant bytes contain
  ir::Value* scale = e.in(2);
  // Unpacks numbers of less than a byte, each into a byte.
  const auto as_bytes = [&](ir::Value* v) -> ir::Value* {
    if (!v->is_constant())
      fail(ErrorCode::failed_precondition, "{}: '{}' must be a constant", n.describe(), v->name());
    const Tensor& t = v->constant();
    if (dtype_bits(t.dtype()) >= 8) return v;
    std::vector<double> values = t.to_doubles();
    Tensor bytes = Tensor::zeros(is_signed(t.dtype()) ? DType::s8 : DType::u8, t.shape());
    auto* to = static_cast<uint8_t*>(bytes.mutable_data());
    for (const double x : values) *to++ = static_cast<uint8_t>(static_cast<int>(x));
    return e.constant(std::move(bytes));
  };
  if (type == DType::u8 && bits < 8) {
    if (bits != 2 && bits != 4) e.fail_unsupported("bits {}, expected 2, 4 or 8", bits);
    e.check(gather_axis == 0 && quantize_axis != 0, "packed data must be gathered along axis 0");
  } else if (dtype_bits(type) == 4 && is_integer(type) && gather_axis == 0 && rank >= 2 &&
             e.shape(0).back() % 2 == 0 && quantize_axis != 0 && data->is_constant()) {
    // Gathers rows of bytes, each with two numbers, so that the program contains the constant in
    // half the size.
    const auto owner = std::make_shared<const Tensor>(data->constant());
    Shape bytes = owner->shape();
    bytes.back() /= 2;
    data = e.constant(Tensor::view(DType::u8, bytes, owner->data(), owner->bytes(), owner));
    packed = type;
    if (zero) zero = as_bytes(zero);
  } else if (dtype_bits(type) < 8 && is_float(type)) {
    data = e.cast(data, scale->dtype());
  } else if (dtype_bits(type) < 8) {
    data = as_bytes(data);
    if (zero) zero = as_bytes(zero);
  }
  // If blocks are within the gathered rows, gather first, so that only the selected rows are
  // widened.
  const auto gather = [&](ir::Value* v) {
    return e.add("Gather", {v, e.in(1)}, {{"axis", gather_axis}});
  };
  const bool rows = gather_axis != quantize_axis;
  if (rows) {
    data = gather(data);
    scale = gather(scale);
    if (zero) zero = gather(zero);
  }
  const int64_t moved = static_cast<int64_t>(e.shape(1).size()) - 1;
  const int64_t axis = rows && quantize_axis > gather_axis ? quantize_axis + moved : quantize_axis;
  if (packed != DType::undefined)
    data =
        e.add_node("Packed", "poprt", {data}, {{"to", static_cast<int64_t>(packed)}}, 1)->output();
  if (type == DType::u8 && bits < 8) {
    data = packed_numbers(e, data, bits);
    if (zero) zero = unpack_bits(e, zero, bits, e.shape_of(scale).back());
  }
  if (type == DType::u8 && !zero)
    zero = e.expand(e.number(DType::u8, static_cast<double>(1 << (bits - 1))), e.shape_of(scale));
  if (block == 0) block = std::max<int64_t>(e.shape_of(data)[static_cast<size_t>(axis)], 1);
  ir::Value* y = scale_blocks(e, data, scale, zero, axis, block);
  e.out(0, rows ? y : gather(y));
}

}  // namespace
}  // namespace poprt::ops::microsoft_gather_block_quantized_op

POPRT_EXPANSION_WITH_FACTS(microsoft_gather_block_quantized_op, "com.microsoft",
                           "GatherBlockQuantized", expand,
                           .trial = {"T[4,32]; s64[2] = [0, 1]; f32[4,2]",
                                     "bits = 8, block_size = 16"})
