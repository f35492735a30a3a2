// poprt_exec recompile: compiles the source of a PopEF file again with the recorded options.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/file.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/progress.h"
#include "common/temporary_folder.h"
#include "common/waiting.h"
#include "common/written_files.h"
#include "exec/commands.h"
#include "exec/support/recorded_options.h"
#include "onnx/model_hash.h"
#include "option_lists.h"
#include "popef/model.h"
#include "popef/writer.h"
#include "program/serialize.h"
#include "runtime/session/model_source.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;
using popef::Metadata;
using Model = std::shared_ptr<popef::Model>;

struct RecompileArguments {
  std::string file, output, source;
  bool force = false, allow_links = false, json = false;
};

// The ONNX model to compile, as bytes in memory or as a file.
struct Source {
  std::string name;   // of the file; may be empty if it is embedded
  std::string found;  // "embedded" or its path
  std::string hash;
  std::optional<popef::Payload> bytes;
  std::unique_ptr<TemporaryFolder> folder;  // contains embedded external data
  bool linked = false;                      // whether symbolic links may be followed
};

Model read(const std::shared_ptr<popef::Reader>& reader, const std::string& file) {
  if (reader->executables().size() != 1)
    throw Failure(
        fmt::format("'{}' contains {} executables; only a file with one can be compiled again",
                    file, reader->executables().size()));
  return popef::ModelBuilder(reader).createModel();
}

std::string package_of(const popef::Model& model) {
  std::array<std::byte, program::kPackageBytes> head{};
  model.executable.read(
      0, std::span(head).first(std::min<uint64_t>(head.size(), model.executable.size())));
  return program::package_of(head);
}

// Throws Failure for a file of `poprt_exec generate --save`: its options are not those of poprt.
void refuse_generator(const RecompileArguments& a, const popef::Model& model) {
  if (std::ranges::none_of(model.metadata.engineOptions(), [](const popef::Option& o) {
        return o.name() == capi::kGenerationOption;
      }))
    return;
  throw Failure(
      fmt::format("'{}' is a file of poprt_exec generate --save, which cannot be compiled again; "
                  "write it again with poprt_exec generate MODEL --save FILE",
                  a.file));
}

// The names in the file are untrusted, so each must stay below the folder.
void write_below(const fs::path& folder, const std::string& location, const popef::Payload& data) {
  const fs::path path(location);
  if (path.empty() || path.is_absolute() ||
      std::any_of(path.begin(), path.end(), [](const fs::path& p) { return p == ".."; }))
    throw Failure(fmt::format("the embedded source has a file '{}' outside its folder", location));
  fs::create_directories((folder / path).parent_path());
  AtomicFile file(folder / path);
  file.write(data.bytes);
  file.commit();
}

// Returns nothing if the file has no embedded source.
std::optional<Source> embedded(const popef::Model& model) {
  std::optional<Source> source;
  const std::string prefix = runtime::source_blob("") + "/";
  for (const auto& blob : model.opaqueBlobs)
    if (blob.name == runtime::kSourceBlob) {
      source.emplace();
      source->found = "embedded";
      source->bytes = blob.payload();
    }
  if (!source) return source;
  for (const auto& blob : model.opaqueBlobs) {
    if (!blob.name.starts_with(prefix)) continue;
    if (!source->folder) source->folder = std::make_unique<TemporaryFolder>();
    write_below(source->folder->path(), blob.name.substr(prefix.size()), blob.payload());
  }
  std::optional<fs::path> folder;
  if (source->folder) folder = source->folder->path();
  const Waiting waiting("hash of the model");
  source->hash = onnx::hash_bytes(source->bytes->bytes, folder);
  return source;
}

Source find_source(const RecompileArguments& a, const popef::Model& model,
                   const RecordedOptions& recorded) {
  if (a.source.empty())
    if (auto source = embedded(model)) {
      source->name = recorded.source;
      return std::move(*source);
    }
  Source source;
  fs::path path(a.source);
  if (a.source.empty()) {
    if (recorded.source.empty())
      throw Failure(fmt::format(
          "'{}' neither contains its ONNX model nor records its path; give --source MODEL.onnx",
          a.file));
    // Only the name of the recorded file is used: it is expected next to the PopEF file.
    path = fs::path(a.file).parent_path() / fs::path(recorded.source).filename();
    std::error_code error;
    if (!fs::exists(path, error))
      throw Failure(
          fmt::format("'{}' was compiled from '{}', which is neither embedded nor next to it; give "
                      "--source MODEL.onnx (files compiled with --embed_source need no source)",
                      a.file, recorded.source));
  }
  source.found = path.string();
  source.name = path.filename().string();
  source.linked = a.allow_links;
  const Waiting waiting("hash of the model");
  source.hash = onnx::hash_file(path, a.allow_links);
  return source;
}

