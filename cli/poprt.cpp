// poprt: converts ONNX models, compiles them to PopEF, and tries them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "common/arguments.h"
#include "common/interrupt.h"
#include "common/progress.h"
#include "common/random_inputs.h"

namespace {

using namespace poprt::cli;
namespace fs = std::filesystem;

struct Arguments {
  std::string input_model, output_model, output_dir = "./", logging_level;
  std::string output, popef_name;
  bool overwrite = false;
  bool export_popef = false, run = false, show = false, list_all_passes = false, version = false;
  bool disable_progress = false;
  CompileSettings compile;
};

// A directory that holds exactly one .onnx stands for that file.
std::string model_file(const std::string& given) {
  std::error_code error;
  if (!fs::is_directory(given, error)) return given;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(given, error))
    if (entry.path().extension() == ".onnx") found.push_back(entry.path().string());
  if (error) throw Failure(fmt::format("cannot read the folder '{}': {}", given, error.message()));
  if (found.size() != 1)
    throw Failure(
        fmt::format("the folder '{}' holds {} .onnx files; name one of them with --input_model",
                    given, found.size()));
  return found[0];
}

// Makes a folder, and unless keep() is called removes it again if it was new and stayed empty.
class MadeFolder {
 public:
  explicit MadeFolder(const fs::path& path) {
    std::error_code error;
    if (fs::create_directories(path, error)) path_ = path;
    if (error || !fs::is_directory(path))
      throw Failure(fmt::format("--output_dir: cannot make the folder '{}': {}", path.string(),
                                error ? error.message() : "a file has that name"));
  }
  ~MadeFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove(path_, error);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

// The standard input as a file, which goes with this object.
class Piped {
 public:
  Piped() {
    std::string folder = (fs::temp_directory_path() / "poprt_XXXXXX").string();
    if (!mkdtemp(folder.data()))
      throw Failure(fmt::format("cannot make a folder in '{}': {}",
                                fs::temp_directory_path().string(), std::strerror(errno)));
    folder_ = folder;
    std::ofstream file(path(), std::ios::binary);
    file << std::cin.rdbuf();
    file.close();
    if (!file) throw Failure("--input_model: nothing could be read from the standard input");
  }
  ~Piped() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;
  std::string path() const { return (folder_ / "model.onnx").string(); }

