// Runs checks of kernels on several instruction sets. A process selects its set once, so each set
// needs its own process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>

namespace poprt::kernels::test {

// Calls `checks`, which uses expectations of GoogleTest, in a child process for each set, and
// expects that none fails there. A set that the CPU lacks runs as the next smaller one.
template <class Checks>
void expect_on_isas(std::initializer_list<const char*> isas, const Checks& checks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::optional<std::string> before;
  if (const char* old = std::getenv("POPRT_ISA")) before = old;
  const auto child = [&] {
    checks();
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  for (const char* isa : isas) {
    ::setenv("POPRT_ISA", isa, 1);
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "") << isa;
  }
  if (before)
    ::setenv("POPRT_ISA", before->c_str(), 1);
  else
    ::unsetenv("POPRT_ISA");
}

}  // namespace poprt::kernels::test
