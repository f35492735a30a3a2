// Plans how a model at several shapes handles requests that are smaller than a shape.
//
// Dimensions whose sizes differ are padded. If the axis maps prove that the padding of a dimension
// affects no result, it needs no mask (compiler/padding.h). Otherwise the program gets an input
// that marks the real places, and operators ignore the others (Options::real_places). If this is
// not possible, a request must have exactly one of the sizes of the dimension.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/padding.h"
#include "compiler/shape_sets.h"
#include "ir/graph.h"

namespace poprt::compiler {

// A dimension of the inputs whose size differs between the shapes.
struct VaryingDimension {
  std::string name;  // its dim_param, or "INPUT:AXIS"
  std::vector<PaddedAxis> axes;
  std::vector<int64_t> sizes;  // at each shape
};

// Returns the dimensions whose sizes differ, in the order of the names of inputs. Throws like
// expand_containers(), fix_shapes() and require_static_inputs(), and invalid_argument if an input
// has several ranks.
std::vector<VaryingDimension> varying_dimensions(const ir::Graph& graph,
                                                 const std::vector<ShapeSet>& sets,
                                                 const Options& options);

// How a model uses the sizes of its inputs, before any conversion.
struct SizeUse {
  // Whether numbers that are computed from sizes are computed with, and not only moved.
  bool computes = false;
  // Small constants in these computations, near which the results of comparisons and limits change.
  std::set<int64_t> numbers;
  // Whether constants determine the extents of values, so that these may be correct for one size of
  // the batch only.
  bool has_constant_extents = false;
  int64_t nodes = 0;  // of the model with its subgraphs
};

SizeUse size_use_of(const ir::Graph& source);

// Returns the reason why the results of a model at the shapes of `options` need not begin with its
// results at a smaller size of the dimension, or an empty text if they do for any contents of the
// padding. The extent of an axis may be a multiple of the size. The model is also compared with
// itself at larger sizes, because a request may have more rows than a batch. Converts the model
// several times. Throws the errors of convert() at the shapes of `options` and at larger sizes; an
// error at a smaller size is the reason that it returns.
std::string why_size_matters(const ir::Graph& graph, const VaryingDimension& dimension,
                             const Options& options);

struct PaddingPlan {
  std::vector<VaryingDimension> masked;
  std::vector<VaryingDimension> exact;
  std::string why;  // why the sizes of `exact` must be exact
};

// Converts the model several times, at the largest shape and at smaller sizes. The callbacks of
// `options` are not called. Throws like varying_dimensions(), and the errors of convert() at the
// largest shape.
PaddingPlan plan_padding(const ir::Graph& graph, const std::vector<ShapeSet>& sets,
                         const Options& options);

// Adds inputs that mark the real places to the model at one of the shapes, and sets
// Options::real_places. Throws invalid_argument if the model has a value of such a name.
void add_real_places(ir::Graph& graph, size_t shape, const PaddingPlan& plan, Options& options);

}  // namespace poprt::compiler
