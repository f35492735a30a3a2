// Checked access to what a program file asked of a kernel, for prepare().
#pragma once

#include <initializer_list>

#include "base/checked.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

class CallReader {
 public:
  CallReader(std::string_view kernel, const Call& call, size_t operands, size_t ints = 0,
             size_t floats = 0)
      : kernel_(kernel), call_(call) {
    expect(call.operands.size() == operands && call.ints.size() >= ints &&
               call.floats.size() >= floats,
           kernel, "another number of operands, integers or floats was expected");
  }

  void check(bool ok, std::string_view what) const { expect(ok, kernel_, what); }
  int64_t integer(size_t i) const { return call_.ints[i]; }
  bool flag(size_t i) const { return call_.ints[i] != 0; }
  // Between 0 and 2^40.
  int64_t size(size_t i, int64_t least = 0) const {
    const int64_t v = call_.ints[i];
    check(v >= least && v < (int64_t{1} << 40), "an integer is out of range");
    return v;
  }
  float real(size_t i) const { return call_.floats[i]; }
  DType dtype(size_t operand) const { return call_.operands[operand].dtype; }
  bool has(size_t operand) const { return call_.operands[operand].present; }
  static int64_t product(std::initializer_list<int64_t> dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count = checked_mul(count, d);
    return count;
  }
  // Operand i holds at least product(dims) elements of `dtype`.
  void needs(size_t operand, DType dtype, std::initializer_list<int64_t> dims) const {
    const Operand& o = call_.operands[operand];
    check(o.present && o.dtype == dtype && dtype_bytes(dtype, product(dims)) <= o.bytes,
          "an operand is missing, too small or of another dtype");
  }
  // Same, or it is omitted.
  void may(size_t operand, DType dtype, std::initializer_list<int64_t> dims) const {
    if (has(operand)) needs(operand, dtype, dims);
  }
  [[noreturn]] void fail_dtype(size_t operand) const {
    fail(ErrorCode::unimplemented, "kernel {}: element type {}", kernel_,
         dtype_name(dtype(operand)));
  }

 private:
  std::string_view kernel_;
  const Call& call_;
};

}  // namespace poprt::kernels
