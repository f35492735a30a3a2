#include "ipu/vertices.h"

#include <algorithm>
#include <array>

#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

constexpr int64_t kSupervisor = 11;

// Cycles of a loop and the elements that it computes.
struct Loop {
  int64_t float_cycles, float_elements, half_cycles, half_elements;
  bool dedicated = false;  // a vertex that contains its loop and calls no other code
};

constexpr std::array<Loop, 25> kLoops = {{
    {1, 2, 1, 4, true},  // add, also subtraction and multiplication
    {10, 2, 21, 4},      // div
    {3, 2, 4, 4},        // max
    {14, 4, 9, 4},       // compare
    {312, 1, 325, 1},    // pow
    {133, 2, 300, 4},    // remainder
    {2, 2, 2, 4},        // square
    {41, 1, 13, 1},      // erf
    {22, 1, 16, 1},      // gelu_erf
    {6, 2, 6, 4},        // round
    {5, 1, 5, 1},        // select
    {6, 2, 4, 4},        // exp
    {12, 2, 4, 4},       // log
    {12, 2, 4, 4},       // tanh
    {12, 2, 6, 4},       // sigmoid
    {3, 2, 3, 4},        // relu
    {10, 2, 23, 4},      // sqrt
    {8, 2, 19, 4},       // rsqrt
    {6, 2, 15, 4},       // inverse
    {2300, 1, 25, 1},    // sin
    {5100, 1, 5700, 1},  // tan
    {277, 1, 277, 1},    // integer_div
    {10, 2, 5, 4},       // gelu_tanh
    {9, 2, 4, 4},        // swish
    {1, 2, 1, 4, true},  // copy
}};

bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

int64_t share(const Target& t, int64_t n) { return ceil_div(std::max<int64_t>(n, 0), t.workers); }

// Cycles per vector of the vertices of non-linearities; 0: the operation has none.
int64_t non_linearity(Elementwise op, bool half) {
  switch (op) {
    case Elementwise::relu: return 1;
    case Elementwise::sigmoid: return half ? 4 : 5;
    case Elementwise::tanh: return half ? 2 : 5;
    case Elementwise::gelu_tanh: return half ? 5 : 10;
    case Elementwise::gelu_erf: return half ? 15 : 30;
    case Elementwise::swish: return half ? 4 : 9;
    default: return 0;
  }
}

}  // namespace

int64_t elementwise_cycles(const Target& t, Elementwise op, DType type, int64_t n, int64_t operands,
                           bool scalar) {
  if (const int64_t cycles = non_linearity(op, is_half(type)); cycles && is_float(type)) {
    const int64_t vectors = ceil_div(share(t, n), is_half(type) ? 4 : 2);
    return 9 + t.workers * (25 + std::max<int64_t>(1, vectors) * cycles);
  }
  const Loop& loop = kLoops[static_cast<size_t>(op)];
  const bool half = is_half(type);
  const bool floating = is_float(type);
  // A loop of integers computes one element and takes at least 5 cycles, so that an addition of two
  // tensors takes 7.
  const int64_t cycles = floating ? (half ? loop.half_cycles : loop.float_cycles)
                                  : std::max<int64_t>(loop.float_cycles, 5);
  const int64_t elements = floating ? (half ? loop.half_elements : loop.float_elements) : 1;
  const int64_t loops = ceil_div(share(t, n), elements);
  if (operands >= 2 && !scalar) {
    const int64_t more = loop.dedicated ? 2 : 5;
    return kSupervisor + t.workers * ((half ? 26 : 29) + loops * (cycles + more));
  }
  if (operands >= 2)
    return kSupervisor + t.workers * (20 + loops * (cycles + (loop.dedicated ? 1 : 3)));
  const int64_t start = op == Elementwise::exp ? 33 : 17;
  return kSupervisor + 9 + t.workers * (start + loops * (cycles + 4));
}

int64_t cast_cycles(const Target& t, DType from, DType to, int64_t n) {
  const int64_t each = share(t, n);
  if (dtype_bits(from) == 8 || dtype_bits(to) == 8) {
    const bool bytes = is_byte(from) || is_byte(to);
    const int64_t per_four = !bytes ? 2 : is_byte(to) ? 16 : 9;
    return 12 + t.workers * (18 + 14 + ceil_div(each, 4) * per_four);
  }
  const int64_t loads = ceil_div(each, vector_width(t, from));
  const int64_t stores = ceil_div(each, vector_width(t, to));
  return t.workers * (std::max(loads, stores) + 26);
}

