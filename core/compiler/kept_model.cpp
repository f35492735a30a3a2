#include "compiler/kept_model.h"

#include "base/error.h"
#include "onnx/export.h"
#include "opsets/convert.h"

namespace poprt::compiler {

std::string kept_model(const ir::Graph& converted) {
  const auto copy = converted.clone();
  opsets::convert_newest_nodes(*copy);
  std::string bytes = onnx::export_bytes(*copy);
  constexpr size_t kMost = size_t{1} << 28;  // most bytes of one text in a program file
  if (bytes.size() > kMost)
    fail(ErrorCode::resource_exhausted,
         "`numerics` faithful: the converted model has {} bytes, an executable keeps at most {}",
         bytes.size(), kMost);
  return bytes;
}

}  // namespace poprt::compiler
