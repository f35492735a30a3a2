#include "passes/common/batch_normalization.h"

#include <cmath>

namespace poprt::passes {

bool is_constant_floats(const ir::Value* value, int64_t count) {
  return value && value->is_constant() && is_plain_float(value->dtype()) &&
         value->constant().count() == count;
}

bool is_foldable_norm(const ir::Node& bn, int64_t channels) {
  for (size_t i = 1; i <= 4; i++)
    if (!is_constant_floats(bn.input(i), channels)) return false;
  if (bn.int_attr("training_mode", 0) != 0 || bn.int_attr("spatial", 1) == 0) return false;
  if (bn.opset() < 7 && bn.int_attr("is_test", 0) == 0 && bn.outputs().size() > 1) return false;
  for (size_t i = 1; i < bn.outputs().size(); i++)
    if (is_used(bn.output(i))) return false;
  return true;
}

ChannelNorm channel_norm_of(const ir::Node& bn) {
  const auto parameter = [&](size_t i) { return bn.input(i)->constant().to_doubles(); };
  ChannelNorm norm{.factor = parameter(1), .mean = parameter(3), .shift = parameter(2)};
  const std::vector<double> variance = parameter(4);
  const double epsilon = static_cast<double>(bn.float_attr("epsilon", 1e-5f));
  for (size_t c = 0; c < variance.size(); c++) norm.factor[c] /= std::sqrt(variance[c] + epsilon);
  return norm;
}

}  // namespace poprt::passes
