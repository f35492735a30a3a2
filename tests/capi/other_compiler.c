/* A compiler library of another version (OTHER_VERSION 1), or of another build of this version (0).
 */
#include "compiler_library.h"

static int refuse(const void* isa_builds) {
  (void)isa_builds;
  return 0;
}

const poprt_compiler_library* poprt_compiler_library_table(void) {
  static const poprt_compiler_library table = {.version = POPRT_VERSION + OTHER_VERSION,
                                               .borrow_kernels = refuse};
  return &table;
}
