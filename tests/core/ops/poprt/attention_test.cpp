#include <cmath>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

struct Case {
  int64_t batch, heads, size, queries, keys;
  bool causal;
  int mask;  // 0 none, 1 f32 [B,1,1,T], 2 bool [S,T], 3 f32 [B,H,S,T]
};

void add_case(SampleList& samples, const Case& c) {
  const auto [batch, heads, size, queries, keys, causal, mask] = c;
  const int64_t width = heads * size;
  auto& s = samples.add("Attention", 1, "poprt");
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  // Offsets: q at 3, k at 0, v after k in the columns of the same tensor.
  s.input(random_f32({batch, queries, width + 5}, -2, 2, 1))
      .input(random_f32({batch, keys, 2 * width}, -2, 2, 2))
      .input(random_f32({batch, keys, 2 * width}, -2, 2, 3));
  if (mask == 1) s.input(random_f32({batch, 1, 1, keys}, -3, 3, 4));
  if (mask == 2) {
    Tensor t = Tensor::zeros(DType::boolean, {queries, keys});
    for (int64_t i = 0; i < queries * keys; i++)
      static_cast<uint8_t*>(t.mutable_data())[i] = i * 7 % 3 != 0;
    s.input(t);
  }
  if (mask == 3) s.input(random_f32({batch, heads, queries, keys}, -3, 3, 5));
  s.attr("heads", heads)
      .attr("head_size", size)
      .attr("scale", scale)
      .attr("q_offset", int64_t{3})
      .attr("v_offset", width)
      .attr("causal", int64_t{causal})
      .attr("mask_value", -1e4f)
      .shape({batch, queries, width})
      .tolerance(1e-4, 1e-5)
      .reference([=](const SampleValues& in) {
        std::vector<double> out;
        for (int64_t b = 0; b < batch; b++)
          for (int64_t i = 0; i < queries; i++)
            for (int64_t h = 0; h < heads; h++) {
              std::vector<double> w(static_cast<size_t>(keys), 0.0);
              double top = -1e300, total = 0;
              const int64_t seen = causal ? std::min(keys, i + keys - queries + 1) : keys;
              for (int64_t t = 0; t < seen; t++) {
                double dot = 0;
                for (int64_t d = 0; d < size; d++)
                  dot +=
                      in[0]
                        [static_cast<size_t>((b * queries + i) * (width + 5) + 3 + h * size + d)] *
                      in[1][static_cast<size_t>((b * keys + t) * 2 * width + h * size + d)];
                dot *= static_cast<double>(scale);
                if (mask == 1) dot += in[3][static_cast<size_t>(b * keys + t)];
                if (mask == 2 && in[3][static_cast<size_t>(i * keys + t)] == 0) dot = -1e4;
                if (mask == 3)
                  dot += in[3][static_cast<size_t>(((b * heads + h) * queries + i) * keys + t)];
                w[static_cast<size_t>(t)] = dot;
                top = std::max(top, dot);
              }
              for (int64_t t = 0; t < seen; t++)
                total += w[static_cast<size_t>(t)] = std::exp(w[static_cast<size_t>(t)] - top);
              for (int64_t d = 0; d < size; d++) {
                double y = 0;
                for (int64_t t = 0; t < seen; t++)
                  y +=
                      w[static_cast<size_t>(t)] / total *
                      in[2][static_cast<size_t>((b * keys + t) * 2 * width + width + h * size + d)];
                out.push_back(y);
              }
            }
        return SampleValues{out};
      });
}

OPS_SAMPLE(FusedAttention) {
  add_case(samples, {2, 3, 16, 7, 7, false, 0});
  add_case(samples, {1, 2, 64, 128, 128, false, 1});
  add_case(samples, {1, 2, 64, 64, 64, true, 0});
  add_case(samples, {2, 1, 80, 5, 70, false, 2});
  add_case(samples, {1, 3, 20, 200, 33, false, 3});
  add_case(samples, {1, 2, 8, 3, 19, true, 1});
  add_case(samples, {1, 1, 1, 1, 1, false, 0});
  // Few queries are done without panels: heads and keys that are no multiple of 16.
  add_case(samples, {2, 3, 20, 1, 37, false, 1});
  add_case(samples, {1, 2, 80, 2, 50, true, 3});
  add_case(samples, {1, 2, 64, 2, 16, false, 2});
}

}  // namespace
}  // namespace poprt::ops::sampled
