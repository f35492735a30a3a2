// tree_ensemble: operands [x, nodes, roots, keys, leaves, targets, weights, base?, labels?, y?,
// label?]. x [rows, features] is f32 or f64. nodes is s32 [nodes, 3], of f64 [nodes, 4], as
// common/tree_walk.h has them; roots s32 [trees] their numbers. keys s32 [keys] are features times
// 2, plus 1 where NaN goes to the true side. The number of a leaf is a row of leaves, s32 [leaves,
// 2]: its first weight and the end of its weights, which have targets s32 [weights] and values,
// weights f64 [weights]; or, where every leaf has one weight for each column in order, it is that
// of its first weight. base is f64 [bases], labels s64 [columns]. y [rows, columns] is f32 or f64,
// label s64 [rows]. Sums are in double, trees in order. A classifier of two classes with weights
// for one reports as ONNX Runtime does, which is not what the specification says everywhere.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/post_transform.h"

namespace poprt::kernels::calls {

// What the weights of all trees for one column become. The numbers are part of the file format.
enum class TreeAggregate : int64_t { sum = 0, average = 1, min = 2, max = 3 };

struct TreeEnsemble {
  static constexpr std::string_view kKernel = "tree_ensemble";

  int64_t rows = 0;
  int64_t features = 0;  // of a row
  int64_t nodes = 0;     // of all trees
  int64_t trees = 0;
  int64_t keys = 0;  // that the nodes compare: each feature at most once for each side of NaN
  int64_t leaves = 0;
  int64_t weights = 0;
  int64_t bases = 0;    // 0, 1 or columns
  int64_t columns = 1;  // classes or targets
  TreeAggregate aggregate = TreeAggregate::sum;
  PostTransform transform = PostTransform::none;
  bool classifier = false;          // has labels
  bool one_class = false;           // of two, which has all the weight
  bool all_positive = false;        // no weight is negative
  int64_t depth = 0;                // inner nodes on the longest path
  bool equals = false;              // some nodes compare with ==
  bool leaves_are_weights = false;  // leaves are numbered by their first weight

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("features", features);
    f.size("nodes", nodes);
    f.size("trees", trees);
    f.extent("keys", keys, 0);
    f.size("leaves", leaves);
    f.size("weights", weights);
    f.size("bases", bases);
    f.size("columns", columns, 1);
    f.choice("aggregate", aggregate, TreeAggregate::max);
    f.choice("transform", transform, PostTransform::probit);
    f.flag("classifier", classifier);
    f.flag("one_class", one_class);
    f.flag("all_positive", all_positive);
    f.size("depth", depth, 0, nodes);
    f.flag("equals", equals);
    f.flag("leaves_are_weights", leaves_are_weights);
    f.require(keys <= 2 * features + 1, "too many keys");
    f.require(!one_class || columns == 2, "one of two classes, but there are not two");
    f.require(!leaves_are_weights || aggregate <= TreeAggregate::average,
              "a least or greatest weight needs its target");
  }
};

}  // namespace poprt::kernels::calls
