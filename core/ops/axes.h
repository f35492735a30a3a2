// Axis maps: which axis of which input of a node becomes which axis of which output.
//
// A *link* relates the places of one input axis to the places of one output axis. Place a is
// related to place b exactly if
//
//   floor((a + shift) / input_block) mod extent == floor(b / output_block) mod extent
//
// An element of the input affects an element of the output only if their places are related by
// every link between this input and this output. An axis that is neither linked nor reduced is
// *mixed*: its places may affect anything. It is therefore always safe to state nothing.
//
// Worked example. Reshape of x [B,S,H] to y [B*S,H]:
//
//   x axis 0 -> y axis 0, extent B, output_block S    row b of x is in places b*S .. b*S+S-1 of y
//   x axis 1 -> y axis 0, extent S                    place s of x is in places s, S+s, 2S+s ...
//   x axis 2 -> y axis 1, extent H                    carried: both blocks are 1, the sizes equal
//
// MatMul of y [T,H] and w [H,N] to z [T,N]:
//
//   y axis 0 -> z axis 0, extent T                    carried
//   w axis 1 -> z axis 1, extent N                    carried
//   y axis 1 and w axis 0 are reduced together
//
// carried(axis_map(matmul), {0, 0}) is axis 0. carried(axis_map(reshape), {0, 0}) is nothing,
// because a row of x is a block of places of y; only the links describe this relation.
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
  int64_t shift = 0;  // added to the place of the input

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
  // The shapes of the inputs and outputs; empty for those that are absent or not static.
  std::vector<Shape> inputs, outputs;
  std::vector<AxisLink> links;
  // Groups of axes that are summed, or combined by another operation that is commutative and
  // associative. If a group has several axes, the elements at equal places are multiplied first.
  // Permuting the places of all axes of a group in the same way does not change the results (except
  // for rounding).
  std::vector<std::vector<InputAxis>> reduced;
  // Axes of outputs for which the number of a place affects the result, as the row does in Trilu.
  // On every other axis, permuting the places of all inputs that are carried to it permutes the
  // results.
  std::vector<OutputAxis> numbered;
  // {input, output}: the output does not depend on the values of the input.
  std::vector<std::pair<size_t, size_t>> independent;
};

// The map that the operator's hook `axes` states. It states nothing for a node without a
// definition, for one of which the type of an input or of output 0 is not static, or that is
// invalid. Output types that are missing are inferred. The values of constant inputs that decide
// shapes, axes or attributes are used.
AxisMap axis_map(const ir::Node& node);

// The axis of the output to which an input axis is carried: place a is related to place a only.
std::optional<size_t> carried(const AxisMap& map, InputAxis from, size_t output = 0);
// The same; for an axis of one place, the axis along which it is broadcast.
std::optional<size_t> aligned_with(const AxisMap& map, InputAxis from, size_t output = 0);
// The inverse of carried(): the axis of the input that is carried to the output axis.
std::optional<size_t> carried_from(const AxisMap& map, size_t input, size_t output_axis,
                                   size_t output = 0);
// The first axis of the input that is not carried to the axis of the same number: the axis along
// which Concat joins inputs and Split divides its input. Returns nothing if every axis is carried
// to the axis of the same number.
std::optional<size_t> first_changed(const AxisMap& map, size_t input, size_t output = 0);
// If exactly one axis of the input has a size other than 1: the axis of the output to which this
// axis is carried. Returns nothing if it is not carried, or if there is no such axis or several.
std::optional<size_t> varying_axis(const AxisMap& map, size_t input, size_t output = 0);
// Whether the axis is in one of the reduced groups.
bool is_reduced(const AxisMap& map, InputAxis axis);
// The axes of the input that are reduced.
std::vector<size_t> reduced_axes(const AxisMap& map, size_t input);
// Whether a link leads from the axis to the output.
bool is_linked(const AxisMap& map, InputAxis axis, size_t output = 0);
// The axes of the input that are neither linked to the output nor reduced.
std::vector<size_t> mixed_axes(const AxisMap& map, size_t input, size_t output = 0);
// Whether the computation along the axis of the output is independent of the number of the place.
bool is_uniform(const AxisMap& map, OutputAxis axis);
// Whether the output depends on the values of the input.
bool depends(const AxisMap& map, size_t input, size_t output = 0);

// Like carried(), if no axis of another input leads there (one of size 1 that is broadcast does not
// count): each place of the axis of the output is computed from the same place of this input and
// from all of the other inputs. Axis 0 of the images of a convolution is such an axis.
std::optional<size_t> carried_exclusively(const AxisMap& map, InputAxis from, size_t output = 0);

// The interface of the hook. Axes are counted from 0 and must exist; statements about an absent
// input or output are ignored.
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
  // The value of input i if it is constant, or null.
  const Tensor* constant(size_t i) const;
  // The integers of a constant input i; nullopt if it is absent or not constant.
  std::optional<std::vector<int64_t>> ints(size_t i) const;

  void link(const AxisLink& link);
  // Carries the axis of the input to the axis of the output. If the input has one place, it is
  // broadcast (extent 1: it is related to every place). If the sizes differ otherwise, nothing is
  // stated.
  void carry(size_t input, size_t axis, size_t output, size_t to);
  void reduce(std::vector<InputAxis> together);
  void number(size_t output, size_t axis);
  void independent(size_t input, size_t output);

  AxisMap& map() { return map_; }

 private:
  AxisMap& map_;
};

}  // namespace poprt::ops
