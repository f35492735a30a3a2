#include "runtime/runner/open_sizes.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

constexpr int64_t kUnset = -1;

std::vector<program::Anchor> anchors_of(const std::vector<program::OpenAnchor>& list) {
  std::vector<program::Anchor> anchors;
  for (const program::OpenAnchor& a : list) anchors.push_back({a.name, a.dtype, a.shape});
  return anchors;
}

Shape shape_at(const program::OpenAnchor& anchor, const std::vector<int32_t>& extents,
               const OpenSizes::Sizes& sizes) {
  Shape shape = anchor.shape;
  for (size_t d = 0; d < shape.size(); d++)
    if (extents[d] >= 0) shape[d] = sizes[static_cast<size_t>(extents[d])];
  return shape;
}

}  // namespace

OpenSizes::OpenSizes(program::OpenShapes shapes) : shapes_(std::move(shapes)) {
  const auto index_of = [this](const std::string& name) {
    return static_cast<int32_t>(std::ranges::find(names_, name) - names_.begin());
  };
  for (const program::OpenAnchor& a : shapes_.inputs) {
    auto& extents = inputs_.emplace_back();
    for (const std::string& name : a.names) {
      if (!name.empty() && !std::ranges::count(names_, name)) names_.push_back(name);
      extents.push_back(name.empty() ? -1 : index_of(name));
    }
  }
  for (const program::OpenAnchor& a : shapes_.outputs) {
    auto& extents = outputs_.emplace_back();
    for (const std::string& name : a.names)
      extents.push_back(std::ranges::count(names_, name) ? index_of(name) : -1);
  }
  input_anchors_ = anchors_of(shapes_.inputs);
  output_anchors_ = anchors_of(shapes_.outputs);
}

size_t OpenSizes::input_at(const InputBinding& binding, size_t hint) const {
  if (binding.name.data()) return find_anchor(input_anchors_, binding.name, hint, "input");
  if (binding.index >= input_anchors_.size())
    fail(ErrorCode::not_found, "there is no input {}; the model has {}",
         static_cast<int64_t>(binding.index), input_anchors_.size());
  return binding.index;
}

size_t OpenSizes::output_at(const OutputBinding& binding, size_t hint) const {
  if (binding.name.data()) return find_anchor(output_anchors_, binding.name, hint, "output");
  if (binding.index >= output_anchors_.size())
    fail(ErrorCode::not_found, "there is no output {}; the model has {}",
         static_cast<int64_t>(binding.index), output_anchors_.size());
  return binding.index;
}

void OpenSizes::set(size_t input, int32_t size, int64_t value, Sizes& sizes) const {
  if (value < 0)
    fail(ErrorCode::invalid_argument, "dimension '{}' is {}: expected 1 or more",
         names_[static_cast<size_t>(size)], value);
  int64_t& known = sizes[static_cast<size_t>(size)];
  if (known != kUnset && known != value)
    fail(ErrorCode::invalid_argument, "input '{}': dimension '{}' is {}, another one is {}",
         shapes_.inputs[input].name, names_[static_cast<size_t>(size)], value, known);
  known = value;
}

void OpenSizes::take_shape(size_t input, std::span<const int64_t> shape, Sizes& sizes) const {
  const program::OpenAnchor& a = shapes_.inputs[input];
  bool fits = shape.size() == a.shape.size();
  for (size_t d = 0; fits && d < shape.size(); d++)
    if (inputs_[input][d] >= 0)
      set(input, inputs_[input][d], shape[d], sizes);
    else
      fits = shape[d] == a.shape[d];
  if (!fits)
    fail(ErrorCode::invalid_argument, "input '{}': expected {}{} (? is any size), given {}", a.name,
         dtype_name(a.dtype), shape_string(a.shape),
         shape_string(Shape(shape.begin(), shape.end())));
}

// Returns false if the bytes do not determine the sizes of the input: two of them are unknown, an
// unknown one occurs twice, or the last byte leaves several possibilities.
bool OpenSizes::take_bytes(size_t input, uint64_t bytes, Sizes& sizes) const {
  const program::OpenAnchor& a = shapes_.inputs[input];
  uint64_t known = 1;
  int32_t open = -1;
  for (size_t d = 0; d < a.shape.size(); d++) {
    const int32_t at = inputs_[input][d];
    const int64_t size = at < 0 ? a.shape[d] : sizes[static_cast<size_t>(at)];
    if (size != kUnset)
      known = checked_mul<uint64_t>(known, static_cast<uint64_t>(size));
    else if (open >= 0)  // two unknown sizes, or one that occurs twice
      return false;
    else
      open = at;
  }
  if (open < 0) return true;  // the runner of the shape compares the bytes
  if (bytes == 0)
    fail(ErrorCode::invalid_argument, "input '{}': 0 bytes; an empty input needs its shape",
         a.name);
  const auto bits = static_cast<uint64_t>(dtype_bits(a.dtype));
  if (bits < 8 && bits * (known % 8) % 8 != 0) {
    // The last byte may have places without an element. Several numbers of rows may need the same
    // number of bytes.
    const uint64_t bits_of_row = checked_mul<uint64_t>(bits, known);
    const auto rows = static_cast<int64_t>(checked_mul<uint64_t>(bytes, 8) / bits_of_row);
    if (bits_of_row < 8) return false;
    if (dtype_bytes(a.dtype, checked_mul<int64_t>(rows, static_cast<int64_t>(known))) != bytes)
      fail(ErrorCode::invalid_argument,
           "input '{}': {} bytes are not those of whole rows of {} bits, which is {}{}", a.name,
           bytes, bits_of_row, dtype_name(a.dtype), shape_string(a.shape));
    set(input, open, rows, sizes);
    return true;
  }
  const uint64_t row = dtype_bytes(a.dtype, static_cast<int64_t>(known));
  if (row == 0 || bytes % row != 0)
    fail(ErrorCode::invalid_argument,
         "input '{}': {} bytes are not a multiple of {}, which is {}{}", a.name, bytes, row,
         dtype_name(a.dtype), shape_string(a.shape));
  set(input, open, static_cast<int64_t>(bytes / row), sizes);
  return true;
}

