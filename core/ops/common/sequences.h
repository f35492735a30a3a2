// Positions in sequences, which the compiler resolves (ops/resolve.h).
#pragma once

#include <vector>

#include "ops/resolve.h"

namespace poprt::ops {

using Elements = std::vector<ir::Value*>;

inline constexpr int64_t kMaxElements = 1 << 16;  // of a sequence

// The results of SequenceAt, SequenceInsert and SequenceErase. If `at` is none, the position is the
// end. A position that is known only at run time requires elements of equal shapes. Throws
// invalid_argument for a position outside the sequence.
Item sequence_element(ResolveContext& ctx, const Elements& elements, const Item& at);
Item sequence_inserted(ResolveContext& ctx, Elements elements, ir::Value* element, const Item& at);
Item sequence_erased(ResolveContext& ctx, Elements elements, const Item& at);

}  // namespace poprt::ops
