// Operators that read images at positions in tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

// Plane [h, w] read between its elements, 0 outside.
double bilinear(const double* plane, int h, int w, double y, double x) {
  double sum = 0;
  for (int r = 0; r < h; r++)
    for (int c = 0; c < w; c++)
      sum += plane[r * w + c] * std::max(0.0, 1 - std::fabs(y - r)) *
             std::max(0.0, 1 - std::fabs(x - c));
  return sum;
}

OPS_SAMPLE(GridSample) {
  samples.add("GridSample", 16)
      .input(random_f32({1, 2, 3, 4}))
      .input(random_f32({1, 5, 2, 2}, -1.2f, 1.2f, 2))
      .shape({1, 2, 5, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t c = 0; c < 2; c++)
          for (size_t p = 0; p < 10; p++)
            y.push_back(bilinear(in[0].data() + c * 12, 3, 4, ((in[1][p * 2 + 1] + 1) * 3 - 1) / 2,
                                 ((in[1][p * 2] + 1) * 4 - 1) / 2));
        return SampleValues{y};
      });
  samples.add("GridSample", 16)
      .input(random_f32({1, 1, 3, 4}))
      .input(random_f32({1, 4, 4, 2}, -3, 3, 2))
      .attr("mode", std::string("nearest"))
      .attr("padding_mode", std::string("border"))
      .attr("align_corners", int64_t{1})
      .shape({1, 1, 4, 4})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t p = 0; p < 16; p++) {
          const double r = std::clamp((in[1][p * 2 + 1] + 1) / 2 * 2, 0.0, 2.0);
          const double c = std::clamp((in[1][p * 2] + 1) / 2 * 3, 0.0, 3.0);
          y.push_back(in[0][static_cast<size_t>(std::nearbyint(r) * 4 + std::nearbyint(c))]);
        }
        return SampleValues{y};
      });
}

OPS_SAMPLE(AffineGrid) {
  samples.add("AffineGrid", 20)
      .input(random_f32({2, 2, 3}))
      .constant_input(Tensor::of<int64_t>({4}, {2, 1, 3, 4}))
      .shape({2, 3, 4, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t n = 0; n < 2; n++)
          for (int i = 0; i < 12; i++)
            for (size_t r = 0; r < 2; r++) {
              const double* t = in[0].data() + n * 6 + r * 3;
              y.push_back(t[0] * ((2.0 * (i % 4) + 1) / 4 - 1) +
                          t[1] * ((2.0 * (i / 4) + 1) / 3 - 1) + t[2]);
            }
        return SampleValues{y};
      });
}

OPS_SAMPLE(AffineGridOfVolumes) {
  samples.add("AffineGrid", 20)
      .input(random_f32({2, 3, 4}))
      .constant_input(Tensor::of<int64_t>({5}, {2, 1, 2, 3, 4}))
      .attr("align_corners", int64_t{1})
      .shape({2, 2, 3, 4, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t n = 0; n < 2; n++)
          for (int i = 0; i < 24; i++)
            for (size_t r = 0; r < 3; r++) {
              const double* t = in[0].data() + n * 12 + r * 4;
              y.push_back(t[0] * (2.0 * (i % 4) / 3 - 1) + t[1] * (i / 4 % 3 - 1.0) +
                          t[2] * (2.0 * (i / 12) - 1) + t[3]);
            }
        return SampleValues{y};
      });
}

OPS_SAMPLE(RoiAlign) {
  // One sample in the middle of each of four bins of one region.
  samples.add("RoiAlign", 16)
      .input(random_f32({1, 1, 6, 6}))
      .input(Tensor::of<float>({1, 4}, {1, 1, 5, 5}))
      .input(Tensor::of<int64_t>({1}, {0}))
      .attr("output_height", int64_t{2})
      .attr("output_width", int64_t{2})
      .attr("sampling_ratio", int64_t{1})
      .shape({1, 1, 2, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        const std::vector<double>& roi = in[1];
        for (const double r : {0.25, 0.75})
          for (const double c : {0.25, 0.75})
            y.push_back(bilinear(in[0].data(), 6, 6, roi[1] - 0.5 + r * (roi[3] - roi[1]),
                                 roi[0] - 0.5 + c * (roi[2] - roi[0])));
        return SampleValues{y};
      });
  // Regions inside of two images, 2 x 2 samples in each of 2 x 3 bins.
  samples.add("RoiAlign", 16)
      .input(random_f32({2, 2, 6, 7}))
      .input(Tensor::of<float>({3, 4},
                               {0.7f, 1.1f, 9.3f, 7.9f, 4.2f, 2.3f, 8.1f, 9.7f, 1, 3, 11.4f, 5.6f}))
      .input(Tensor::of<int64_t>({3}, {1, 0, 1}))
      .attr("coordinate_transformation_mode", std::string("output_half_pixel"))
      .attr("output_height", int64_t{2})
      .attr("output_width", int64_t{3})
      .attr("sampling_ratio", int64_t{2})
      .attr("spatial_scale", 0.5f)
      .shape({3, 2, 2, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t r = 0; r < 3; r++)
          for (size_t c = 0; c < 2; c++)
            for (int bin = 0; bin < 6; bin++) {
              const double* roi = in[1].data() + r * 4;
              const double* plane = in[0].data() + (static_cast<size_t>(in[2][r]) * 2 + c) * 42;
              const double h = std::max((roi[3] - roi[1]) / 2, 1.0) / 4,
                           w = std::max((roi[2] - roi[0]) / 2, 1.0) / 6;
              double sum = 0;
              for (int i = 0; i < 4; i++)
                sum += bilinear(plane, 6, 7, roi[1] / 2 + (bin / 3 * 2 + i / 2 + 0.5) * h,
                                roi[0] / 2 + (bin % 3 * 2 + i % 2 + 0.5) * w);
              y.push_back(sum / 4);
            }
        return SampleValues{y};
      });
}

