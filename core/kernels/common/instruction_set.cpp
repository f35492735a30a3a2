#include "kernels/common/instruction_set.h"

#include <atomic>
#include <cstdlib>
#if defined(__x86_64__)
#define _Bool bool  // the header is written for C
#include <sys/platform/x86.h>
#undef _Bool
#endif
#include <string_view>

#include "base/first_use.h"
#include "base/log.h"
#include "kernels/common/half_products.h"

namespace poprt::kernels {
namespace {

Isa detect() {
#if defined(__x86_64__)
  // The features of x86-64-v3 and -v4 according to the psABI. Those of -v2 are features of every
  // CPU with AVX2. LZCNT must be tested, because a CPU without it executes BSR, which computes
  // another number. The loader detected the features when the process started; querying the CPU
  // again takes tens of microseconds under a hypervisor.
  const bool v3 = CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) && CPU_FEATURE_ACTIVE(BMI1) &&
                  CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(F16C) &&
                  CPU_FEATURE_ACTIVE(LZCNT) && CPU_FEATURE_ACTIVE(MOVBE);
  const bool v4 = v3 && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
                  CPU_FEATURE_ACTIVE(AVX512CD) && CPU_FEATURE_ACTIVE(AVX512DQ) &&
                  CPU_FEATURE_ACTIVE(AVX512VL);
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

bool can_use_vnni() {
#if defined(__x86_64__)
  static constinit FirstUse<const bool> has;
  return has.get([] { return cpu_isa() == Isa::avx512 && CPU_FEATURE_ACTIVE(AVX512_VNNI); });
#else
  return false;
#endif
}

bool can_use_bf16() {
#if defined(__x86_64__)
  static constinit FirstUse<const bool> has;
  return has.get([] { return cpu_isa() == Isa::avx512 && CPU_FEATURE_ACTIVE(AVX512_BF16); });
#else
  return false;
#endif
}

bool can_use_half_products() {
#if defined(__x86_64__)
  static constinit FirstUse<const bool> has;
  return has.get([] { return cpu_isa() == Isa::avx512 && CPU_FEATURE_ACTIVE(AVX512_FP16); });
#else
  return false;
#endif
}

void warn_without_bf16() {
  static std::atomic<bool> done{false};
  if (is_first_use(done))
    log().warn("this CPU has no products of bf16 (AVX512-BF16): they are computed in f32");
}

bool can_use_vbmi() {
#if defined(__x86_64__)
  static constinit FirstUse<const bool> has;
  return has.get([] { return cpu_isa() == Isa::avx512 && CPU_FEATURE_ACTIVE(AVX512_VBMI); });
#else
  return false;
#endif
}

Isa cpu_isa() {
  static constinit FirstUse<const Isa> isa;
  return isa.get(detect);
}

void warn_of_unknown_isa() {
  static std::atomic<bool> done{false};
  if (!is_first_use(done)) return;
  const char* wanted = std::getenv("POPRT_ISA");
  const std::string_view name = wanted ? wanted : "";
  if (!name.empty() && name != "baseline" && name != "avx2" && name != "avx512")
    log().warn("POPRT_ISA is '{}', expected baseline, avx2 or avx512; {} is used", name,
               isa_name(cpu_isa()));
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
