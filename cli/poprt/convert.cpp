#include "poprt/convert.h"

#include <fmt/format.h>

#include <filesystem>

#include "common/scripts.h"

namespace poprt::cli {

namespace fs = std::filesystem;

std::string converted_path(const GivenOptions& given, const std::string& input) {
  const fs::path name(
      given.text("output_model", fs::path(input).stem().string() + ".optimized.onnx"));
  const fs::path path =
      name.is_absolute() ? name : fs::path(given.text("output_dir", "./")) / name.filename();
  std::error_code error;
  if (fs::equivalent(input, path, error))
    throw Failure(fmt::format(
        "the converted model would overwrite its source '{}'; give another --output_model", input));
  return path.string();
}

std::string convert(const GivenOptions& given, const poprt_compiler* compiler,
                    const std::string& input, const std::string& converted) {
  if (!has_scripts(given)) {
    check(poprt_compiler_convert_file(compiler, input.c_str(), converted.c_str()));
    return input;
  }
  convert_with_scripts(given, input, converted);
  return converted;
}

}  // namespace poprt::cli