// Regions that leave the image, small ones and a whole one, of more channels than are read at once;
// as many samples as a bin has pixels.
OPS_SAMPLE(RoiAlignOfManyChannels) {
  constexpr int kChannels = 37, kHeight = 40, kWidth = 33;
  samples.add("RoiAlign", 16)
      .input(random_f32({1, kChannels, kHeight, kWidth}))
      .input(Tensor::of<float>(
          {5, 4}, {-4, -3, 6, 9, 20, 30, 45, 47, 3, 3, 3.4f, 3.2f, 0, 0, 33, 40, 60, 60, 70, 80}))
      .input(Tensor::of<int64_t>({5}, {0, 0, 0, 0, 0}))
      .attr("output_height", int64_t{3})
      .attr("output_width", int64_t{2})
      .shape({5, kChannels, 3, 2})
      .reference([](const SampleValues& in) {
        const auto inside = [](double at, int size) { return at >= -1 && at <= size; };
        const auto clamped = [](double at, int size) { return std::clamp(at, 0.0, size - 1.0); };
        std::vector<double> y;
        for (size_t r = 0; r < 5; r++)
          for (size_t c = 0; c < kChannels; c++)
            for (int bin = 0; bin < 6; bin++) {
              const double* roi = in[1].data() + r * 4;
              const double h = (roi[3] - roi[1]) / 3, w = (roi[2] - roi[0]) / 2;
              const int rows = static_cast<int>(std::ceil(h)),
                        cols = static_cast<int>(std::ceil(w));
              double sum = 0;
              for (int i = 0; i < rows * cols; i++) {
                const double v = roi[1] - 0.5 + (bin / 2 + (i / cols + 0.5) / rows) * h;
                const double u = roi[0] - 0.5 + (bin % 2 + (i % cols + 0.5) / cols) * w;
                if (inside(v, kHeight) && inside(u, kWidth))
                  sum += bilinear(in[0].data() + c * kHeight * kWidth, kHeight, kWidth,
                                  clamped(v, kHeight), clamped(u, kWidth));
              }
              y.push_back(sum / (rows * cols));
            }
        return SampleValues{y};
      });
}

OPS_SAMPLE(MaxRoiPool) {
  samples.add("MaxRoiPool", 1)
      .input(random_f32({1, 2, 4, 4}))
      .input(Tensor::of<float>({1, 5}, {0, 0, 0, 3, 3}))
      .attr("pooled_shape", std::vector<int64_t>{2, 2})
      .shape({1, 2, 2, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t c = 0; c < 2; c++)
          for (size_t b = 0; b < 4; b++) {
            const double* at = in[0].data() + c * 16 + b / 2 * 8 + b % 2 * 2;
            y.push_back(std::max(std::max(at[0], at[1]), std::max(at[4], at[5])));
          }
        return SampleValues{y};
      });
}

OPS_SAMPLE(DeformConv) {
  samples.add("DeformConv", 19)
      .input(random_f32({1, 2, 4, 4}))
      .input(random_f32({3, 2, 2, 2}, -1, 1, 2))
      .input(random_f32({1, 8, 3, 3}, -1, 1, 3))
      .input(random_f32({3}, -1, 1, 4))
      .input(random_f32({1, 4, 3, 3}, 0, 1, 5))
      .shape({1, 3, 3, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t m = 0; m < 3; m++)
          for (size_t p = 0; p < 9; p++) {
            double sum = in[3][m];
            for (size_t c = 0; c < 2; c++)
              for (size_t t = 0; t < 4; t++)
                sum += in[1][(m * 2 + c) * 4 + t] * in[4][t * 9 + p] *
                       bilinear(in[0].data() + c * 16, 4, 4,
                                static_cast<double>(p / 3 + t / 2) + in[2][t * 18 + p],
                                static_cast<double>(p % 3 + t % 2) + in[2][t * 18 + 9 + p]);
            y.push_back(sum);
          }
        return SampleValues{y};
      });
}