int64_t fill_cycles(const Target& t, DType type, int64_t n) {
  const int64_t each = share(t, n);
  const int64_t worker = is_half(type) ? 26 + ceil_div(each, 4) : 16 + each + 7;
  return kSupervisor + t.workers * worker;
}

int64_t copy_cycles(const Target& t, int64_t bytes, int64_t piece) {
  const int64_t rate = std::clamp<int64_t>(piece, 1, t.memcpy_bytes);
  if (bytes <= 0) return 0;
  return 90 + ceil_div(bytes, rate);
}

int64_t rearrangement_cycles(int64_t bytes, int64_t piece) {
  const double rate = piece < 4 ? 5.15 : piece < 8 ? 3.125 : 0.44;
  return 587 + static_cast<int64_t>(rate * static_cast<double>(bytes));
}

int64_t transpose_cycles(const Target& t, DType type, int64_t n) {
  const int64_t grain = is_half(type) ? 16 : 4, cycles = is_half(type) ? 4 : 3;
  const int64_t grains = ceil_div(share(t, n), grain);
  const int64_t worker = grains <= 1 ? 37 : 37 + (grains - 2) * cycles + 12;
  return 7 + t.workers * worker;
}

int64_t reduce_add_cycles(const Target& t, DType type, int64_t n, int64_t depth, bool contiguous) {
  const int64_t accumulators = is_half(type) ? 8 : 4;
  const int64_t loops = ceil_div(ceil_div(n, accumulators), t.workers);
  // A loop loads the accumulators of a partial sum over the data path: two cycles, and one more for
  // the pointer to it unless the partial sums are contiguous.
  if (contiguous) return 33 + t.workers * (20 + (2 * depth + 8) * loops);
  return t.workers * (32 + (3 * depth + 8) * loops);
}

int64_t reduce_cycles(const Target& t, DType type, int64_t n, int64_t results, bool contiguous) {
  results = std::max<int64_t>(results, 1);
  const int64_t width = vector_width(t, type);
  if (contiguous) {
    const int64_t each = ceil_div(results, t.workers), depth = ceil_div(n, results);
    // A worker sums an output; few outputs leave workers without work.
    return kSupervisor + t.workers * (17 + each * (12 + 2 * ceil_div(depth, width)));
  }
  const int64_t depth = ceil_div(n, results);
  const int64_t loops = ceil_div(ceil_div(results, width), t.workers);
  return kSupervisor + t.workers * (16 + loops * (3 + 4 + depth));
}

int64_t gather_cycles(const Target& t, DType type, int64_t row, int64_t indices, int64_t found) {
  found = std::min(found, indices);
  // The indices are divided among the workers.
  const int64_t vectors = ceil_div(row, vector_width(t, type));
  const int64_t in_range = ceil_div(found, t.workers), out = ceil_div(indices - found, t.workers);
  return kSupervisor + t.workers * (30 + in_range * (19 + vectors * 2) + out * 8);
}

int64_t update_add_cycles(const Target& t, DType type, int64_t row, int64_t indices,
                          int64_t found) {
  // Every worker reads all places and changes its part of the rows of the table.
  const int64_t vectors = ceil_div(row, vector_width(t, type));
  return kSupervisor + t.workers * (30 + 12 * indices +
                                    3 * vectors * ceil_div(std::min(found, indices), t.workers));
}

int64_t dynamic_slice_cycles(const Target& t, DType type, int64_t n) {
  const int64_t copies = ceil_div(share(t, n), vector_width(t, type));
  return 25 + t.workers * (39 + 24 + 2 * copies);
}

int64_t pool_cycles(const Target& t, DType type, int64_t channels, int64_t field, int64_t taps) {
  const int64_t vectors = ceil_div(channels, vector_width(t, type));
  const int64_t each = ceil_div(field, t.workers);
  return 7 + 6 + t.workers * (20 + vectors * (13 * taps + 3 * taps * each));
}

}  // namespace poprt::ipu
