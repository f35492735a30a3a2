// The phases of a transposed convolution.
//
// In one dimension, with weights w, stride s, dilation d and padding p, output o is the sum of w[t]
// * x[(o + p - t * d) / s] over the taps t for which this division has no remainder. So all outputs
// with the same remainder of o + p by s, a phase, have the same taps, and form a convolution of
// stride 1. Example: a kernel of 4, stride 2, padding 1.
//
//   outputs 0, 2, 4, ...: taps 3 1 of x[-1..0], x[0..1], ...
//   outputs 1, 3, 5, ...: taps 2 0 of x[0..1], x[1..2], ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace poprt::kernels {

struct TransposedAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool operator==(const TransposedAxis&) const = default;
};

// One phase of one axis. Tap i of the convolution is tap last - i * step of the kernel.
struct AxisPhase {
  int64_t first = 0;  // output of the first result; further ones are a stride apart
  int64_t out = 0;    // results
  int64_t taps = 0, last = 0, step = 1;
  int64_t pad = 0, dilation = 1;  // of the convolution
};

// Larger strides are refused, because each phase is planned separately.
inline constexpr int64_t kMostPhases = 64;

// The phase of output `first`.
inline AxisPhase axis_phase(const TransposedAxis& a, int64_t first) {
  AxisPhase p;
  p.first = first;
  p.out = (a.out - first - 1) / a.stride + 1;
  const int64_t common = std::gcd(a.stride, a.dilation);
  p.step = a.stride / common;
  p.dilation = a.dilation / common;
  int64_t tap = 0;
  while (tap < p.step && (first + a.pad - tap * a.dilation) % a.stride != 0) tap++;
  if (tap == p.step || tap >= a.kernel) return p;  // no tap: the result is the bias
  p.taps = (a.kernel - tap - 1) / p.step + 1;
  p.last = tap + (p.taps - 1) * p.step;
  // For result 0, tap 0 of the convolution reads input -pad.
  p.pad = -((first + a.pad - p.last * a.dilation) / a.stride);
  return p;
}

inline std::vector<AxisPhase> axis_phases(const TransposedAxis& a) {
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(a.stride, a.out); first++)
    phases.push_back(axis_phase(a, first));
  return phases;
}

// The same taps for all phases of an axis, for dilation 1: results are groups of `stride` outputs,
// the first of which may begin before output 0. Tap i of phase f is tap f + (taps - 1 - i) * stride
// of the kernel, or zero. In the example above, result g reads x[g - 1] and x[g], and is the group
// of the outputs 2 g - 1 (taps 2 0) and 2 g (taps 3 1).
inline AxisPhase merged_phase(const TransposedAxis& a) {
  AxisPhase p;
  const int64_t begin = a.pad / a.stride;
  p.first = begin * a.stride - a.pad;
  p.out = (a.out - 1 + a.pad) / a.stride - begin + 1;
  p.step = a.stride;
  p.taps = (a.kernel - 1) / a.stride + 1;
  p.pad = p.taps - 1 - begin;
  return p;
}

}  // namespace poprt::kernels
