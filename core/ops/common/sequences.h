// Positions in sequences, which the compiler resolves (ops/resolve.h).
#pragma once

#include <vector>

#include "ops/resolve.h"

namespace poprt::ops {

inline constexpr int64_t kMaxElements = 1 << 16;  // of a sequence

// sequence_element(), sequence_inserted() and sequence_erased() return the results of SequenceAt,
// SequenceInsert and SequenceErase. If `at` is none, the position is that of the last element, or
// after it for an insertion. A position that is known only at run time requires elements of equal
// shapes, and for an insertion (with the new element) or an erasure at most 1024. They throw
// invalid_argument for a position outside the sequence, unimplemented for a position that requires
// other elements, and resource_exhausted if more than kMaxElements would result.
Item sequence_element(ResolveContext& ctx, const Items& elements, const Item& at);
// SequenceAt for a sequence whose number of elements depends on data (Item::size). A position
// outside the real elements is a failure of the run. The elements must have one shape.
Item counted_element(ResolveContext& ctx, const Item& sequence, const Item& at);
Item sequence_inserted(ResolveContext& ctx, Items elements, const Item& element, const Item& at);
Item sequence_erased(ResolveContext& ctx, Items elements, const Item& at);

// Whether a converted model must keep the node, because the position depends on data, and the
// elements have different shapes or are more than 1024.
bool needs_position(const ResolveContext& ctx, const Items& elements, const Item& at);

// The type that all elements have; dimensions that differ are unknown.
ir::ValueType element_type(const Items& elements);
ir::ValueType common_type(const ir::ValueType& a, const ir::ValueType& b);

}  // namespace poprt::ops
