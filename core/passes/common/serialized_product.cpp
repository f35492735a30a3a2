#include "passes/common/serialized_product.h"

#include <charconv>

#include "passes/common/build.h"

namespace poprt::passes {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

// Splits an operand into equal parts. The parts of a constant are constants.
std::vector<Value*> parts_of(Node& at, Value* v, int64_t axis, int64_t factor) {
  const int64_t size = v->shape()[static_cast<size_t>(axis)];
  if (size % factor != 0 || size < factor)  // a dimension of 0 has no parts
    fail(ErrorCode::invalid_argument,
         "{}: the factor {} does not divide dimension {} of '{}', which has {}", at.describe(),
         factor, axis, v->name(), size);
  const int64_t each = size / factor;
  if (!v->is_constant())
    return split_into(at, v, std::vector<int64_t>(static_cast<size_t>(factor), each), axis);
  std::vector<Value*> parts;
  for (int64_t i = 0; i < factor; i++)
    parts.push_back(
        at.graph().add_constant(fmt::format("{}_part_{}", v->name(), i),
                                slice_of(v->constant(), axis, i * each, (i + 1) * each)));
  return parts;
}

// The axis at distance `from_end` from the end (1 is the last axis).
int64_t axis_of(const Node& at, const Value* v, int64_t from_end) {
  const auto rank = static_cast<int64_t>(v->shape().size());
  if (!v->type.is_static() || rank < from_end)
    fail(ErrorCode::invalid_argument, "{}: '{}' is {}, it cannot be split that way", at.describe(),
         v->name(), ir::type_string(v->type));
  return rank - from_end;
}

}  // namespace

Serialize parse_serialize(std::string_view text, std::string_view word) {
  Serialize s;
  const std::vector<std::string> parts = split_text(text, '/');
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_argument, "expected OP=FACTOR[/MODE[/KEEP]], found '{}': {}", word,
         why);
  };
  const auto is_factor = [&](const std::string& number) {
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, s.factor);
    return stop == end && error == std::errc() && s.factor >= 1;
  };
  if (parts.empty() || parts.size() > 3 || !is_factor(parts[0]))
    refuse("the factor is not a whole number of at least 1");
  if (parts.size() > 1) {
    if (parts[1] == "none")
      s.mode = SerializeMode::none;
    else if (parts[1] == "input_channels")
      s.mode = SerializeMode::input_channels;
    else if (parts[1] == "output_channels")
      s.mode = SerializeMode::output_channels;
    else if (parts[1] == "reducing_dim")
      s.mode = SerializeMode::reducing_dim;
    else
      refuse("the mode is unknown");
  }
  if (parts.size() > 2) {
    if (parts[2] != "True" && parts[2] != "False") refuse("KEEP must be True or False");
    s.keep_precision = parts[2] == "True";
  }
  return s;
}

void serialize_product(Node& matmul, Node& last, Value* bias, const Serialize& how) {
  if (how.mode == SerializeMode::none || how.factor == 1) return;
  Value *a = matmul.input(0), *b = matmul.input(1);
  const auto n = static_cast<size_t>(how.factor);
  const bool rows = how.mode == SerializeMode::input_channels;
  const bool columns = how.mode == SerializeMode::output_channels;
  const bool sums = how.mode == SerializeMode::reducing_dim;
  std::vector<Value*> left(n, a), right(n, b), biases(n, bias);
  if (rows) left = parts_of(last, a, axis_of(matmul, a, 2), how.factor);
  if (sums) left = parts_of(last, a, axis_of(matmul, a, 1), how.factor);
  if (sums || columns)
    right = parts_of(last, b,
                     axis_of(matmul, b,
                             columns                  ? 1
                             : b->shape().size() == 1 ? 1
                                                      : 2),
                     how.factor);
  if (bias && columns) biases = parts_of(last, bias, axis_of(matmul, bias, 1), how.factor);
  const DType dtype = matmul.output()->dtype();
  const bool wide = sums && how.keep_precision && dtype == DType::f16;
  std::vector<Value*> parts;
  for (size_t i = 0; i < n; i++) {
    if (wide) {
      left[i] = cast_to(last, left[i], DType::f32);
      right[i] = cast_to(last, right[i], DType::f32);
    }
    Value* part = computed(last, "MatMul", {left[i], right[i]});
    if (biases[i] && !sums) part = computed(last, "Add", {part, biases[i]});
    parts.push_back(part);
  }
  Value* result = nullptr;
  if (sums) {
    result = insert_node(last, "Sum", "", parts)->output();
    if (wide) result = cast_to(last, result, dtype);
    if (bias) result = computed(last, "Add", {result, bias});
  } else {
    const auto rank = static_cast<int64_t>(last.output()->shape().size());
    result = joined(last, parts, rows ? rank - 2 : rank - 1);
  }
  replace_outputs(last, std::span(&result, 1));
}

}  // namespace poprt::passes
