// Packed weights of the blocked convolution kernels. The input is ONNX weights [M, C/group, kh,
// kw]; missing output channels are zero. `packed` has exactly the size in the comment.
#pragma once

#include <cstdint>
#include <span>

#include "base/half.h"
#include "kernels/common/transposed_phases.h"

namespace poprt::kernels {

struct ConvWeights {
  std::span<const float> values;
  int64_t groups = 1;
  int64_t m = 0, c = 0;  // of one group
  int64_t kh = 0, kw = 0;
  int64_t blocks() const { return (m + 15) / 16; }
  int64_t taps() const { return kh * kw; }
  float at(int64_t group, int64_t oc, int64_t channel, int64_t tap) const {
    return values[static_cast<size_t>(((group * m + oc) * c + channel) * taps() + tap)];
  }
};

// [groups][block][(channel block, tap, channel)][16], groups * blocks * c * taps * 16 floats.
// `conv`, `conv_normalized`, `conv_dilated` and (with plain weights) `conv_winograd` use this form;
// `conv_stem` with (channel, tap) as channels of one tap; `conv_depthwise` and `conv_grouped` as
// one group of all output channels, where c is the number of channels of a group.
void pack_conv(const ConvWeights& w, std::span<float> packed);
// The same for conv_bf16, rounded to bf16: [groups][block][(channel block, tap, pair of
// channels)][16][2]. An odd number of channels is padded.
void pack_conv_bf16(const ConvWeights& w, std::span<bf16_t> packed);
// For conv_stem_bf16: [block][(tap, pair of channels)][16][2].
void pack_conv_stem_bf16(const ConvWeights& w, std::span<bf16_t> packed);

// For conv_transpose: converts ONNX ConvTranspose weights `values` [c, m, kh, kw] (groups = 1) to
// [tap][block][c][16].
void pack_conv_transpose(const ConvWeights& w, std::span<float> packed);

// For conv_transpose_phases: converts ONNX ConvTranspose weights `values` [groups * c, m, kh, kw]
// to the form of pack_conv() for the taps of each phase, one after the other. The phases of the
// width change fastest.
void pack_transposed_phases(const ConvWeights& w, const TransposedAxis& height,
                            const TransposedAxis& width, std::span<float> packed);
// The number of floats that pack_transposed_phases() writes.
int64_t transposed_floats(const ConvWeights& w, const TransposedAxis& height,
                          const TransposedAxis& width);
// The weights for one convolution of all phases (groups = 1): the form of pack_conv() for the
// common taps of all phases, whose output channels are [phase of height][phase of width][m].
void pack_merged_phases(const ConvWeights& w, const TransposedAxis& height,
                        const TransposedAxis& width, std::span<float> packed);

}  // namespace poprt::kernels