void check_hash(const RecompileArguments& a, const Source& source,
                const RecordedOptions& recorded) {
  if (recorded.source_hash.empty() || source.hash == recorded.source_hash) return;
  throw Failure(fmt::format(
      "{} is not the source of '{}': its hash is {}, expected the recorded hash {}{}; compile "
      "another model with poprt",
      source.bytes ? "the embedded source" : "'" + source.found + "'", a.file, source.hash,
      recorded.source_hash, recorded.source.empty() ? "" : " of '" + recorded.source + "'"));
}

// Compiles and returns the new executable as blobs of a PopEF file.
Model compile(const RecompileArguments& a, const Source& source, RecordedOptions& recorded) {
  ProgressBar bar(!a.json);
  recorded.options.progress = ProgressBar::callback;
  recorded.options.user_data = &bar;
  recorded.options.allow_links = source.linked;
  poprt_compiler* made = nullptr;
  check(poprt_compiler_create(&recorded.options, &made));
  const Compiler compiler(made);
  bar.begin("Graph compilation");
  poprt_executable* compiled = nullptr;
  if (source.bytes) {
    const std::string folder = source.folder ? source.folder->path().string() : "";
    check(poprt_compiler_compile_bytes(compiler.get(), source.bytes->bytes.data(),
                                       source.bytes->bytes.size(),
                                       source.folder ? folder.c_str() : nullptr, &compiled));
  } else {
    check(poprt_compiler_compile_file(compiler.get(), source.found.c_str(), &compiled));
  }
  bar.finish();
  const Executable executable(compiled);
  const auto bytes = std::make_shared<std::string>();
  check(poprt_executable_save_bytes(
      executable.get(),
      [](const void* data, size_t size, void* to) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
        return 0;
      },
      bytes.get()));
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseMemory(std::as_bytes(std::span(*bytes)), bytes);
  return popef::ModelBuilder(reader).createModel();
}

// Anchors of separate constants are ignored, because the new file contains the constants and the
// program.
std::vector<popef::Anchor> interface_of(const Metadata& metadata) {
  std::vector<popef::Anchor> anchors = metadata.anchors();
  std::erase_if(anchors,
                [](const popef::Anchor& a) { return a.type() == popef::TensorType::UNKNOWN; });
  return anchors;
}

// The new metadata with the fields that users may have set in the file after it was compiled.
Metadata merged(const RecompileArguments& a, const Source& source, const Metadata& was,
                Metadata now) {
  now.setExecutable(was.executable());
  std::vector<popef::Option> options;
  for (const popef::Option& o : now.engineOptions()) {
    if (o.name() == runtime::kSourceName) continue;
    if (o.name() == runtime::kSourceHash && !source.name.empty())
      options.emplace_back(std::string(runtime::kSourceName), source.name);
    options.push_back(o);
  }
  now.setEngineOptions(std::move(options));
  now.setDeviceOptions(was.deviceOptions());
  if (interface_of(was) != interface_of(now)) {
    print_error(
        "poprt_exec recompile: warning: inputs or outputs of '{}' are not those of the new "
        "program; the file gets the new ones, without the changes that were made to its metadata\n",
        printable(a.file));
    return now;
  }
  now.setSeedHandle(was.seedHandle());
  now.setReplicationFactor(was.replicationFactor());
  now.setDeviceIterations(was.deviceIterations());
  now.setNumIpus(was.numIpus());
  now.setNumProcesses(was.numProcesses());
  now.setIsPOD(was.isPOD());
  now.setIsInference(was.isInference());
  return now;
}

void copy(const popef::BlobData& from, popef::BlobWriter& to) {
  const popef::Payload payload = from.payload();
  to.write(payload.bytes.data(), payload.bytes.size());
  to.close();
}

// Whether the compiler writes this opaque blob. Other opaque blobs belong to users and are kept.
bool is_made(const std::string& name) {
  return name.starts_with("poprt.") || name == "onnx_metadata" || name == "plugins" ||
         name.starts_with("class_labels/");
}

