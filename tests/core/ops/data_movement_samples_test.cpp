// Contract samples of the operators that move elements; the test file of each operator tests more.
#include <algorithm>
#include <cmath>

#include "core/ops/recurrent_reference.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

using Values = SampleValues;
using Index = std::vector<int64_t>;

Tensor integers(Shape shape, std::vector<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), std::span<const int64_t>(values));
}

// y[o] = x[source(o)], or `fill` where source gives -1.
auto moved(Shape out, std::function<int64_t(const Index&)> source, double fill = 0) {
  return [=](const Values& in) {
    std::vector<double> y;
    for (int64_t i = 0; i < element_count(out); i++) {
      const int64_t at = source(test::unravel(i, out));
      y.push_back(at < 0 ? fill : in[0][static_cast<size_t>(at)]);
    }
    return Values{y};
  };
}

auto same() {
  return [](const Values& in) { return Values{in[0]}; };
}

auto constant(std::vector<double> y) {
  return [=](const Values&) { return Values{y}; };
}

OPS_SAMPLE(Views) {
  const Tensor x = random_f32({2, 1, 6});
  samples.add("Reshape", 13)
      .input(x)
      .constant_input(integers({3}, {0, -1, 3}))
      .shape({2, 2, 3})
      .reference(same());
  samples.add("Flatten", 13).input(x).attr("axis", int64_t{2}).shape({2, 6}).reference(same());
  samples.add("Squeeze", 13)
      .input(x)
      .constant_input(integers({1}, {1}))
      .shape({2, 6})
      .reference(same());
  samples.add("Unsqueeze", 13)
      .input(x)
      .constant_input(integers({1}, {-1}))
      .shape({2, 1, 6, 1})
      .reference(same());
}

