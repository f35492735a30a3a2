#include "ops/common/sequences.h"

#include <algorithm>
#include <array>

#include "base/onnx_dtype.h"

namespace poprt::ops {
namespace {

// The limit for a position that is known only at run time, because tables have the square of it.
constexpr int64_t kMaxElementsToEdit = 1 << 10;

bool have_one_shape(const Items& elements) {
  return std::ranges::all_of(elements, [&](const Item& item) {
    const ir::ValueType &type = item.value->type, &first = elements[0].value->type;
    return !item.size && type.is_static() && type.dtype == first.dtype &&
           type.shape == first.shape && type.dtype != DType::string;
  });
}

std::vector<ir::Value*> values_of(const Items& elements) {
  return Item::sequence_of(elements).parts();
}

// Row p contains the numbers of the elements that remain if element p of `size` elements is erased.
Tensor rows_of_erase(int64_t size) {
  std::vector<int64_t> rows;
  for (int64_t p = 0; p < size; p++)
    for (int64_t i = 0; i < size - 1; i++) rows.push_back(i + (i >= p));
  return Tensor::of<int64_t>({size, size - 1}, rows);
}

// Row p contains the order of `size` elements after inserting an element with number `size` at p.
// Negative positions count from the end of the old elements. Negative rows count from the end of
// the table, so its second half is for them.
Tensor rows_of_insert(int64_t size) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r <= 2 * size; r++) {
    const int64_t p = r <= size ? r : r - (size + 1);
    for (int64_t i = 0; i <= size; i++) rows.push_back(i < p ? i : i == p ? size : i - 1);
  }
  return Tensor::of<int64_t>({2 * size + 1, size + 1}, rows);
}

int64_t position(const ResolveContext& ctx, const Item& item, int64_t size, bool insert) {
  if (item.kind == Item::Kind::none) return insert ? size : size - 1;
  const auto p = constant_integer(item);
  if (!p)
    ctx.fail_at(
        ErrorCode::unimplemented,
        "the position in a sequence must be constant, or its tensors of one shape and at most "
        "{}",
        kMaxElementsToEdit);
  const int64_t last = insert ? size : size - 1;
  if (*p < -size || *p > last)
    ctx.fail_at(ErrorCode::invalid_argument, "position {} of a sequence of {}", *p, size);
  return *p < 0 ? *p + size : *p;
}

bool is_edited_at_run_time(const Item& at, const Items& elements) {
  return at.kind == Item::Kind::tensor && !constant_integer(at) && have_one_shape(elements) &&
         std::ssize(elements) <= kMaxElementsToEdit;
}

Items pick(ResolveContext& ctx, const Items& elements, ir::Value* position, const Tensor& rows) {
  const int64_t count = rows.shape()[1];
  if (count == 0) return {};
  ir::Value* order =
      ctx.build.slice_at(ctx.build.constant(rows), ctx.build.reshape(position, {}), 0);
  ir::Value* ordered = ctx.build.make(
      "Gather", "", std::array{ctx.build.stack(values_of(elements), 0), order}, {{"axis", 0}})[0];
  Items picked;
  for (int64_t i = 0; i < count; i++)
    picked.push_back(Item::of(ctx.build.slice_at(ordered, ctx.build.integer(i), 0)));
  return picked;
}

}  // namespace

bool needs_position(const ResolveContext& ctx, const Items& elements, const Item& at) {
  return ctx.keeps_onnx() && at.kind == Item::Kind::tensor && !constant_integer(at) &&
         !is_edited_at_run_time(at, elements);
}

ir::ValueType common_type(const ir::ValueType& a, const ir::ValueType& b) {
  if (a.dtype != b.dtype) return {};
  ir::ValueType type{
      a.dtype, a.has_shape && b.has_shape && a.shape.size() == b.shape.size(), {}, {}};
  if (!type.has_shape) return type;
  type.shape = a.shape;
  for (size_t d = 0; d < type.shape.size(); d++)
    if (a.shape[d] != b.shape[d]) type.shape[d] = kUnknownDim;
  return type;
}

ir::ValueType element_type(const Items& elements) {
  if (elements.empty()) return {};
  ir::ValueType type = elements[0].value->type;
  type.symbols.clear();
  for (const Item& item : elements) type = common_type(type, item.value->type);
  return type;
}

Item sequence_element(ResolveContext& ctx, const Items& elements, const Item& at) {
  if (!constant_integer(at) && !elements.empty() && at.kind == Item::Kind::tensor &&
      have_one_shape(elements))
    return Item::of(ctx.build.slice_at(ctx.build.stack(values_of(elements), 0),
                                       ctx.build.reshape(at.value, {}), 0));
  const int64_t place = position(ctx, at, std::ssize(elements), false);
  return elements[static_cast<size_t>(place)];
}

Item counted_element(ResolveContext& ctx, const Item& sequence, const Item& at) {
  const Items& elements = sequence.elements;
  if (elements.empty() || at.kind != Item::Kind::tensor || !have_one_shape(elements))
    ctx.refuse_count();
  FoldingBuilder& build = ctx.build;
  ir::Value* place = build.reshape(
      build.make1("Cast", {at.value}, {{"to", onnx_from_dtype(DType::s64).value()}}), {});
  ir::Value* zero = build.integer(0);
  ir::Value* from_end = build.newest("Add", {place, sequence.size});
  place = build.newest("Where", {build.newest("Less", {place, zero}), from_end, place});
  // Gather reports a position outside of all elements.
  ir::Value* outside = build.integer(std::ssize(elements));
  place = build.newest("Where", {build.newest("Less", {place, zero}), outside, place});
  place = build.newest("Where", {build.newest("Less", {place, sequence.size}), place, outside});
  return Item::of(build.slice_at(build.stack(values_of(elements), 0), place, 0));
}

Item sequence_inserted(ResolveContext& ctx, Items elements, const Item& element, const Item& at) {
  const int64_t count = std::ssize(elements);
  elements.push_back(element);
  if (is_edited_at_run_time(at, elements))
    return Item::sequence_of(pick(ctx, elements, at.value, rows_of_insert(count)));
  const int64_t place = position(ctx, at, count, true);
  if (count >= kMaxElements)
    ctx.fail_at(ErrorCode::resource_exhausted, "a sequence of more than {} tensors", kMaxElements);
  std::rotate(elements.begin() + place, elements.end() - 1, elements.end());
  return Item::sequence_of(std::move(elements));
}

Item sequence_erased(ResolveContext& ctx, Items elements, const Item& at) {
  const int64_t count = std::ssize(elements);
  if (count == 0) ctx.fail_at(ErrorCode::invalid_argument, "the sequence is empty");
  if (is_edited_at_run_time(at, elements))
    return Item::sequence_of(pick(ctx, elements, at.value, rows_of_erase(count)));
  elements.erase(elements.begin() + position(ctx, at, count, false));
  return Item::sequence_of(std::move(elements));
}

}  // namespace poprt::ops