bool OpenSizes::has_bytes_of(std::span<const InputBinding> inputs, const Sizes& sizes) const {
  for (size_t i = 0; i < inputs.size(); i++) {
    const size_t at = input_at(inputs[i], i);
    const Shape shape = shape_at(shapes_.inputs[at], inputs_[at], sizes);
    if (inputs[i].bytes != dtype_bytes(shapes_.inputs[at].dtype, element_count(shape)))
      return false;
  }
  return true;
}

size_t OpenSizes::first_with(size_t size) const {
  const auto has_it = [&](const std::vector<int32_t>& dims) {
    return std::ranges::find(dims, static_cast<int32_t>(size)) != dims.end();
  };
  return static_cast<size_t>(std::ranges::find_if(inputs_, has_it) - inputs_.begin());
}

void OpenSizes::check(const Sizes& sizes) const {
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] == kUnset)
      fail(ErrorCode::invalid_argument,
           "input '{}' is missing: no other input determines dimension '{}'",
           shapes_.inputs[first_with(i)].name, names_[i]);
}

OpenSizes::Sizes OpenSizes::of_request(std::span<const InputBinding> inputs,
                                       const Sizes* first) const {
  Sizes sizes(names_.size(), kUnset);
  bool all_shaped = true;
  for (size_t i = 0; i < inputs.size(); i++) {
    const size_t at = input_at(inputs[i], i);
    if (inputs[i].shape)
      take_shape(at, {inputs[i].shape, inputs[i].rank}, sizes);
    else
      all_shaped = false;
  }
  if (!all_shaped) {
    std::vector<size_t> left;
    for (size_t i = 0; i < inputs.size(); i++)
      if (!inputs[i].shape) left.push_back(i);
    for (size_t before = SIZE_MAX; !left.empty() && left.size() < before;) {
      before = left.size();
      std::erase_if(left, [&](size_t i) {
        return take_bytes(input_at(inputs[i], i), inputs[i].bytes, sizes);
      });
    }
    const auto agree = [](int64_t known, int64_t size) { return known == kUnset || known == size; };
    if (!left.empty() && first && std::ranges::equal(sizes, *first, agree) &&
        has_bytes_of(inputs, *first))
      return *first;
    if (!left.empty()) {
      const InputBinding& b = inputs[left.front()];
      fail(ErrorCode::invalid_argument,
           "input '{}': {} bytes do not determine its shape: give the shape, too",
           shapes_.inputs[input_at(b, left.front())].name, b.bytes);
    }
  }
  check(sizes);
  return sizes;
}

OpenSizes::Sizes OpenSizes::of_shapes(const std::map<std::string, Shape>& shapes) const {
  Sizes sizes(names_.size(), kUnset);
  for (const auto& [name, shape] : shapes)
    take_shape(find_anchor(input_anchors_, name, 0, "input"), shape, sizes);
  check(sizes);
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] == 0)
      fail(ErrorCode::invalid_argument, "dimension '{}' is 0: expected 1 or more", names_[i]);
  return sizes;
}

std::vector<Shape> OpenSizes::inputs(const Sizes& sizes) const {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < shapes_.inputs.size(); i++)
    shapes.push_back(shape_at(shapes_.inputs[i], inputs_[i], sizes));
  return shapes;
}

std::optional<std::vector<Shape>> OpenSizes::outputs(const Sizes& sizes) const {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < shapes_.outputs.size(); i++) {
    shapes.push_back(shape_at(shapes_.outputs[i], outputs_[i], sizes));
    if (std::ranges::count(shapes.back(), program::kOpen)) return std::nullopt;
  }
  return shapes;
}

bool OpenSizes::is_empty(const Sizes& sizes) const {
  const auto zero = std::ranges::find(sizes, 0);
  if (zero == sizes.end()) return false;
  const auto known = outputs(sizes);
  for (size_t i = 0; i < shapes_.outputs.size(); i++)
    if (!known || element_count((*known)[i]) != 0)
      fail(ErrorCode::invalid_argument, "dimension '{}' is 0: expected 1 or more",
           names_[static_cast<size_t>(zero - sizes.begin())]);
  return true;
}

std::string OpenSizes::text(const Sizes& sizes) const {
  std::string text;
  for (size_t i = 0; i < sizes.size(); i++)
    text += fmt::format("{}{} {}", i ? ", " : "", names_[i], sizes[i]);
  return text;
}

}  // namespace poprt::runtime
