// What every kernel is: a name in the program file, a check-and-plan step, and a run step.
//
// A program instruction names a kernel and gives it operands (inputs and outputs in one list, as
// the kernel's header comment orders them), integers and floats. prepare() runs once when a program
// is loaded; everything it reads comes from a file and is hostile until checked. run() is the hot
// path: no allocation, no lock, no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

namespace poprt::kernels {

// One operand as prepare() sees it. `bytes` is the room behind the pointer that run() will get,
// never less than dtype and shape need (the program verifier checked that). An omitted optional
// operand has present == false and a null pointer in run().
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
  int64_t threads = 1;  // that will run it: may decide how work is split, never a result bit
};

// data[i] is operand i. Tasks [begin, end) of a round are independent of each other and may run on
// any thread in any order; which thread runs what never changes a result bit. `scratch` is this
// thread's own, 64-byte aligned, Plan::scratch_bytes long, with unspecified contents.
using RunFn = void (*)(const void* params, void* const* data, int64_t begin, int64_t end,
                       std::byte* scratch) noexcept;

struct Plan {
  RunFn run = nullptr;
  // The last `outputs` operands of the call are written; those before are only read. The device
  // refuses a program in which a written one is a weight or an input.
  size_t outputs = 1;
  std::shared_ptr<const void> params;  // what run() gets; made once, read by all threads
  int64_t tasks = 1;  // independent pieces of roughly equal cost; 0: run() is not called
  // Round r is the tasks [r * tasks, (r + 1) * tasks); it starts when round r - 1 is done.
  int64_t rounds = 1;
  double work = 0;           // rough cost of the whole call in nanoseconds on one thread
  size_t scratch_bytes = 0;  // per thread
};

struct Kernel {
  std::string_view name;
  // Throws invalid_argument (a program that asks nonsense) or unimplemented, naming the kernel.
  Plan (*prepare)(const Call& call);
};

// The kernel of that name, or null. The table is generated from the folder: core/kernels/foo.cpp
// defines `extern const Kernel def` in namespace poprt::kernels::foo_kernel.
const Kernel* find_kernel(std::string_view name);
std::span<const Kernel* const> all_kernels();

// Helper for prepare(): throws invalid_argument "kernel NAME: MESSAGE" unless the condition holds.
void expect(bool condition, std::string_view kernel, std::string_view message);

}  // namespace poprt::kernels
