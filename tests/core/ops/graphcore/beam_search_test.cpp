// Compares one step of a beam search with plain loops.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

struct Sizes {
  size_t batch = 2, beams = 3, length = 4, vocabulary = 7;
};

// The best `count` of [first, first + size), best first.
std::vector<size_t> best_of(const std::vector<double>& values, size_t first, size_t size,
                            size_t count) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return values[first + a] > values[first + b]; });
  order.resize(count);
  return order;
}

struct Expected {
  std::vector<double> next, places, tokens, sums;
};

Expected step_of(const Sizes& s, size_t step, const std::vector<double>& logits,
                 const std::vector<double>& hyp, const std::vector<double>& prob) {
  Expected e;
  e.tokens = hyp;
  const size_t k = s.beams;
  for (size_t n = 0; n < s.batch; n++) {
    std::vector<double> sums(k * k), single;
    std::vector<size_t> token(k * k);
    for (size_t b = 0; b < k; b++) {
      const auto order = best_of(logits, (n * k + b) * s.vocabulary, s.vocabulary, k);
      for (size_t i = 0; i < k; i++) {
        token[b * k + i] = order[i];
        const double value = logits[(n * k + b) * s.vocabulary + order[i]];
        sums[b * k + i] = value + prob[n * k + b];
        if (b == 0) single.push_back(value);
      }
    }
    const auto chosen = best_of(sums, 0, k * k, k);
    for (size_t i = 0; i < k; i++) {
      const size_t at = step == 0 ? i : chosen[i], from = step == 0 ? i : at / k;
      e.next.push_back(static_cast<double>(token[at]));
      e.places.push_back(static_cast<double>(step == 0 ? token[i] : at));
      e.sums.push_back(step == 0 ? single[i] : sums[at]);
      for (size_t t = 0; t < s.length; t++)
        e.tokens[(n * s.length + t) * k + i] =
            t == step ? e.next.back() : hyp[(n * s.length + t) * k + from];
    }
  }
  return e;
}

NodeCase step_node(const Sizes& s, size_t step) {
  const auto n = [](size_t size) { return static_cast<int64_t>(size); };
  Tensor hyp = Tensor::zeros(DType::s32, {n(s.batch), n(s.length), n(s.beams)});
  int32_t token = 100;
  for (int32_t& x : hyp.mutable_values<int32_t>()) x = token++;
  return {.op = "BeamSearch",
          .attributes = {{"beam_size", n(s.beams)}},
          .inputs = {random_floats({n(s.batch), n(s.beams), n(s.vocabulary)}, 1, 3), hyp,
                     random_floats({n(s.batch), n(s.beams)}, 2, 3),
                     Tensor::scalar(static_cast<int32_t>(step))},
          .outputs = 4,
          .runtime = {0, 1, 2, 3},
          .domain = "ai.graphcore"};
}

TEST(BeamSearchStep, KeepsTheLikeliestBeams) {
  // As many tokens as beams are enough.
  for (const size_t vocabulary : {7, 3})
    for (const size_t step : {0, 1, 3}) {
      const Sizes s{.vocabulary = vocabulary};
      const NodeCase c = step_node(s, step);
      const auto y = run_node(c);
      const Expected e = step_of(s, step, c.inputs[0].to_doubles(), c.inputs[1].to_doubles(),
                                 c.inputs[2].to_doubles());
      EXPECT_EQ(y[0].to_doubles(), e.next) << step;
      EXPECT_EQ(y[1].to_doubles(), e.places) << step;
      EXPECT_EQ(y[2].to_doubles(), e.tokens) << step;
      const auto sums = y[3].to_doubles();
      ASSERT_EQ(sums.size(), e.sums.size());
      for (size_t i = 0; i < sums.size(); i++) EXPECT_NEAR(sums[i], e.sums[i], 1e-6) << step;
    }
}

TEST(BeamSearchStep, InputsFitTheBeams) {
  const auto message_for = [](size_t input, Shape shape, int64_t beams = 3) {
    NodeCase c = step_node({}, 1);
    c.inputs[input] = Tensor::zeros(c.inputs[input].dtype(), std::move(shape));
    c.attributes["beam_size"] = beams;
    try {
      infer_node(c);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(message_for(0, {2, 3, 3}), "");
  const auto expect_refused = [&](const std::string& words, size_t input,
                                  const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes)
      EXPECT_NE(message_for(input, shape).find(words), std::string::npos) << shape_string(shape);
  };
  const std::string logits = "logits must be [batch, beam_size, vocabulary]";
  expect_refused(logits, 0, {{2, 3, 2}, {2, 4, 7}, {2, 21}, {2, 3, 7, 1}});
  for (const int64_t beams : {0, -1, 2, 4})
    EXPECT_NE(message_for(0, {2, 3, 7}, beams).find(logits), std::string::npos) << beams;
  expect_refused("hyp_container must be [batch, length, beam_size]", 1,
                 {{1, 4, 3}, {2, 4, 2}, {2, 12}});
  expect_refused("prob_container must be [batch, beam_size]", 2, {{2, 2}, {1, 3}, {6}});
  expect_refused("step must be one number", 3, {{2}, {0}});
  EXPECT_EQ(message_for(3, {1, 1}), "");
}

}  // namespace
}  // namespace poprt::test
