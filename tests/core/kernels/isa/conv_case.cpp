#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels::test {

void ConvCase::expect(const std::vector<float>& y, double products, double result) const {
  const isa::ConvShape& s = window;
  const int64_t out = s.od * s.oh * s.ow, in = s.d * s.h * s.w, taps = s.kd * s.kh * s.kw;
  const int64_t blocks = (filters() + 15) / 16;
  for (int64_t i = 0; i < n * filters() * out; i++) {
    const int64_t at = i % out, filter = i / out % filters(), image = i / out / filters();
    const int64_t ox = at % s.ow, oy = at / s.ow % s.oh, oz = at / s.ow / s.oh;
    double sum = static_cast<double>(bias[static_cast<size_t>(filter)]) +
                 static_cast<double>(residual[static_cast<size_t>(i)]);
    double magnitude = 2;
    for (int64_t tap = 0; tap < taps; tap++) {
      const int64_t iz = oz * s.stride_d - s.pad_d + tap / s.kw / s.kh * s.dilation_d;
      const int64_t iy = oy * s.stride_h - s.pad_h + tap / s.kw % s.kh * s.dilation_h;
      const int64_t ix = ox * s.stride_w - s.pad_w + tap % s.kw * s.dilation_w;
      if (iz < 0 || iz >= s.d || iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
      for (int64_t channel = 0; channel < c; channel++) {
        const int64_t plane = image * channels() + filter / m * c + channel;
        const double p =
            static_cast<double>(x[static_cast<size_t>(plane * in + (iz * s.h + iy) * s.w + ix)]) *
            static_cast<double>(w[static_cast<size_t>((filter * c + channel) * taps + tap)]);
        sum += p;
        magnitude += std::abs(p);
      }
    }
    const float got =
        y[static_cast<size_t>(((image * blocks + filter / 16) * out + at) * 16 + filter % 16)];
    sum = std::max(sum, 0.0);
    ASSERT_NEAR(static_cast<double>(got), sum, products * magnitude + result * sum)
        << "image " << image << " filter " << filter << " at " << oz << " " << oy << " " << ox;
  }
}

}  // namespace poprt::kernels::test