OPS_SAMPLE(Moves) {
  const Tensor x = random_f32({4, 6});
  samples.add("Transpose", 13).input(x).shape({6, 4}).reference(moved({6, 4}, [](const Index& o) {
    return o[1] * 6 + o[0];
  }));
  samples.add("Concat", 13)
      .input(x)
      .input(x)
      .attr("axis", int64_t{0})
      .shape({8, 6})
      .reference(moved({8, 6}, [](const Index& o) { return o[0] % 4 * 6 + o[1]; }));
  samples.add("Split", 18)
      .input(random_f32({4}))
      .attr("num_outputs", int64_t{2})
      .shape({2})
      .shape({2})
      .dtype(DType::f32)
      .dtype(DType::f32)
      .reference(
          [](const Values& in) { return Values{{in[0][0], in[0][1]}, {in[0][2], in[0][3]}}; });
  samples.add("Slice", 13)
      .input(x)
      .constant_input(integers({1}, {5}))
      .constant_input(integers({1}, {-100}))
      .constant_input(integers({1}, {1}))
      .constant_input(integers({1}, {-2}))
      .shape({4, 3})
      .reference(moved({4, 3}, [](const Index& o) { return o[0] * 6 + 5 - 2 * o[1]; }));
  samples.add("Pad", 18)
      .input(x)
      .constant_input(integers({4}, {0, 1, 0, -2}))
      .input(Tensor::scalar(7.0f))
      .shape({4, 5})
      .reference(
          moved({4, 5}, [](const Index& o) { return o[1] < 1 ? -1 : o[0] * 6 + o[1] - 1; }, 7));
  samples.add("Expand", 13)
      .input(random_f32({4, 1}))
      .constant_input(integers({3}, {2, 1, 3}))
      .shape({2, 4, 3})
      .reference(moved({2, 4, 3}, [](const Index& o) { return o[1]; }));
  samples.add("Tile", 13)
      .input(x)
      .constant_input(integers({2}, {1, 2}))
      .shape({4, 12})
      .reference(moved({4, 12}, [](const Index& o) { return o[0] * 6 + o[1] % 6; }));
  samples.add("DepthToSpace", 13)
      .input(random_f32({1, 4, 1, 2}))
      .attr("blocksize", int64_t{2})
      .shape({1, 1, 2, 4})
      .reference(moved({1, 1, 2, 4},
                       [](const Index& o) { return (o[2] % 2 * 2 + o[3] % 2) * 2 + o[3] / 2; }));
  samples.add("SpaceToDepth", 13)
      .input(random_f32({1, 1, 2, 4}))
      .attr("blocksize", int64_t{2})
      .shape({1, 4, 1, 2})
      .reference(
          moved({1, 4, 1, 2}, [](const Index& o) { return o[1] / 2 * 4 + o[3] * 2 + o[1] % 2; }));
  samples.add("Resize", 19)
      .input(x)
      .omit()
      .constant_input(Tensor::of<float>({2}, {1, 0.5f}))
      .attr("nearest_mode", std::string("floor"))
      .shape({4, 3})
      .reference(moved({4, 3}, [](const Index& o) { return o[0] * 6 + o[1] * 2; }));
  samples.add("Upsample", 9)
      .input(x)
      .constant_input(Tensor::of<float>({2}, {2, 1}))
      .shape({8, 6})
      .reference(moved({8, 6}, [](const Index& o) { return o[0] / 2 * 6 + o[1]; }));
  samples.add("Resize", 1, "poprt")
      .input(random_f32({1, 1, 1, 2, 16}))
      .attr("scales", std::vector<float>{1, 2})
      .shape({1, 1, 1, 4, 16})
      .reference(moved({1, 1, 1, 4, 16}, [](const Index& o) { return o[3] / 2 * 16 + o[4]; }));
  for (const int64_t k : {-1, 0, 2, 9})
    for (const int64_t upper : {0, 1})
      samples.add("Trilu", 14)
          .input(x)
          .input(integers({}, {k}))
          .attr("upper", upper)
          .shape({4, 6})
          .reference(moved({4, 6}, [=](const Index& o) {
            const bool keep = upper ? o[1] >= o[0] + k : o[1] <= o[0] + k;
            return keep ? o[0] * 6 + o[1] : -1;
          }));
  for (const int64_t time : {0, 1}) {
    samples.add("ReverseSequence", 10)
        .input(x)
        .input(integers({time ? 4 : 6}, time ? Index{2, 0, 6, 1} : Index{2, 0, 4, 1, 3, 3}))
        .attr("time_axis", time)
        .attr("batch_axis", 1 - time)
        .shape({4, 6})
        .reference([=](const Values& in) {
          std::vector<double> y(24);
          for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 6; j++) {
              const auto t = time ? j : i;
              const auto n = static_cast<int64_t>(in[1][static_cast<size_t>(time ? i : j)]);
              const int64_t s = t < n ? n - 1 - t : t;
              y[static_cast<size_t>(i * 6 + j)] =
                  in[0][static_cast<size_t>(time ? i * 6 + s : s * 6 + j)];
            }
          return Values{y};
        });
  }
}

