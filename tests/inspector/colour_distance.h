// Perceived differences of colours, for tests of palettes.
//
// Matrices of colour vision deficiencies: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on
// Visualization and Computer Graphics 15(6), 2009, table 1, severity 1.0, for linear RGB.
// Difference: CIEDE2000, as in G. Sharma, W. Wu, E. N. Dalal, "The CIEDE2000 Color-Difference
// Formula: Implementation Notes", Color Research and Application 30(1), 2005.
// Contrast: Web Content Accessibility Guidelines 2.1, "contrast ratio".
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace poprt::inspector {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

enum class Vision { normal, protanopia, deuteranopia, tritanopia };
inline constexpr std::array kVisions = {Vision::normal, Vision::protanopia, Vision::deuteranopia,
                                        Vision::tritanopia};
inline constexpr const char* kVisionNames[] = {"normal", "protanopia", "deuteranopia",
                                               "tritanopia"};

inline Triple times(const Matrix& m, const Triple& v) {
  Triple out{};
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < 3; k++) out[i] += m[i][k] * v[k];
  return out;
}

inline Triple linear_rgb(uint32_t rgb) {
  Triple out{};
  for (size_t i = 0; i < 3; i++) {
    const double c = ((rgb >> (16 - 8 * i)) & 255) / 255.0;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

inline Triple seen_by(Vision vision, const Triple& rgb) {
  static constexpr Matrix kMatrices[] = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                         {{{0.152286, 1.052583, -0.204868},
                                           {0.114503, 0.786281, 0.099216},
                                           {-0.003882, -0.048116, 1.051998}}},
                                         {{{0.367322, 0.860646, -0.227968},
                                           {0.280085, 0.672501, 0.047413},
                                           {-0.011820, 0.042940, 0.968881}}},
                                         {{{1.255528, -0.076749, -0.178779},
                                           {-0.078411, 0.930809, 0.147602},
                                           {0.004733, 0.691367, 0.303900}}}};
  Triple out = times(kMatrices[static_cast<size_t>(vision)], rgb);
  for (double& c : out) c = std::clamp(c, 0.0, 1.0);
  return out;
}

// CIELAB for the white point D65.
inline Triple lab_of(const Triple& rgb) {
  static constexpr Matrix kToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                                     {0.2126729, 0.7151522, 0.0721750},
                                     {0.0193339, 0.1191920, 0.9503041}}};
  Triple f = times(kToXyz, rgb);
  constexpr Triple kWhite = {0.95047, 1, 1.08883};
  for (size_t i = 0; i < 3; i++) {
    const double t = f[i] / kWhite[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

inline double ciede2000(const Triple& p, const Triple& q) {
  constexpr double kPi = std::numbers::pi, kDegree = kPi / 180;
  const auto seventh = [](double c) {
    return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + 6103515625.0));
  };
  const double g = 1.5 - 0.5 * seventh((std::hypot(p[1], p[2]) + std::hypot(q[1], q[2])) / 2);
  const double a1 = p[1] * g, a2 = q[1] * g, c1 = std::hypot(a1, p[2]), c2 = std::hypot(a2, q[2]);
  const auto hue = [](double a, double b) {
    const double h = a == 0 && b == 0 ? 0 : std::atan2(b, a);
    return h < 0 ? h + 2 * std::numbers::pi : h;
  };
  const double h1 = hue(a1, p[2]), h2 = hue(a2, q[2]);
  double turn = c1 * c2 == 0 ? 0 : h2 - h1;
  if (turn > kPi) turn -= 2 * kPi;
  if (turn < -kPi) turn += 2 * kPi;
  const double dl = q[0] - p[0], dc = c2 - c1, dh = 2 * std::sqrt(c1 * c2) * std::sin(turn / 2);
  const double l = (p[0] + q[0]) / 2, c = (c1 + c2) / 2;
  double h = h1 + h2;
  if (c1 * c2 != 0)
    h = std::abs(h1 - h2) <= kPi ? h / 2 : (h < 2 * kPi ? h / 2 + kPi : h / 2 - kPi);
  const double t = 1 - 0.17 * std::cos(h - 30 * kDegree) + 0.24 * std::cos(2 * h) +
                   0.32 * std::cos(3 * h + 6 * kDegree) - 0.2 * std::cos(4 * h - 63 * kDegree);
  const double sl = 1 + 0.015 * std::pow(l - 50, 2) / std::sqrt(20 + std::pow(l - 50, 2)),
               sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  const double rotation =
      -2 * seventh(c) * std::sin(60 * kDegree * std::exp(-std::pow((h / kDegree - 275) / 25, 2)));
  return std::sqrt(std::pow(dl / sl, 2) + std::pow(dc / sc, 2) + std::pow(dh / sh, 2) +
                   rotation * dc / sc * dh / sh);
}

inline double distance_for(Vision vision, uint32_t a, uint32_t b) {
  return ciede2000(lab_of(seen_by(vision, linear_rgb(a))), lab_of(seen_by(vision, linear_rgb(b))));
}

// The least distance for normal vision and for the three deficiencies.
inline double least_distance(uint32_t a, uint32_t b) {
  double least = 1e9;
  for (const Vision vision : kVisions) least = std::min(least, distance_for(vision, a, b));
  return least;
}

// 1 for equal colours, 21 for black and white.
inline double contrast_ratio(uint32_t a, uint32_t b) {
  const auto luminance = [](uint32_t rgb) {
    const Triple l = linear_rgb(rgb);
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  };
  const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

}  // namespace poprt::inspector
