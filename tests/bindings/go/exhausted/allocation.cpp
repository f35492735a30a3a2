// The operators new and delete of the process.
#include <cstdlib>
#include <new>

namespace {
thread_local bool fails_next = false;
}

extern "C" void fail_next_allocation(int on) { fails_next = on != 0; }

void* operator new(std::size_t bytes) {
  void* memory = fails_next ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  fails_next = false;
  if (!memory) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
