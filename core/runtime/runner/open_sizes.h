// Determines the sizes of a request for a model with open shapes (program/open_shapes.h).
//
// Example: inputs ids [batch, length] and mask [batch, length], output scores [batch, 10]. The
// sizes are those of "batch" and "length". A request with ids of shape [2, 7] has the sizes 2 and
// 7, and its scores have the shape [2, 10].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/open_shapes.h"
#include "program/program.h"
#include "runtime/runner/runner.h"

namespace poprt::runtime {

class OpenSizes {
 public:
  using Sizes = std::vector<int64_t>;  // in the order of names()

  explicit OpenSizes(program::OpenShapes shapes);

  const std::vector<std::string>& names() const { return names_; }
  const program::OpenShapes& shapes() const { return shapes_; }

  // The index of the input or output of a binding. Throws not_found.
  size_t input_at(const InputBinding& binding, size_t hint) const;
  size_t output_at(const OutputBinding& binding, size_t hint) const;

  // Returns the sizes that the shapes of the inputs determine or, for inputs without a shape, their
  // bytes. If these leave several possibilities, returns `first`, unless it is null or contradicts
  // the shape or bytes of an input. A size may be 0. Throws not_found and invalid_argument.
  Sizes of_request(std::span<const InputBinding> inputs, const Sizes* first) const;
  // Throws invalid_argument for a size of 0.
  Sizes of_shapes(const std::map<std::string, Shape>& shapes) const;

  // The shapes of the inputs.
  std::vector<Shape> inputs(const Sizes& sizes) const;
  // The shapes of the outputs, if they follow from the sizes by name.
  std::optional<std::vector<Shape>> outputs(const Sizes& sizes) const;
  // Whether a size is 0, so that no output has an element. Throws invalid_argument if a size is 0
  // and an output has elements, or a shape that does not follow from the sizes by name.
  bool is_empty(const Sizes& sizes) const;
  // The index of the size that an axis of an input has; -1 if it is fixed.
  int32_t size_at(size_t input, size_t axis) const { return inputs_[input][axis]; }

  // For example "batch 2, length 7".
  std::string text(const Sizes& sizes) const;

 private:
  using Extents = std::vector<std::vector<int32_t>>;  // by anchor and axis: index of a size, or -1

  void set(size_t input, int32_t size, int64_t value, Sizes& sizes) const;
  void take_shape(size_t input, std::span<const int64_t> shape, Sizes& sizes) const;
  bool take_bytes(size_t input, uint64_t bytes, Sizes& sizes) const;
  bool has_bytes_of(std::span<const InputBinding> inputs, const Sizes& sizes) const;
  size_t first_with(size_t size) const;  // the first input with this size
  void check(const Sizes& sizes) const;

  const program::OpenShapes shapes_;
  std::vector<std::string> names_;
  Extents inputs_, outputs_;
  std::vector<program::Anchor> input_anchors_, output_anchors_;
};

}  // namespace poprt::runtime
