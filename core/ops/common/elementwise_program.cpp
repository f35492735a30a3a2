#include "ops/common/elementwise_program.h"

#include <bit>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "ir/newest.h"

namespace poprt::ops {
namespace {

using Op = ElementwiseOp;
using Value = ElementwiseProgram::Value;
using kernels::kElementwiseMaxConstants;
using kernels::kElementwiseMaxInputs;
using kernels::kElementwiseMaxOutputs;
using kernels::kElementwiseMaxSteps;

// Operators that are one operation on their inputs, without attributes.
const std::unordered_map<std::string_view, Op>& plain_ops() {
  static const std::unordered_map<std::string_view, Op> table = {
      {"Neg", Op::neg},
      {"Abs", Op::abs},
      {"Sign", Op::sign},
      {"Reciprocal", Op::reciprocal},
      {"Sqrt", Op::sqrt},
      {"Exp", Op::exp},
      {"Log", Op::log},
      {"Erf", Op::erf},
      {"Tanh", Op::tanh},
      {"Sigmoid", Op::sigmoid},
      {"Relu", Op::relu},
      {"Softplus", Op::softplus},
      {"Softsign", Op::softsign},
      {"HardSwish", Op::hard_swish},
      {"Mish", Op::mish},
      {"Ceil", Op::ceil},
      {"Floor", Op::floor},
      {"Round", Op::round},
      {"Sin", Op::sin},
      {"Cos", Op::cos},
      {"Tan", Op::tan},
      {"Asin", Op::asin},
      {"Acos", Op::acos},
      {"Atan", Op::atan},
      {"Sinh", Op::sinh},
      {"Cosh", Op::cosh},
      {"Asinh", Op::asinh},
      {"Acosh", Op::acosh},
      {"Atanh", Op::atanh},
      {"IsNaN", Op::is_nan},
      {"Not", Op::logical_not},
      {"BitwiseNot", Op::bit_not},
      {"Add", Op::add},
      {"Sub", Op::sub},
      {"Mul", Op::mul},
      {"Div", Op::div},
      {"PRelu", Op::prelu},
      {"And", Op::logical_and},
      {"Or", Op::logical_or},
      {"Xor", Op::logical_xor},
      {"Equal", Op::equal},
      {"Greater", Op::greater},
      {"Less", Op::less},
      {"GreaterOrEqual", Op::greater_equal},
      {"LessOrEqual", Op::less_equal},
      {"BitwiseAnd", Op::bit_and},
      {"BitwiseOr", Op::bit_or},
      {"BitwiseXor", Op::bit_xor},
      {"Where", Op::where},
  };
  return table;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const auto n : names)
    if (n == name) return true;
  return false;
}

bool is_onnx(const ir::Node& node) {
  return node.domain.empty() || node.domain == "ai.onnx" || node.domain == ir::kNewestDomain;
}

bool is_variadic(const ir::Node& node) {
  return (node.domain.empty() || node.domain == ir::kNewestDomain) &&
         is_one_of(node.op_type, {"Sum", "Mean", "Min", "Max"});
}

bool has_attributes_form(const ir::Node& node) {
  return is_one_of(node.op_type, {"Pow", "Mod", "LeakyRelu", "Elu", "Celu", "Selu",
                                  "ThresholdedRelu", "HardSigmoid", "Gelu", "Clip", "IsInf",
                                  "BitShift", "Cast", "CastLike", "Dropout", "Identity", "Swish"});
}

Value pow_of(ElementwiseProgram& p, Value x, Value exponent) {
  if (p.is_constant(exponent)) {
    const float e = p.constant_of(exponent);
    if (e == 1.0f) return p.step(Op::copy, x);
    if (e == 2.0f) return p.step(Op::square, x);
    if (e == 3.0f) return p.step(Op::cube, x);
    if (e == -1.0f) return p.step(Op::reciprocal, x);
  }
  return p.step(Op::pow, x, exponent);
}

Value cast_to(ElementwiseProgram& p, Value x, DType to) {
  switch (to) {
    case DType::f16: return p.step(Op::round_f16, x);
    case DType::bf16: return p.step(Op::round_bf16, x);
    case DType::boolean: return p.step(Op::to_bool, x);
    default: return p.step(Op::copy, x);
  }
}

bool is_program_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

bool is_byte(DType t) { return t == DType::s8 || t == DType::u8; }

// One scale and zero point, both constant, for bytes.
bool is_plain_quantization(const ir::Node& node) {
  const bool quantizes = node.op_type == "QuantizeLinear";
  if (!quantizes && node.op_type != "DequantizeLinear") return false;
  const DType real = (quantizes ? node.input(0) : node.output())->dtype();
  const DType byte = (quantizes ? node.output() : node.input(0))->dtype();
  return is_program_float(real) && is_byte(byte) && node.int_attr("precision", 0) <= 1 &&
         node.input(1) && is_program_float(node.input(1)->dtype()) &&
         scalar_constant(node.input(1)) && (!node.input(2) || scalar_constant(node.input(2)));
}

bool is_loadable_integer(DType t) {
  return t == DType::s8 || t == DType::u8 || t == DType::s32 || t == DType::s64;
}

}  // namespace

