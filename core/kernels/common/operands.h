// Checked access to the operands of a call, for prepare(). calls::decode() reads the other
// arguments.
#pragma once

#include <initializer_list>

#include "base/checked.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

class Operands {
 public:
  Operands(std::string_view kernel, const Call& call, size_t count)
      : kernel_(kernel), operands_(call.operands) {
    expect(operands_.size() == count, kernel, "the number of operands is wrong");
  }

  void check(bool ok, std::string_view what) const { expect(ok, kernel_, what); }
  DType dtype(size_t operand) const { return operands_[operand].dtype; }
  bool has(size_t operand) const { return operands_[operand].present; }
  static int64_t product(std::initializer_list<int64_t> dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count = checked_mul(count, d);
    return count;
  }
  // Checks that the operand has at least product(dims) elements of `dtype`. Throws
  // invalid_argument, or out_of_range if the product overflows.
  void needs(size_t operand, DType dtype, std::initializer_list<int64_t> dims) const {
    const Operand& o = operands_[operand];
    check(o.present && o.dtype == dtype && dtype_bytes(dtype, product(dims)) <= o.bytes,
          "an operand is missing, too small or of another dtype");
  }
  // The same, but the operand may be omitted.
  void needs_if_present(size_t operand, DType dtype, std::initializer_list<int64_t> dims) const {
    if (has(operand)) needs(operand, dtype, dims);
  }
  [[noreturn]] void fail_dtype(size_t operand) const {
    fail(ErrorCode::unimplemented, "kernel {}: element type {}", kernel_,
         dtype_name(dtype(operand)));
  }

 private:
  std::string_view kernel_;
  std::span<const Operand> operands_;
};

}  // namespace poprt::kernels
