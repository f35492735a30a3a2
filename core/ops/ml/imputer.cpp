// Replaces elements equal to the given value (which may be NaN) by the imputed value of their
// column.
#include "ops/common/ml.h"

namespace poprt::ops::ml_imputer_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const DType type = e.dtype(0);
  ir::Value *filler, *hole;
  if (is_float(type)) {
    const auto values = n.floats_attr("imputed_value_floats");
    const float replaced = n.float_attr("replaced_value_float", 0);
    filler = e.cast(reals(e, values, {static_cast<int64_t>(values.size())}), type);
    hole = replaced != replaced
               ? e.newest("IsNaN", {e.in(0)})
               : e.add("Equal", {e.in(0), e.number(type, static_cast<double>(replaced))});
  } else {
    const auto values = n.ints_attr("imputed_value_int64s");
    filler = e.cast(e.ints(values), type);
    hole = e.add(
        "Equal",
        {e.in(0), e.cast(e.reshape(e.ints({n.int_attr("replaced_value_int64", 0)}), {}), type)});
  }
  const int64_t count = element_count(e.shape_of(filler));
  e.check(count == 1 || (!e.shape(0).empty() && count == e.shape(0).back()),
          "there must be one imputed value, or one for each column");
  e.out(0, e.add("Where", {hole, filler, e.in(0)}));
}

}  // namespace
}  // namespace poprt::ops::ml_imputer_op

POPRT_EXPANSION_WITH_FACTS(ml_imputer_op, "ai.onnx.ml", "Imputer", expand,
                           .trial = {"T[4,4]",
                                     "imputed_value_floats = [1.0], imputed_value_int64s = [1]"})
