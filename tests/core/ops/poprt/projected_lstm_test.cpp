#include "core/ops/recurrent_reference.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {

// One unit; gates in the order i, o, f, c.
OPS_SAMPLE(ProjectedLSTM) {
  samples.add("ProjectedLSTM", 1, "poprt")
      .input(random_f32({6, 1, 4}, -2, 2))
      .omit()
      .constant_input(random_f32({1, 4, 1}, -1, 1, 2))
      .shape({6, 1, 1, 1})
      .shape({1, 1, 1})
      .shape({1, 1, 1})
      .reference([](const SampleValues& in) {
        const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        std::vector<double> y;
        double h = 0, c = 0;
        for (size_t t = 0; t < 6; t++) {
          const auto gate = [&](size_t g) { return in[0][t * 4 + g] + in[2][g] * h; };
          c = sigmoid(gate(2)) * c + sigmoid(gate(0)) * std::tanh(gate(3));
          h = sigmoid(gate(1)) * std::tanh(c);
          y.push_back(h);
        }
        return SampleValues{y, {h}, {c}};
      });
}

}  // namespace poprt::ops::sampled

namespace poprt::test {
namespace {

// x * W of all directions in double: [steps, batch, directions * 4 * hidden].
Tensor projected(const RecurrentCase& c, const Tensor& x, const Tensor& w) {
  const int64_t directions = w.shape()[0], columns = w.shape()[1], depth = w.shape()[2];
  const auto from = x.to_doubles(), weights = w.to_doubles();
  std::vector<float> y;
  for (int64_t row = 0; row < c.steps * c.batch; row++)
    for (int64_t column = 0; column < directions * columns; column++) {
      double sum = 0;
      for (int64_t k = 0; k < depth; k++)
        sum += from[static_cast<size_t>(row * depth + k)] *
               weights[static_cast<size_t>(column * depth + k)];
      y.push_back(static_cast<float>(sum));
    }
  return Tensor::of<float>({c.steps, c.batch, directions * columns}, std::span<const float>(y));
}

TEST(ProjectedLSTM, EqualsAnLstmOfTheProduct) {
  for (const char* direction : {"forward", "reverse", "bidirectional"})
    for (const int64_t hidden : {1, 5, 16, 35})
      for (const bool optional : {false, true}) {
        RecurrentCase c;
        c.op = "LSTM";
        c.direction = direction;
        c.hidden = hidden;
        c.batch = 3;
        c.bias = c.initial = c.peephole = c.lens = optional;
        NodeCase whole = recurrent_node(c);
        const auto want = run_node(whole);
        NodeCase node = whole;
        node.op = "ProjectedLSTM";
        node.domain = "poprt";
        node.attributes.erase("layout");
        node.inputs[0] = projected(c, whole.inputs[0], whole.inputs[1]);
        node.inputs[1] = Tensor();
        const auto got = run_node(node);
        for (size_t i = 0; i < 3; i++) {
          ASSERT_EQ(got[i].shape(), want[i].shape());
          const auto g = got[i].to_doubles(), w = want[i].to_doubles();
          for (size_t k = 0; k < g.size(); k++)
            ASSERT_NEAR(g[k], w[k], 1e-5)
                << direction << " hidden " << hidden << " output " << i << " element " << k;
        }
      }
}

// A step with the state as DynamicQuantizeLinear makes it of one sequence.
std::vector<double> quantised(const std::vector<double>& h) {
  double low = 0, high = 0;
  for (const double v : h) low = std::min(low, v), high = std::max(high, v);
  const double scale = high == low ? 1 : (high - low) / 255, zero = std::nearbyint(-low / scale);
  std::vector<double> y;
  for (const double v : h)
    y.push_back((std::clamp(std::nearbyint(v / scale) + zero, 0.0, 255.0) - zero) * scale);
  return y;
}

// One direction in double, x * W given, r the real value of R [4 * hidden, hidden].
std::vector<double> byte_lstm(const std::vector<double>& x, const std::vector<double>& r,
                              size_t steps, size_t batch, size_t hidden, size_t columns,
                              size_t first, bool reverse) {
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<double> y(steps * batch * hidden);
  for (size_t b = 0; b < batch; b++) {
    std::vector<double> h(hidden, 0.0), c(hidden, 0.0);
    for (size_t s = 0; s < steps; s++) {
      const size_t t = reverse ? steps - 1 - s : s;
      const std::vector<double> v = quantised(h);
      const auto gate = [&](size_t g, size_t u) {
        double sum = x[(t * batch + b) * columns + first + g * hidden + u];
        for (size_t k = 0; k < hidden; k++) sum += r[(g * hidden + u) * hidden + k] * v[k];
        return sum;
      };
      for (size_t u = 0; u < hidden; u++) {
        c[u] = sigmoid(gate(2, u)) * c[u] + sigmoid(gate(0, u)) * std::tanh(gate(3, u));
        h[u] = sigmoid(gate(1, u)) * std::tanh(c[u]);
        y[(t * batch + b) * hidden + u] = h[u];
      }
    }
  }
  return y;
}

TEST(ProjectedLSTM, MultipliesBytesByQuantisedStates) {
  constexpr size_t kSteps = 5, kBatch = 6;
  for (const DType dtype : {DType::s8, DType::u8})
    for (const size_t hidden : {3, 16, 37})
      for (const bool columns_scaled : {false, true}) {
        std::mt19937 rng(1);
        const size_t gates = 4 * hidden, columns = 2 * gates;
        const auto size = [](size_t n) { return static_cast<int64_t>(n); };
        const Tensor x =
            ops::sampled::random_f32({size(kSteps), size(kBatch), size(columns)}, -2, 2);
        Tensor r = Tensor::zeros(dtype, {2, size(gates), size(hidden)});
        const size_t scales = columns_scaled ? columns : 2;
        Tensor scale = Tensor::zeros(DType::f32, columns_scaled ? Shape{2, size(gates)} : Shape{2});
        for (size_t i = 0; i < scales; i++)
          scale.mutable_values<float>()[i] = 0.002f + 0.0001f * static_cast<float>(i % 7);
        std::vector<double> real(2 * gates * hidden);
        for (size_t i = 0; i < real.size(); i++) {
          const auto byte = static_cast<uint8_t>(rng());
          static_cast<uint8_t*>(r.mutable_data())[i] = byte;
          const size_t row = i / hidden;
          real[i] = (dtype == DType::s8 ? static_cast<int8_t>(byte) : byte - 128) *
                    static_cast<double>(scale.values<float>()[columns_scaled ? row : row / gates]);
        }
        NodeCase node;
        node.op = "ProjectedLSTM";
        node.domain = "poprt";
        node.attributes["hidden_size"] = size(hidden);
        node.attributes["direction"] = std::string("bidirectional");
        node.inputs = {x, Tensor(), r, Tensor(), Tensor(), Tensor(), Tensor(), Tensor(), scale};
        node.outputs = 3;
        const auto found = run_node(node)[0].to_doubles();
        for (size_t d = 0; d < 2; d++) {
          const size_t part = real.size() / 2;
          const auto wanted =
              byte_lstm(x.to_doubles(),
                        {real.begin() + static_cast<std::ptrdiff_t>(d * part),
                         real.begin() + static_cast<std::ptrdiff_t>((d + 1) * part)},
                        kSteps, kBatch, hidden, columns, d * gates, d == 1);
          // A state next to the border of two bytes may become either.
          for (size_t i = 0; i < wanted.size(); i++)
            ASSERT_NEAR(
                found[((i / (kBatch * hidden)) * 2 + d) * kBatch * hidden + i % (kBatch * hidden)],
                wanted[i], 2e-3)
                << dtype_name(dtype) << " hidden " << hidden << " direction " << d << " element "
                << i;
        }
      }
}

TEST(ProjectedLSTM, ColumnsThatAreNotAllGatesAreRefused) {
  RecurrentCase c;
  c.op = "LSTM";
  NodeCase node = recurrent_node(c);
  node.op = "ProjectedLSTM";
  node.domain = "poprt";
  node.inputs[1] = Tensor();
  try {
    run_node(node);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("input 0 should be"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::test
