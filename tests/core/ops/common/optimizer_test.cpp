// Compares the optimizers of ai.onnx.preview.training with the formulas of ONNX in double
// precision.
#include <cmath>

#include "core/ops/built_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

constexpr const char* kDomain = "ai.onnx.preview.training";

Tensor wide(const Tensor& t) {
  const auto v = t.to_doubles();
  return Tensor::of<double>(t.shape(), std::span<const double>(v));
}

struct Setting {
  int64_t updates;
  bool exact;  // in f64
  bool nesterov = false;
};

const Setting kSettings[] = {{0, false}, {3, false, true}, {3, false}, {2, true, true}, {0, true}};

// Two parameters with their gradients and states, of which the last kind is not negative.
Sample& optimizer(SampleList& samples, const char* name, const Setting& setting, size_t states) {
  const auto as = [&](Tensor t) { return setting.exact ? wide(t) : t; };
  Sample& s = samples.add(name, 1, kDomain);
  s.input(as(Tensor::scalar(0.1f))).input(Tensor::scalar(setting.updates));
  uint32_t seed = 1;
  for (size_t kind = 0; kind < 2 + states; kind++)
    for (const Shape& shape : {Shape{3, 5}, Shape{4}})
      s.input(as(random_f32(shape, kind == 1 + states ? 0.1f : -1.0f, 1, seed++)));
  for (size_t kind = 0; kind < 1 + states; kind++)
    for (const Shape& shape : {Shape{3, 5}, Shape{4}})
      s.shape(shape).dtype(setting.exact ? DType::f64 : DType::f32);
  if (setting.exact) s.tolerance(1e-7, 1e-9);  // attributes are single precision
  return s;
}

// The outputs of `step`, which takes R, T and pointers to an element of the parameter, its gradient
// and its states, and leaves the results there.
auto each(size_t states, std::function<void(double, double, std::span<double>)> step) {
  return [=](const SampleValues& in) {
    SampleValues out(2 * (1 + states));
    for (size_t i = 0; i < 2; i++)
      for (size_t k = 0; k < in[2 + i].size(); k++) {
        std::vector<double> of;
        for (size_t kind = 0; kind < 2 + states; kind++) of.push_back(in[2 + 2 * kind + i][k]);
        step(in[0][0], in[1][0], of);
        out[i].push_back(of[0]);
        for (size_t s = 0; s < states; s++) out[2 + 2 * s + i].push_back(of[2 + s]);
      }
    return out;
  };
}

OPS_SAMPLE(Adagrad) {
  for (const Setting& setting : kSettings)
    optimizer(samples, "Adagrad", setting, 1)
        .attr("decay_factor", 0.5f)
        .attr("norm_coefficient", 0.25f)
        .reference(each(1, [](double r, double t, std::span<double> of) {
          const double g = 0.25 * of[0] + of[1];
          of[2] += g * g;
          of[0] -= r / (1 + t * 0.5) * g / (std::sqrt(of[2]) + 1e-6);
        }));
}

OPS_SAMPLE(Adam) {
  for (const Setting& setting : kSettings)
    optimizer(samples, "Adam", setting, 2)
        .attr("alpha", 0.75f)
        .attr("beta", 0.875f)
        .attr("epsilon", 0.01f)
        .attr("norm_coefficient", 0.25f)
        .attr("norm_coefficient_post", 0.125f)
        .reference(each(2, [](double r, double t, std::span<double> of) {
          const double g = 0.25 * of[0] + of[1];
          of[2] = 0.75 * of[2] + 0.25 * g;
          of[3] = 0.875 * of[3] + 0.125 * g * g;
          const double rate =
              t > 0 ? r * std::sqrt(1 - std::pow(0.875, t)) / (1 - std::pow(0.75, t)) : r;
          of[0] = (1 - 0.125) * (of[0] - rate * of[2] / (std::sqrt(of[3]) + 0.01));
        }));
}

OPS_SAMPLE(Momentum) {
  for (const Setting& setting : kSettings)
    optimizer(samples, "Momentum", setting, 1)
        .attr("alpha", 0.75f)
        .attr("beta", 0.5f)
        .attr("norm_coefficient", 0.25f)
        .attr("mode", std::string(setting.nesterov ? "nesterov" : "standard"))
        .reference(each(1, [nesterov = setting.nesterov](double r, double t, std::span<double> of) {
          const double g = 0.25 * of[0] + of[1];
          of[2] = 0.75 * of[2] + (t > 0 ? 0.5 : 1) * g;
          of[0] -= r * (nesterov ? g + 0.75 * of[2] : of[2]);
        }));
}

TEST(Optimizer, WrongGroupsAndMissingAttributesAreRefused) {
  const auto error_of = [](size_t inputs, size_t outputs,
                           std::map<std::string, ir::Attribute, std::less<>> attributes) {
    std::vector<std::pair<Tensor, bool>> given = {{Tensor::scalar(0.1f), false},
                                                  {Tensor::scalar(int64_t{1}), false}};
    for (size_t i = 0; i < inputs; i++) given.emplace_back(random_f32({3}), false);
    BuiltNode c("Momentum", kDomain, given, std::move(attributes), 17, outputs);
    c.graph.opsets[kDomain] = 1;
    try {
      c.run();
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("none");
  };
  const auto expect_error = [](const std::string& message, const char* what) {
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  const std::map<std::string, ir::Attribute, std::less<>> all = {{"alpha", 0.5f},
                                                                 {"beta", 0.5f},
                                                                 {"norm_coefficient", 0.0f},
                                                                 {"mode", std::string("standard")}};
  EXPECT_EQ(error_of(3, 2, all), "none");
  expect_error(error_of(4, 2, all), "groups of equal size");
  expect_error(error_of(3, 1, all), "outputs");
  auto some = all;
  some["mode"] = std::string("odd");
  expect_error(error_of(3, 2, some), "nesterov");
  some = all;
  some.erase("beta");
  expect_error(error_of(3, 2, some), "beta");
}

}  // namespace
}  // namespace poprt::ops::sampled
