// The inputs and outputs of a model whose sizes are not all known: the shapes of requests decide
// them, and the model is compiled at each shape when it first arrives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace poprt::program {

// The opaque blob of an executable that contains the text of note_of_open_shapes().
inline constexpr const char* kOpenShapes = "poprt.open_shapes";

inline constexpr int64_t kOpen = -1;

struct OpenAnchor {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;                     // kOpen where requests decide the size
  std::vector<std::string> names;  // by dimension: the name of an open size; "" if it is fixed, or,
                                   // for an output, if it follows no size of the inputs by name
};

// Dimensions with the same name have the same size.
struct OpenShapes {
  std::vector<OpenAnchor> inputs, outputs;
};

// Convert to the text of the blob and back. read_open_shapes() throws data_loss.
std::string note_of_open_shapes(const OpenShapes& shapes);
OpenShapes read_open_shapes(std::string_view note);

}  // namespace poprt::program