// The second box covers most of the first; the third is apart from both.
const std::vector<float> kBoxes = {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 5, 5, 6, 6};
const std::vector<float> kBoxScores = {0.7f, 0.9f, 0.8f};

OPS_SAMPLE(NonMaxSuppression) {
  samples.add("NonMaxSuppression", 11)
      .constant_input(Tensor::of<float>({1, 3, 4}, kBoxes))
      .constant_input(Tensor::of<float>({1, 1, 3}, kBoxScores))
      .constant_input(Tensor::scalar(int64_t{10}))
      .constant_input(Tensor::scalar(0.5f))
      .shape({2, 3})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{0, 0, 1, 0, 0, 2}}; });
  // One row stays empty.
  samples.add("NonMaxSuppression", 1, "poprt")
      .input(Tensor::of<float>({1, 3, 4}, kBoxes))
      .input(Tensor::of<float>({1, 1, 3}, kBoxScores))
      .constant_input(Tensor::scalar(int64_t{10}))
      .constant_input(Tensor::scalar(0.5f))
      .shape({3, 3})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{0, 0, 1, 0, 0, 2, -1, -1, -1}}; });
}

OPS_SAMPLE(Col2Im) {
  samples.add("Col2Im", 18)
      .input(random_f32({1, 4, 4}))
      .constant_input(Tensor::of<int64_t>({2}, {3, 3}))
      .constant_input(Tensor::of<int64_t>({2}, {2, 2}))
      .shape({1, 1, 3, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y(9, 0);
        for (size_t t = 0; t < 4; t++)
          for (size_t b = 0; b < 4; b++) y[(t / 2 + b / 2) * 3 + t % 2 + b % 2] += in[0][t * 4 + b];
        return SampleValues{y};
      });
}

OPS_SAMPLE(Col2ImOfStrides) {
  // Element t of block b, which has 3 elements, is added to place 2 b - 1 + 2 t of a row of 7.
  samples.add("Col2Im", 18)
      .input(random_f32({2, 6, 3}))
      .constant_input(Tensor::of<int64_t>({1}, {7}))
      .constant_input(Tensor::of<int64_t>({1}, {3}))
      .attr("strides", std::vector<int64_t>{2})
      .attr("pads", std::vector<int64_t>{1, 1})
      .attr("dilations", std::vector<int64_t>{2})
      .shape({2, 2, 7})
      .reference([](const SampleValues& in) {
        std::vector<double> y(28, 0);
        for (size_t plane = 0; plane < 4; plane++)
          for (size_t t = 0; t < 3; t++)
            for (size_t b = 0; b < 3; b++) {
              const size_t at = 2 * b + 2 * t;  // one more than the place
              if (at >= 1 && at <= 7) y[plane * 7 + at - 1] += in[0][(plane * 3 + t) * 3 + b];
            }
        return SampleValues{y};
      });
}

OPS_SAMPLE(CenterCropPad) {
  samples.add("CenterCropPad", 18)
      .input(random_f32({5, 2}))
      .constant_input(Tensor::of<int64_t>({2}, {3, 5}))
      .shape({3, 5})
      .reference([](const SampleValues& in) {
        std::vector<double> y(15, 0);
        for (size_t r = 0; r < 3; r++)
          for (size_t c = 0; c < 2; c++) y[r * 5 + c + 1] = in[0][(r + 1) * 2 + c];
        return SampleValues{y};
      });
}

OPS_SAMPLE(MaxUnpool) {
  samples.add("MaxUnpool", 11)
      .input(random_f32({1, 1, 2, 2}))
      .input(Tensor::of<int64_t>({1, 1, 2, 2}, {5, 7, 8, 15}))
      .attr("kernel_shape", std::vector<int64_t>{2, 2})
      .attr("strides", std::vector<int64_t>{2, 2})
      .shape({1, 1, 4, 4})
      .reference([](const SampleValues& in) {
        std::vector<double> y(16, 0);
        for (size_t i = 0; i < 4; i++) y[static_cast<size_t>(in[1][i])] = in[0][i];
        return SampleValues{y};
      });
  // Indices are those of the result without output_shape, which leaves room at the end.
  samples.add("MaxUnpool", 11)
      .input(random_f32({1, 1, 2, 2}))
      .input(Tensor::of<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15}))
      .constant_input(Tensor::of<int64_t>({4}, {1, 1, 5, 6}))
      .attr("kernel_shape", std::vector<int64_t>{2, 2})
      .attr("strides", std::vector<int64_t>{2, 2})
      .shape({1, 1, 5, 6})
      .reference([](const SampleValues& in) {
        std::vector<double> y(30, 0);
        for (size_t i = 0; i < 4; i++) {
          const auto place = static_cast<size_t>(in[1][i]);
          y[place / 4 * 6 + place % 4] = in[0][i];
        }
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled
