// matmul: operands [a [m, k], b, bias? [n], residual? [m, n], y [m, n]], f32 and dense. y = act(a b
// + bias + residual), or act(a b + bias) + residual. b is packed in panels of 48 columns
// (isa/gemm.h); bias has room for whole panels. A batch of products has one b after the other, and
// the residual and y are [batch, m, n].
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/epilogue.h"

namespace poprt::kernels::calls {

struct Matmul {
  static constexpr std::string_view kKernel = "matmul";

  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Epilogue epilogue;
  int64_t batch = 1;
  int64_t a_stride = 0;  // floats between the matrices a of a batch, or 0 if all have the same

  void fields(Fields& f) {
    f.size("m", m);
    f.size("n", n);
    f.size("k", k);
    epilogue.fields(f);
    if (!f.has_optional(batch != 1)) return;
    f.extent("batch", batch);
    f.size("a_stride", a_stride);
  }
};

}  // namespace poprt::kernels::calls