Value ElementwiseProgram::constant(float value) {
  for (size_t i = 0; i < constants.size(); i++)
    if (std::bit_cast<uint32_t>(constants[i]) == std::bit_cast<uint32_t>(value))
      return -1 - static_cast<Value>(i);
  constants.push_back(value);
  return -static_cast<Value>(constants.size());
}

Value ElementwiseProgram::step(ElementwiseOp op, Value a, Value b, Value c) {
  steps.push_back({op, a, b, c});
  return kElementwiseMaxInputs + static_cast<Value>(steps.size()) - 1;
}

void ElementwiseProgram::add_output(Value value, DType dtype) {
  outputs.push_back(value < kElementwiseMaxInputs ? step(Op::copy, value) : value);
  dtypes.push_back(dtype);
}

bool ElementwiseProgram::fits() const {
  return inputs <= kElementwiseMaxInputs &&
         static_cast<int64_t>(constants.size()) <= kElementwiseMaxConstants &&
         static_cast<int64_t>(steps.size()) <= kElementwiseMaxSteps &&
         static_cast<int64_t>(outputs.size()) <= kElementwiseMaxOutputs;
}

kernels::calls::Elementwise ElementwiseProgram::call() const {
  kernels::calls::Elementwise call{
      .inputs = inputs, .steps = {}, .outputs = outputs, .constants = constants};
  for (const Step& s : steps) call.steps.push_back({s.op, s.a, s.b, s.c});
  return call;
}

void ElementwiseProgram::to_node(ir::Node& node) const {
  node.attributes["program"] = kernels::calls::encode(call()).ints;
  node.attributes["constants"] = constants;
  std::vector<int64_t> types;
  for (const DType t : dtypes) types.push_back(static_cast<int64_t>(t));
  node.attributes["dtypes"] = std::move(types);
}

ElementwiseProgram ElementwiseProgram::from_node(const ir::Node& node) {
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: malformed elementwise program: {}", node.describe(),
         what);
  };
  const std::vector<int64_t> ints = node.ints_attr("program");
  const std::vector<int64_t> types = node.ints_attr("dtypes");
  if (ints.size() < 3) bad("it is too short");
  const int64_t in = ints[0], steps = ints[1], outs = ints[2];
  if (in < 0 || in > kElementwiseMaxInputs || steps < 0 || steps > kElementwiseMaxSteps ||
      outs < 1 || outs > kElementwiseMaxOutputs)
    bad("a count is out of range");
  if (static_cast<int64_t>(ints.size()) != 3 + 4 * steps + outs) bad("its length is wrong");
  if (static_cast<int64_t>(types.size()) != outs) bad("`dtypes` does not name every output");
  ElementwiseProgram p;
  p.inputs = in;
  p.constants = node.floats_attr("constants");
  const auto constants = static_cast<int64_t>(p.constants.size());
  if (constants > kElementwiseMaxConstants) bad("it has too many constants");
  const auto known = [&](Value v, int64_t steps_before) {
    return v < 0                       ? -1 - v < constants
           : v < kElementwiseMaxInputs ? v < in
                                       : v - kElementwiseMaxInputs < steps_before;
  };
  size_t at = 3;
  for (int64_t i = 0; i < steps; i++, at += 4) {
    const int arity = kernels::elementwise_arity(ints[at]);
    if (arity == 0) bad("it has an unknown operation");
    for (int k = 1; k <= arity; k++)
      if (!known(ints[at + static_cast<size_t>(k)], i))
        bad("a step reads a value that is not there");
    p.steps.push_back({static_cast<Op>(ints[at]), ints[at + 1], ints[at + 2], ints[at + 3]});
  }
  for (int64_t i = 0; i < outs; i++, at++) {
    if (ints[at] < kElementwiseMaxInputs || !known(ints[at], steps)) bad("an output is no step");
    p.outputs.push_back(ints[at]);
    const DType t = static_cast<DType>(types[static_cast<size_t>(i)]);
    if (!is_program_float(t) && t != DType::boolean && !is_byte(t))
      bad("an output type is not supported");
    p.dtypes.push_back(t);
  }
  return p;
}

