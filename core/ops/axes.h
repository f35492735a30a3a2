// Which axis of which input of a node becomes which axis of which output.
//
// A *link* relates the places of one input axis to the places of one output axis. Place a meets
// place b exactly if
//   floor((a + shift) / input_block) mod extent == floor(b / output_block) mod extent
// An element of the input reaches an element of the output only if their places meet by every link
// between this input and this output. An axis without a link is *mixed*: its places may reach
// anything. Nothing stated is therefore always safe.
//
// Worked example. Reshape of x [B,S,H] to y [B*S,H]:
//   x axis 0 -> y axis 0, extent B, output_block S    row b of x is in places b*S .. b*S+S-1 of y
//   x axis 1 -> y axis 0, extent S                    place s of x is in places s, S+s, 2S+s ...
//   x axis 2 -> y axis 1, extent H                    carried: both blocks are 1, the sizes equal
// MatMul of y [T,H] and w [H,N] to z [T,N]:
//   y axis 0 -> z axis 0, extent T                    carried
//   w axis 1 -> z axis 1, extent N                    carried
//   y axis 1 and w axis 0 are reduced together
// carried(axis_map(matmul), {0, 0}) is axis 0; carried(axis_map(reshape), {0, 0}) is nothing,
// because the rows of x are blocks of the places of y; the links say which.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// The extent of a link whose places do not repeat.
inline constexpr int64_t kNoRepeat = std::numeric_limits<int64_t>::max();

struct AxisLink {
  size_t input = 0, input_axis = 0;
  size_t output = 0, output_axis = 0;
  int64_t extent = kNoRepeat;
  int64_t input_block = 1, output_block = 1;
  int64_t shift = 0;  // added to the input's place

  bool meets(int64_t input_place, int64_t output_place) const;
  bool operator==(const AxisLink&) const = default;
};

struct InputAxis {
  size_t input = 0, axis = 0;
  bool operator==(const InputAxis&) const = default;
};
struct OutputAxis {
  size_t output = 0, axis = 0;
  bool operator==(const OutputAxis&) const = default;
};

struct AxisMap {
  // Shapes of the inputs and outputs; empty for those that are absent or not static.
  std::vector<Shape> inputs, outputs;
  std::vector<AxisLink> links;
  // Axes that are summed, or combined by another operation that is commutative and associative.
  // Where a group has several axes, their equal places are multiplied first: one order of the
  // places in all axes of a group gives the same results as another (except for rounding).
  std::vector<std::vector<InputAxis>> reduced;
  // Axes of outputs where the number of a place decides what is computed, as the row does in Trilu.
  // On every other axis, another order of the places in all inputs that are carried to it gives
  // the results in that order.
  std::vector<OutputAxis> numbered;
  // {input, output}: the output does not depend on the values of the input.
  std::vector<std::pair<size_t, size_t>> independent;
};

// What the operator's hook `axes` states. Nothing is stated for a node without a definition, for
// one with an input whose type is not static, and for one that is invalid. Outputs are inferred
// where they are not. Constant inputs that decide shapes, axes or attributes count with the values
// that they have.
AxisMap axis_map(const ir::Node& node);

// The axis of the output whose places are those of an input's axis: place a meets place a alone.
std::optional<size_t> carried(const AxisMap& map, InputAxis from, size_t output = 0);
// The same, and for an axis of one place the axis along which it is broadcast.
std::optional<size_t> aligned_with(const AxisMap& map, InputAxis from, size_t output = 0);
// The same as carried, from the result: the axis of the input that is carried to it.
std::optional<size_t> carried_from(const AxisMap& map, size_t input, size_t output_axis,
                                   size_t output = 0);
// The axis is in one of the groups that are reduced.
bool is_reduced(const AxisMap& map, InputAxis axis);
// Some link of this axis leads to the output.
bool is_linked(const AxisMap& map, InputAxis axis, size_t output = 0);
// Axes of the input of which the places are neither linked to the output nor reduced.
std::vector<size_t> mixed_axes(const AxisMap& map, size_t input, size_t output = 0);
// What is computed along the output's axis does not depend on the number of the place.
bool is_uniform(const AxisMap& map, OutputAxis axis);
// The values of the input may reach the output.
bool depends(const AxisMap& map, size_t input, size_t output = 0);

// Axis 0 of input 0 is carried to axis 0 of output 0, and no axis of another input is: each sample
// is computed from the same sample of input 0 and from all of the other inputs.
bool is_per_sample(const ir::Node& node);

// What a hook reads and states. Axes are counted from 0 and must exist; statements about an input
// or output that is absent are dropped.
class AxesContext {
 public:
  // `map` must outlive the context.
  AxesContext(const ir::Node& n, AxisMap& map);

  const ir::Node& node;

  int64_t opset() const { return node.opset(); }
  size_t input_count() const { return map_.inputs.size(); }
  size_t output_count() const { return map_.outputs.size(); }
  bool has(size_t i) const { return node.input(i) != nullptr; }
  bool makes(size_t o) const {
    return o < output_count() && node.output(o) && node.output(o)->type.is_static();
  }
  const Shape& in(size_t i) const { return map_.inputs.at(i); }
  const Shape& out(size_t o = 0) const { return map_.outputs.at(o); }
  // The value of input i when it is a constant, or null.
  const Tensor* constant(size_t i) const;
  // Integers of a constant input i; nullopt when it is absent or not constant.
  std::optional<std::vector<int64_t>> ints(size_t i) const;

  void link(const AxisLink& link);
  // The input's axis is carried to that of the output, or its single place is broadcast along it
  // (extent 1: every place meets it). Where the sizes differ otherwise, nothing is stated.
  void carry(size_t input, size_t axis, size_t output, size_t to);
  void reduce(std::vector<InputAxis> together);
  void number(size_t output, size_t axis);
  void independent(size_t input, size_t output);

  AxisMap& map() { return map_; }

 private:
  AxisMap& map_;
};

}  // namespace poprt::ops
