#include "embedded_source.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "engine_options.h"
#include "popef/model.h"
#include "poprt_options.h"
#include "runtime/session/model_source.h"
#include "temporary_folder.h"

namespace poprt::capi {
namespace {

namespace fs = std::filesystem;

// The limit that also applies when a source is embedded.
constexpr uint64_t kMostSourceBytes = uint64_t{2} << 30;

// Keeps the memory of an embedded model and the folder with its external data.
struct SourceFiles {
  std::shared_ptr<const void> model;
  std::unique_ptr<TemporaryFolder> folder;
};

// Locations in the file are untrusted, so each must be below the folder.
void write_source_file(const fs::path& folder, const std::string& location,
                       const popef::Payload& data) {
  const fs::path path(location);
  if (path.empty() || path.is_absolute() || location.find('\0') != location.npos ||
      std::any_of(path.begin(), path.end(), [](const fs::path& p) { return p == ".."; }))
    fail(ErrorCode::data_loss, "the embedded source has a file '{}' outside of its folder",
         location);
  std::error_code failure;
  fs::create_directories((folder / path).parent_path(), failure);
  if (failure || fs::exists(folder / path, failure))
    fail(ErrorCode::data_loss, "the embedded source has a file '{}', which cannot be written",
         location);
  AtomicFile file(folder / path);
  file.write(data.bytes);
  file.commit();
}

OptionNames option_names() {
  return {[](std::string_view name, bool& words) {
            const OptionRow* row = find_option(name);
            words = row && row->kind == OptionKind::words;
            return row != nullptr;
          },
          [](std::string_view name) {
            return std::ranges::count(compiler_fields(), name, &FieldRow::name) > 0;
          }};
}

// Returns the names of the given options on which a compiled program depends.
std::vector<std::string> program_options(const poprt_compile_options& given) {
  std::vector<std::string> names;
  for (const popef::Option& option : engine_options(given, {}))
    if (option.name() != runtime::kSourceHash && std::ranges::count(names, option.name()) == 0)
      names.push_back(option.name());
  if (given.after_pass) names.push_back("after_pass");
  if (given.opaque_blob_count) names.push_back("opaque_blobs");
  return names;
}

void refuse_other_options(const poprt_compile_options& given, const std::string& path) {
  const std::vector<std::string> names = options_of_compilation(given);
  if (!names.empty())
    fail(ErrorCode::invalid_argument,
         "option '{}' cannot be given for '{}': its embedded source is compiled at other shapes "
         "with the options that the file records",
         names[0], path);
}

void refuse_unsuitable_options(const poprt_compile_options& recorded, const std::string& path) {
  std::set<std::string_view> names;
  for (const auto& s : std::span(recorded.input_shapes, recorded.input_shape_count))
    if (!names.insert(s.name).second)
      fail(ErrorCode::failed_precondition,
           "'{}' was compiled at several shapes, so others are not compiled on demand: compile a "
           "file at one shape",
           path);
  for (const auto& option : std::span(recorded.options, recorded.option_count))
    if (option.name == std::string_view("data_preprocess"))
      fail(ErrorCode::failed_precondition,
           "'{}' was calibrated with '{}', which the file does not contain, so that it cannot be "
           "compiled at other shapes",
           path, option.value);
}

}  // namespace

std::vector<std::string> options_of_compilation(const poprt_compile_options& given) {
  std::vector<std::string> names = program_options(given);
  // A batch axis is recorded with every batch size, and only then.
  std::erase(names, "batch_axis");
  if (given.batch_axis != 0) names.emplace_back("batch_axis");
  if (given.allow_links) names.emplace_back("allow_links");
  if (given.no_verify) names.emplace_back("no_verify");
  if (given.shapes && std::string_view(given.shapes) == "buckets") names.emplace_back("shapes");
  if (named_option(given, "lowest_opset")) names.emplace_back("lowest_opset");
  return names;
}

ShapeCompiler::Source embedded_source(const runtime::Model& model, const std::string& path) {
  ShapeCompiler::Source source;
  source.name = model.name;
  const auto files = std::make_shared<SourceFiles>();
  const std::string prefix = runtime::source_blob("") + "/";
  uint64_t bytes = 0;
  bool found = false;
  for (const popef::OpaqueReader& blob : model.blobs->opaqueBlobs) {
    if (!runtime::is_source_blob(blob.name)) continue;
    if (blob.size() > kMostSourceBytes - bytes)
      fail(ErrorCode::resource_exhausted,
           "'{}': the embedded source has more than the {} bytes that can be embedded", path,
           kMostSourceBytes);
    bytes += blob.size();
    const popef::Payload payload = blob.payload();
    if (blob.name == runtime::kSourceBlob) {
      source.view = payload.bytes;
      files->model = payload.owner;
      found = true;
      continue;
    }
    if (!files->folder) files->folder = std::make_unique<TemporaryFolder>();
    write_source_file(files->folder->path(), blob.name.substr(prefix.size()), payload);
  }
  if (!found)
    fail(ErrorCode::failed_precondition,
         "'{}' does not contain its ONNX model, so that it runs only the shapes that it was "
         "compiled for: compile it with `embed_source`, or load the ONNX model",
         path);
  if (files->folder) source.folder = files->folder->path().string();
  source.owner = files;
  return source;
}

OptionsOfFile::OptionsOfFile(const runtime::Model& model, const poprt_compile_options& given,
                             const std::string& path)
    : recorded_(model.metadata.engineOptions(), option_names()), options_(recorded_.options) {
  refuse_other_options(given, path);
  refuse_unsuitable_options(options_, path);
  // The estimate in the file is that of its shape.
  for (const auto& option : std::span(options_.options, options_.option_count))
    if (!std::string_view(option.name).starts_with("estimate")) named_.push_back(option);
  options_.options = named_.data();
  options_.option_count = named_.size();
  options_.shapes = "on_demand";
  options_.enable_engine_caching = given.enable_engine_caching;
  options_.cache_path = given.cache_path;
  options_.load = given.load;
  options_.progress = given.progress;
  options_.stop = given.stop;
  options_.user_data = given.user_data;
}

}  // namespace poprt::capi
