// Sequences and optionals, which turn into the tensors they hold.
#include "compiler/flow/specializer.h"

#include <algorithm>
#include <array>

namespace poprt::compiler {

using ir::Node;
using ir::Value;

namespace {

constexpr int64_t kMaxElements = 1 << 16;  // of a sequence
// Of one that is edited at a position that is known at run time: tables have the square of it.
constexpr int64_t kMaxElementsToEdit = 1 << 10;

bool have_one_shape(const std::vector<Value*>& elements) {
  return std::ranges::all_of(elements, [&](const Value* v) {
    return v->type.is_static() && v->dtype() == elements[0]->dtype() &&
           v->shape() == elements[0]->shape() && v->dtype() != DType::string;
  });
}

// Row p has which elements of `size` are left without element p.
Tensor rows_of_erase(int64_t size) {
  std::vector<int64_t> rows;
  for (int64_t p = 0; p < size; p++)
    for (int64_t i = 0; i < size - 1; i++) rows.push_back(i + (i >= p));
  return Tensor::of<int64_t>({size, size - 1}, rows);
}

// Row p has the order of `size` elements and of one that is inserted at p and has number `size`.
// Negative positions count from the end of the old ones, negative rows from the end of the table:
// its second part is theirs.
Tensor rows_of_insert(int64_t size) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r <= 2 * size; r++) {
    const int64_t p = r <= size ? r : r - (size + 1);
    for (int64_t i = 0; i <= size; i++) rows.push_back(i < p ? i : i == p ? size : i - 1);
  }
  return Tensor::of<int64_t>({2 * size + 1, size + 1}, rows);
}

}  // namespace

int64_t Specializer::position(const Node& n, const Item& item, int64_t size, bool insert) const {
  if (item.kind == Item::Kind::none) return insert ? size : size - 1;
  const auto p = constant_integer(item);
  if (!p)
    fail_at(n, ErrorCode::unimplemented,
            "the position in a sequence must be constant, or its tensors of one shape and at most "
            "{}",
            kMaxElementsToEdit);
  const int64_t last = insert ? size : size - 1;
  if (*p < -size || *p > last)
    fail_at(n, ErrorCode::invalid_argument, "position {} of a sequence of {}", *p, size);
  return *p < 0 ? *p + size : *p;
}

bool Specializer::is_edited_at_run_time(const Item& at, const std::vector<Value*>& elements) const {
  return at.kind == Item::Kind::tensor && !constant_integer(at) && have_one_shape(elements) &&
         std::ssize(elements) <= kMaxElementsToEdit;
}

std::vector<Value*> Specializer::pick(const std::vector<Value*>& elements, Value* position,
                                      const Tensor& rows) {
  const int64_t count = rows.shape()[1];
  if (count == 0) return {};
  Value* order = slice_at(constant(rows), reshape(position, {}), 0);
  Value* ordered = make("Gather", "", std::array{stack(elements, 0), order}, {{"axis", 0}})[0];
  std::vector<Value*> picked;
  for (int64_t i = 0; i < count; i++) picked.push_back(slice_at(ordered, integer(i), 0));
  return picked;
}

Specializer::Elements Specializer::sequence_of(const Node& n, const Items& in, size_t i) const {
  if (i >= in.size() || in[i].kind != Item::Kind::sequence)
    fail_at(n, ErrorCode::invalid_argument, "input {} should be a sequence", i);
  return in[i].elements;
}

Item Specializer::at_of(const Node& n, const Elements& elements, const Item& at) {
  if (!constant_integer(at) && !elements.empty() && at.kind == Item::Kind::tensor &&
      have_one_shape(elements))
    return Item::of(slice_at(stack(elements, 0), reshape(at.value, {}), 0));
  const int64_t place = position(n, at, std::ssize(elements), false);
  return Item::of(elements[static_cast<size_t>(place)]);
}

Item Specializer::inserted(const Node& n, Elements elements, Value* element, const Item& at) {
  const int64_t count = std::ssize(elements);
  elements.push_back(element);
  if (is_edited_at_run_time(at, elements))
    return Item::sequence_of(pick(elements, at.value, rows_of_insert(count)));
  const int64_t place = position(n, at, count, true);
  if (count >= kMaxElements)
    fail_at(n, ErrorCode::resource_exhausted, "a sequence of more than {} tensors", kMaxElements);
  std::rotate(elements.begin() + place, elements.end() - 1, elements.end());
  return Item::sequence_of(std::move(elements));
}

Item Specializer::erased(const Node& n, Elements elements, const Item& at) {
  const int64_t count = std::ssize(elements);
  if (count == 0) fail_at(n, ErrorCode::invalid_argument, "the sequence is empty");
  if (is_edited_at_run_time(at, elements))
    return Item::sequence_of(pick(elements, at.value, rows_of_erase(count)));
  elements.erase(elements.begin() + position(n, at, count, false));
  return Item::sequence_of(std::move(elements));
}

