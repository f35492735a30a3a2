#include <array>

#include "base/onnx_dtype.h"
#include "ops/common/axes.h"
#include "ops/common/cast.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"

namespace poprt::ops::cast_op {
namespace {

// In opsets below 6, attribute `to` is the name of the type. Passes write the number of the type in
// all opsets.
std::optional<DType> type_from_text(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  for (size_t i = 1; i < kNames.size(); i++)
    if (kNames[i] == name) return dtype_from_onnx(static_cast<int64_t>(i));
  return std::nullopt;
}

void infer(InferContext& ctx) {
  std::optional<DType> to;
  const ir::Attribute* given = ctx.node.find_attr("to");
  if (ctx.opset() < 6 && !(given && std::holds_alternative<int64_t>(*given))) {
    const std::string name = ctx.node.string_attr("to", "");
    to = type_from_text(name);
    if (!to) ctx.fail_input("attribute to is '{}', expected the name of an element type", name);
  } else {
    const int64_t number = ctx.node.int_attr("to", 0);
    to = dtype_from_onnx(number);
    if (!to) ctx.fail_input("attribute to is {}, expected the number of an element type", number);
  }
  ir::ValueType t = ctx.in(0);
  if (t.dtype == DType::string || *to == DType::string)
    ctx.fail_unsupported("casting from or to string");
  check_round_mode(ctx);
  t.dtype = *to;
  ctx.out(0, t);
}

TextForm text_form(const ir::Node& node) {
  const auto to = dtype_from_onnx(node.int_attr("to", 0));
  return to == DType::string ? TextForm::to_text : TextForm::none;
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Cast",
                   .infer = infer,
                   .lower = lower_cast,
                   .axes = axes::elementwise,
                   .cost = cost::cast,
                   .facts = {.per_element = true,
                             .narrows = true,
                             .cast = CastForm::to_type,
                             .text_form_of = text_form,
                             .text_inputs = 0b1,
                             .elementwise = {append_cast, 1, 1},
                             .monotone = Monotone::first,
                             .flops = flops::none,
                             .trial = {"T[4,4]", "to = 1"}}};

}  // namespace poprt::ops::cast_op