std::optional<float> scalar_constant(const ir::Value* value) {
  if (!value || !value->is_constant()) return std::nullopt;
  const Tensor& t = value->constant();
  if (t.count() != 1 ||
      (!is_program_float(t.dtype()) && t.dtype() != DType::boolean && !is_byte(t.dtype())))
    return std::nullopt;
  return static_cast<float>(t.to_doubles()[0]);
}

bool elementwise_known(const ir::Node& node) {
  if (node.domain == "poprt") return is_one_of(node.op_type, {"Gelu", "Silu"});
  return is_onnx(node) &&
         (plain_ops().contains(node.op_type) || is_variadic(node) || has_attributes_form(node));
}

bool is_fusable_elementwise(const ir::Node& node) {
  if (is_onnx(node) && is_plain_quantization(node)) return true;
  if (!elementwise_known(node) || node.inputs().empty() || !node.input(0)) return false;
  if (node.op_type == "Identity") return false;  // a view, better left to the memory plan
  if (node.op_type == "Cast" && node.int_attr("saturate", 1) == 0) return false;
  if (node.domain.empty() && node.opset() < 7 && node.find_attr("broadcast")) return false;
  if (node.op_type == "PRelu" && node.opset() < 7) return false;
  if (node.op_type == "Dropout") {
    if (node.opset() >= 12 && node.input(2)) return false;
    for (size_t i = 1; i < node.outputs().size(); i++)
      if (!node.output(i)->uses().empty() || node.graph().is_output(node.output(i))) return false;
  }
  const bool is_cast = is_one_of(node.op_type, {"Cast", "CastLike"});
  for (size_t i = 0; i < node.inputs().size(); i++) {
    const ir::Value* v = node.input(i);
    if (!v) continue;
    const DType t = v->dtype();
    if (is_program_float(t) || t == DType::boolean) continue;
    if (is_loadable_integer(t) && ((is_cast && i == 0) || (node.op_type == "Pow" && i == 1)))
      continue;
    if (node.op_type == "CastLike" && i == 1) continue;
    return false;
  }
  const DType out = node.output()->dtype();
  if (out == DType::boolean && is_cast && !is_program_float(node.input(0)->dtype()) &&
      node.input(0)->dtype() != DType::boolean)
    return false;  // a large integer may round, never to zero, but keep it exact
  return is_program_float(out) || out == DType::boolean;
}

