#include "core/ops/recurrent_reference.h"
#include "core/ops/sample.h"

namespace poprt::ops::testing {

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

}  // namespace poprt::ops::testing

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

TEST(ProjectedLSTM, GivesWhatLstmGivesOnTheProduct) {
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
