// A value of a model while the compiler specializes the graph (compiler/flow/specialize.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// A tensor, a sequence of tensors, or nothing. The values belong to the graph that is specialized.
struct Item {
  // none: an omitted input, or an optional without an element. An optional with an element is
  // represented by that element.
  enum class Kind { none, tensor, sequence } kind = Kind::none;
  // For a tensor. For a sequence, null unless a converted ONNX model keeps the sequence
  // (ResolveContext::keep_sequence).
  ir::Value* value = nullptr;
  std::vector<Item> elements;  // for a sequence that is not kept: its tensors
  ir::ValueType element = {};  // for a sequence that is kept: the type of each element
  // Only the first *size (an s64 scalar) places along `axis` of the tensor are real; null: all are
  // real. For a sequence, the number of its real elements, which are the first ones.
  ir::Value* size = nullptr;
  size_t axis = 0;
  // A second axis of which only the first *size places are real, as for the scores of an attention.
  std::optional<size_t> twin;
  // For a tensor of sizes: `actual` contains the sizes themselves, and `value` and `least` are
  // constants with the greatest and the least value of each element.
  ir::Value* actual = nullptr;
  ir::Value* least = nullptr;

  static Item of(ir::Value* v) {
    Item item;
    item.kind = v ? Kind::tensor : Kind::none;
    item.value = v;
    return item;
  }
  static Item sequence_of(std::vector<Item> tensors) {
    Item item;
    item.kind = Kind::sequence;
    item.elements = std::move(tensors);
    return item;
  }
  bool is_kept_sequence() const { return kind == Kind::sequence && value; }
  void sized(ir::Value* count, size_t along, std::optional<size_t> other = std::nullopt) {
    size = count;
    axis = along;
    twin = other;
  }
  // Whether only a part along that axis is real.
  bool sized_along(size_t d) const { return size && (axis == d || twin == d); }
  // A copy that keeps only the size along axis d. If the item has no size there, the copy has none.
  Item along(size_t d) const {
    Item item = *this;
    item.sized(sized_along(d) ? size : nullptr, d);
    return item;
  }
  // All tensors of the item.
  std::vector<ir::Value*> parts() const {
    if (value) return {value};
    std::vector<ir::Value*> all;
    for (const Item& item : elements) all.push_back(item.value);
    return all;
  }
};
using Items = std::vector<Item>;

// The item with the sizes themselves instead of their bounds.
inline Item actual_of(const Item& item) { return item.actual ? Item::of(item.actual) : item; }
inline Items actual_of(Items items) {
  for (Item& item : items) item = actual_of(item);
  return items;
}

// The value of a constant with one number; nothing for anything else.
std::optional<int64_t> constant_integer(const Item& item);

}  // namespace poprt::ops
