// The trees of TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble.
#pragma once

#include <vector>

#include "kernels/calls/tree_ensemble.h"
#include "ops/op.h"

namespace poprt::ops {

// A node of an ordered tree. Comparisons are <=, < and ==; the others are expressed by exchanging
// the children. The false child is after the true child, and both are after their parent.
struct TreeNode {
  enum Kind : uint8_t { leq, lt, eq, leaf };
  Kind kind = leaf;
  bool missing_true = false;  // whether NaN goes to the true child
  double threshold = 0;
  int64_t feature = 0;
  int32_t yes = 0;              // true child
  int32_t first = 0, last = 0;  // range of the weights of a leaf
};

// Contains one copy of a node for every path that leads to it.
struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<int32_t> roots;
  std::vector<int32_t> targets;
  std::vector<double> weights;
  int64_t depth = 0;  // inner nodes on the longest path
};

// The trees encoded in the words of kernel tree_ensemble, which documents the format.
struct TreeWords {
  std::vector<int32_t> nodes, keys, leaves;
  std::vector<int32_t> roots;  // of walks, or two words of each group of masks
  std::vector<int32_t> targets;
  std::vector<double> weights;
  bool masks = false;               // roots are groups
  bool equals = false;              // some nodes compare with ==
  bool leaves_are_weights = false;  // leaves are numbered by their first weight
};
// Encodes trees for `rows` rows of type x (f32 or f64), as masks of leaves if that is faster than
// walks; `columns` and `aggregate` have the meaning of TreeCall. The features must exist, which
// emit_trees() checks.
TreeWords tree_words(const Trees& trees, DType x, int64_t rows, int64_t columns,
                     kernels::calls::TreeAggregate aggregate);

// A node as the attributes describe it, before ordering. The weights of a leaf are those from
// `first` to before `last`.
struct RawNode {
  int64_t feature = 0;
  int32_t mode = 6;  // BRANCH_LEQ, LT, GTE, GT, EQ, NEQ, LEAF, MEMBER
  bool missing_true = false;
  double threshold = 0;
  std::vector<double> members;  // for kMemberMode: the node tests whether x is one of them
  int64_t yes = -1, no = -1;    // indices of nodes, -1: none
  int32_t first = 0, last = 0;
};
inline constexpr int32_t kLeafMode = 6, kMemberMode = 7;

// Orders the trees that start at `roots`. Throws invalid_argument naming the node for a child that
// does not exist, for cycles, and for trees that unfold to too many nodes.
void order_trees(const ir::Node& node, const std::vector<RawNode>& raw,
                 const std::vector<int64_t>& roots, Trees& trees);

// Reads attributes nodes_* and PREFIX_ids, _nodeids, _treeids, _weights (or _weights_as_tensor),
// where PREFIX is "class" or "target".
Trees read_trees(const ir::Node& node, std::string_view prefix);

// A list of floats from KEY or a tensor of f32 or f64 from KEY_as_tensor.
std::vector<double> real_attr(const ir::Node& node, std::string_view key);

// NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT. Throws invalid_argument naming the node.
kernels::PostTransform post_transform_of(const ir::Node& node);

// Class labels as integers; throws unimplemented when they are strings.
std::vector<int64_t> class_labels(const ir::Node& node, std::string_view ints_key,
                                  std::string_view strings_key);

// Rows and columns of X: a vector is one row. Throws invalid_argument.
std::pair<int64_t, int64_t> rows_and_features(const ir::Node& node);
// Each row of the input determines one row of the output.
void axes_of_trees(AxesContext& ctx);

// The number of results for each row, attribute n_targets. Throws invalid_argument naming the node.
int64_t targets_of(const ir::Node& node);

struct TreeCall {
  int64_t columns = 1;
  kernels::calls::TreeAggregate aggregate = kernels::calls::TreeAggregate::sum;
  kernels::PostTransform transform = kernels::PostTransform::none;
  std::vector<double> base;
  std::vector<int64_t> labels;  // only for a classifier
};
// Emits the kernel. y is output `scores_output` of the node, labels are `label_output` (-1: none).
void emit_trees(LowerContext& ctx, const Trees& trees, const TreeCall& call, int scores_output,
                int label_output);

}  // namespace poprt::ops
