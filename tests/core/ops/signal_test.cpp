// Transforms and windows.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

constexpr double kPi = std::numbers::pi;

std::complex<double> term(const std::vector<double>& x, size_t k, double sign) {
  std::complex<double> sum;
  for (size_t i = 0; i < x.size(); i++)
    sum += x[i] * std::polar(1.0, sign * 2 * kPi * static_cast<double>(i * k) /
                                      static_cast<double>(x.size()));
  return sum;
}

OPS_SAMPLE(DFT) {
  for (const int64_t n : {8, 6, 45, 100})  // the last two are convolved with a chirp
    samples.add("DFT", 17)
        .input(random_f32({1, n, 1}))
        .attr("onesided", int64_t{1})
        .shape({1, n / 2 + 1, 2})
        .tolerance(1e-5, 1e-5)
        .reference([](const SampleValues& in) {
          std::vector<double> y;
          for (size_t k = 0; k <= in[0].size() / 2; k++) {
            const auto v = term(in[0], k, -1);
            y.insert(y.end(), {v.real(), v.imag()});
          }
          return SampleValues{y};
        });
}

OPS_SAMPLE(InverseDFT) {
  for (const int64_t n : {16, 51})
    samples.add("DFT", 17)
        .input(random_f32({1, n, 2}))
        .attr("inverse", int64_t{1})
        .shape({1, n, 2})
        .tolerance(1e-5, 1e-5)
        .reference([](const SampleValues& in) {
          const size_t count = in[0].size() / 2;
          std::vector<double> re, im, y;
          for (size_t i = 0; i < count; i++) {
            re.push_back(in[0][2 * i]);
            im.push_back(in[0][2 * i + 1]);
          }
          for (size_t k = 0; k < count; k++) {
            const auto v = (term(re, k, 1) + std::complex<double>(0, 1) * term(im, k, 1)) /
                           static_cast<double>(count);
            y.insert(y.end(), {v.real(), v.imag()});
          }
          return SampleValues{y};
        });
}

OPS_SAMPLE(STFT) {
  samples.add("STFT", 17)
      .input(random_f32({1, 12, 1}))
      .constant_input(Tensor::scalar(int64_t{3}))
      .constant_input(random_f32({6}, 0, 1, 2))
      .shape({1, 3, 4, 2})
      .tolerance(1e-5, 1e-5)
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t f = 0; f < 3; f++) {
          std::vector<double> frame;
          for (size_t i = 0; i < 6; i++) frame.push_back(in[0][f * 3 + i] * in[2][i]);
          for (size_t k = 0; k < 4; k++) {
            const auto v = term(frame, k, -1);
            y.insert(y.end(), {v.real(), v.imag()});
          }
        }
        return SampleValues{y};
      });
}

void add_window(SampleList& samples, const char* op, double a0, double a1, double a2) {
  samples.add(op, 17)
      .constant_input(Tensor::scalar(int64_t{7}))
      .attr("periodic", int64_t{0})
      .shape({7})
      .dtype(DType::f32)
      .reference([=](const SampleValues&) {
        std::vector<double> y;
        for (int i = 0; i < 7; i++)
          y.push_back(a0 - a1 * std::cos(kPi * i / 3) + a2 * std::cos(2 * kPi * i / 3));
        return SampleValues{y};
      });
}

OPS_SAMPLE(Windows) {
  add_window(samples, "HannWindow", 0.5, 0.5, 0);
  add_window(samples, "HammingWindow", 25.0 / 46, 21.0 / 46, 0);
  add_window(samples, "BlackmanWindow", 0.42, 0.5, 0.08);
}

OPS_SAMPLE(MelWeightMatrix) {
  samples.add("MelWeightMatrix", 17)
      .constant_input(Tensor::scalar(int64_t{1}))
      .constant_input(Tensor::scalar(int64_t{20}))
      .constant_input(Tensor::scalar(int64_t{8000}))
      .constant_input(Tensor::scalar(0.0f))
      .constant_input(Tensor::scalar(4000.0f))
      .shape({11, 1})
      .dtype(DType::f32)
      .reference([](const SampleValues&) {
        const double high = 2595 * std::log10(1 + 4000 / 700.0);
        const auto at = [&](double i) {
          return std::floor(21 * 700 * (std::pow(10, i * high / 3 / 2595) - 1) / 8000);
        };
        std::vector<double> y(11, 0);
        for (size_t i = 0; i < 11; i++) {
          const auto x = static_cast<double>(i);
          if (x >= at(0) && x <= at(1)) y[i] = (x - at(0)) / (at(1) - at(0));
          if (x >= at(1) && x < at(2)) y[i] = (at(2) - x) / (at(2) - at(1));
        }
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled
