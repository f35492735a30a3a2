// Adds a last axis, which contains 1 at the category that the element equals. If the element equals
// no category, the last axis contains only zeros with attribute zeros = 1 (default), and the run
// fails with zeros = 0.
#include <map>

#include "kernels/calls/check_index.h"
#include "ops/common/ml.h"

namespace poprt::ops::ml_one_hot_encoder_op {
namespace {

void expand(Expansion& e) {
  const auto categories = e.node.ints_attr("cats_int64s");
  const ir::Attribute* a = e.node.find_attr("cats_strings");
  if (categories.empty() && a) e.fail_unsupported("cats_strings; the device has no strings");
  const auto count = static_cast<int64_t>(categories.size());
  e.check(count > 0, "cats_int64s must not be empty");
  // If a category occurs twice, the last one counts.
  std::map<int64_t, int64_t> places;
  for (int64_t i = 0; i < count; i++) places[categories[static_cast<size_t>(i)]] = i;
  std::vector<int64_t> keys, values;
  for (const auto& [category, place] : places) {
    keys.push_back(category);
    values.push_back(place);
  }
  // The input is truncated to integers, as in ONNX Runtime.
  ir::Value* x = e.cast(e.in(0), DType::s64);
  ir::Value* place =
      e.add_node("LabelEncoder", "ai.onnx.ml", {x},
                 {{"keys_int64s", keys}, {"values_int64s", values}, {"default_int64", count}}, 1)
          ->output();
  // With zeros = 0, an element that equals no category makes the run fail.
  if (e.node.int_attr("zeros", 1) == 0)
    place =
        e.add_node("CheckIndex", "poprt", {place, e.constant(Tensor::of<int64_t>({1}, {count}))},
                   {{"what", static_cast<int64_t>(calls::Fitting::index)}, {"invalid", count}}, 1)
            ->output();
  e.out(0, e.newest("OneHot", {place, e.constant(Tensor::of<int64_t>({}, {count})),
                               e.constant(Tensor::of<float>({2}, {0, 1}))}));
}

}  // namespace
}  // namespace poprt::ops::ml_one_hot_encoder_op

POPRT_EXPANSION_WITH_FACTS(ml_one_hot_encoder_op, "ai.onnx.ml", "OneHotEncoder", expand,
                           .trial = {"T[4,4]", "cats_int64s = [0, 1]"})
