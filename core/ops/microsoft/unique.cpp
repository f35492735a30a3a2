// Inputs: x [n]. Outputs: the distinct elements in the order of their first occurrence, the place
// of each element of x among them, and how often each occurs.
#include "ir/newest.h"
#include "ops/common/expansion.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_unique_op, "com.microsoft", "Unique",
    [](Expansion& e) {
      e.check(e.shape(0).size() == 1, "x must have one dimension");
      const ir::Node* n =
          e.add_node("Unique", ir::kNewestDomain, {e.in(0)}, {{"sorted", int64_t{0}}}, 4);
      e.out(0, n->output(0));
      e.out(1, n->output(2));
      e.out(2, n->output(3));
    },
    .trial = {"T[4]", "", 3})
