#include "exec/support/chip_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "compiler/chip_options.h"
#include "compiler/driver.h"
#include "onnx/model_hash.h"
#include "runtime/session/model_source.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

// Parses "NAME=[1,2]". The name may contain any characters.
NamedShape recorded_shape(const std::string& text) {
  const auto refuse = [&] {
    throw Failure(fmt::format("the recorded input shape is '{}', expected NAME=[d0,d1,...]", text));
  };
  const size_t at = text.rfind("=[");
  if (at == text.npos || !text.ends_with("]")) refuse();
  NamedShape named{text.substr(0, at), {}};
  const char *p = text.data() + at + 2, *const end = text.data() + text.size() - 1;
  while (p < end) {
    if (!named.shape.empty() && *p++ != ',') refuse();
    const auto [next, error] = std::from_chars(p, end, named.shape.emplace_back());
    if (error != std::errc()) refuse();
    p = next;
  }
  return named;
}

void find_model(const popef::Model& model, const std::string& file, ChipSource& source) {
  source.folder = fs::path(file).parent_path().string();
  for (const auto& blob : model.opaqueBlobs)
    if (blob.name == runtime::kSourceBlob) source.bytes = blob.payload();
  if (source.bytes) return;
  const bool estimated = std::ranges::any_of(
      model.opaqueBlobs, [](const auto& blob) { return blob.name == "poprt.estimate"; });
  const std::string name = source.option(std::string(runtime::kSourceName), "");
  const fs::path next_to = fs::path(file).parent_path() / fs::path(name).filename();
  std::error_code error;
  if (name.empty() || !fs::exists(next_to, error))
    throw Failure(fmt::format(
        "'{}' does not contain its ONNX model, and '{}' is not next to it; estimate the "
        "ONNX model, or compile with --embed_source{}",
        file, name.empty() ? "MODEL.onnx" : name,
        estimated ? fmt::format("; popef_dump {} prints the estimate that it contains", file)
                  : ""));
  source.path = next_to.string();
  const std::string hash = source.option(std::string(runtime::kSourceHash), "");
  if (hash.empty()) return;
  std::string found;
  try {
    found = onnx::hash_file(next_to);
  } catch (const Error& e) {
    // The hash needs the files of all weights. An estimate needs none of them, so this is no error.
    log().warn("'{}' cannot be compared with the source of '{}': {}", source.path, file, e.what());
    return;
  }
  if (found != hash)
    throw Failure(fmt::format(
        "'{}' is not the source of '{}': its hash is {}, expected the recorded hash {}; estimate "
        "the ONNX model, or compile it again",
        source.path, file, found, hash));
}

}  // namespace

ipu::Target chip_given(const std::string& word, const char* option) {
  try {
    return compiler::chip_target(word);
  } catch (const Error& e) {
    if (word.ends_with(".json")) throw;
    throw Usage(fmt::format("{}: {}", option, e.message()));
  }
}

std::string ChipSource::option(const std::string& name, const std::string& fallback) const {
  const auto at = options.find(name);
  return at == options.end() ? fallback : at->second;
}

ChipSource chip_source(const std::string& path) {
  ChipSource source;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<std::string> models;
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".onnx" || entry.path().extension() == ".popef")
        models.push_back(entry.path().string());
    std::ranges::sort(models);
    throw Failure(fmt::format("'{}' is a folder; give one model{}", path,
                              models.empty() ? std::string(" (.onnx or .popef)")
                                             : fmt::format(" of it, such as '{}'", models[0])));
  }
  if (!path.ends_with(".popef")) {
    source.path = path;
    return source;
  }
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(path);
  if (reader->executables().size() != 1)
    throw Failure(fmt::format("'{}' contains {} executables; only a file with one can be estimated",
                              path, reader->executables().size()));
  const auto model = popef::ModelBuilder(reader).createModel();
  for (const popef::Option& o : model->metadata.engineOptions()) {
    if (o.name() == "input_shapes")
      source.input_shapes.push_back(recorded_shape(o.value()));
    else
      source.options[o.name()] = o.value();
  }
  find_model(*model, path, source);
  return source;
}

std::unique_ptr<ir::Graph> read_chip_source(const ChipSource& source,
                                            const CompileSettings& settings) {
  compiler::ModelSource model{.shapes_only = true};
  if (source.bytes) {
    model.bytes = source.bytes->bytes;
    model.folder = source.folder;
  } else {
    model.path = source.path;
  }
  return compiler::read_model(model, settings.allow_links, settings.strict);
}

}  // namespace poprt::cli
