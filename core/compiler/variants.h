// One executable of several: the models of a fused graph, or one model at several shapes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// What the runtime reads them by (runtime/session/variants.h).
inline constexpr const char* kVariants = "poprt.branches";

// Of models whose anchors have prefixes already, in their order, with the names that they had
// before. Throws invalid_argument.
Executable link_graphs(const std::vector<Executable>& parts, const std::vector<std::string>& names);

// What the dimensions of a model are called before they are fixed: ONNX's dim_params.
struct Symbols {
  std::map<std::string, std::vector<std::string>> inputs, outputs;  // by name, per dimension
};
Symbols symbols_of(const ir::Graph& graph);

// How an input is padded where a request is smaller than its bucket.
struct Padding {
  double value = 0;
  bool mask = false;  // the runner makes the input: ones for what is real, zeros behind it
};

// The shapes of a model's outputs at shapes of its inputs. May throw where there are none.
using OutputShapes =
    std::function<std::map<std::string, Shape>(const std::map<std::string, Shape>& inputs)>;

// Of one model at several shapes, smallest first. A dimension that differs follows a size of the
// inputs: that of its dim_param, where ONNX names one, or of its own place. What an output's
// dimension follows is found by its sizes, and where several sizes vary, by asking what becomes of
// it when one of them does. Throws invalid_argument (an input of `padding` that is not there),
// unimplemented (an output's dimension that follows none: results could not be cropped; state).
// A request must have exactly a size of the dimensions in `exact`.
Executable link_shapes(const std::vector<Executable>& parts, const Symbols& symbols,
                       const std::map<std::string, Padding>& padding,
                       const OutputShapes& output_shapes,
                       const std::vector<std::string>& exact = {});

}  // namespace poprt::compiler
