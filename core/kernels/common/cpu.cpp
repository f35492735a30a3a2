#include "kernels/common/cpu.h"

#include <cstdlib>
#include <string_view>

namespace poprt::kernels {
namespace {

Isa detect() {
#if defined(__x86_64__)
  // x86-64-v4 and -v3 as the psABI defines them; GCC 12 does not know the level names here.
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  Isa best = v4 ? Isa::avx512 : v3 ? Isa::avx2 : Isa::baseline;
#else
  Isa best = Isa::baseline;
#endif
  if (const char* wanted = std::getenv("POPRT_ISA")) {
    for (const Isa isa : {Isa::baseline, Isa::avx2})
      if (std::string_view(isa_name(isa)) == wanted && isa < best) best = isa;
  }
  return best;
}

}  // namespace

Isa cpu_isa() {
  static const Isa isa = detect();
  return isa;
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::baseline: return "baseline";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "baseline";
}

}  // namespace poprt::kernels