Value append_elementwise(ElementwiseProgram& p, const ir::Node& node,
                         std::span<const Value> operands) {
  const std::string_view name = node.op_type;
  const auto plain = plain_ops().find(name);
  const size_t needed =
      is_one_of(name, {"Pow", "Mod", "BitShift"}) ? 2
      : plain == plain_ops().end()
          ? 1
          : static_cast<size_t>(kernels::elementwise_arity(static_cast<int64_t>(plain->second)));
  for (size_t i = 0; i < needed; i++)
    if (i >= operands.size() || !node.input(i))
      fail(ErrorCode::invalid_argument, "{}: input {} is required and was not given",
           node.describe(), i);
  const Value x = operands[0];
  if (name == "QuantizeLinear") {
    // The store saturates.
    const Value whole = p.step(Op::round, p.step(Op::div, x, operands[1]));
    return node.input(2) ? p.step(Op::add, whole, operands[2]) : whole;
  }
  if (name == "DequantizeLinear")
    return p.step(Op::mul, node.input(2) ? p.step(Op::sub, x, operands[2]) : x, operands[1]);
  if (is_variadic(node)) {
    const Op op = name == "Min" ? Op::min : name == "Max" ? Op::max : Op::add;
    Value y = operands.size() > 1 ? x : p.step(Op::copy, x);
    for (size_t i = 1; i < operands.size(); i++) y = p.step(op, y, operands[i]);
    if (name == "Mean" && operands.size() > 1)
      y = p.step(Op::div, y, p.constant(static_cast<float>(operands.size())));
    return y;
  }
  const auto attr = [&](const char* key, float fallback) {
    return p.constant(node.float_attr(key, fallback));
  };
  if (name == "Silu" || name == "Swish") return p.step(Op::silu, x, attr("alpha", 1.0f));
  if (name == "Gelu") {
    const std::string kind = node.string_attr("approximate", "none");
    if (kind != "none" && kind != "tanh")
      fail(ErrorCode::invalid_argument, "{}: approximate is '{}', expected 'none' or 'tanh'",
           node.describe(), kind);
    return p.step(kind == "tanh" ? Op::gelu_tanh : Op::gelu_erf, x);
  }
  if (name == "Pow") return pow_of(p, x, operands[1]);
  if (name == "Mod") return p.step(node.int_attr("fmod", 0) ? Op::fmod : Op::mod, x, operands[1]);
  if (name == "LeakyRelu") return p.step(Op::prelu, x, attr("alpha", 0.01f));
  if (name == "Elu") return p.step(Op::elu, x, attr("alpha", 1.0f));
  if (name == "Celu") return p.step(Op::celu, x, attr("alpha", 1.0f));
  if (name == "ThresholdedRelu") return p.step(Op::thresholded, x, attr("alpha", 1.0f));
  if (name == "Selu") {
    const bool old = node.opset() < 6;
    return p.step(Op::selu, x, attr("alpha", old ? 1.6732f : 1.67326319217681884765625f),
                  attr("gamma", old ? 1.0507f : 1.05070102214813232421875f));
  }
  if (name == "HardSigmoid")
    return p.step(Op::hard_sigmoid, x, attr("alpha", 0.2f), attr("beta", 0.5f));
  if (name == "Clip") {
    bool low, high;
    Value lo = 0, hi = 0;
    if (node.opset() < 11) {
      low = node.find_attr("min") != nullptr;
      high = node.find_attr("max") != nullptr;
      if (low) lo = attr("min", 0);
      if (high) hi = attr("max", 0);
    } else {
      low = node.input(1) != nullptr;
      high = node.input(2) != nullptr;
      if (low) lo = operands[1];
      if (high) hi = operands[2];
    }
    if (low && high) return p.step(Op::clip, x, lo, hi);
    if (low) return p.step(Op::max, x, lo);
    return high ? p.step(Op::min, x, hi) : p.step(Op::copy, x);
  }
  if (name == "IsInf")
    return p.step(Op::is_inf, x,
                  p.constant(static_cast<float>(node.int_attr("detect_negative", 1) != 0)),
                  p.constant(static_cast<float>(node.int_attr("detect_positive", 1) != 0)));
  if (name == "BitShift") {
    const std::string direction = node.string_attr("direction", "");
    if (direction != "LEFT" && direction != "RIGHT")
      fail(ErrorCode::invalid_argument, "{}: direction is '{}', expected LEFT or RIGHT",
           node.describe(), direction);
    return p.step(direction == "LEFT" ? Op::shift_left : Op::shift_right, x, operands[1]);
  }
  if (name == "Cast" || name == "CastLike") return cast_to(p, x, node.output()->dtype());
  if (name == "Dropout" || name == "Identity") return p.step(Op::copy, x);
  const auto it = plain_ops().find(name);
  if (it == plain_ops().end())
    fail(ErrorCode::internal, "{} is no elementwise operator", node.describe());
  const auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : Value{0}; };
  return p.step(it->second, x, operand(1), operand(2));
}

}  // namespace poprt::ops
