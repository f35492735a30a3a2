// (x + increment) mod modulus.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_increment_mod_op {
namespace {

void expand(Expansion& e) {
  const auto number = [&](const char* key, float fallback) {
    const ir::Attribute* a = e.node.find_attr(key);
    if (a && std::holds_alternative<int64_t>(*a)) return static_cast<double>(std::get<int64_t>(*a));
    return static_cast<double>(e.node.float_attr(key, fallback));
  };
  ir::Value* sum = e.plus(e.in(0), number("increment", 1));
  const double modulus = number("modulus", 0);
  e.check(modulus != 0, "modulus must not be 0");
  e.out(0, e.newest("Mod", {sum, e.number(sum->dtype(), modulus)},
                    {{"fmod", int64_t{is_float(sum->dtype())}}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_increment_mod_op

POPRT_EXPANSION_WITH_FACTS(graphcore_increment_mod_op, "ai.graphcore", "IncrementMod", expand,
                           .trial = {"T[4,4]", "increment = 1.0, modulus = 3.0"})
