// tree_ensemble: operands [x, nodes, roots, keys, leaves, targets, weights, base?, labels?, y?,
// label?].
//
//   x        [rows, features], f32 or f64
//   nodes    s32 [nodes, 3], or [nodes, 4] for f64, in the format of common/tree_walk.h
//   roots    s32 [trees], the numbers of the root nodes
//   keys     s32 [keys], features times 2, plus 1 if NaN goes to the true side
//   leaves   s32 [leaves, 2], the first weight and the end of the weights of each leaf; the
//            number of a leaf is its row. If every leaf has one weight for each column in order,
//            the number of a leaf is that of its first weight instead
//   targets  s32 [weights], the target of each weight
//   weights  f64 [weights], the values
//   base     f64 [bases]
//   labels   s64 [columns]
//   y        [rows, columns], f32 or f64
//   label    s64 [rows]
//
// With `groups`, trees are masks of leaves in the format of isa/tree_masks.h: nodes has the same
// shape, roots is s32 [groups, 2], and leaves are numbered in the order of the tree. If every leaf
// has one weight for each column, the weights are in that order.
//
// Sums are in double, with the trees in order. A classifier of two classes with weights for one of
// them behaves like ONNX Runtime, which differs from the specification in some cases.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/post_transform.h"

namespace poprt::kernels::calls {

// How the weights of all trees for one column are combined. The numbers are part of the file
// format.
enum class TreeAggregate : int64_t { sum = 0, average = 1, min = 2, max = 3 };

struct TreeEnsemble {
  static constexpr std::string_view kKernel = "tree_ensemble";

  int64_t rows = 0;
  int64_t features = 0;  // of a row
  int64_t nodes = 0;     // of all trees
  int64_t trees = 0;
  // Keys of a row that the nodes compare: each feature at most once for each side of NaN.
  int64_t keys = 0;
  int64_t leaves = 0;
  int64_t weights = 0;
  int64_t bases = 0;    // 0, 1 or columns
  int64_t columns = 1;  // classes or targets
  TreeAggregate aggregate = TreeAggregate::sum;
  PostTransform transform = PostTransform::none;
  bool classifier = false;          // the results include labels
  bool one_class = false;           // of two classes, one has all the weights
  bool all_positive = false;        // no weight is negative
  int64_t depth = 0;                // inner nodes on the longest path
  bool equals = false;              // some nodes compare with ==
  bool leaves_are_weights = false;  // leaves are numbered by their first weight
  int64_t groups = 0;               // of the masks of leaves; 0: rows walk through the nodes

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
    f.require(!one_class || columns == 2, "one_class requires two classes");
    f.require(!leaves_are_weights || aggregate <= TreeAggregate::average,
              "a least or greatest weight requires its target");
    if (f.has_optional(groups != 0)) f.size("groups", groups, 1);
  }
};

}  // namespace poprt::kernels::calls