OPS_SAMPLE(Gathers) {
  const Tensor x = random_f32({4, 6});
  samples.add("Gather", 13)
      .input(x)
      .input(integers({2}, {3, -3}))
      .attr("axis", int64_t{0})
      .shape({2, 6})
      .reference(moved({2, 6}, [](const Index& o) { return (o[0] ? 1 : 3) * 6 + o[1]; }));
  const Index at = {0, -1, 3, 1, 2, -2};
  samples.add("GatherElements", 13)
      .input(x)
      .input(integers({3, 2}, at))
      .attr("axis", int64_t{0})
      .shape({3, 2})
      .reference(moved({3, 2}, [=](const Index& o) {
        const int64_t i = at[static_cast<size_t>(o[0] * 2 + o[1])];
        return (i < 0 ? i + 4 : i) * 6 + o[1];
      }));
  samples.add("GatherElements", 13)
      .input(x)
      .input(integers({3, 2}, {0, -1, 3, 1, 77, -2}))
      .attr("axis", int64_t{-1})
      .shape({3, 2})
      .reference(moved({3, 2}, [=](const Index& o) {
        const int64_t i = at[static_cast<size_t>(o[0] * 2 + o[1])];
        return o[0] == 2 && o[1] == 0 ? -1 : o[0] * 6 + (i < 0 ? i + 6 : i);
      }));
  samples.add("GatherND", 13)
      .input(x)
      .input(integers({3, 2}, {0, 1, -1, 5, 4, 0}))
      .shape({3})
      .reference(moved({3}, [](const Index& o) { return o[0] == 0   ? 1
                                                        : o[0] == 1 ? 23
                                                                    : -1; }));
  samples.add("GatherND", 13)
      .input(x)
      .input(integers({4, 1}, {0, 1, 2, 3}))
      .attr("batch_dims", int64_t{1})
      .shape({4})
      .reference(moved({4}, [](const Index& o) { return o[0] * 7; }));
  samples.add("GatherND", 13)
      .input(x)
      .input(integers({2, 1}, {3, 0}))
      .shape({2, 6})
      .reference(moved({2, 6}, [](const Index& o) { return (o[0] ? 0 : 3) * 6 + o[1]; }));
  samples.add("Compress", 11)
      .input(x)
      .constant_input(Tensor::of<bool>({3}, {false, true, true}))
      .attr("axis", int64_t{1})
      .shape({4, 2})
      .reference(moved({4, 2}, [](const Index& o) { return o[0] * 6 + o[1] + 1; }));
  samples.add("Compress", 11)
      .input(x)
      .constant_input(Tensor::of<bool>({8}, {false, true, false, false, false, false, false, true}))
      .shape({2})
      .reference(moved({2}, [](const Index& o) { return o[0] ? 7 : 1; }));
}

double combined(const std::string& reduction, double a, double b) {
  if (reduction == "add") return a + b;
  if (reduction == "mul") return a * b;
  if (reduction == "min") return std::min(a, b);
  if (reduction == "max") return std::max(a, b);
  return b;
}

OPS_SAMPLE(Scatters) {
  const Tensor x = random_f32({4, 6});
  for (const std::string reduction : {"none", "add", "mul", "min", "max"})
    for (const int64_t axis : {0, 1})
      // Two updates of one element (but not for "none") and one index outside, which is ignored.
      samples
          .add(axis == 0 && reduction == "none" ? "Scatter" : "ScatterElements",
               axis == 0 && reduction == "none" ? 9 : 18)
          .input(x)
          .input(integers({2, 2}, {0, -1, reduction == "none" ? 2 : 0, 99}))
          .input(random_f32({2, 2}, -1, 1, 9))
          .attr("axis", axis)
          .attr("reduction", reduction)
          .shape({4, 6})
          .reference([=](const Values& in) {
            auto y = in[0];
            const int64_t size = axis ? 6 : 4;
            for (int64_t i = 0; i < 2; i++)
              for (int64_t j = 0; j < 2; j++) {
                auto k = static_cast<int64_t>(in[1][static_cast<size_t>(i * 2 + j)]);
                if (k < 0) k += size;
                if (k >= size) continue;
                double& to = y[static_cast<size_t>(axis ? i * 6 + k : k * 6 + j)];
                to = combined(reduction, to, in[2][static_cast<size_t>(i * 2 + j)]);
              }
            return Values{y};
          });
  for (const std::string reduction : {"none", "add", "mul", "min", "max"})
    samples.add("ScatterND", 18)
        .input(x)
        .input(integers({3, 1}, {1, -1, 4}))
        .input(random_f32({3, 6}, -1, 1, 8))
        .attr("reduction", reduction)
        .shape({4, 6})
        .reference([=](const Values& in) {
          auto y = in[0];
          for (size_t j = 0; j < 6; j++) {
            y[6 + j] = combined(reduction, y[6 + j], in[2][j]);
            y[18 + j] = combined(reduction, y[18 + j], in[2][6 + j]);
          }
          return Values{y};
        });
}

