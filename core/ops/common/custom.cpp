#include "ops/common/custom.h"

#include <map>
#include <memory>
#include <mutex>

#include "kernels/common/custom.h"
#include "ops/common/axes.h"
#include "plugins/op_call.h"

namespace poprt::ops {
namespace {

plugins::AttributeValue attribute_value(const ir::Node& node, const std::string& name,
                                        const ir::Attribute& given) {
  if (const auto* v = std::get_if<int64_t>(&given)) return *v;
  if (const auto* v = std::get_if<float>(&given)) return *v;
  if (const auto* v = std::get_if<std::string>(&given)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&given)) return *v;
  if (const auto* v = std::get_if<std::vector<float>>(&given)) return *v;
  if (const auto* v = std::get_if<std::vector<std::string>>(&given)) return *v;
  const auto* tensor = std::get_if<Tensor>(&given);
  if (tensor && tensor->dtype() != DType::string) return *tensor;
  fail(ErrorCode::unimplemented,
       "{}: attribute '{}' contains {}, which operators of plug-ins cannot have", node.describe(),
       name, tensor ? "text" : "graphs or several tensors");
}

plugins::Attributes attributes_of(const ir::Node& node) {
  plugins::Attributes attributes;
  for (const auto& [name, value] : node.attributes)
    attributes.emplace(name, attribute_value(node, name, value));
  return attributes;
}

std::vector<plugins::TensorInfo> infos_of(std::span<ir::Value* const> values) {
  std::vector<plugins::TensorInfo> list;
  for (const ir::Value* v : values) {
    if (!v) {
      list.push_back({.present = false});
      continue;
    }
    plugins::TensorInfo info{true, v->dtype(), v->type.has_shape, v->shape(), nullptr, 0};
    if (v->is_constant() && v->dtype() != DType::string) {
      info.data = v->constant().data();
      info.bytes = v->constant().bytes();
    }
    list.push_back(std::move(info));
  }
  return list;
}

void infer_custom(InferContext& ctx) {
  const ir::Node& node = ctx.node;
  plugins::OpCall call(custom_op_of(node), node.name, attributes_of(node), infos_of(node.inputs()),
                       infos_of(node.outputs()));
  call.infer([&](size_t output, DType dtype, bool has_shape, Shape shape) {
    ctx.out(output, ir::ValueType{dtype, has_shape, std::move(shape), {}});
  });
}

void lower_custom(LowerContext& ctx) {
  const ir::Node& node = ctx.node;
  const plugins::OperatorRef op = custom_op_of(node);
  std::vector<LowerContext::BufferId> operands;
  for (size_t i = 0; i < node.inputs().size(); i++)
    operands.push_back(ctx.has(i) ? ctx.in(i) : LowerContext::kNone);
  for (size_t i = 0; i < node.outputs().size(); i++) {
    // The kernel of a plug-in writes all of its outputs, used or not.
    const LowerContext::BufferId out = ctx.out(i);
    operands.push_back(
        out != LowerContext::kNone ? out : ctx.temporary(ctx.out_dtype(i), ctx.out_shape(i)));
  }
  const plugins::Record record{op.op->domain,      op.op->name,         op.op->version,
                               op.library->name,   op.library->version, node.name,
                               attributes_of(node)};
  ctx.emit(kernels::custom_call(record, node.outputs().size()), operands);
}

// The axis map of an operator with the flag POPRT_OPERATOR_PER_SAMPLE: axis 0 of each input that
// has as many samples as an output is carried to axis 0 of that output.
void axes_of_samples(AxesContext& ctx) {
  for (size_t o = 0; o < ctx.output_count(); o++) {
    if (!ctx.makes(o) || ctx.out(o).empty()) continue;
    for (size_t i = 0; i < ctx.input_count(); i++)
      if (ctx.has(i) && !ctx.constant(i) && !ctx.in(i).empty() && ctx.in(i)[0] == ctx.out(o)[0])
        ctx.carry(i, 0, o, 0);
  }
}

using AxesHook = decltype(OpDef::axes);

AxesHook axes_of(uint32_t flags) {
  if ((flags & POPRT_OPERATOR_ELEMENTWISE) != 0) return axes::elementwise;
  return (flags & POPRT_OPERATOR_PER_SAMPLE) != 0 ? axes_of_samples : axes::none;
}

OpDef make_def(const poprt_operator& op) {
  OpDef def;
  def.name = op.name;
  def.domain = op.domain;
  def.since = 0;
  def.infer = op.infer ? infer_custom : nullptr;
  def.lower = lower_custom;
  def.axes = axes_of(op.flags);
  def.pure = (op.flags & POPRT_OPERATOR_IMPURE) == 0;
  def.facts.per_element = (op.flags & POPRT_OPERATOR_ELEMENTWISE) != 0;
  return def;
}

}  // namespace

const OpDef* find_custom_op(std::string_view domain, std::string_view name) {
  const plugins::OperatorRef found = plugins::find_operator(domain, name);
  if (!found) return nullptr;
  static auto* const mutex = new std::mutex;
  static auto* const defs = new std::map<const poprt_operator*, std::unique_ptr<const OpDef>>;
  const std::lock_guard lock(*mutex);
  auto& def = (*defs)[found.op];
  if (!def) def = std::make_unique<const OpDef>(make_def(*found.op));
  return def.get();
}

plugins::OperatorRef custom_op_of(const ir::Node& node) {
  return plugins::find_operator(node.domain, node.op_type);
}

}  // namespace poprt::ops
