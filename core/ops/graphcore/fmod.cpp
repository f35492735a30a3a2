// The remainder with the sign of the dividend.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_fmod_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("Mod", {e.in(0), e.in(1)}, {{"fmod", int64_t{1}}})); }

}  // namespace
}  // namespace poprt::ops::graphcore_fmod_op

POPRT_EXPANSION(graphcore_fmod_op, "ai.graphcore", "Fmod", expand)
