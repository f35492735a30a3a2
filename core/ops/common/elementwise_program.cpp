#include "ops/common/elementwise_program.h"

#include <bit>
#include <string_view>

#include "base/error.h"
#include "ir/newest.h"

namespace poprt::ops {
namespace {

using Op = ElementwiseOp;
using kernels::kElementwiseMaxConstants;
using kernels::kElementwiseMaxInputs;
using kernels::kElementwiseMaxOutputs;
using kernels::kElementwiseMaxSteps;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const auto n : names)
    if (n == name) return true;
  return false;
}

bool is_onnx(const ir::Node& node) { return ir::is_onnx_domain(node.domain); }

bool is_program_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

// Whether the node has one constant scale and zero point, and its data are bytes.
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

ElementwiseValue ElementwiseProgram::constant(float value) {
  for (size_t i = 0; i < constants.size(); i++)
    if (std::bit_cast<uint32_t>(constants[i]) == std::bit_cast<uint32_t>(value))
      return -1 - static_cast<ElementwiseValue>(i);
  constants.push_back(value);
  return -static_cast<ElementwiseValue>(constants.size());
}

ElementwiseValue ElementwiseProgram::step(ElementwiseOp op, ElementwiseValue a, ElementwiseValue b,
                                          ElementwiseValue c) {
  steps.push_back({op, a, b, c});
  return kElementwiseMaxInputs + static_cast<ElementwiseValue>(steps.size()) - 1;
}

void ElementwiseProgram::add_output(ElementwiseValue value, DType dtype) {
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
  kernels::calls::Elementwise call;
  try {
    call = kernels::calls::decode<kernels::calls::Elementwise>(node.ints_attr("program"),
                                                               node.floats_attr("constants"));
  } catch (const Error& e) {
    bad(e.message());
  }
  const std::vector<int64_t> types = node.ints_attr("dtypes");
  if (types.size() != call.outputs.size()) bad("`dtypes` does not have one entry for each output");
  ElementwiseProgram p;
  p.inputs = call.inputs;
  p.constants = std::move(call.constants);
  p.outputs = std::move(call.outputs);
  for (const auto& s : call.steps) p.steps.push_back({s.op, s.a, s.b, s.c});
  for (const int64_t type : types) {
    const DType t = static_cast<DType>(type);
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
  const Facts& facts = facts_of(node);
  return facts.per_element && facts.elementwise.append;
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
    return false;  // a large integer may round but never to zero, so it is not converted
  return is_program_float(out) || out == DType::boolean;
}

ElementwiseValue append_cast(ElementwiseProgram& p, const ir::Node& node,
                             std::span<const ElementwiseValue> in) {
  switch (node.output()->dtype()) {
    case DType::f16: return p.step(Op::round_f16, in[0]);
    case DType::bf16: return p.step(Op::round_bf16, in[0]);
    case DType::boolean: return p.step(Op::to_bool, in[0]);
    default: return p.step(Op::copy, in[0]);
  }
}

ElementwiseValue append_elementwise(ElementwiseProgram& p, const ir::Node& node,
                                    std::span<const ElementwiseValue> operands) {
  const ElementwiseForm& form = facts_of(node).elementwise;
  if (!form.append) fail(ErrorCode::internal, "{} is not an elementwise operator", node.describe());
  for (size_t i = 0; i < form.least; i++)
    if (i >= operands.size() || !node.input(i))
      fail(ErrorCode::invalid_argument, "{}: input {} is required and was not given",
           node.describe(), i);
  return form.append(p, node, operands);
}

}  // namespace poprt::ops
