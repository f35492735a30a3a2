// matmul_generic (calls/matmul_generic.h, common/strided_matmul.h). A task is one row, or
// kPlainRows rows if the rows of b are dense and of f64 or of wide integers.
#include <algorithm>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/matmul_generic.h"
#include "kernels/common/strided_matmul.h"
#include "kernels/isa/matmul_plain.h"

namespace poprt::kernels::matmul_generic_kernel {
namespace {

template <class T>
struct Arithmetic {
  using Sum = T;
  static T get(T v) { return v; }
  static T put(T v) { return v; }
  static T scale(T v, float by) { return v * static_cast<T>(by); }
};
template <class T>
  requires std::is_integral_v<T>
struct Arithmetic<T> {
  using Sum = std::make_unsigned_t<T>;
  static Sum get(T v) { return static_cast<Sum>(v); }
  static T put(Sum v) { return static_cast<T>(v); }
  static Sum scale(Sum v, float by) {
    if (by == 1) return v;
    return static_cast<Sum>(
        saturate_cast<int64_t>(static_cast<double>(static_cast<T>(v)) * static_cast<double>(by)));
  }
};
struct HalfArithmetic {
  using Sum = float;
  static float scale(float v, float by) { return v * by; }
};
template <>
struct Arithmetic<f16_t> : HalfArithmetic {
  static float get(f16_t v) { return to_float(v); }
  static f16_t put(float v) { return to_f16(v); }
};
template <>
struct Arithmetic<bf16_t> : HalfArithmetic {
  static float get(bf16_t v) { return to_float(v); }
  static bf16_t put(float v) { return to_bf16(v); }
};

struct Params : StridedMatmul {
  const isa::PlainMatmulTable* table = nullptr;
  size_t entry = 0;
  int64_t pieces = 0;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  using A = Arithmetic<T>;
  using Sum = typename A::Sum;
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t task = begin; task < end; task++) {
    const auto product = static_cast<size_t>(task / p.m);
    const int64_t row = task % p.m;
    // Uses offsets instead of pointers, because an operand without elements has no memory.
    const auto *a = static_cast<const T*>(data[0]), *b = static_cast<const T*>(data[1]);
    const int64_t first = p.a_offset[product] + row * p.a_row;
    T* out = static_cast<T*>(data[3]) + p.y_offset[product] + row * p.y_row;
    // Blocks of columns keep the sums in registers while rows of b are streamed.
    constexpr int64_t kBlock = 32;
    for (int64_t n0 = 0; n0 < p.n; n0 += kBlock) {
      const int64_t width = std::min(kBlock, p.n - n0);
      Sum sum[kBlock] = {};
      for (int64_t k = 0; k < p.k; k++) {
        const Sum x = A::get(a[first + k * p.a_k]);
        const T* from = b + p.b_offset[product] + k * p.b_k + n0 * p.b_n;
        for (int64_t j = 0; j < width; j++)
          sum[j] = static_cast<Sum>(sum[j] + x * A::get(from[j * p.b_n]));
      }
      for (int64_t j = 0; j < width; j++) {
        Sum v = A::scale(sum[j], p.alpha);
        if (p.has_c)
          v = static_cast<Sum>(
              v + A::scale(A::get(static_cast<const T*>(data[2])[row * p.c_row + (n0 + j) * p.c_n]),
                           p.beta));
        out[n0 + j] = A::put(v);
      }
    }
  }
}

template <class T>
void run_blocks(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte*) noexcept {
  using A = Arithmetic<T>;
  const auto& p = *static_cast<const Params*>(params);
  constexpr auto kColumns = static_cast<int64_t>(isa::kPlainBytes / sizeof(T));
  T sums[isa::kPlainRows * kColumns];
  for (int64_t task = begin; task < end; task++) {
    const auto product = static_cast<size_t>(task / p.pieces);
    const int64_t first = task % p.pieces * isa::kPlainRows,
                  rows = std::min(isa::kPlainRows, p.m - first);
    const T* a = static_cast<const T*>(data[0]) + p.a_offset[product] + first * p.a_row;
    const T* b = static_cast<const T*>(data[1]) + p.b_offset[product];
    T* out = static_cast<T*>(data[3]) + p.y_offset[product] + first * p.y_row;
    for (int64_t n0 = 0; n0 < p.n; n0 += kColumns) {
      const int64_t width = std::min(kColumns, p.n - n0);
      if (width == kColumns) {
        p.table->block[p.entry](a, p.a_row, p.a_k, b + n0, p.b_k, p.k, rows, sums);
      } else {
        for (int64_t r = 0; r < rows; r++) {
          typename A::Sum sum[kColumns] = {};
          for (int64_t k = 0; k < p.k; k++) {
            const auto x = A::get(a[r * p.a_row + k * p.a_k]);
            for (int64_t j = 0; j < width; j++) sum[j] += x * A::get(b[k * p.b_k + n0 + j]);
          }
          for (int64_t j = 0; j < width; j++) sums[r * kColumns + j] = A::put(sum[j]);
        }
      }
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++) {
          auto v = A::scale(A::get(sums[r * kColumns + j]), p.alpha);
          if (p.has_c)
            v += A::scale(
                A::get(static_cast<const T*>(data[2])[(first + r) * p.c_row + (n0 + j) * p.c_n]),
                p.beta);
          out[r * p.y_row + n0 + j] = A::put(v);
        }
    }
  }
}

Plan prepare(const Call& call) {
  auto p = std::make_shared<Params>();
  static_cast<StridedMatmul&>(*p) = read_strided_matmul(
      "matmul_generic", calls::decode<calls::MatmulGeneric>(call).product, call.operands);
  Plan plan;
  switch (p->dtype) {
    case DType::f32: plan.run = run<float>; break;
    case DType::f64: plan.run = run<double>; break;
    case DType::f16: plan.run = run<f16_t>; break;
    case DType::bf16: plan.run = run<bf16_t>; break;
    case DType::s32: plan.run = run<int32_t>; break;
    case DType::u32: plan.run = run<uint32_t>; break;
    case DType::s64: plan.run = run<int64_t>; break;
    case DType::u64: plan.run = run<uint64_t>; break;
    default:
      fail(ErrorCode::unimplemented, "kernel matmul_generic: dtype {}", dtype_name(p->dtype));
  }
  plan.tasks = p->m * static_cast<int64_t>(p->a_offset.size());
  plan.work =
      static_cast<double>(plan.tasks) * static_cast<double>(p->n) * static_cast<double>(p->k);
  if (p->b_n == 1) {
    const auto blocks = [&](RunFn run, size_t entry) {
      p->table = &POPRT_SELECT_ISA(matmul_plain);
      p->entry = entry;
      p->pieces = (p->m + isa::kPlainRows - 1) / isa::kPlainRows;
      plan.run = run;
      plan.tasks = p->pieces * static_cast<int64_t>(p->a_offset.size());
      plan.work /= 8;
    };
    switch (p->dtype) {
      case DType::f64: blocks(run_blocks<double>, 0); break;
      case DType::s32: blocks(run_blocks<int32_t>, 1); break;
      case DType::u32: blocks(run_blocks<uint32_t>, 1); break;
      case DType::s64: blocks(run_blocks<int64_t>, 2); break;
      case DType::u64: blocks(run_blocks<uint64_t>, 2); break;
      default: break;
    }
  }
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul_generic", prepare};

}  // namespace poprt::kernels::matmul_generic_kernel