// Uses the order in which the compiler writes files, so that equal contents give equal bytes.
void write(const std::string& path, const popef::Model& was, const popef::Model& now,
           const Metadata& metadata) {
  const std::string& name = metadata.executable();
  popef::FileWriter writer(path);
  writer.write(metadata);
  copy(now.executable, *writer.createExecutable(name, was.executable.blob().compressed));
  // Tensor data in the file may be newer than the data in the source.
  for (const auto& t : now.tensors) {
    const popef::TensorReader* kept = was.findTensor(t.info.name());
    const bool same = kept && kept->info == t.info;
    copy(same ? *kept : t, *writer.createTensorData(t.info, name));
  }
  for (const auto& t : was.tensors)
    if (t.info.name() != "poprt.weights" && !now.findTensor(t.info.name()))
      copy(t, *writer.createTensorData(t.info, t.executable));
  for (const auto& f : was.feeds) copy(f, *writer.createFeedData(f.info, f.executable));
  std::multimap<std::string, std::pair<const popef::OpaqueReader*, std::string>> blobs;
  for (const auto& b : now.opaqueBlobs) blobs.emplace(b.name, std::pair(&b, name));
  for (const auto& b : was.opaqueBlobs)
    if (!is_made(b.name) && std::ranges::find(now.opaqueBlobs, b.name,
                                              &popef::OpaqueReader::name) == now.opaqueBlobs.end())
      blobs.emplace(b.name, std::pair(&b, b.executable));
  for (const auto& [blob, from] : blobs)
    copy(*from.first, *writer.createOpaqueBlob(blob, from.second));
  writer.close();
}

// Only the PopEF file may be replaced.
void require_separate_output(const RecompileArguments& a, const Source& source) {
  if (a.output.empty()) return;
  CommandFiles files;
  if (!source.bytes) files.reads_model(source.found);
  files.writes(a.output, Contents::popef, "--output");
}

int recompile(const RecompileArguments& a) {
  if (!a.output.empty() && !a.output.ends_with(".popef"))
    throw Usage(fmt::format("--output: expected a name that ends in .popef, found '{}'",
                            printable(a.output)));
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(a.file);
  const Model was = read(reader, a.file);
  const std::string before = package_of(*was), after(program::package());
  const std::string output = a.output.empty() ? a.file : a.output;
  nlohmann::json report = {{"file", a.file},
                           {"package_before", before},
                           {"package_after", after},
                           {"recompiled", false}};
  if (before == after && !a.force && output == a.file) {
    if (a.json) {
      print_json(report);
    } else {
      fmt::print(
          "'{}' was compiled by {}, which is this version; it is not compiled again (give --force "
          "to compile it)\n",
          printable(a.file), before);
    }
    return 0;
  }
  refuse_generator(a, *was);
  RecordedOptions recorded(was->metadata.engineOptions());
  const Source source = find_source(a, *was, recorded);
  check_hash(a, source, recorded);
  require_separate_output(a, source);
  const Model now = compile(a, source, recorded);
  write(output, *was, *now, merged(a, source, was->metadata, now->metadata));
  if (a.json) {
    report["recompiled"] = true;
    report["output"] = output;
    report["bytes"] = fs::file_size(output);
    report["source"] = source.found;
    report["source_hash"] = source.hash;
    auto& options = report["options"] = nlohmann::json::array();
    for (const popef::Option& o : was->metadata.engineOptions())
      options.push_back({{"name", o.name()}, {"value", o.value()}});
    print_json(report);
    return 0;
  }
  fmt::print("{}: compiled again from {} ({}, before {})\n", printable(output),
             source.bytes ? "its embedded source" : "'" + printable(source.found) + "'", after,
             printable(before));
  return 0;
}

}  // namespace

void add_recompile(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<RecompileArguments>();
  Command* c = app.add_command(
      "recompile", "Compile the source of a PopEF file again with the recorded options");
  c->add_option("FILE", a->file,
                "PopEF file with one executable; replaced after the compilation has succeeded")
      ->required();
  add_plugin_option(*c);
  c->add_option("-o,--output", a->output, "Write to this file instead");
  c->add_option("--source", a->source,
                "The ONNX model [embedded in FILE, else next to it under the recorded name]");
  c->add_flag("--force", a->force, "Compile also if this version compiled FILE");
  c->add_flag("--allow_symlinks", a->allow_links,
              "Also read external data through symbolic and hard links; only for trusted models");
  c->add_flag("--json", a->json, "Report as JSON");
  c->callback([a, &action] { action = [a] { return recompile(*a); }; });
}

}  // namespace poprt::cli