 private:
  fs::path folder_;
};

// Where the executable goes. Throws Failure when a file of that name holds another model, which the
// user may want to keep.
fs::path popef_path(const Arguments& a, const std::string& input) {
  const fs::path path =
      !a.output.empty()
          ? fs::path(a.output)
          : fs::path(a.output_dir) / (a.popef_name.empty() ? "executable.popef" : a.popef_name);
  std::error_code error;
  poprt_executable* found = nullptr;
  if (a.overwrite || !fs::exists(path, error)) return path;
  if (poprt_error* failure = poprt_executable_open(path.c_str(), &found)) {
    poprt_error_free(failure);  // whatever it is, it is no model that runs
    return path;
  }
  const std::string other = poprt_executable_name(Executable(found).get());
  const std::string own = fs::path(input).stem().string();
  if (other != own)
    throw Failure(
        fmt::format("'{}' holds the model '{}', not '{}': give --popef_name {}.popef, "
                    "another --output_dir, or --overwrite",
                    path.string(), other, own, own));
  return path;
}

void run_random(const poprt_executable* executable) {
  const Runner runner = make_runner(executable, 0);
  std::vector<AnchorMemory> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  const auto ins = inputs_of(runner.get()), outs = outputs_of(runner.get());
  memory.reserve(ins.size() + outs.size());
  int64_t batch = 1;
  for (size_t i = 0; i < ins.size(); i++) {
    memory.emplace_back(ins[i]);
    fill_random(ins[i], memory.back().data(), i + 1);
    inputs.push_back(memory.back().data());
    if (poprt_anchor_rank(ins[i]) > 0) {  // smallest leading dimension, as PopRT reports it
      const int64_t d = poprt_anchor_shape(ins[i])[0];
      batch = i == 0 ? d : std::min(batch, d);
    }
  }
  for (const poprt_anchor* a : outs) {
    memory.emplace_back(a);
    outputs.push_back(memory.back().data());
  }
  using Clock = std::chrono::steady_clock;
  std::vector<double> ms;
  for (int warm = 0; warm < 3; warm++)
    check(poprt_runner_execute_indexed(runner.get(), inputs.data(), outputs.data()));
  const auto begin = Clock::now();
  while (ms.size() < 10 || (Clock::now() - begin < std::chrono::seconds(1) && ms.size() < 100000)) {
    const auto t0 = Clock::now();
    check(poprt_runner_execute_indexed(runner.get(), inputs.data(), outputs.data()));
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
  }
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  const double median = ms[ms.size() / 2];
  fmt::print("Bs: {}\nLatency: {:.{}f}ms\nTput: {:.0f}\n", batch, median, median < 0.1 ? 4 : 2,
             static_cast<double>(batch) * 1000.0 / median);
}

void convert_and_compile(Arguments& a) {
  std::optional<Piped> piped;
  if (a.input_model == "-") piped.emplace();
  const std::string input = piped ? piped->path() : model_file(a.input_model);
  ProgressBar bar(!a.disable_progress);
  a.compile.progress = ProgressBar::callback;
  a.compile.user_data = &bar;
  poprt_compiler* raw = nullptr;
  check(poprt_compiler_create(a.compile.get(), &raw));
  const Compiler compiler(raw);
  if (a.show) {
    poprt_string* text = nullptr;
    check(poprt_compiler_show_file(compiler.get(), input.c_str(), &text));
    fmt::print("{}", take(text));
    return;
  }
  const fs::path dir(a.output_dir);
  MadeFolder made(dir);
  std::error_code error;
  const std::string name = a.output_model.empty()
                               ? fs::path(input).stem().string() + ".optimized.onnx"
                               : fs::path(a.output_model).filename().string();
  const fs::path given(a.output_model);
  const std::string converted = (given.is_absolute() ? given : dir / name).string();
  const fs::path popef_file = a.export_popef ? popef_path(a, input) : fs::path();
  if (fs::equivalent(input, converted, error))
    throw Failure(fmt::format(
        "the converted model would overwrite its source '{}'; give another --output_model", input));
  bar.begin("PopRT conversion");
  check(poprt_compiler_convert_file(compiler.get(), input.c_str(), converted.c_str()));
  bar.finish();
  made.keep();
  fmt::print("converted model: {}\n", converted);
  if (a.export_popef) {
    const std::string popef = popef_file.string();
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_to_popef(compiler.get(), input.c_str(), popef.c_str()));
    bar.finish();
    fmt::print("executable: {} ({:.1f} MB)\n", popef,
               static_cast<double>(fs::file_size(popef)) / 1e6);
    if (a.run) {
      poprt_executable* executable = nullptr;
      check(poprt_executable_open(popef.c_str(), &executable));
      run_random(Executable(executable).get());
    }
  } else if (a.run) {
    poprt_executable* executable = nullptr;
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_file(compiler.get(), input.c_str(), &executable));
    bar.finish();
    run_random(Executable(executable).get());
  }
}

