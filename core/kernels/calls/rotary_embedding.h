// rotary_embedding: operands [x, cos, sin, positions? [batch, tokens] (s64), y], f32 or f64. A row
// of `head` elements is at (b, head, token) times the strides. Its first `rotated` elements form
// pairs (i, i + rotated / 2), or (2i, 2i + 1) if interleaved. Each pair is rotated by the angle in
// row positions[b, token] of cos and sin (without positions, row b * tokens + token). Positions
// outside the table are clamped.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct RotaryEmbedding {
  static constexpr std::string_view kKernel = "rotary_embedding";

  int64_t batch = 0;
  int64_t heads = 0;
  int64_t tokens = 0;
  int64_t head = 0;
  int64_t rotated = 0;  // even, at most head
  bool interleaved = false;
  int64_t table = 0;  // rows of cos and sin
  int64_t sb = 0;     // stride of a batch, in elements
  int64_t sh = 0;     // stride of a head
  int64_t st = 0;     // stride of a token

  void fields(Fields& f) {
    f.size("batch", batch);
    f.size("heads", heads);
    f.size("tokens", tokens);
    f.size("head", head);
    f.size("rotated", rotated);
    f.flag("interleaved", interleaved);
    f.size("table", table);
    f.size("sb", sb);
    f.size("sh", sh);
    f.size("st", st);
    f.require(rotated % 2 == 0 && rotated <= head,
              "the rotated size must be even and at most the head size");
  }
};

}  // namespace poprt::kernels::calls
