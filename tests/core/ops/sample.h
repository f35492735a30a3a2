// Samples: one small use of an operator with an independent double-precision reference. Every
// operator's test file adds some. contract_test.cpp runs them all, and fails if an operator has
// none and is not in its list of exceptions.
//
//   OPS_SAMPLE(Relu) {
//     samples.add("Relu", 14).input(random_f32({3, 5}, -2, 2)).shape({3, 5}).reference(
//         [](const SampleValues& in) { return SampleValues{map(in[0], [](double x) {...})}; });
//   }
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"

namespace poprt::ops::sampled {

// Elements of each input (empty for an omitted one) or output, row-major.
using SampleValues = std::vector<std::vector<double>>;

struct Sample {
  std::string op, domain;
  int64_t opset = 1;
  std::vector<Tensor> inputs;  // undefined: omitted
  std::vector<bool> constant;  // input i is an initializer of the graph
  std::map<std::string, ir::Attribute, std::less<>> attributes;
  std::vector<Shape> shapes;  // of the outputs, by the specification
  std::vector<DType> dtypes;  // of the outputs; default: the first input's
  std::function<SampleValues(const SampleValues&)> compute;
  double rtol = 1e-5, atol = 1e-6;

  Sample& input(Tensor t) {
    inputs.push_back(std::move(t));
    constant.push_back(false);
    return *this;
  }
  Sample& constant_input(Tensor t) {
    inputs.push_back(std::move(t));
    constant.push_back(true);
    return *this;
  }
  Sample& omit() { return input(Tensor()); }
  Sample& attr(std::string key, ir::Attribute value) {
    attributes[std::move(key)] = std::move(value);
    return *this;
  }
  // Called once for each output.
  Sample& shape(Shape s) {
    shapes.push_back(std::move(s));
    return *this;
  }
  Sample& dtype(DType t) {
    dtypes.push_back(t);
    return *this;
  }
  Sample& tolerance(double relative, double absolute) {
    rtol = relative;
    atol = absolute;
    return *this;
  }
  Sample& reference(std::function<SampleValues(const SampleValues&)> f) {
    compute = std::move(f);
    return *this;
  }
};

class SampleList {
 public:
  // A deque: references stay valid while more are added.
  Sample& add(std::string op, int64_t opset, std::string domain = "") {
    Sample& s = samples_.emplace_back();
    s.op = std::move(op);
    s.opset = opset;
    s.domain = std::move(domain);
    return s;
  }
  const std::deque<Sample>& all() const { return samples_; }

 private:
  std::deque<Sample> samples_;
};

using SampleMaker = void (*)(SampleList& samples);
struct SampleRegistration {
  SampleRegistration(const char* file, int line, SampleMaker maker);
};

#define OPS_SAMPLE(name)                                                                 \
  static void ops_sample_##name(::poprt::ops::sampled::SampleList& samples);             \
  static const ::poprt::ops::sampled::SampleRegistration ops_sample_registration_##name( \
      __FILE__, __LINE__, ops_sample_##name);                                            \
  static void ops_sample_##name(::poprt::ops::sampled::SampleList& samples)

// All samples that OPS_SAMPLE adds, in the order of files and lines. They are created once in a
// process.
const std::deque<Sample>& all_samples();

// Uniform values from a fixed seed.
Tensor random_f32(Shape shape, float low = -1, float high = 1, uint32_t seed = 1);

template <class F>
std::vector<double> map(const std::vector<double>& x, F&& f) {
  std::vector<double> y;
  for (const double v : x) y.push_back(f(v));
  return y;
}

// A graph with one node for the sample; its types are inferred by the caller.
struct SampleGraph {
  std::unique_ptr<ir::Graph> graph;
  ir::Node* node = nullptr;
};
SampleGraph make_graph(const Sample& s);

}  // namespace poprt::ops::sampled
