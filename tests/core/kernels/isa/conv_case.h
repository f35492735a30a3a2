// Random convolutions on channel-blocked floats and a plain loop in double, for tables of kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/common/instruction_set.h"
#include "kernels/common/pack_conv.h"
#include "kernels/isa/conv.h"
#include "support/uniform.h"

namespace poprt::kernels::test {

// Returns the tables that this CPU can run. `all` contains a table of kernels for each instruction
// set, the smallest set first. POPRT_BUILDS(conv) passes isa::conv_baseline, conv_avx2 and others.
template <class Table>
std::vector<const Table*> builds_of(std::initializer_list<const Table*> all) {
  std::vector<const Table*> can;
  int isa = static_cast<int>(Isa::baseline);
  for (const Table* t : all)
    if (isa++ <= static_cast<int>(cpu_isa())) can.push_back(t);
  return can;
}
#if defined(POPRT_HAS_ISA_avx512)
#define POPRT_BUILDS(name) \
  builds_of({&isa::name##_baseline, &isa::name##_avx2, &isa::name##_avx512})
#else
#define POPRT_BUILDS(name) builds_of({&isa::name##_baseline})
#endif

// Groups, c and m have the meaning of ONNX; those of isa::ConvShape have the meaning of the kernel.
struct ConvCase {
  int64_t n = 1, groups = 1, c = 16, m = 16;  // channels of one group
  isa::ConvShape window{};                    // sizes, kernel, strides, pads, dilations
  std::vector<float> x, w, bias, residual;    // plain: [n][groups * c][pixels] and so on

  int64_t channels() const { return groups * c; }
  int64_t filters() const { return groups * m; }

  // Computes the sizes of the output from the other fields, with `end` more padding at the end of
  // each axis, and fills the operands with random numbers.
  void finish(std::mt19937& rng, int64_t end) {
    isa::ConvShape& s = window;
    const auto out = [&](int64_t in, int64_t k, int64_t stride, int64_t pad, int64_t dilation) {
      return std::max<int64_t>(1, (in + pad + end - (k - 1) * dilation - 1) / stride + 1);
    };
    s.od = s.kd == 1 && s.d == 1 ? 1 : out(s.d, s.kd, s.stride_d, s.pad_d, s.dilation_d);
    s.oh = out(s.h, s.kh, s.stride_h, s.pad_h, s.dilation_h);
    s.ow = out(s.w, s.kw, s.stride_w, s.pad_w, s.dilation_w);
    const auto random = [&](int64_t count) {
      std::vector<float> v(static_cast<size_t>(count));
      const poprt::test::Uniform d{-1, 1};
      for (float& f : v) f = d(rng);
      return v;
    };
    x = random(n * channels() * s.d * s.h * s.w);
    w = random(filters() * c * s.kd * s.kh * s.kw);
    bias = random((filters() + 15) / 16 * 16);
    residual = random(n * filters() * s.od * s.oh * s.ow);
  }

  // [n][planes][pixels] in blocks of 16; lanes past the last channel hold `rest`.
  std::vector<float> blocked(const std::vector<float>& plain, int64_t planes, int64_t pixels,
                             float rest = 0) const {
    const int64_t blocks = (planes + 15) / 16;
    std::vector<float> to(static_cast<size_t>(n * blocks * pixels * 16), rest);
    for (int64_t i = 0; i < n * planes * pixels; i++) {
      const int64_t pixel = i % pixels, plane = i / pixels % planes, image = i / pixels / planes;
      to[static_cast<size_t>(((image * blocks + plane / 16) * pixels + pixel) * 16 + plane % 16)] =
          plain[static_cast<size_t>(i)];
    }
    return to;
  }

  ConvWeights weights() const { return {w, groups, m, c, window.kd * window.kh, window.kw}; }

  // Compares y [n][blocks of filters][pixels][16] with relu(conv + bias + residual). An error may
  // be `products` times the sum of the magnitudes of the terms, and `result` times the result.
  void expect(const std::vector<float>& y, double products = 2e-6, double result = 0) const;

  std::string text() const {
    const isa::ConvShape& s = window;
    std::string t = "n g c m d h w kd kh kw strides pads dilations:";
    for (const int64_t v :
         {n, groups, c, m, s.d, s.h, s.w, s.kd, s.kh, s.kw, s.stride_d, s.stride_h, s.stride_w,
          s.pad_d, s.pad_h, s.pad_w, s.dilation_d, s.dilation_h, s.dilation_w})
      t += " " + std::to_string(v);
    return t;
  }

  // Returns the arguments of a kernel: relu, and the numbers of blocks.
  isa::ConvShape shape(int64_t kernel_groups, int64_t kernel_c, int64_t kernel_m) const {
    isa::ConvShape s = window;
    s.batch = n;
    s.groups = kernel_groups;
    s.c = kernel_c;
    s.c_blocks = (kernel_c + 15) / 16;
    s.oc_blocks = (kernel_m + 15) / 16;
    s.epilogue.activation = 1;
    s.epilogue.mode = isa::Epilogue::clamped;
    s.epilogue.low = 0;
    s.epilogue.high = 1e30f;
    return s;
  }
};

inline int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

}  // namespace poprt::kernels::test
