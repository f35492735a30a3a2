// Compares kernel `einsum` with a loop over all labels, in double.
#include "kernels/calls/einsum.h"

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

// Each input has some of the labels in any order, and sometimes one of them more than once.
calls::Einsum random_call(std::mt19937& rng, bool empty, std::vector<int64_t>& elements) {
  calls::Einsum c;
  c.sizes.resize(rng() % 5);
  for (int64_t& s : c.sizes) s = test::one_of(rng, {1, 2, 3, 5, 9});
  c.rank = static_cast<int64_t>(rng() % (c.sizes.size() + 1));
  if (empty && !c.sizes.empty()) c.sizes[rng() % c.sizes.size()] = 0;
  for (size_t n = 1 + rng() % 3; n > 0; n--) {
    std::vector<int64_t> strides(c.sizes.size(), 0);
    int64_t size = 1;
    for (size_t d = 0; d < c.sizes.size(); d++) {
      const size_t label = rng() % c.sizes.size();
      if (rng() % 3 == 0) continue;
      strides[label] += size;
      size *= c.sizes[label];
    }
    c.strides.push_back(strides);
    elements.push_back(size);
  }
  return c;
}

void expect_right(const calls::Einsum& c, const std::vector<int64_t>& elements, DType type,
                  std::mt19937& rng) {
  int64_t results = 1, all = 1;
  for (size_t d = 0; d < c.sizes.size(); d++) {
    all *= c.sizes[d];
    if (static_cast<int64_t>(d) < c.rank) results *= c.sizes[d];
  }
  std::vector<Tensor> o;
  std::vector<std::vector<double>> x;
  for (const int64_t n : elements) {
    o.push_back(test::random_numbers(type, {n}, rng));
    x.push_back(o.back().to_doubles());
  }
  o.push_back(test::random_numbers(type, {results}, rng));
  std::vector<double> want(static_cast<size_t>(results), 0);
  for (int64_t i = 0; i < all; i++) {
    std::vector<int64_t> index(c.sizes.size());
    int64_t rest = i;
    for (size_t d = c.sizes.size(); d-- > 0; rest /= c.sizes[d]) index[d] = rest % c.sizes[d];
    double product = 1;
    for (size_t n = 0; n < x.size(); n++) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); d++) at += index[d] * c.strides[n][d];
      product *= x[n][static_cast<size_t>(at)];
    }
    want[static_cast<size_t>(i / (all / results))] += product;
  }
  test::run_call(c, o);
  const std::vector<double> y = o.back().to_doubles();
  for (size_t i = 0; i < want.size(); i++)
    ASSERT_NEAR(y[i], want[i], is_float(type) ? 1e-3 : 0) << dtype_name(type) << " " << i;
}

TEST(Einsum, IsTheSumOfProductsOverTheLabelsLeftOut) {
  std::mt19937 rng(1);
  for (const DType type : {DType::f32, DType::f64, DType::s32, DType::s64})
    for (int round = 0; round < 60; round++) {
      std::vector<int64_t> elements;
      const calls::Einsum c = random_call(rng, false, elements);
      expect_right(c, elements, type, rng);
    }
}

// The sum of no terms is zero, and a call without results reads nothing.
TEST(Einsum, EmptyLabels) {
  std::mt19937 rng(2);
  for (int round = 0; round < 60; round++) {
    std::vector<int64_t> elements;
    const calls::Einsum c = random_call(rng, true, elements);
    expect_right(c, elements, DType::f32, rng);
  }
}

// The last element that an input needs is that of the last index.
TEST(Einsum, NeedsEveryElement) {
  std::mt19937 rng(3);
  const calls::Einsum c = {.rank = 2, .sizes = {3, 4, 5}, .strides = {{5, 0, 1}, {0, 1, 4}}};
  const std::vector<Tensor> o = {test::random_numbers(DType::f32, {15}, rng),
                                 test::random_numbers(DType::f32, {20}, rng),
                                 test::random_numbers(DType::f32, {12}, rng)};
  test::expect_needs_every_element(c, o);
}

}  // namespace
}  // namespace poprt::kernels
