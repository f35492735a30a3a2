// LSTM, GRU and RNN in double precision, as the ONNX operator specification writes them.
#pragma once

#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::test {

struct RecurrentCase {
  std::string op;
  int64_t steps = 5, batch = 2, input = 3, hidden = 5;
  std::string direction = "forward";
  int64_t layout = 0;
  bool bias = true, initial = false, peephole = false, lens = false;
  bool constant_weights = true;
  Attributes attributes = {};
  // f, g, h and the clip that the reference uses
  std::function<double(double)> f = [](double x) { return 1 / (1 + std::exp(-x)); },
                                g = [](double x) { return std::tanh(x); },
                                h = [](double x) { return std::tanh(x); };
  double clip = 0;
  bool input_forget = false, linear_before_reset = false;
  bool in_double = false;
};

struct RecurrentResult {
  std::vector<double> y, y_h, y_c;
};

inline NodeCase recurrent_node(const RecurrentCase& c) {
  const int64_t d = c.direction == "bidirectional" ? 2 : 1;
  const int64_t gates = c.op == "LSTM" ? 4 : c.op == "GRU" ? 3 : 1, n = c.hidden;
  const Shape state = c.layout ? Shape{c.batch, d, n} : Shape{d, c.batch, n};
  NodeCase node{c.op, 14, c.attributes};
  node.attributes["hidden_size"] = n;
  node.attributes["direction"] = c.direction;
  node.attributes["layout"] = c.layout;
  node.inputs = {
      random_floats(c.layout ? Shape{c.batch, c.steps, c.input} : Shape{c.steps, c.batch, c.input},
                    1),
      random_floats({d, gates * n, c.input}, 2, 0.7f), random_floats({d, gates * n, n}, 3, 0.7f)};
  node.inputs.push_back(c.bias ? random_floats({d, 2 * gates * n}, 4, 0.5f) : Tensor());
  Tensor lens;
  if (c.lens) {
    lens = Tensor::zeros(DType::s32, {c.batch});
    for (int64_t b = 0; b < c.batch; b++)
      lens.mutable_values<int32_t>()[static_cast<size_t>(b)] =
          static_cast<int32_t>((b * 2 + 1) % (c.steps + 1));
  }
  node.inputs.push_back(lens);
  node.inputs.push_back(c.initial ? random_floats(state, 5) : Tensor());
  if (c.op == "LSTM") {
    node.inputs.push_back(c.initial ? random_floats(state, 6) : Tensor());
    node.inputs.push_back(c.peephole ? random_floats({d, 3 * n}, 7) : Tensor());
  }
  if (c.in_double)
    for (Tensor& t : node.inputs) {
      if (!t.defined() || t.dtype() != DType::f32) continue;
      const auto values = t.to_doubles();
      t = Tensor::of<double>(t.shape(), std::span<const double>(values));
    }
  node.outputs = c.op == "LSTM" ? 3 : 2;
  node.runtime = {0, 4, 5, 6};
  if (!c.constant_weights) node.runtime = {0, 1, 2, 3, 4, 5, 6, 7};
  return node;
}

