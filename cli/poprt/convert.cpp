#include "poprt/convert.h"

#include <fmt/format.h>

#include <filesystem>

#include "common/scripts.h"
#include "common/written_files.h"

namespace poprt::cli {

namespace fs = std::filesystem;

std::string converted_path(const GivenOptions& given, const std::string& input) {
  const std::string standard = fs::path(input).stem().string() + ".optimized.onnx";
  return fs::path(given.text("output_dir", "./")) / given.text("output_model", standard);
}

namespace {

// The file of the lowered graph, or an empty path. `popef` is the executable, or empty if none is
// written. The default names are those of the library (ir_file() in
// capi/src/libpoprt_compiler/library.cpp).
fs::path ir_path(const GivenOptions& given, const std::string& popef) {
  const std::string wanted = given.compiler_field("serialize_ir", "False");
  if (wanted == "False" || wanted == "false" || wanted == "0") return {};
  constexpr const char* kName = "serialized_ir.json";
  const std::string dest = given.compiler_field("serialized_ir_dest");
  if (dest.empty())
    return popef.empty() ? fs::path(kName) : fs::path(popef).replace_extension(".ir.json");
  std::error_code error;
  return fs::is_directory(dest, error) ? fs::path(dest) / kName : fs::path(dest);
}

}  // namespace

void require_separate_files(const GivenOptions& given, const std::vector<std::string>& sources,
                            const std::string& converted, const std::string& popef) {
  CommandFiles files;
  files.may_overwrite(given.has("overwrite"));
  for (const std::string& source : sources) files.reads_model(source);
  // Words that are not paths do no harm, because there are no files with these names.
  for (const std::string& word : given.words_except(
           {"output", "output_dir", "output_model", "popef_name", "compiler_options"}))
    files.reads(word);
  if (given.has("saved_model")) files.reads_folder(given.text("saved_model"));
  if (!converted.empty()) files.writes(converted, Contents::onnx, "--output_model");
  if (!popef.empty())
    files.writes(popef, Contents::popef, given.has("output") ? "--output" : "--popef_name");
  if (const fs::path ir = ir_path(given, popef);
      !ir.empty() && (!popef.empty() || given.has("run")))
    files.writes(ir, Contents::ir, "--compiler_options serialized_ir_dest");
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
