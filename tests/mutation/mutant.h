// The check at every site of a mutated file: whether this mutant is the active one.
//
// All mutants are built into one program, as `(poprt_mutant(17) ? (a <= b) : (a < b))`.
// MUTANT_ACTIVE selects the active one (none by default). MUTANT_REACHED names a file of
// kMutantLimit bytes in which every process marks the sites that it reached; it is mapped shared,
// so a crash, _exit or exec loses no mark. Every translation unit has its own state: it exports no
// symbol, whatever its visibility or instruction set is.
#pragma once
#pragma clang system_header

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const int kMutantLimit = 4096;
static unsigned char mutant_marks[kMutantLimit];
static unsigned char* mutant_reached = nullptr;
static int mutant_active = -1;

__attribute__((cold, noinline)) static unsigned char* mutant_open() {
  if (const char* active = getenv("MUTANT_ACTIVE")) mutant_active = atoi(active);
  unsigned char* marks = mutant_marks;
  if (const char* path = getenv("MUTANT_REACHED")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      void* mapped = mmap(nullptr, kMutantLimit, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) marks = static_cast<unsigned char*>(mapped);
      close(file);
    }
  }
  // Pairs with the load in poprt_mutant: a thread that sees the marks also sees the active number.
  __atomic_store_n(&mutant_reached, marks, __ATOMIC_RELEASE);
  return marks;
}

static inline bool poprt_mutant(int id) {
  unsigned char* marks = __atomic_load_n(&mutant_reached, __ATOMIC_ACQUIRE);
  if (__builtin_expect(!marks, 0)) marks = mutant_open();
  marks[id] = 1;
  return id == mutant_active;
}
