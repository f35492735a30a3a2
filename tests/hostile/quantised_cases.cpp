// Zero points of another type than their data.
#include "case.h"

namespace poprt::hostile {
namespace {

const Operand kScale = in({});
const Operand kZeroU8 = in({}, kU8), kZeroS8 = in({}, kS8);

Op qlinear_conv(const Operand& x_zero, const Operand& w_zero) {
  return {"QLinearConv",
          {in({1, 4, 4, 4}, kU8), kScale, x_zero, in({4, 4, 1, 1}, kS8), kScale, w_zero, kScale,
           kZeroU8}};
}
Op qlinear_matmul(const Operand& a_zero, const Operand& b_zero) {
  return {"QLinearMatMul",
          {in({2, 3}, kU8), kScale, a_zero, in({3, 4}, kS8), kScale, b_zero, kScale, kZeroU8}};
}
// A quantised operator of two operands and one result, each with a scale and a zero point.
Op binary(const std::string& type, const Operand& b, const Operand& b_zero, const Operand& zero) {
  return microsoft(type, {in({2, 3}, kU8), kScale, kZeroU8, b, kScale, b_zero, kScale, zero});
}
Op unary(const std::string& type, const Operand& x_zero, const Operand& zero,
         std::vector<Attribute> attributes = {}) {
  return microsoft(type, {in({1, 2, 4, 4}, kU8), kScale, x_zero, kScale, zero},
                   std::move(attributes));
}

}  // namespace

Cases quantised_cases() {
  const std::string u8_data = "is s8, its data ", s8_data = "is u8, its data ";
  const std::string result = "the zero point of the result is s8, the result u8";
  const Operand bytes = in({2, 3}, kU8);
  return {
      reject("dequantize_zero_point", "zero point 'in2' is s8, its data 'in0' is u8",
             Op{"DequantizeLinear", {bytes, kScale, kZeroS8}}),
      reject("dequantize_zero_point_of_floats", "zero point 'in2' is f32, its data 'in0' is u8",
             Op{"DequantizeLinear", {bytes, kScale, in({})}}),
      reject("dequantize_zero_point_of_s32", "zero point 'in2' is u8, its data 'in0' is s32",
             Op{"DequantizeLinear", {in({2}, kS32), kScale, kZeroU8}}),
      reject("quantize_zero_point_and_type", "the zero point is s8, but output_dtype is u8",
             Op{"QuantizeLinear",
                {in({2, 3}), kScale, kZeroS8},
                {{"output_dtype", int64_t{kU8}}},
                21}),
      reject("qlinear_conv_zero_point_of_x", "zero point 'in2' is s8, its data 'in0' is u8",
             qlinear_conv(kZeroS8, kZeroS8)),
      reject("qlinear_conv_zero_point_of_w", "zero point 'in5' is u8, its data 'in3' is s8",
             qlinear_conv(kZeroU8, kZeroU8)),
      reject("qlinear_matmul_zero_point_of_a", "zero point 'in2' is s8, its data 'in0' is u8",
             qlinear_matmul(kZeroS8, kZeroS8)),
      reject("qlinear_matmul_zero_point_of_b", "zero point 'in5' is u8, its data 'in3' is s8",
             qlinear_matmul(kZeroU8, kZeroU8)),
      reject("conv_integer_zero_point_of_x", "zero point 'in2' is s8, its data 'in0' is u8",
             Op{"ConvInteger", {in({1, 4, 4, 4}, kU8), in({4, 4, 1, 1}, kU8), kZeroS8}}),
      reject("conv_integer_zero_point_of_w", "zero point 'in3' is s8, its data 'in1' is u8",
             Op{"ConvInteger", {in({1, 4, 4, 4}, kU8), in({4, 4, 1, 1}, kU8), kZeroU8, kZeroS8}}),
      reject("matmul_integer_zero_point_of_a", "zero point 'in2' is s8, its data 'in0' is u8",
             Op{"MatMulInteger", {bytes, in({3, 4}, kU8), kZeroS8}}),
      reject("matmul_integer_zero_point_of_b", "zero point 'in3' is u8, its data 'in1' is s8",
             Op{"MatMulInteger", {bytes, in({3, 4}, kS8), kZeroU8, kZeroU8}}),
      reject("qlinear_add_zero_point_of_b", u8_data, binary("QLinearAdd", bytes, kZeroS8, kZeroU8)),
      reject("qlinear_add_of_two_types", "input 0 is u8, input 3 is s8; both must be of one type",
             binary("QLinearAdd", in({2, 3}, kS8), kZeroS8, kZeroU8)),
      reject("qlinear_mul_zero_point_of_the_result", result,
             binary("QLinearMul", bytes, kZeroU8, kZeroS8)),
      reject("qlinear_sigmoid_zero_point", u8_data, unary("QLinearSigmoid", kZeroS8, kZeroU8)),
      reject("qlinear_sigmoid_zero_point_of_the_result", result,
             unary("QLinearSigmoid", kZeroU8, kZeroS8)),
      reject("qlinear_leaky_relu_zero_point", u8_data, unary("QLinearLeakyRelu", kZeroS8, kZeroU8)),
      reject("qlinear_softmax_zero_point_of_the_result", result,
             unary("QLinearSoftmax", kZeroU8, kZeroS8, {{"opset", int64_t{13}}})),
      reject("qlinear_average_pool_zero_point", u8_data,
             unary("QLinearAveragePool", kZeroS8, kZeroU8, {{"kernel_shape", Ints{2, 2}}})),
      reject("qlinear_global_average_pool_zero_point", "input 0 is u8, input 2 is s8",
             unary("QLinearGlobalAveragePool", kZeroS8, kZeroU8)),
      reject("qlinear_concat_zero_point", u8_data,
             microsoft("QLinearConcat",
                       {kScale, kZeroU8, bytes, kScale, kZeroS8, bytes, kScale, kZeroU8},
                       {{"axis", int64_t{0}}})),
      reject("qlinear_where_of_two_types", "input 1 is u8, input 4 is s8",
             microsoft("QLinearWhere", {in({2, 3}, kBool), bytes, kScale, kZeroU8, in({2, 3}, kS8),
                                        kScale, kZeroS8, kScale, kZeroU8})),
      reject("qgemm_zero_point_of_b", s8_data,
             microsoft("QGemm", {bytes, kScale, kZeroU8, in({3, 4}, kS8), kScale, kZeroU8})),
      reject("matmul_integer_to_float_zero_point", u8_data,
             microsoft("MatMulIntegerToFloat",
                       {bytes, in({3, 4}, kU8), kScale, kScale, kZeroS8, kZeroU8})),
      reject("dynamic_quantize_matmul_zero_point", s8_data,
             microsoft("DynamicQuantizeMatMul", {in({2, 3}), in({3, 4}, kS8), kScale, kZeroU8})),
      reject("microsoft_dequantize_zero_point", u8_data,
             microsoft("DequantizeLinear", {bytes, kScale, kZeroS8})),
      reject("dynamic_quantize_lstm_zero_point", "input 2 is s8, input 11 is u8",
             microsoft("DynamicQuantizeLSTM",
                       {in({3, 1, 3}), in({1, 3, 16}, kS8), in({1, 4, 16}, kS8), none(), none(),
                        none(), none(), none(), in({1}), in({1}, kS8), in({1}), in({1}, kU8)},
                       {{"hidden_size", int64_t{4}}})),
      accept("dequantize_of_one_type", Op{"DequantizeLinear", {bytes, kScale, kZeroU8}}),
      accept("qlinear_conv_of_u8_and_s8", qlinear_conv(kZeroU8, kZeroS8)),
      accept("qlinear_add_of_one_type", binary("QLinearAdd", bytes, kZeroU8, kZeroU8)),
  };
}

}  // namespace poprt::hostile
