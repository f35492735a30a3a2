// Linked into every GoogleTest program of a mutated tree. It notes the sites that each test reached
// and the time of the test, so that one process records all tests of a program.
//
// MUTANT_REACHED names the file of marks that mutant.h maps. The notes are in a file of the same
// name plus ".tests", one line per test: "Suite.Test milliseconds site site ...". The line "* 0
// site ..." has the sites that the program reached before its first test.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <fstream>
#include <string>

#include "mutant.h"

namespace {

class Notes : public testing::EmptyTestEventListener {
 public:
  Notes(unsigned char* marks, const std::string& path) : marks_(marks), file_(path) {}

 private:
  void OnTestProgramStart(const testing::UnitTest&) override { note("*", 0); }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed()) return;  // it is tried again alone
    note(std::string(test.test_suite_name()) + "." + test.name(), test.result()->elapsed_time());
  }
  void note(const std::string& name, long long milliseconds) {
    file_ << name << " " << milliseconds;
    for (int i = 0; i < kMutantLimit; ++i)
      if (marks_[i]) file_ << " " << i;
    file_ << std::endl;  // flushes the line, so that a later crash does not lose it
    ::memset(marks_, 0, kMutantLimit);
  }

  unsigned char* marks_;
  std::ofstream file_;
};

const bool kListens = [] {
  // A test may start its program again. That process must not overwrite the notes.
  constexpr const char* kNoted = "MUTANT_NOTED";
  const char* path = ::getenv(kNoted) ? nullptr : ::getenv("MUTANT_REACHED");
  ::setenv(kNoted, "1", 1);
  const int file = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return false;
  void* marks = ::mmap(nullptr, kMutantLimit, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (marks == MAP_FAILED) return false;
  testing::UnitTest::GetInstance()->listeners().Append(
      new Notes(static_cast<unsigned char*>(marks), path + std::string(".tests")));
  return true;
}();

}  // namespace