inline RecurrentResult recurrent_reference(const RecurrentCase& c, const std::vector<Tensor>& in) {
  const int64_t D = c.direction == "bidirectional" ? 2 : 1, T = c.steps, B = c.batch, I = c.input,
                H = c.hidden;
  const bool lstm = c.op == "LSTM", gru = c.op == "GRU";
  const int64_t G = lstm ? 4 : gru ? 3 : 1;
  const auto values = [&](size_t i) {
    return i < in.size() && in[i].defined() ? in[i].to_doubles() : std::vector<double>();
  };
  const auto X = values(0), W = values(1), R = values(2), bias = values(3), h0 = values(5),
             c0 = lstm ? values(6) : std::vector<double>(),
             P = lstm ? values(7) : std::vector<double>();
  RecurrentResult out;
  out.y.assign(static_cast<size_t>(T * D * B * H), 0);
  out.y_h.assign(static_cast<size_t>(D * B * H), 0);
  out.y_c = out.y_h;
  const auto at = [](const std::vector<double>& v, int64_t i) {
    return v.empty() ? 0.0 : v[static_cast<size_t>(i)];
  };
  const auto clip = [&](double x) { return c.clip > 0 ? std::clamp(x, -c.clip, c.clip) : x; };
  for (int64_t d = 0; d < D; d++)
    for (int64_t b = 0; b < B; b++) {
      const int64_t len = in[4].defined() ? in[4].to_int64s()[static_cast<size_t>(b)] : T;
      const int64_t first_state = c.layout ? (b * D + d) * H : (d * B + b) * H;
      std::vector<double> h(static_cast<size_t>(H)), cell(h.size());
      for (int64_t u = 0; u < H; u++) {
        h[static_cast<size_t>(u)] = at(h0, first_state + u);
        cell[static_cast<size_t>(u)] = at(c0, first_state + u);
      }
      for (int64_t s = 0; s < len; s++) {
        const int64_t t = c.direction == "reverse" || d == 1 ? len - 1 - s : s;
        const auto wx = [&](int64_t g, int64_t u) {
          double sum = at(bias, d * 2 * G * H + g * H + u);
          for (int64_t k = 0; k < I; k++)
            sum += X[static_cast<size_t>((c.layout ? b * T + t : t * B + b) * I + k)] *
                   W[static_cast<size_t>(((d * G + g) * H + u) * I + k)];
          return sum;
        };
        const auto rh = [&](int64_t g, int64_t u, const std::vector<double>& v) {
          double sum = at(bias, d * 2 * G * H + (G + g) * H + u);
          for (int64_t k = 0; k < H; k++)
            sum +=
                v[static_cast<size_t>(k)] * R[static_cast<size_t>(((d * G + g) * H + u) * H + k)];
          return sum;
        };
        std::vector<double> next(h.size());
        std::vector<double> z(h.size()), r(h.size()), gated(h.size());
        for (int64_t u = 0; u < H && gru; u++) {
          const auto i = static_cast<size_t>(u);
          z[i] = c.f(clip(wx(0, u) + rh(0, u, h)));
          r[i] = c.f(clip(wx(1, u) + rh(1, u, h)));
          gated[i] = r[i] * h[i];
        }
        for (int64_t u = 0; u < H; u++) {
          const auto i = static_cast<size_t>(u);
          if (gru) {
            const double n = c.g(
                clip(wx(2, u) + (c.linear_before_reset ? r[i] * rh(2, u, h) : rh(2, u, gated))));
            next[i] = (1 - z[i]) * n + z[i] * h[i];
          } else if (lstm) {
            const auto p = [&](int64_t g) { return at(P, (d * 3 + g) * H + u); };
            const double ig = c.f(clip(wx(0, u) + rh(0, u, h) + p(0) * cell[i]));
            // The gates are coupled as in ONNX Runtime; the specification does not define which one
            // depends on the other.
            const double f =
                c.input_forget ? 1 - ig : c.f(clip(wx(2, u) + rh(2, u, h) + p(2) * cell[i]));
            cell[i] = f * cell[i] + ig * c.g(clip(wx(3, u) + rh(3, u, h)));
            next[i] = c.f(clip(wx(1, u) + rh(1, u, h) + p(1) * cell[i])) * c.h(cell[i]);
          } else {
            next[i] = c.f(clip(wx(0, u) + rh(0, u, h)));
          }
        }
        h = next;
        for (int64_t u = 0; u < H; u++)
          out.y[static_cast<size_t>((c.layout ? (b * T + t) * D + d : (t * D + d) * B + b) * H +
                                    u)] = h[static_cast<size_t>(u)];
      }
      for (int64_t u = 0; u < H; u++) {
        out.y_h[static_cast<size_t>(first_state + u)] = h[static_cast<size_t>(u)];
        out.y_c[static_cast<size_t>(first_state + u)] = cell[static_cast<size_t>(u)];
      }
    }
  return out;
}

inline void check_recurrent(const RecurrentCase& c) {
  const NodeCase node = recurrent_node(c);
  const auto got = run_node(node);
  const auto want = recurrent_reference(c, node.inputs);
  const auto compare = [&](const Tensor& t, const std::vector<double>& w) {
    EXPECT_EQ(t.dtype(), c.in_double ? DType::f64 : DType::f32);
    const auto values = t.to_doubles();
    ASSERT_EQ(values.size(), w.size());
    for (size_t i = 0; i < w.size(); i++)
      ASSERT_NEAR(values[i], w[i], c.in_double ? 1e-13 : 2e-5)
          << c.op << " " << c.direction << " hidden " << c.hidden << " element " << i;
  };
  compare(got[0], want.y);
  compare(got[1], want.y_h);
  if (c.op == "LSTM") compare(got[2], want.y_c);
}

// Checks every direction and layout, several sizes, and forms with and without bias, initial state,
// lengths and constant weights.
inline void check_recurrent_forms(RecurrentCase c) {
  for (const std::string direction : {"forward", "reverse", "bidirectional"})
    for (const int64_t layout : {0, 1})
      for (int form = 0; form < 16; form++) {
        c.direction = direction;
        c.layout = layout;
        c.bias = form & 1;
        c.initial = form & 2;
        c.lens = form & 4;
        c.constant_weights = form & 8;
        c.hidden = form % 3 == 0 ? 5 : form % 3 == 1 ? 16 : 37;
        c.batch = 1 + form % 6;
        check_recurrent(c);
      }
}

// Each thread takes some sequences, or some units of all sequences (kernels/recurrent.cpp). No bit
// may depend on the number of threads.
inline void check_recurrent_splits(RecurrentCase c) {
  for (const auto& [batch, hidden] : {std::pair<int64_t, int64_t>{2, 600}, {9, 37}, {9, 600}}) {
    c.batch = batch;
    c.hidden = hidden;
    const NodeCase node = recurrent_node(c);
    const auto g = build_node(node);
    ops::infer(*g->node);
    const auto one = ops::evaluate(*g->node, node.inputs);
    for (const int64_t threads : {2, 3, 8}) {
      const auto many = ops::evaluate(*g->node, node.inputs, threads);
      for (size_t i = 0; i < one.size(); i++)
        EXPECT_TRUE(one[i].same_as(many[i]))
            << c.op << " batch " << batch << " hidden " << hidden << " threads " << threads;
    }
  }
}

}  // namespace poprt::test
