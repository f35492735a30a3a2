// What a model at several shapes does with requests that are smaller than a shape.
//
// A dimension whose sizes differ is padded. Where the axis maps prove that padding along it reaches
// no result, nothing is done (compiler/padding.h). Otherwise the program gets an input that says
// which places are real, and the operators leave the others out (Options::real_places). Where that
// is not possible, a request must have exactly a size of the dimension.
#pragma once

#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/padding.h"
#include "compiler/shape_sets.h"
#include "ir/graph.h"

namespace poprt::compiler {

// A size of the inputs that is not the same in all shapes.
struct VaryingDimension {
  std::string name;  // its dim_param, or "INPUT:AXIS"
  std::vector<PaddedAxis> axes;
  std::vector<int64_t> sizes;  // at each shape
};

// In the order of the inputs. Throws as fix_shapes().
std::vector<VaryingDimension> varying_dimensions(const ir::Graph& graph,
                                                 const std::vector<ShapeSet>& sets,
                                                 const Options& options);

// Why the results of a model at the shapes of `options` do not begin with those at a smaller size
// of the dimension, whatever the padding contains; empty if they do. An axis may have several
// places for each of `sizes`. Converts the model several times. Throws what convert() throws.
std::string how_size_matters(const ir::Graph& graph, const VaryingDimension& dimension,
                             const Options& options);

struct PaddingPlan {
  std::vector<VaryingDimension> masked;
  std::vector<VaryingDimension> exact;
  std::string why;  // why the sizes of `exact` must be exact
};

// Converts the model several times at the largest shape and at smaller sizes. Callbacks of
// `options` are not called. Throws what convert() throws at the largest shape.
PaddingPlan plan_padding(const ir::Graph& graph, const std::vector<ShapeSet>& sets,
                         const Options& options);

// Adds to the model at one of the shapes the inputs that say which places are real.
void add_real_places(ir::Graph& graph, size_t shape, const PaddingPlan& plan, Options& options);

}  // namespace poprt::compiler
