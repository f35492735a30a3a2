// Compares reductions, ArgMax, ArgMin, CumSum and TopK with plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/sample.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

using Line = std::vector<double>;

double total(const Line& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

double reduce_line(const std::string& op, const Line& v) {
  double y = 0;
  if (op == "ReduceSum") return total(v);
  if (op == "ReduceMean") return total(v) / double(v.size());
  if (op == "ReduceMax") return *std::max_element(v.begin(), v.end());
  if (op == "ReduceMin") return *std::min_element(v.begin(), v.end());
  if (op == "ReduceLogSum") return std::log(total(v));
  if (op == "ReduceProd") {
    y = 1;
    for (const double x : v) y *= x;
    return y;
  }
  for (const double x : v)
    y += op == "ReduceL1" ? std::fabs(x) : op == "ReduceLogSumExp" ? std::exp(x) : x * x;
  return op == "ReduceL2" ? std::sqrt(y) : op == "ReduceLogSumExp" ? std::log(y) : y;
}

const char* const kReductions[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                   "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                   "ReduceLogSum", "ReduceLogSumExp"};

// Over x [2,3,4,17]: which axes are reduced as a bit mask.
SampleValues reduce(const std::string& op, const SampleValues& in, unsigned axes) {
  const size_t dims[] = {2, 3, 4, 17};
  std::map<size_t, Line> lines;
  for (size_t e = 0; e < in[0].size(); e++) {
    size_t rest = e, key = 0, step = 1;
    for (size_t d = 4; d-- > 0;) {
      const size_t at = rest % dims[d];
      rest /= dims[d];
      if (axes & (1u << d)) continue;
      key += at * step;
      step *= dims[d];
    }
    lines[key].push_back(in[0][e]);
  }
  SampleValues y(1);
  for (const auto& [key, line] : lines) y[0].push_back(reduce_line(op, line));
  return y;
}

OPS_SAMPLE(Reductions) {
  for (const std::string op : kReductions)
    for (const unsigned axes : {0b1000u, 0b0001u, 0b1100u, 0b0110u, 0b1010u, 0b0101u, 0b1111u}) {
      std::vector<int64_t> list;
      Shape shape;
      for (unsigned d = 0; d < 4; d++) {
        const bool reduced = axes & (1u << d);
        if (reduced) list.push_back(d);
        shape.push_back(reduced ? 1 : std::array{2, 3, 4, 17}[d]);
      }
      const auto reference = [=](const SampleValues& in) { return reduce(op, in, axes); };
      samples.add(op, 11)
          .input(random_f32({2, 3, 4, 17}, 0.2f, 1.5f))
          .attr("axes", list)
          .shape(shape)
          .tolerance(1e-5, 1e-6)
          .reference(reference);
      samples.add(op, 18)
          .input(random_f32({2, 3, 4, 17}, 0.2f, 1.5f, 7))
          .constant_input(Tensor::of<int64_t>({static_cast<int64_t>(list.size())},
                                              std::span<const int64_t>(list)))
          .shape(shape)
          .tolerance(1e-5, 1e-6)
          .reference(reference);
    }
  samples.add("ReduceSum", 13)
      .input(Tensor::of<int64_t>({2, 2}, {1, 2, 3, INT64_C(1) << 50}))
      .constant_input(Tensor::of<int64_t>({1}, {-1}))
      .attr("keepdims", int64_t{0})
      .shape({2})
      .reference(
          [](const SampleValues&) { return SampleValues{{3, 3 + double(INT64_C(1) << 50)}}; });
  // Without axes nothing is reduced, but the functions before and after the sum are applied.
  for (const std::string op : kReductions)
    for (const bool empty : {false, true}) {
      Sample& s = samples.add(op, 18).input(random_f32({3, 2}, 0.2f, 1.5f));
      if (empty) s.constant_input(Tensor::zeros(DType::s64, {0}));
      s.attr("noop_with_empty_axes", int64_t{1})
          .shape({3, 2})
          .reference([op](const SampleValues& in) {
            return SampleValues{map(in[0], [&](double x) { return reduce_line(op, {x}); })};
          });
    }
}

OPS_SAMPLE(ArgMaxMin) {
  const auto x = Tensor::of<float>({2, 4}, {1, 5, 5, 2, 7, 0, 0, 7});
  const auto add = [&](const char* op, int64_t last, Line y) {
    samples.add(op, 13)
        .input(x)
        .attr("axis", int64_t{1})
        .attr("select_last_index", last)
        .shape({2, 1})
        .dtype(DType::s64)
        .reference([y](const SampleValues&) { return SampleValues{y}; });
  };
  add("ArgMax", 0, {1, 0});
  add("ArgMax", 1, {2, 3});
  add("ArgMin", 0, {0, 1});
  add("ArgMin", 1, {0, 2});
}

// A NaN is the largest and the smallest.
OPS_SAMPLE(ArgOfNaN) {
  for (const char* op : {"ArgMax", "ArgMin"})
    for (const int64_t last : {0, 1})
      for (const int64_t axis : {0, 1}) {
        Tensor x = random_f32({40, 40});
        for (const size_t at : {size_t{3}, size_t{7}}) {
          x.mutable_values<float>()[axis == 1 ? at : at * 40] = NAN;
          x.mutable_values<float>()[axis == 1 ? 80 + at : at * 40 + 2] = NAN;
        }
        samples.add(op, 13)
            .input(x)
            .attr("axis", axis)
            .attr("keepdims", int64_t{0})
            .attr("select_last_index", last)
            .shape({40})
            .dtype(DType::s64)
            .reference([=](const SampleValues& in) {
              SampleValues y(1);
              for (size_t o = 0; o < 40; o++) {
                size_t best = 0;
                const auto value = [&](size_t i) {
                  return in[0][axis == 1 ? o * 40 + i : i * 40 + o];
                };
                for (size_t i = 1; i < 40; i++) {
                  const double v = value(i), b = value(best);
                  const bool nan = std::isnan(v) && (last || !std::isnan(b));
                  if (nan || (op == std::string("ArgMax") ? v > b : v < b)) best = i;
                }
                y[0].push_back(static_cast<double>(best));
              }
              return y;
            });
      }
}

OPS_SAMPLE(CumSum) {
  const auto add = [&](int64_t exclusive, int64_t reverse, Line y) {
    samples.add("CumSum", 14)
        .input(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}))
        .constant_input(Tensor::scalar<int64_t>(1))
        .attr("exclusive", exclusive)
        .attr("reverse", reverse)
        .shape({2, 3})
        .reference([y](const SampleValues&) { return SampleValues{y}; });
  };
  add(0, 0, {1, 3, 6, 4, 9, 15});
  add(1, 0, {0, 1, 3, 0, 4, 9});
  add(0, 1, {6, 5, 3, 15, 11, 6});
  add(1, 1, {5, 3, 0, 11, 6, 0});
}

