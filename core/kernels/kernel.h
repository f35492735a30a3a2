// The definition of a kernel: a name in the program file, a step that checks and plans a call, and
// a step that runs it.
//
// A program instruction names a kernel and passes operands (inputs and outputs in one list, in the
// order that calls/NAME.h states), integers and floats. prepare() runs once when a program is
// loaded. All its inputs come from a file and must be checked. run() is the hot path: no
// allocation, no lock, no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

namespace poprt::kernels {

// An operand for prepare(). `bytes` is the size of the memory at the pointer that run() will
// receive; it is at least as large as dtype and shape require (the program verifier checks that).
// An omitted optional operand has present == false, and its pointer in run() is null.
struct Operand {
  bool present = false;
  DType dtype = DType::undefined;
  std::span<const int64_t> shape;
  uint64_t bytes = 0;
};

struct Call {
  std::span<const Operand> operands;
  std::span<const int64_t> ints;
  std::span<const float> floats;
  // The number of threads that will run the call. It may affect how work is split, but never a bit
  // of the result.
  int64_t threads = 1;
  // Whether a result must have the same bits on every instruction set from AVX2 on, and at every
  // place of a row in its tensor. Kernels then add in a fixed order where this is not the default.
  bool reproducible = false;
};

// data[i] is operand i. Tasks [begin, end) of a round are independent and may run on any thread in
// any order; the assignment to threads never affects a bit of the result. `scratch` is memory of
// the calling thread, 64-byte aligned, Plan::scratch_bytes long, with unspecified content.
using RunFn = void (*)(const void* params, void* const* data, int64_t begin, int64_t end,
                       std::byte* scratch) noexcept;

struct Plan {
  RunFn run = nullptr;
  // The last `outputs` operands of the call are written; the operands before them are only read.
  // The device refuses a program in which a written operand is a weight or an input.
  size_t outputs = 1;
  std::shared_ptr<const void> params;  // the argument of run(); created once, read by all threads
  int64_t tasks = 1;  // independent pieces of roughly equal cost; 0: run() is not called
  // Round r consists of tasks [r * tasks, (r + 1) * tasks); it starts after round r - 1 has
  // finished.
  int64_t rounds = 1;
  double work = 0;           // rough cost of the whole call in nanoseconds on one thread
  size_t scratch_bytes = 0;  // per thread
  // Returns the failure of the runs since the last call, or nullopt, and forgets it. Not called
  // during a run. Null for a kernel that cannot fail. A run that fails continues to its end.
  std::optional<Error> (*take_failure)(const void* params) = nullptr;
};

struct Kernel {
  std::string_view name;
  // Throws invalid_argument for an invalid program, or unimplemented, naming the kernel, and
  // out_of_range if a size overflows. `custom` also throws the errors of a missing or failing
  // plug-in.
  Plan (*prepare)(const Call& call);
};

// The kernel of that name, or null. The table is generated from the files in the folder:
// core/kernels/foo.cpp defines `extern const Kernel def` in namespace poprt::kernels::foo_kernel.
const Kernel* find_kernel(std::string_view name);
std::span<const Kernel* const> all_kernels();

// Helper for prepare(): throws invalid_argument "kernel NAME: MESSAGE" unless the condition is
// true.
void expect(bool condition, std::string_view kernel, std::string_view message);

}  // namespace poprt::kernels
