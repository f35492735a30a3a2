// Proves which axes of a model are made of rows that requests may share (program/batch_rows.h).
//
// Example: x [8, 10] -> MatMul with weights [10, 4] -> Softmax over axis 1 -> y [8, 4]. Row r of y
// is computed from row r of x, so that one batch may contain the rows of several requests and
// padding. With Softmax over axis 0, each row depends on all others, and the note names that node.
#pragma once

#include <set>
#include <string>

#include "compiler/compiler.h"
#include "ir/graph.h"

namespace poprt::compiler {

// Whether a number that is computed from the shape of a value may reach a result other than as an
// extent. If so, the results may depend on the compiled size of the batch. `source` is the graph
// before any conversion.
bool computes_with_sizes(const ir::Graph& source);

// Whether the batch of a conversion may determine more than extents that follow the batch: the
// model computes with sizes, or constants determine extents, as in a Resize to 4 rows.
bool depends_on_batch(const ir::Graph& source);

// The text of program::kBatchRows for a model that convert() has made with `options`. `source` is
// the graph as it was read if depends_on_batch() of it holds, otherwise null. If it is not null,
// the proof also compares with smaller and larger batches. `fixed` contains names of inputs that
// have a value. Returns an empty text if no axis has more than one row.
std::string note_batch_rows(const ir::Graph& converted, const ir::Graph* source,
                            const std::set<std::string>& fixed, const Options& options);

}  // namespace poprt::compiler
