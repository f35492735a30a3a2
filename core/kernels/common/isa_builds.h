// The tables of core/kernels/isa for all instruction sets, which are most of the code of a library.
//
// libpoprt.so contains them. libpoprt_compiler.so and poprt_exec compute with the same kernels, but
// borrow the tables of libpoprt.so, so that packages and processes contain that code once. A
// library that borrows them compiles the generated isa_builds.cpp with POPRT_BORROWED_ISA; the
// linker then takes nothing of core/kernels/isa from the archive of the kernels.
#pragma once

#include <cstdint>

namespace poprt::kernels {

struct IsaBuilds {
  uint64_t layout;  // a hash of the names and the sizes of the tables
  const void* const* tables;
};

// The tables that are linked into this library.
const IsaBuilds& own_isa_builds();

// In a library that contains none: uses the tables of another library, before any kernel is
// prepared. Returns false if that library has other tables, because it comes from another build.
bool borrow_isa_builds(const IsaBuilds& builds);

}  // namespace poprt::kernels

// own_isa_builds() of libpoprt.so, exported for poprt_exec. The C ABI has no C++ types.
extern "C" __attribute__((visibility("default"))) const void* poprt_private_isa_builds(void);
