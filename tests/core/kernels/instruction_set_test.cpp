// The instruction set that POPRT_ISA selects. A process reads it once, so each test has its own
// process.
#include "kernels/common/instruction_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "kernels/common/half_products.h"

namespace poprt::kernels {
namespace {

// Detects the instruction set by the functions of the compiler's run time.
Isa best_isa() {
#if defined(__x86_64__)
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe");
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v3 && v4 ? Isa::avx512 : v3 ? Isa::avx2 : Isa::baseline;
#else
  return Isa::baseline;
#endif
}

bool supports_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool supports_vbmi() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

bool supports_half_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512fp16");
#else
  return false;
#endif
}

int code_of(Isa isa, bool vnni, bool vbmi, bool half_products) {
  return static_cast<int>(isa) + (vnni ? 10 : 0) + (vbmi ? 20 : 0) + (half_products ? 40 : 0);
}

class Cpu : public ::testing::Test {
 protected:
  Cpu() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program again
    if (const char* old = std::getenv("POPRT_ISA")) before_ = old;
  }
  ~Cpu() override {
    if (before_)
      ::setenv("POPRT_ISA", before_->c_str(), 1);
    else
      ::unsetenv("POPRT_ISA");
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(Cpu, UsesInstructionSetsUpToTheRequestedOne) {
  const Isa best = best_isa();
  const std::pair<const char*, Isa> wanted[] = {
      {"", best},
      {"neon", best},
      {"baseline", Isa::baseline},
      {"avx2", std::min(best, Isa::avx2)},
      {"avx512", best},
  };
  for (const auto& [name, isa] : wanted) {
    ::setenv("POPRT_ISA", name, 1);
    const bool wide = isa == Isa::avx512;
    const int want = code_of(isa, wide && supports_vnni(), wide && supports_vbmi(),
                             wide && supports_half_products());
    EXPECT_EXIT(
        std::_Exit(code_of(cpu_isa(), can_use_vnni(), can_use_vbmi(), can_use_half_products())),
        testing::ExitedWithCode(want), "")
        << name;
  }
}

// A virtual machine may hide LZCNT, which a CPU without it executes as another instruction. The
// loader reads the list of hidden features.
TEST_F(Cpu, AnInstructionSetNeedsEveryFeatureThatTheCompilerUses) {
#if defined(__x86_64__) && defined(__GLIBC__)
  for (const char* hidden : {"-LZCNT", "-MOVBE"}) {
    ::setenv("GLIBC_TUNABLES", fmt::format("glibc.cpu.hwcaps={}", hidden).c_str(), 1);
    EXPECT_EXIT(std::_Exit(static_cast<int>(cpu_isa())),
                testing::ExitedWithCode(static_cast<int>(Isa::baseline)), "")
        << hidden;
    ::unsetenv("GLIBC_TUNABLES");
  }
#endif
}

TEST_F(Cpu, WarnsOnceOfAnInstructionSetThatThereIsNot) {
  const auto warn_twice = [] {
    warn_of_unknown_isa();
    warn_of_unknown_isa();
    std::exit(0);
  };
  ::setenv("POPRT_ISA", "neon", 1);
  EXPECT_EXIT(
      warn_twice(), testing::ExitedWithCode(0),
      fmt::format("^[^\n]*POPRT_ISA is 'neon', expected baseline, avx2 or avx512; {} is used\n$",
                  isa_name(best_isa())));
  for (const char* known : {"", "baseline", "avx2", "avx512"}) {
    ::setenv("POPRT_ISA", known, 1);
    EXPECT_EXIT(warn_twice(), testing::ExitedWithCode(0), "^$") << known;
  }
}

}  // namespace
}  // namespace poprt::kernels