OPS_SAMPLE(Makers) {
  samples.add("Shape", 15)
      .input(random_f32({2, 3}))
      .shape({2})
      .dtype(DType::s64)
      .reference(constant({2, 3}));
  samples.add("Size", 13)
      .input(random_f32({2, 3}))
      .shape({})
      .dtype(DType::s64)
      .reference(constant({6}));
  samples.add("ConstantOfShape", 9)
      .constant_input(integers({1}, {3}))
      .attr("value", Tensor::of<float>({1}, {2.5f}))
      .shape({3})
      .dtype(DType::f32)
      .reference(constant({2.5, 2.5, 2.5}));
  samples.add("Range", 11)
      .constant_input(Tensor::scalar(1.0f))
      .constant_input(Tensor::scalar(2.0f))
      .constant_input(Tensor::scalar(0.3f))
      .shape({4})
      .reference(constant({1, 1.3, 1.6, 1.9}));
  samples.add("Range", 11)
      .constant_input(integers({}, {5}))
      .constant_input(integers({}, {-2}))
      .constant_input(integers({}, {-3}))
      .shape({3})
      .reference(constant({5, 2, -1}));
  samples.add("Range", 11)
      .constant_input(integers({}, {5}))
      .constant_input(integers({}, {7}))
      .constant_input(integers({}, {-3}))
      .shape({0})
      .reference(constant({}));
  samples.add("EyeLike", 9)
      .input(random_f32({2, 3}))
      .attr("k", int64_t{1})
      .attr("dtype", int64_t{6})
      .shape({2, 3})
      .dtype(DType::s32)
      .reference(constant({0, 1, 0, 0, 0, 1}));
  samples.add("NonZero", 13)
      .constant_input(Tensor::of<float>({2, 2}, {1, 0, 0, -2}))
      .shape({2, 2})
      .dtype(DType::s64)
      .reference(constant({0, 1, 0, 1}));
  samples.add("OneHot", 11)
      .input(integers({4}, {0, -1, 2, 3}))
      .constant_input(integers({}, {3}))
      .input(Tensor::of<float>({2}, {-1, 4}))
      .attr("axis", int64_t{0})
      .shape({3, 4})
      .dtype(DType::f32)
      .reference(constant({4, -1, -1, -1, -1, -1, -1, -1, -1, 4, 4, -1}));
  for (const int64_t depth : {0, 5000})
    samples.add("OneHot", 11)
        .input(integers({3}, {4999, 7, -1}))
        .constant_input(integers({}, {depth}))
        .input(Tensor::of<float>({2}, {2, 3}))
        .shape({3, depth})
        .dtype(DType::f32)
        .reference([=](const SampleValues& in) {
          std::vector<double> y(static_cast<size_t>(3 * depth), 2);
          for (size_t i = 0; i < 3 && depth > 0; i++)
            y[i * 5000 + static_cast<size_t>(in[0][i] < 0 ? in[0][i] + 5000 : in[0][i])] = 3;
          return SampleValues{y};
        });
  samples.add("OneHot", 11)
      .input(Tensor::of<float>({1}, {1}))
      .constant_input(integers({}, {2}))
      .input(integers({2}, {0, 1}))
      .shape({1, 2})
      .dtype(DType::s64)
      .reference(constant({0, 1}));
}

OPS_SAMPLE(Recurrent) {
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    test::RecurrentCase c;
    c.op = op;
    if (op == "RNN") c.f = [](double x) { return std::tanh(x); };
    const test::NodeCase node = test::recurrent_node(c);
    Sample& s = samples.add(op, 14).tolerance(1e-4, 1e-5);
    for (size_t i = 0; i < node.inputs.size(); i++) {
      if (i == 1 || i == 2 || i == 3)
        s.constant_input(node.inputs[i]);
      else
        s.input(node.inputs[i]);
    }
    for (const auto& [key, value] : node.attributes) s.attr(key, value);
    s.shape({c.steps, 1, c.batch, c.hidden})
        .shape({1, c.batch, c.hidden})
        .dtype(DType::f32)
        .dtype(DType::f32);
    if (op == "LSTM") s.shape({1, c.batch, c.hidden}).dtype(DType::f32);
    s.reference([c, inputs = node.inputs](const Values&) {
      const auto r = test::recurrent_reference(c, inputs);
      return c.op == "LSTM" ? Values{r.y, r.y_h, r.y_c} : Values{r.y, r.y_h};
    });
  }
}

}  // namespace
}  // namespace poprt::ops::sampled
