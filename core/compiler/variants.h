// One executable of several: the models of a fused graph, or one model at several shapes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Name of the opaque blob that describes the variants to the runtime (runtime/session/variants.h).
inline constexpr const char* kVariants = "poprt.branches";

// Links models whose anchors already have prefixes. `names` are the names of the models, in the
// order of `parts`. Throws as program::link_graphs().
Executable link_graphs(const std::vector<Executable>& parts, const std::vector<std::string>& names);

// Links the programs of one model at the shapes of a generator, in the order of `parts`. The
// executable has no description for runners. With `separate_anchors`, parts may lack anchors of
// others. Throws as program::link_buckets().
Executable link_generation(const std::vector<Executable>& parts, bool separate_anchors = false);

// The names of a model's dimensions before the shapes are fixed: ONNX's dim_params.
struct Symbols {
  std::map<std::string, std::vector<std::string>> inputs, outputs;  // by name, per dimension
};
Symbols symbols_of(const ir::Graph& graph);

// How an input is padded if a request is smaller than its bucket.
struct Padding {
  double value = 0;
  bool mask = false;  // the runner fills the input: ones for real places, zeros for padding
};

// Returns the output shapes of a model at the given input shapes. May throw if the model cannot
// have these input shapes.
using OutputShapes =
    std::function<std::map<std::string, Shape>(const std::map<std::string, Shape>& inputs)>;

// Links the programs of one model at several shapes, smallest first. An input dimension that
// differs between the shapes follows a size, which has the name of the dim_param, or else the name
// INPUT:AXIS. An output dimension follows a size from which its values at all shapes can be
// computed. If several sizes vary, `output_shapes` is called once for each size, with only this
// size enlarged, and its results must agree. An output dimension in `sized_axes`, whose real size
// an output NAME:shape contains, follows a size only if `output_shapes` agrees at several other
// sizes, too; otherwise only sizes that are exact or have a mask may change it. A request must have
// one of the compiled sizes of the dimensions in `exact`. Throws invalid_argument if an input of
// `padding` does not exist, and unimplemented if an output dimension follows no size, because
// results could not be cropped, or if the model has state.
Executable link_shapes(const std::vector<Executable>& parts, const Symbols& symbols,
                       const std::map<std::string, Padding>& padding,
                       const OutputShapes& output_shapes,
                       const std::vector<std::string>& exact = {},
                       const std::map<std::string, std::set<size_t>>& sized_axes = {});

}  // namespace poprt::compiler
