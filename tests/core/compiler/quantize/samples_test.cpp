#include "compiler/quantize/samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/error.h"

namespace poprt::compiler {
namespace {

using Data = std::map<std::string, Tensor>;

// Row r of a tensor is r, r, ...
Tensor rows(int64_t count, int64_t width = 2) {
  Tensor t = Tensor::zeros(DType::f32, {count, width});
  for (int64_t i = 0; i < t.count(); i++)
    t.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i / width);
  return t;
}

std::unique_ptr<ir::Graph> graph_of(std::vector<std::pair<std::string, ir::ValueType>> inputs) {
  auto g = std::make_unique<ir::Graph>("g");
  for (auto& [name, type] : inputs) g->add_input(name, type);
  return g;
}

ir::ValueType type(Shape shape, DType dtype = DType::f32) {
  return ir::ValueType::of(dtype, std::move(shape));
}

// The rows that each run has, by the first element of each.
std::vector<std::vector<double>> runs_of(const Samples& samples, size_t input) {
  std::vector<std::vector<double>> all;
  for (int64_t i = 0; i < samples.runs(); i++) {
    const Tensor t = samples.run(i).at(input);
    const std::vector<double> values = t.to_doubles();
    const size_t width = t.shape().empty() ? 1 : values.size() / static_cast<size_t>(t.shape()[0]);
    std::vector<double>& run = all.emplace_back();
    for (size_t at = 0; at < values.size(); at += width) run.push_back(values[at]);
  }
  return all;
}

using SampleRuns = std::vector<std::vector<double>>;

TEST(Samples, TheLastRunIsFilledWithTheFirstRows) {
  const auto g = graph_of({{"x", type({4, 2})}});
  EXPECT_EQ(runs_of(Samples(*g, {{"x", rows(10)}}), 0),
            (SampleRuns{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 0, 1}}));
  EXPECT_EQ(runs_of(Samples(*g, {{"x", rows(8)}}), 0), (SampleRuns{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(runs_of(Samples(*g, {{"x", rows(4)}}), 0), (SampleRuns{{0, 1, 2, 3}}));
  EXPECT_EQ(runs_of(Samples(*g, {{"x", rows(3)}}), 0), (SampleRuns{{0, 1, 2, 0}}));
}

TEST(Samples, InputsHaveOwnBatchesAndRepeatASingleRun) {
  const auto g =
      graph_of({{"x", type({4, 2})}, {"z", type({1, 2})}, {"k", type({3, 2})}, {"s", type({})}});
  const Samples samples(
      *g, {{"x", rows(8)}, {"z", rows(2)}, {"k", rows(3)}, {"s", Tensor::scalar(7.0f)}});
  EXPECT_EQ(samples.runs(), 2);
  EXPECT_EQ(runs_of(samples, 0), (SampleRuns{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(runs_of(samples, 1), (SampleRuns{{0}, {1}}));
  EXPECT_EQ(runs_of(samples, 2), (SampleRuns{{0, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(runs_of(samples, 3), (SampleRuns{{7}, {7}}));
}

TEST(Samples, AreOfTheInputsType) {
  const auto g = graph_of({{"x", type({2}, DType::f16)}, {"i", type({1}, DType::s64)}});
  const Samples samples(
      *g, {{"x", Tensor::of<int32_t>({4}, {1, 2, 3, 4})}, {"i", Tensor::of<uint8_t>({2}, {5, 6})}});
  const std::vector<Tensor> last = samples.run(1);
  EXPECT_EQ(last[0].dtype(), DType::f16);
  EXPECT_EQ(last[0].to_doubles(), (std::vector<double>{3, 4}));
  EXPECT_EQ(last[1].dtype(), DType::s64);
  EXPECT_EQ(last[1].to_int64s(), (std::vector<int64_t>{6}));
}

TEST(Samples, NeedNoDataForConstants) {
  const auto g = graph_of({{"x", type({1, 2})}});
  g->add_constant("w", rows(1));
  EXPECT_EQ(Samples(*g, {{"x", rows(1)}}).run(0).size(), 1u);
}

std::string refusal(const ir::Graph& g, const Data& data) {
  try {
    const Samples samples(g, data);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.message();
  }
  return "no error";
}

TEST(Samples, RefuseMismatchedArrays) {
  const auto g = graph_of({{"x", type({4, 2})}, {"z", type({2, 2})}});
  const Tensor x = rows(8), z = rows(4);
  EXPECT_EQ(refusal(*g, {{"x", x}, {"z", z}}), "no error");
  EXPECT_EQ(refusal(*g, {}),
            "`data_preprocess`: there is no array for input 'x'; the file has nothing");
  EXPECT_EQ(refusal(*g, {{"a", x}, {"x", x}}),
            "`data_preprocess`: there is no array for input 'z'; the file has 'a', 'x'");
  EXPECT_EQ(refusal(*g, {{"x", x}, {"z", z}, {"y", z}}),
            "`data_preprocess`: the model has no input 'y'; inputs are: 'x', 'z'");
  EXPECT_EQ(refusal(*g, {{"x", Tensor::strings({4, 2}, std::vector<std::string>(8))}, {"z", z}}),
            "`data_preprocess`: the array of input 'x' is string, expected f32");
  EXPECT_EQ(refusal(*g, {{"x", Tensor::zeros(DType::c64, {4, 2})}, {"z", z}}),
            "`data_preprocess`: the array of input 'x' is c64, expected f32");
  for (const Shape& shape : {Shape{4, 3}, Shape{8}, Shape{4, 2, 1}, Shape{0, 2}, Shape{}})
    EXPECT_EQ(refusal(*g, {{"x", Tensor::zeros(DType::f32, shape)}, {"z", z}}),
              fmt::format("`data_preprocess`: input 'x' has the shape {}, expected [SAMPLES,2]",
                          shape_string(shape)));
  EXPECT_EQ(refusal(*graph_of({{"s", type({})}}), {{"s", rows(1, 1)}}),
            "`data_preprocess`: input 's' has the shape [1,1], expected []");
  // Three runs of x, two of z; the rows of one of them must be those of a single run.
  EXPECT_EQ(
      refusal(*g, {{"x", rows(9)}, {"z", z}}),
      "`data_preprocess`: arrays have different numbers of samples: that of input 'z' has 4 rows, "
      "others have rows for 3 runs");
  EXPECT_EQ(refusal(*g, {{"x", rows(9)}, {"z", rows(2)}}), "no error");
  EXPECT_EQ(refusal(*g, {{"x", rows(9)}, {"z", rows(5)}}), "no error");
}

TEST(Samples, AnInputWithoutRowsHasNoSamples) {
  const auto g = graph_of({{"x", type({0, 2})}, {"y", type({1, 2})}});
  EXPECT_EQ(refusal(*g, {{"x", rows(5)}, {"y", rows(5)}}),
            "`data_preprocess`: input 'x' has the shape [5,2], expected [0,2]");
  const Samples samples(*g, {{"x", rows(0)}, {"y", rows(5)}});
  EXPECT_EQ(samples.runs(), 5);
  EXPECT_EQ(samples.run(4)[0].count(), 0);
}

TEST(Samples, NumbersThatAreNotFiniteAreNamed) {
  const auto g = graph_of({{"x", type({1, 2})}, {"h", type({1, 2}, DType::f16)}});
  for (const size_t at : {size_t{0}, size_t{3}, size_t{5}}) {
    Tensor x = rows(3);
    x.mutable_values<float>()[at] = INFINITY;
    EXPECT_EQ(refusal(*g, {{"x", x}, {"h", rows(3)}}),
              fmt::format("`data_preprocess`: input 'x': sample {} has the value inf as f32; "
                          "expected finite numbers",
                          at / 2));
  }
  Tensor large = rows(3);
  large.mutable_values<float>()[2] = 1e6f;  // too large for f16
  EXPECT_EQ(refusal(*g, {{"x", large}, {"h", rows(3)}}), "no error");
  EXPECT_EQ(refusal(*g, {{"x", rows(3)}, {"h", large}}),
            "`data_preprocess`: input 'h': sample 1 has the value inf as f16; expected finite "
            "numbers");
  EXPECT_EQ(refusal(*graph_of({{"s", type({})}}), {{"s", Tensor::scalar(std::nanf(""))}}),
            "`data_preprocess`: input 's': sample 0 has the value nan as f32; expected finite "
            "numbers");
}

}  // namespace
}  // namespace poprt::compiler