void Specializer::run_container(const Node& n) {
  const Items in = actual_of(items_of(n.inputs()));
  const auto sequence = [&] { return sequence_of(n, in, 0); };
  const auto item = [&](size_t i) { return i < in.size() ? in[i] : Item{}; };
  const bool present = item(0).kind != Item::Kind::none;
  switch (ops::facts_of(n).flow) {
    case ops::Flow::sequence_empty: return give(n, 0, Item::sequence_of({}));
    case ops::Flow::sequence_construct: {
      Elements elements;
      for (const Item& i : in) elements.push_back(tensor(n, i, "an element"));
      return give(n, 0, Item::sequence_of(std::move(elements)));
    }
    case ops::Flow::sequence_length: return give(n, 0, Item::of(integer(std::ssize(sequence()))));
    case ops::Flow::sequence_at: return give(n, 0, at_of(n, sequence(), item(1)));
    case ops::Flow::sequence_insert: {
      const Elements elements = sequence();
      return give(n, 0, inserted(n, elements, tensor(n, item(1), "the element"), item(2)));
    }
    case ops::Flow::sequence_erase: return give(n, 0, erased(n, sequence(), item(1)));
    case ops::Flow::optional: return give(n, 0, item(0));
    case ops::Flow::optional_has_element:
      return give(n, 0, Item::of(constant(Tensor::scalar(present))));
    default:  // optional_get_element
      if (!present) fail_at(n, ErrorCode::invalid_argument, "the optional has no element");
      return give(n, 0, item(0));
  }
}

void Specializer::run_sequence_map(const Node& n) {
  const auto body = subgraph(n, "body");
  const Items in = actual_of(items_of(n.inputs()));
  if (in.empty() || in[0].kind != Item::Kind::sequence)
    fail_at(n, ErrorCode::invalid_argument, "input 0 should be a sequence");
  const size_t length = in[0].elements.size();
  std::vector<std::vector<Value*>> made(n.outputs().size());
  for (size_t k = 0; k < length; k++) {
    Items inputs;
    for (const Item& item : in) {
      if (item.kind == Item::Kind::sequence && item.elements.size() != length)
        fail_at(n, ErrorCode::invalid_argument, "sequences of {} and {} elements", length,
                item.elements.size());
      inputs.push_back(item.kind == Item::Kind::sequence ? Item::of(item.elements[k]) : item);
    }
    const Items results = run_body(*body, inputs);
    for (size_t i = 0; i < made.size() && i < results.size(); i++)
      made[i].push_back(tensor(n, actual_of(results[i]), "a result"));
  }
  for (size_t i = 0; i < made.size(); i++) give(n, i, Item::sequence_of(std::move(made[i])));
}

void Specializer::run_split(const Node& n) {
  const Items in = actual_of(items_of(n.inputs()));
  Value* x = const_cast<Value*>(static_tensor(n, in.at(0), "the input"));
  const int64_t axis =
      normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(x->shape().size()));
  const int64_t size = x->shape()[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  bool keep = true;
  if (in.size() > 1 && in[1].kind == Item::Kind::tensor) {
    if (!in[1].value->is_constant())
      fail_at(n, ErrorCode::unimplemented, "the sizes to split into must be constant");
    const Tensor& t = in[1].value->constant();
    sizes = t.to_int64s();
    if (t.shape().empty()) {
      const int64_t part = sizes.at(0);
      if (part <= 0) fail_at(n, ErrorCode::invalid_argument, "parts of {} elements", part);
      // ONNX ignores the attribute beside sizes, but ONNX Runtime does not here, and PyTorch writes
      // unbind() so.
      if (part == 1) keep = n.int_attr("keepdims", 1) != 0;
      sizes.clear();
      if (size / part > kMaxElements)
        fail_at(n, ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
      for (int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
    }
  } else {
    if (size > kMaxElements)
      fail_at(n, ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
    sizes.assign(static_cast<size_t>(size), 1);
    keep = n.int_attr("keepdims", 1) != 0;
  }
  int64_t sum = 0;
  for (const int64_t s : sizes) {
    if (s < 0 || s > size) fail_at(n, ErrorCode::invalid_argument, "a part of {} elements", s);
    sum += s;
  }
  if (sum != size)
    fail_at(n, ErrorCode::invalid_argument, "parts of {} elements in all, the axis has {}", sum,
            size);
  std::vector<Value*> parts = {x};
  if (sizes.size() > 1)
    parts = n.opset() < 13
                ? make("Split", "", std::array{x}, {{"axis", axis}, {"split", sizes}}, sizes.size())
                : make("Split", "", std::array{x, integers(sizes)}, {{"axis", axis}}, sizes.size());
  if (sizes.empty()) parts.clear();
  if (!keep)
    for (Value*& v : parts) {
      Shape shape = v->shape();
      shape.erase(shape.begin() + axis);
      v = reshape(v, shape);
    }
  give(n, 0, Item::sequence_of(std::move(parts)));
}

void Specializer::run_concat(const Node& n) {
  const Items in = actual_of(items_of(n.inputs()));
  if (in.empty() || in[0].kind != Item::Kind::sequence || in[0].elements.empty())
    fail_at(n, ErrorCode::invalid_argument, "input 0 should be a sequence with elements");
  for (const Value* v : in[0].elements)
    static_tensor(n, Item::of(const_cast<Value*>(v)), "an element");
  const auto rank = static_cast<int64_t>(in[0].elements[0]->shape().size());
  const bool fresh = n.int_attr("new_axis", 0) != 0;
  const int64_t axis = normalize_axis(n.int_attr("axis", 0), rank + fresh);
  if (fresh) return give(n, 0, Item::of(stack(in[0].elements, axis)));
  give(n, 0, Item::of(make("Concat", "", in[0].elements, {{"axis", axis}})[0]));
}

// Y = prob_mod(Softmax(score_mod(scale Q K^T))) V, the part between the modifiers in

}  // namespace poprt::compiler
