#include "kernels/common/isa_builds.h"

const void* poprt_private_isa_builds(void) { return &poprt::kernels::own_isa_builds(); }