int main_checked(int argc, char** argv) {
  Arguments a;
  CLI::App app("Converts ONNX models for the (emulated) IPU, compiles them to PopEF and runs them.",
               "poprt");
  app.add_option("-i,--input_model", a.input_model,
                 "ONNX model, a folder that holds exactly one, or - for the standard input");
  app.add_option("--output_model", a.output_model,
                 "Name of the converted model inside --output_dir, or an absolute path "
                 "[<input>.optimized.onnx]");
  app.add_option("--output_dir", a.output_dir, "Folder for everything that is written")
      ->capture_default_str();
  app.add_flag("--export_popef", a.export_popef,
               "Also compile, to executable.popef inside --output_dir");
  auto* popef_name = app.add_option("--popef_name", a.popef_name,
                                    "Name of the executable inside --output_dir; compiles, too "
                                    "[executable.popef]");
  app.add_option("-o,--output", a.output, "Path of the executable, NAME.popef; compiles, too")
      ->excludes(popef_name);
  app.add_flag("--overwrite", a.overwrite, "Replace an executable of another model");
  app.add_flag("--run", a.run,
               "Compile and run with random inputs; prints batch size, latency and throughput");
  app.add_flag("--show", a.show, "Only print name, dtype and shape of every input and output");
  app.add_option("--input_shape", a.compile.input_shape,
                 "NAME=d0,d1,...: fix variable dimensions (several words)")
      ->expected(1, 1 << 20);
  add_batch_options(app, a.compile.batch_size, a.compile.batch_axis);
  app.add_option("--precision", a.compile.precision,
                 "fp32 or fp16; without it the model keeps its own")
      ->check(one_of({"fp32", "fp16"}));
  add_winograd_option(app, a.compile.winograd);
  app.add_option("--convert_version", a.compile.convert_version,
                 "Opset of the converted model [as the source]")
      ->check(at_least<int64_t>(1));
  app.add_option("--passes", a.compile.passes,
                 "Passes to run after the default ones, comma separated")
      ->delimiter(',');
  app.add_option("--skip_passes", a.compile.skip_passes,
                 "Default passes to leave out, comma separated")
      ->delimiter(',');
  app.add_option("--max_tensor_size", a.compile.max_tensor_size,
                 "Constant folding makes nothing larger [bytes; -1: no limit]")
      ->check(at_least<int64_t>(-1))
      ->capture_default_str();
  app.add_flag("--allow_symlinks", a.compile.allow_links,
               "Read external data through symbolic and hard links too; for models you trust");
  app.add_flag("--strict", a.compile.strict,
               "Refuse a model for what is a warning otherwise, such as unknown attributes");
  app.add_flag("--embed_source", a.compile.embed_source,
               "The executable holds the model, for poprt_exec recompile");
  app.add_flag("--list_all_passes", a.list_all_passes, "List the passes");
  app.add_option("--logging_level", a.logging_level,
                 "DEBUG, INFO, WARNING, ERROR or CRITICAL [WARNING]")
      ->check(one_of({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}));
  app.add_flag("--disable_compilation_progress_bar", a.disable_progress, "No progress bars");
  app.add_flag("-v,--version", a.version, "Print versions");
  if (const auto code = parse(app, argc, argv)) return *code;
  for (auto* list : {&a.compile.passes, &a.compile.skip_passes})
    for (std::string& s : *list) s = CLI::detail::trim_copy(s);

  if (!a.logging_level.empty()) check(poprt_log_set_level(a.logging_level.c_str()));
  if (a.version) {
    fmt::print("{}\n", versions());
    return 0;
  }
  for (const auto& [name, value] :
       {std::pair("--output", &a.output), std::pair("--popef_name", &a.popef_name)})
    if (!value->empty() && !value->ends_with(".popef"))
      throw Usage(fmt::format("{}: expected a name that ends in .popef, found '{}'", name, *value));
  if (a.popef_name.find('/') != std::string::npos)
    throw Usage(
        fmt::format("--popef_name: expected a name without a folder, found '{}'; --output "
                    "takes a path",
                    a.popef_name));
  if (!a.output.empty() || !a.popef_name.empty()) a.export_popef = true;
  if (a.compile.embed_source && !a.export_popef)
    throw Usage(
        "--embed_source needs an executable: give --export_popef, --output or --popef_name");
  if (a.list_all_passes) {
    poprt_string* text = nullptr;
    check(poprt_compiler_list_passes(&text));
    fmt::print("{}", take(text));
    return 0;
  }
  if (a.input_model.empty()) {
    throw Usage("--input_model is required");
  }
  convert_and_compile(a);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  poprt::cli::remove_temporaries_when_interrupted();
  return poprt::cli::guarded("poprt", [&] { return main_checked(argc, argv); });
}
