#include "poprt/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/arguments.h"
#include "common/check_report.h"
#include "common/scripts.h"
#include "common/temporary_folder.h"
#include "poprt/convert.h"
#include "poprt/executable_path.h"
#include "poprt/option_checks.h"
#include "poprt/output_folder.h"
#include "poprt/run_random.h"
#include "poprt/show.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

// Throws Usage if the options need another runner than that of fused models.
void check_runner(const GivenOptions& model) {
  for (const char* name : {"apply_hcsr", "pack_args"})
    if (model.has(name))
      throw Usage(fmt::format(
          "--{}: the runner of fused models, ModelFusionRunner, has not what such a model needs; "
          "compile it alone",
          name));
  if (model.text("numerics") == "faithful")
    throw Usage("--numerics faithful: fused models compute fast; compile the model alone");
  if (const std::string word = model.word_with_several_shapes(); !word.empty())
    throw Usage(fmt::format(
        "--input_shape {} gives several shapes: fused models have one; compile the model alone",
        word));
}

}  // namespace

Fusion::Fusion(const GivenOptions& given, const std::vector<GivenOptions>& models)
    : given_(given), models_(models), bar_(!given.has("disable_compilation_progress_bar")) {
  for (size_t i = 0; i < models.size(); i++) {
    const GivenOptions& model = models[i];
    for_model(i, model, [&] {
      if (has_scripts(model))
        throw Usage(
            "model_fusion: fused models cannot have passes and shape functions in Python; convert "
            "each model with its scripts first");
      if (exports_popef(given) || given.has("run")) check_runner(model);
      settings_.push_back(std::make_unique<CompilerSettings>(model.for_library(), model, bar_));
      compilers_.push_back(settings_.back()->make());
      sources_.push_back(std::make_unique<Source>(model));
    });
  }
}

void Fusion::run() {
  if (only_prints(given_)) return show();
  MadeFolder made(given_.text("output_dir", "./"));
  constexpr const char* kName = "model_fusion.onnx";
  const std::string converted = converted_path(given_, kName);
  const std::string popef =
      exports_popef(given_) ? popef_path(given_, kName).string() : std::string();
  const bool writes = writes_converted(given_) || std::ranges::any_of(models_, writes_converted);
  std::vector<std::string> sources;
  for (const auto& source : sources_) sources.push_back(source->path());
  require_separate_files(given_, sources, writes ? converted : std::string(), popef);
  ExecutableReplacement replaced(given_, popef);
  if (writes) {
    convert(converted, replaced);
    fmt::print("converted model: {}\n", converted);
  } else if (std::ranges::any_of(models_, [](const GivenOptions& m) { return m.has("check"); })) {
    const TemporaryFolder unkept;  // the models are only checked
    convert((unkept.path() / kName).string(), replaced);
  }
  made.keep();
  if (popef.empty() && !given_.has("run")) {
    for (const GivenOptions& model : models_) warn_of_executable(model);
    return;
  }
  const Executable executable = compile();
  if (!popef.empty()) {
    check(poprt_executable_save(executable.get(), replaced.temporary_path().c_str()));
    replaced.commit();
    fmt::print("executable: {} ({:.1f} MB)\n", popef,
               static_cast<double>(fs::file_size(popef)) / 1e6);
  }
  if (!given_.has("run")) return;
  const Runner runner = make_runner(executable.get(), {});
  for (size_t i = 0; i < models_.size(); i++) {
    fmt::print("graph{}: {}\n", i, fs::path(sources_[i]->path()).stem().string());
    for_model(i, models_[i], [&] {
      const Estimate estimate = estimate_of(models_[i], compilers_[i].get(), sources_[i]->path());
      run_random(runner.get(), fmt::format("graph{}/", i));
      print_estimate(estimate.get());
    });
  }
}

void Fusion::show() const {
  for (size_t i = 0; i < models_.size(); i++) {
    fmt::print("graph{}: {}\n", i, fs::path(sources_[i]->path()).stem().string());
    for_model(i, models_[i], [&] { show_model(given_, compilers_[i].get(), sources_[i]->path()); });
  }
}

void Fusion::convert(const std::string& path, const ExecutableReplacement& replaced) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (size_t i = 0; i < models_.size(); i++) {
    const fs::path own = folder.path() / std::to_string(i);
    fs::create_directory(own);
    const std::string& source = sources_[i]->path();
    files.push_back((own / fs::path(source).filename().replace_extension(".onnx")).string());
    bar_.begin("PopRT conversion");
    for_model(i, models_[i], [&] {
      check(poprt_compiler_convert_file(compilers_[i].get(), source.c_str(), files[i].c_str()));
    });
    bar_.finish();
  }
  replaced.require_same_model(files, true);
  require_same_onnx(given_, path, files, true);
  std::vector<const char*> raw;
  for (const std::string& file : files) raw.push_back(file.c_str());
  check(poprt_compiler_fuse_files(raw.data(), raw.size(), path.c_str()));
  for (size_t i = 0; i < models_.size(); i++) {
    const fs::path own = folder.path() / std::to_string(i);
    std::error_code none;
    for (const auto& [name, ending] : {std::pair("precision_compare", "log"),
                                       std::pair("check", "json"), std::pair("quantize", "log")})
      if (const fs::path file = own / fmt::format("{}.{}", name, ending); fs::exists(file, none))
        fs::copy_file(file,
                      fs::path(path).parent_path() / fmt::format("{}.graph{}.{}", name, i, ending),
                      fs::copy_options::overwrite_existing);
    for (const std::string& lines : {check_lines(own), accuracy_lines(own)})
      if (!lines.empty()) fmt::print("graph{}: {}", i, lines);
  }
}

Executable Fusion::compile() {
  std::vector<Executable> parts;
  std::vector<const poprt_executable*> raw;
  for (size_t i = 0; i < models_.size(); i++) {
    poprt_executable* made = nullptr;
    bar_.begin("Graph compilation");
    for_model(i, models_[i], [&] {
      check(poprt_compiler_compile_file(compilers_[i].get(), sources_[i]->path().c_str(), &made));
    });
    bar_.finish();
    raw.push_back(parts.emplace_back(made).get());
  }
  poprt_executable* fused = nullptr;
  check(poprt_executable_fuse(raw.data(), raw.size(), &fused));
  return Executable(fused);
}

}  // namespace poprt::cli
