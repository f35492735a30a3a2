#include "kernels/kernel.h"

namespace poprt::kernels {

const Kernel* find_kernel(std::string_view name) {
  if (name == "conv_quads") name = "conv_vnni";  // the name in earlier files
  for (const Kernel* k : all_kernels())
    if (k->name == name) return k;
  return nullptr;
}

void expect(bool condition, std::string_view kernel, std::string_view message) {
  if (!condition) fail(ErrorCode::invalid_argument, "kernel {}: {}", kernel, message);
}

}  // namespace poprt::kernels
