#include "ops/common/ml.h"

namespace poprt::ops {

using ir::Value;

Value* feature_matrix(Expansion& e) {
  e.shape(0);
  const auto [rows, features] = rows_and_features(e.node);
  return e.cast(e.reshape(e.in(0), {rows, features}), DType::f32);
}

Value* reals(Expansion& e, const std::vector<float>& values, const Shape& shape) {
  e.check(static_cast<int64_t>(values.size()) == element_count(shape),
          "a list of floats does not have the length that the other attributes require");
  return e.constant(Tensor::of<float>(shape, std::span<const float>(values)));
}

Value* transformed(Expansion& e, Value* scores) {
  const auto last = [&](std::string_view op, Value* x) {
    return e.newest(op, {x, e.ints({-1})}, {{"keepdims", int64_t{1}}});
  };
  switch (post_transform_of(e.node)) {
    case kernels::PostTransform::none: return scores;
    case kernels::PostTransform::logistic: return e.add("Sigmoid", {scores});
    case kernels::PostTransform::softmax:
      return e.newest("Softmax", {scores}, {{"axis", int64_t{-1}}});
    case kernels::PostTransform::softmax_zero: {
      Value* high = last("ReduceMax", scores);
      Value* zero = e.add("Less", {e.add("Abs", {scores}), e.number(DType::f32, 1e-7)});
      Value* grown = e.add(
          "Where", {zero, e.number(DType::f32, 0), e.add("Exp", {e.add("Sub", {scores, high})})});
      Value* small = e.add("Mul", {scores, e.add("Exp", {e.add("Neg", {high})})});
      return e.add("Div", {e.add("Where", {zero, small, grown}), last("ReduceSum", grown)});
    }
    case kernels::PostTransform::probit: {
      // The same as kernels::probit.
      Value* x = e.plus(e.scaled(scores, 2), -1);
      Value* log = e.add("Log", {e.plus(e.scaled(e.add("Mul", {x, x}), -1), 1)});
      Value* v = e.plus(e.scaled(log, 0.5), 2 / (3.14159 * 0.147));
      Value* inner = e.add("Sub", {e.add("Mul", {v, v}), e.scaled(log, 1 / 0.147)});
      Value* root = e.add("Sqrt", {e.add("Sub", {e.add("Sqrt", {inner}), v})});
      return e.add("Mul", {e.scaled(root, 1.41421356237309515), e.add("Sign", {x})});
    }
  }
  return scores;
}

Value* svm_kernel(Expansion& e, Value* x, const std::vector<float>& vectors, int64_t count) {
  const int64_t features = e.shape_of(x)[1];
  const std::string type = e.node.string_attr("kernel_type", "LINEAR");
  std::vector<float> parameters = e.node.floats_attr("kernel_params");
  parameters.resize(3);
  const auto gamma = static_cast<double>(parameters[0]), coef0 = static_cast<double>(parameters[1]),
             degree = static_cast<double>(parameters[2]);
  if (type == "RBF") {
    // |x - s|^2 = |x|^2 + |s|^2 - 2 x s. The mean of the support vectors is subtracted from x and
    // s, which reduces cancellation.
    e.check(static_cast<int64_t>(vectors.size()) == count * features,
            "support_vectors do not fit the features of X");
    std::vector<double> mean(static_cast<size_t>(features));
    for (size_t i = 0; i < vectors.size(); i++)
      mean[i % mean.size()] += static_cast<double>(vectors[i]) / static_cast<double>(count);
    std::vector<float> centre(mean.begin(), mean.end()), centred = vectors, squares;
    for (size_t i = 0; i < centred.size(); i++) centred[i] -= centre[i % centre.size()];
    for (size_t i = 0; i < static_cast<size_t>(count); i++) {
      double sum = 0;
      for (size_t f = 0; f < mean.size(); f++) {
        const auto v = static_cast<double>(centred[i * mean.size() + f]);
        sum += v * v;
      }
      squares.push_back(static_cast<float>(sum));
    }
    x = e.add("Sub", {x, reals(e, centre, {1, features})});
    Value* product = e.add("MatMul", {x, e.swap_last_two(reals(e, centred, {count, features}))});
    Value* own = e.newest("ReduceSumSquare", {x, e.ints({1})}, {{"keepdims", int64_t{1}}});
    Value* distance =
        e.add("Add", {e.add("Add", {e.scaled(product, -2), own}), reals(e, squares, {1, count})});
    return e.add("Exp", {e.scaled(distance, -gamma)});
  }
  Value* product = e.add("MatMul", {x, e.swap_last_two(reals(e, vectors, {count, features}))});
  if (type == "LINEAR") return product;
  product = e.plus(e.scaled(product, gamma), coef0);
  if (type == "SIGMOID") return e.add("Tanh", {product});
  if (type == "POLY") return e.add("Pow", {product, e.number(DType::f32, degree)});
  e.fail_unsupported("kernel_type '{}', expected LINEAR, POLY, RBF or SIGMOID", type);
}

}  // namespace poprt::ops
