// Compares integer products and convolutions of every sign, shape and kind of zero point with plain
// loops: all bits are equal.
#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

Tensor random_bytes(DType dtype, Shape shape, std::mt19937& rng) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  auto* p = static_cast<uint8_t*>(t.mutable_data());
  for (uint64_t i = 0; i < t.bytes(); i++) p[i] = static_cast<uint8_t>(rng());
  return t;
}

int32_t at(const Tensor& t, int64_t i) {
  if (!t.defined()) return 0;
  const auto v = static_cast<const uint8_t*>(t.data())[t.count() == 1 ? 0 : i];
  return t.dtype() == DType::s8 ? static_cast<int8_t>(v) : v;
}

TEST(MatMulInteger, EverySignShapeAndZeroPoint) {
  std::mt19937 rng(1);
  const int64_t shapes[][3] = {{1, 4, 64},  {7, 33, 65}, {13, 70, 1},
                               {70, 6, 70}, {3, 1, 5},   {6, 20, 128}};
  for (const auto& [m, k, n] : shapes)
    for (const DType a : {DType::u8, DType::s8})
      for (const DType b : {DType::u8, DType::s8})
        for (int zeros = 0; zeros < 3; zeros++)  // none, one element, one for each row or column
          for (const bool constant : {false, true}) {
            const Tensor x = random_bytes(a, {2, m, k}, rng), w = random_bytes(b, {k, n}, rng);
            Tensor xz, wz;
            if (zeros) xz = random_bytes(a, zeros == 1 ? Shape{} : Shape{m}, rng);
            if (zeros) wz = random_bytes(b, zeros == 1 ? Shape{} : Shape{n}, rng);
            if (zeros == 2 && constant) xz = random_bytes(a, {}, rng);
            const Tensor y =
                BuiltNode("MatMulInteger", "", {{x, false}, {w, constant}, {xz, true}, {wz, true}})
                    .run()[0];
            for (int64_t i = 0; i < 2 * m; i++)
              for (int64_t j = 0; j < n; j++) {
                int32_t want = 0;
                for (int64_t q = 0; q < k; q++)
                  want += (at(x, i * k + q) - at(xz, i % m)) * (at(w, q * n + j) - at(wz, j));
                ASSERT_EQ(y.values<int32_t>()[static_cast<size_t>(i * n + j)], want)
                    << m << 'x' << k << 'x' << n << " row " << i << " column " << j;
              }
          }
}

struct Window {
  int64_t n, groups, c, m, h, w, kh, kw, stride_h, stride_w, dilation, pad, pad_end;
};

void check_convolution(const Window& s, DType xt, DType wt, bool constant, bool filters,
                       uint32_t seed) {
  std::mt19937 rng(seed);
  const Tensor x = random_bytes(xt, {s.n, s.groups * s.c, s.h, s.w}, rng);
  const Tensor w = random_bytes(wt, {s.groups * s.m, s.c, s.kh, s.kw}, rng);
  const Tensor xz = random_bytes(xt, {}, rng);
  const Tensor wz = random_bytes(wt, filters ? Shape{s.groups * s.m} : Shape{}, rng);
  const Tensor y = BuiltNode("ConvInteger", "", {{x, false}, {w, constant}, {xz, true}, {wz, true}},
                             {{"group", s.groups},
                              {"strides", Ints{s.stride_h, s.stride_w}},
                              {"dilations", Ints{s.dilation, s.dilation}},
                              {"pads", Ints{s.pad, s.pad, s.pad_end, s.pad_end}}})
                       .run()[0];
  const int64_t oh = y.shape()[2], ow = y.shape()[3];
  for (int64_t i = 0; i < y.count(); i++) {
    const int64_t ox = i % ow, oy = i / ow % oh, f = i / ow / oh % (s.groups * s.m),
                  b = i / ow / oh / (s.groups * s.m);
    int32_t want = 0;
    for (int64_t c = 0; c < s.c; c++)
      for (int64_t ky = 0; ky < s.kh; ky++)
        for (int64_t kx = 0; kx < s.kw; kx++) {
          const int64_t iy = oy * s.stride_h - s.pad + ky * s.dilation,
                        ix = ox * s.stride_w - s.pad + kx * s.dilation;
          if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
          const int64_t channel = b * s.groups * s.c + f / s.m * s.c + c;
          want += (at(x, (channel * s.h + iy) * s.w + ix) - at(xz, 0)) *
                  (at(w, ((f * s.c + c) * s.kh + ky) * s.kw + kx) - at(wz, f));
        }
    ASSERT_EQ(y.values<int32_t>()[static_cast<size_t>(i)], want)
        << "element " << i << " of " << shape_string(y.shape());
  }
}

TEST(ConvInteger, EveryWindowSignAndZeroPoint) {
  const Window windows[] = {
      {1, 1, 5, 7, 9, 11, 3, 3, 1, 1, 1, 1, 1},    // channels that are no multiple of four
      {2, 2, 4, 6, 8, 70, 1, 1, 1, 1, 1, 0, 0},    // more than a panel of columns
      {1, 1, 3, 2, 12, 13, 3, 2, 2, 1, 1, 1, 0},   // rows strided, columns not
      {1, 1, 6, 13, 15, 31, 3, 3, 2, 2, 1, 1, 1},  // gathered
      {1, 1, 8, 3, 14, 14, 3, 3, 1, 1, 2, 2, 2},   // dilated
      {2, 6, 1, 1, 9, 20, 3, 3, 1, 1, 1, 1, 1},    // one channel a group
      {1, 4, 1, 2, 12, 12, 3, 3, 2, 2, 1, 1, 0},   // two filters each, strided
      {1, 2, 1, 1, 12, 40, 5, 5, 3, 3, 1, 0, 2},
      {1, 70, 1, 1, 9, 20, 5, 3, 1, 1, 1, 1, 1},  // more channels than a panel, higher than wide
      {1, 70, 1, 1, 9, 20, 1, 5, 1, 1, 1, 0, 0},
  };
  uint32_t seed = 1;
  for (const Window& w : windows)
    for (const DType x : {DType::u8, DType::s8})
      for (const DType k : {DType::u8, DType::s8})
        for (const bool constant : {false, true}) {
          check_convolution(w, x, k, constant, seed % 3 == 0, seed);
          seed++;
        }
}

}  // namespace
}  // namespace poprt::ops
