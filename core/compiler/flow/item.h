// What a value of the model is while the graph is specialized.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

struct Item {
  // none: an omitted input, or an optional without element. An optional with one is its element.
  enum class Kind { none, tensor, sequence } kind = Kind::none;
  ir::Value* value = nullptr;        // of a tensor
  std::vector<ir::Value*> elements;  // of a sequence
  // Only the first *size (an s64 scalar) places along `axis` of the tensor are real; null: all are.
  ir::Value* size = nullptr;
  size_t axis = 0;
  // The tensor is made of sizes: `actual` is it with the sizes themselves, `value` a constant with
  // the most that each element can be, `least` one with the least.
  ir::Value* actual = nullptr;
  ir::Value* least = nullptr;

  static Item of(ir::Value* v) {
    Item item;
    item.kind = v ? Kind::tensor : Kind::none;
    item.value = v;
    return item;
  }
  static Item sequence_of(std::vector<ir::Value*> v) {
    Item item;
    item.kind = Kind::sequence;
    item.elements = std::move(v);
    return item;
  }
  void sized(ir::Value* count, size_t along) {
    size = count;
    axis = along;
  }
  // All tensors in it.
  std::vector<ir::Value*> parts() const {
    return kind == Kind::tensor ? std::vector<ir::Value*>{value} : elements;
  }
};

}  // namespace poprt::compiler
