// Returns its input. The mapping to tiles is not printed.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_print_tile_mapping_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_print_tile_mapping_op

POPRT_EXPANSION(graphcore_print_tile_mapping_op, "ai.graphcore", "PrintTileMapping", expand)