OPS_SAMPLE(TopK) {
  const auto add = [&](int64_t axis, int64_t largest, Shape shape, Line values, Line indices) {
    samples.add("TopK", 11)
        .input(Tensor::of<float>({2, 4}, {1, 5, 5, 2, 7, 0, 3, 7}))
        .constant_input(Tensor::of<int64_t>({1}, {2}))
        .attr("axis", axis)
        .attr("largest", largest)
        .shape(shape)
        .shape(shape)
        .dtype(DType::f32)
        .dtype(DType::s64)
        .reference([=](const SampleValues&) { return SampleValues{values, indices}; });
  };
  add(-1, 1, {2, 2}, {5, 5, 7, 7}, {1, 2, 0, 3});
  add(1, 0, {2, 2}, {1, 2, 0, 3}, {0, 3, 1, 2});
  add(0, 1, {2, 4}, {7, 5, 5, 7, 1, 0, 3, 2}, {1, 0, 0, 1, 0, 1, 1, 0});
}

TEST(ReduceLogSumExp, LargeInputsDoNotOverflow) {
  SampleList list;
  const Sample& s = list.add("ReduceLogSumExp", 13).input(Tensor::of<float>({2}, {1000, 1000}));
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  EXPECT_NEAR(evaluate(*g.node, s.inputs)[0].to_doubles()[0], 1000 + std::log(2.0), 1e-3);
}

TEST(ReduceSumSquare, WithoutAxesSquaresIntegersAndNegatives) {
  const auto squared = [](const char* op, const Tensor& x) {
    SampleList list;
    const Sample& s =
        list.add(op, 18).input(x).attr("noop_with_empty_axes", int64_t{1}).shape(x.shape());
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    return evaluate(*g.node, s.inputs)[0].to_doubles();
  };
  const auto x = Tensor::of<float>({3}, {-2, 0.5f, 3});
  EXPECT_EQ(squared("ReduceSumSquare", x), (Line{4, 0.25, 9}));
  EXPECT_EQ(squared("ReduceSumSquare", Tensor::of<int64_t>({2}, {-3, 5})), (Line{9, 25}));
  EXPECT_EQ(squared("ReduceL1", x), (Line{2, 0.5, 3}));
  EXPECT_EQ(squared("ReduceL2", x), (Line{2, 0.5, 3}));
}

}  // namespace
}  // namespace poprt::ops::sampled
