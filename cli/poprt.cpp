// poprt: converts ONNX models, compiles them to PopEF, and tries them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/arguments.h"
#include "common/completion.h"
#include "common/config_yaml.h"
#include "common/interrupt.h"
#include "common/json.h"
#include "common/option_table.h"
#include "common/output_path.h"
#include "common/progress.h"
#include "common/random_inputs.h"
#include "common/scripts.h"
#include "common/temporary_folder.h"
#include "common/tensorflow.h"

namespace {

using namespace poprt::cli;
namespace fs = std::filesystem;

// A directory that holds exactly one .onnx stands for that file.
std::string model_file(const std::string& given) {
  std::error_code error;
  if (::access(given.c_str(), F_OK) != 0)
    throw Failure(fmt::format("cannot open '{}': {}", given, std::strerror(errno)));
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

// Makes a folder and those that it lies in. Unless keep() is called, those that were new and stayed
// empty are removed again.
class MadeFolder {
 public:
  explicit MadeFolder(const fs::path& path) {
    std::error_code error;
    for (fs::path p = path; !p.empty() && !fs::exists(p, error); p = p.parent_path())
      made_.push_back(p);
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path))
      throw Failure(fmt::format("--output_dir: cannot make the folder '{}': {}", path.string(),
                                error ? error.message() : "a file has that name"));
  }
  ~MadeFolder() {
    std::error_code error;
    for (const fs::path& p : made_) fs::remove(p, error);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;  // the innermost first
};

// Where the standard input lies, for messages that would name a file that nobody has given, and
// what it is called there.
std::string piped_path, piped_name;

// The standard input ("-"), or what else can be read once and not be mapped, as a file, which goes
// with this object.
class Piped {
 public:
  explicit Piped(const std::string& model)
      : name_(model == "-" ? "the standard input" : "'" + model + "'") {
    piped_path = path();
    piped_name = name_;
    std::ifstream given;
    if (model != "-") given.open(model, std::ios::binary);
    std::ofstream file(path(), std::ios::binary);
    file << (model == "-" ? std::cin : given).rdbuf();
    file.close();
    if (!file) throw Failure(fmt::format("--input_model: nothing could be read from {}", name_));
  }
  static bool is(const std::string& model) {
    std::error_code error;
    const fs::file_type type = fs::status(model, error).type();
    return model == "-" || type == fs::file_type::fifo || type == fs::file_type::character;
  }
  std::string path() const { return (folder_.path() / "model.onnx").string(); }

 private:
  std::string name_;
  TemporaryFolder folder_;
};

// The ONNX model that is to be converted, which may be made for the purpose.
class Source {
 public:
  explicit Source(const GivenOptions& given) {
    const std::string model = given.text("input_model");
    if (given.text("framework") == "tensorflow") {
      fs::path folder = fs::path(model).lexically_normal();
      if (!fs::is_directory(folder))
        throw Failure(fmt::format("'{}' is no folder of a SavedModel", model));
      if (!folder.has_filename()) folder = folder.parent_path();
      path_ = (made_.emplace().path() / folder.filename()).string() + ".onnx";
      convert_tensorflow(given, folder, path_);
    } else {
      path_ = Piped::is(model) ? piped_.emplace(model).path() : model_file(model);
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<Piped> piped_;
  std::optional<TemporaryFolder> made_;
};

bool exports_popef(const GivenOptions& given) {
  return given.has("export_popef") || given.has("popef_name") || given.has("output");
}

bool is_quiet(const GivenOptions& given) {
  const std::string level = given.text("logging_level");
  return level == "ERROR" || level == "CRITICAL";
}

// Of a model that was only converted: the options that nothing has looked at.
void warn_of_executable(const GivenOptions& given) {
  for (const char* compiles : {"run", "check", "precision_compare"})
    if (given.has(compiles)) return;
  for (const OptionInfo& option : option_tables().options)
    if (option.executable && given.has(option.name) && !is_quiet(given))
      say("poprt: --{} has no effect without --export_popef: it is of the executable, not of the "
          "converted model\n",
          option.name);
}

// Where the executable goes. Throws Failure when a file of that name holds another model, which the
// user may want to keep.
fs::path popef_path(const GivenOptions& given, const std::string& input) {
  const fs::path path = given.has("output") ? fs::path(given.text("output"))
                                            : fs::path(given.text("output_dir", "./")) /
                                                  given.text("popef_name", "executable.popef");
  std::error_code error;
  poprt_executable* found = nullptr;
  if (given.has("overwrite") || !fs::exists(path, error)) return path;
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

// Models may have one name and be different ones: a file that another compilation of this name has
// left is replaced when it was the same model, or has become another version of it.
class Replaced {
 public:
  // Where nothing is, or the user said --overwrite, everything may be replaced.
  Replaced(const GivenOptions& given, const fs::path& path) : path_(behind_links(path)) {
    std::error_code error;
    poprt_executable* found = nullptr;
    if (given.has("overwrite") || !fs::exists(path, error)) return;
    if (poprt_error* failure = poprt_executable_open(path.c_str(), &found))
      poprt_error_free(failure);
    old_.reset(found);
  }
  // Until it is known what comes, it lies beside.
  fs::path beside() const { return old_ ? fs::path(path_.string() + ".part") : path_; }

  // Puts what is beside into its place. Throws Failure when the old one is another model: nothing
  // that goes in, or nothing that comes out, has the same name.
  void commit() {
    if (!old_) return;
    poprt_executable* made = nullptr;
    check(poprt_executable_open(beside().c_str(), &made));
    const Executable now(made);
    std::error_code error;
    for (const auto& [what, names] :
         {std::pair("input", &input_names), std::pair("output", &output_names)}) {
      const std::set<std::string> before = names(old_.get()), after = names(now.get());
      const auto kept = [&](const std::string& name) { return after.contains(name); };
      if (before.empty() || std::ranges::any_of(before, kept)) continue;
      fs::remove(beside(), error);
      throw Failure(fmt::format(
          "'{}' holds another model of the name '{}', whose {}s are {}, not {}: give --popef_name, "
          "another --output_dir, or --overwrite",
          path_.string(), poprt_executable_name(now.get()), what, fmt::join(before, ", "),
          fmt::join(after, ", ")));
    }
    const std::string before = source_hash(old_.get());
    if (!before.empty() && before != source_hash(now.get()))
      say("poprt: '{}' was compiled from another '{}' than now: it is replaced\n", path_.string(),
          poprt_executable_name(now.get()));
    fs::rename(beside(), path_, error);
    if (error) throw Failure(fmt::format("cannot write '{}': {}", path_.string(), error.message()));
  }

 private:
  static std::set<std::string> input_names(const poprt_executable* e) {
    std::set<std::string> names;
    for (size_t i = 0; i < poprt_executable_input_count(e); i++)
      names.insert(poprt_anchor_name(poprt_executable_input(e, i)));
    return names;
  }
  static std::set<std::string> output_names(const poprt_executable* e) {
    std::set<std::string> names;
    for (size_t i = 0; i < poprt_executable_output_count(e); i++)
      names.insert(poprt_anchor_name(poprt_executable_output(e, i)));
    return names;
  }
  static std::string source_hash(const poprt_executable* e) {
    poprt_popef_metadata* metadata = nullptr;
    check(poprt_executable_popef_metadata(e, &metadata));
    const std::unique_ptr<poprt_popef_metadata, void (*)(poprt_popef_metadata*)> owner(
        metadata, poprt_popef_metadata_free);
    const char* value = nullptr;
    for (size_t i = 0;; i++) {
      const char* name =
          poprt_popef_metadata_option(metadata, POPRT_POPEF_ENGINE_OPTIONS, i, &value);
      if (!name) return {};
      if (std::string_view(name) == "source_hash") return value;
    }
  }

  fs::path path_;
  Executable old_;
};

// Anchors whose names begin with `prefix`, with random inputs.
void run_random(poprt_runner* runner, const std::string& prefix) {
  std::vector<AnchorMemory> memory;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;
  const auto ins = inputs_of(runner), outs = outputs_of(runner);
  memory.reserve(ins.size() + outs.size());
  std::vector<std::vector<int64_t>> shapes;
  for (const poprt_anchor* a : ins) {
    if (!std::string_view(poprt_anchor_name(a)).starts_with(prefix)) continue;
    memory.emplace_back(a);
    fill_random(a, memory.back().data(), inputs.size() + 1);
    const int64_t* shape = poprt_anchor_shape(a);
    shapes.emplace_back(shape, shape + poprt_anchor_rank(a));
    inputs.push_back({poprt_anchor_name(a), 0, memory.back().data(), memory.back().bytes()});
  }
  for (const poprt_anchor* a : outs) {
    if (!std::string_view(poprt_anchor_name(a)).starts_with(prefix)) continue;
    memory.emplace_back(a);
    outputs.push_back({poprt_anchor_name(a), 0, memory.back().data(), memory.back().bytes()});
  }
  const auto run = [&] {
    check(
        poprt_runner_execute(runner, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  };
  using Clock = std::chrono::steady_clock;
  std::vector<double> ms;
  for (int warm = 0; warm < 3; warm++) run();
  const auto begin = Clock::now();
  while (ms.size() < 10 || (Clock::now() - begin < std::chrono::seconds(1) && ms.size() < 100000)) {
    const auto t0 = Clock::now();
    run();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
  }
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  const double median = ms[ms.size() / 2];
  const int64_t batch = rows_of(shapes);
  fmt::print("Bs: {}\nLatency: {:.{}f}ms\nTput: {:.0f}\n", batch, median, median < 0.1 ? 4 : 2,
             static_cast<double>(batch) * 1000.0 / median);
}

void run_random(const poprt_executable* executable) {
  run_random(make_runner(executable, 0).get(), "");
}

// What the library is told.
class CompilerSettings {
 public:
  // `named`: those of `given` that the library is to know.
  CompilerSettings(NamedOptions named, const GivenOptions& given, ProgressBar& bar)
      : named_(std::move(named)) {
    // PopRT's converter: opset 11 and 32-bit integers, unless somebody says otherwise.
    if (!given.has("convert_version") && !given.has("lowest_opset"))
      named_.emplace_back("lowest_opset", "11");
    if (!given.has("narrow_int64")) named_.emplace_back("narrow_int64", "True");
    for (const auto& [name, value] : named_) raw_.push_back({name.c_str(), value.c_str()});
    options_.struct_size = sizeof options_;
    options_.options = raw_.data();
    options_.option_count = raw_.size();
    options_.progress = ProgressBar::callback;
    options_.user_data = &bar;
  }
  CompilerSettings(const CompilerSettings&) = delete;
  CompilerSettings& operator=(const CompilerSettings&) = delete;

  // Throws Usage for options that say something impossible.
  Compiler make() const {
    poprt_compiler* compiler = nullptr;
    poprt_error* error = poprt_compiler_create(&options_, &compiler);
    if (error && poprt_error_get_code(error) == POPRT_INVALID_ARGUMENT) {
      const std::string message = poprt_error_message(error);
      poprt_error_free(error);
      throw Usage(spell_options(message));
    }
    check(error);
    return Compiler(compiler);
  }

 private:
  NamedOptions named_;
  std::vector<poprt_option> raw_;
  poprt_compile_options options_ = {};
};

using TextOfFile = poprt_error* (*)(const poprt_compiler*, const char*, poprt_string**);

void print(TextOfFile function, const poprt_compiler* compiler, const std::string& input) {
  poprt_string* text = nullptr;
  check(function(compiler, input.c_str(), &text));
  fmt::print("{}", take(text));
}

// Where the converted model goes. Throws Failure when that is its source.
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

// Writes the converted model. What is compiled: the source, which the compiler converts again in
// memory, or what scripts have made of it.
std::string convert(const GivenOptions& given, const poprt_compiler* compiler,
                    const std::string& input, const std::string& converted) {
  if (!has_scripts(given)) {
    check(poprt_compiler_convert_file(compiler, input.c_str(), converted.c_str()));
    return input;
  }
  convert_with_scripts(given, input, converted);
  return converted;
}

// All of it or nothing.
void write_whole(const fs::path& name, const std::string& bytes) {
  const fs::path path = behind_links(name), beside = path.string() + ".part";
  std::ofstream file(beside, std::ios::binary);
  file << bytes;
  file.close();
  std::error_code error;
  if (file) fs::rename(beside, path, error);
  if (file && !error) return;
  fs::remove(beside, error);
  throw Failure(fmt::format("cannot write '{}'", path.string()));
}

// --only_manual_sharding: the model with the attributes of pass manual_sharding, else as it was.
void shard_only(const GivenOptions& given) {
  const Source source(given);
  const fs::path input = source.path();
  MadeFolder made(given.text("output_dir", "./"));
  const std::string path = converted_path(given, input.string());
  std::ifstream file(input, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty()) throw Failure(fmt::format("cannot read '{}'", input.string()));
  const std::string devices = given.joined("sharding_info"),
                    stages = given.joined("pipelining_info");
  std::vector<poprt_option> arguments;
  if (!devices.empty()) arguments.push_back({"sharding_info", devices.c_str()});
  if (!stages.empty()) arguments.push_back({"pipelining_info", stages.c_str()});
  const poprt_pass_call call{"manual_sharding", arguments.data(), arguments.size()};
  const fs::path folder = input.parent_path().empty() ? fs::path(".") : input.parent_path();
  poprt_string* made_model = nullptr;
  check(poprt_model_apply_passes(bytes.data(), bytes.size(), folder.c_str(), &call, 1, nullptr,
                                 &made_model));
  write_whole(path, take(made_model));
  made.keep();
  fmt::print("sharded model: {}\n", path);
}

// Of what only prints.
bool shows(const GivenOptions& given) {
  if (!given.has("show") && !given.has("show_io_stat")) return false;
  for (const char* name : {"export_popef", "popef_name", "output", "output_dir", "output_model",
                           "run", "check", "precision_compare"})
    if (given.has(name))
      say("poprt: --{} is not used: {} only prints\n", name,
          given.has("show") ? "--show" : "--show_io_stat");
  return true;
}

void convert_and_compile(const GivenOptions& given) {
  ProgressBar bar(!given.has("disable_compilation_progress_bar"));
  const bool scripts = has_scripts(given);
  const Compiler compiler =
      CompilerSettings(scripts ? options_beside_scripts(given) : given.for_library(), given, bar)
          .make();
  const Source source(given);
  const std::string& input = source.path();
  if (given.has("show")) print(poprt_compiler_show_file, compiler.get(), input);
  if (given.has("show_io_stat")) print(poprt_compiler_io_stat_file, compiler.get(), input);
  if (shows(given)) return;
  MadeFolder made(given.text("output_dir", "./"));
  const bool exports = exports_popef(given);
  const std::string converted = converted_path(given, input);
  const std::string popef =
      exports ? popef_path(given, scripts ? converted : input).string() : std::string();
  bar.begin("PopRT conversion");
  const std::string model = convert(given, compiler.get(), input, converted);
  bar.finish();
  made.keep();
  fmt::print("converted model: {}\n", converted);
  if (given.has("check")) fmt::print("check: the outputs are those of the original\n");
  if (given.has("precision_compare"))
    fmt::print("precision: {}\n",
               (fs::path(converted).parent_path() / "precision_compare.log").string());
  if (!exports) warn_of_executable(given);
  const Compiler second =
      scripts ? CompilerSettings(options_behind_scripts(given), given, bar).make() : nullptr;
  const poprt_compiler* last = scripts ? second.get() : compiler.get();
  if (exports) {
    bar.begin("Graph compilation");
    Replaced replaced(given, popef);
    check(poprt_compiler_compile_to_popef(last, model.c_str(), replaced.beside().c_str()));
    bar.finish();
    replaced.commit();
    fmt::print("executable: {} ({:.1f} MB)\n", popef,
               static_cast<double>(fs::file_size(popef)) / 1e6);
  }
  if (!given.has("run")) return;
  poprt_executable* executable = nullptr;
  if (exports) {
    check(poprt_executable_open(popef.c_str(), &executable));
  } else {
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_file(last, model.c_str(), &executable));
    bar.finish();
  }
  run_random(Executable(executable).get());
}

// Models that become one: its ONNX, and its executable if one is wanted.
class Fusion {
 public:
  Fusion(const GivenOptions& given, const std::vector<GivenOptions>& models)
      : given_(given), models_(models), bar_(!given.has("disable_compilation_progress_bar")) {
    for (const GivenOptions& model : models) {
      if (has_scripts(model))
        throw Usage(
            "model_fusion: passes and shapes in Python are not for models that are fused; convert "
            "each with its own scripts first");
      settings_.push_back(std::make_unique<CompilerSettings>(model.for_library(), model, bar_));
      compilers_.push_back(settings_.back()->make());
      sources_.push_back(std::make_unique<Source>(model));
    }
  }

  void run() {
    if (shows(given_)) return show();
    MadeFolder made(given_.text("output_dir", "./"));
    constexpr const char* kName = "model_fusion.onnx";
    const std::string converted = converted_path(given_, kName);
    const std::string popef =
        exports_popef(given_) ? popef_path(given_, kName).string() : std::string();
    convert(converted);
    made.keep();
    fmt::print("converted model: {}\n", converted);
    if (popef.empty() && !given_.has("run")) {
      for (const GivenOptions& model : models_) warn_of_executable(model);
      return;
    }
    const Executable executable = compile();
    if (!popef.empty()) {
      check(poprt_executable_save(executable.get(), popef.c_str()));
      fmt::print("executable: {} ({:.1f} MB)\n", popef,
                 static_cast<double>(fs::file_size(popef)) / 1e6);
    }
    if (!given_.has("run")) return;
    const Runner runner = make_runner(executable.get(), 0);
    for (size_t i = 0; i < models_.size(); i++) {
      fmt::print("graph{}: {}\n", i, fs::path(sources_[i]->path()).stem().string());
      run_random(runner.get(), fmt::format("graph{}/", i));
    }
  }

 private:
  void show() const {
    for (size_t i = 0; i < models_.size(); i++) {
      fmt::print("graph{}: {}\n", i, fs::path(sources_[i]->path()).stem().string());
      if (given_.has("show"))
        print(poprt_compiler_show_file, compilers_[i].get(), sources_[i]->path());
      if (given_.has("show_io_stat"))
        print(poprt_compiler_io_stat_file, compilers_[i].get(), sources_[i]->path());
    }
  }

  // Nothing is at `path` before all models are right.
  void convert(const std::string& path) {
    const TemporaryFolder folder;
    std::vector<std::string> files;
    for (size_t i = 0; i < models_.size(); i++) {
      const fs::path own = folder.path() / std::to_string(i);
      fs::create_directory(own);
      const std::string& source = sources_[i]->path();
      files.push_back((own / fs::path(source).filename().replace_extension(".onnx")).string());
      bar_.begin("PopRT conversion");
      check(poprt_compiler_convert_file(compilers_[i].get(), source.c_str(), files[i].c_str()));
      bar_.finish();
    }
    std::vector<const char*> raw;
    for (const std::string& file : files) raw.push_back(file.c_str());
    check(poprt_compiler_fuse_files(raw.data(), raw.size(), path.c_str()));
    for (size_t i = 0; i < models_.size(); i++) {
      const fs::path log = folder.path() / std::to_string(i) / "precision_compare.log";
      std::error_code none;
      if (fs::exists(log, none))
        fs::copy_file(
            log, fs::path(path).parent_path() / fmt::format("precision_compare.graph{}.log", i),
            fs::copy_options::overwrite_existing);
    }
  }

  Executable compile() {
    std::vector<Executable> parts;
    std::vector<const poprt_executable*> raw;
    for (size_t i = 0; i < models_.size(); i++) {
      poprt_executable* made = nullptr;
      bar_.begin("Graph compilation");
      check(poprt_compiler_compile_file(compilers_[i].get(), sources_[i]->path().c_str(), &made));
      bar_.finish();
      raw.push_back(parts.emplace_back(made).get());
    }
    poprt_executable* fused = nullptr;
    check(poprt_executable_fuse(raw.data(), raw.size(), &fused));
    return Executable(fused);
  }

  const GivenOptions& given_;
  const std::vector<GivenOptions>& models_;
  ProgressBar bar_;
  std::vector<std::unique_ptr<CompilerSettings>> settings_;
  std::vector<Compiler> compilers_;
  std::vector<std::unique_ptr<Source>> sources_;
};

// A pass of two models: an option here, a class in Python.
constexpr const char* kComparison = "layer_precision_compare";

// One name a line with what the pass does, or all that is known of them as JSON. Those of scripts
// take the place of others of their name, or come last.
void list_passes(const GivenOptions& given) {
  if (given.has("custom_library_so_paths")) load_plugins(given.joined("custom_library_so_paths"));
  poprt_string* text = nullptr;
  check(poprt_compiler_list_passes_json(&text));
  auto all = parse_ordered_json(take(text));
  const nlohmann::ordered_json comparison = {
      {"name", kComparison},
      {"summary",
       "compares every Conv, MatMul and Gemm with the model as it was; as "
       "--precision_compare"},
      {"parameters", nlohmann::ordered_json::array()}};
  all.insert(all.begin(), comparison);  // the last ones are those of users
  for (const ScriptPass& pass : passes_of_scripts(given)) {
    const nlohmann::ordered_json row = {{"name", pass.name}, {"summary", pass.summary}};
    const auto same = std::ranges::find_if(all, [&](auto& r) { return r["name"] == pass.name; });
    if (same == all.end())
      all.push_back(row);
    else
      *same = row;
  }
  if (given.has("json")) {
    fmt::print("{}\n", to_text(all, 2));
    return;
  }
  size_t width = 0;
  for (const auto& row : all) width = std::max(width, row["name"].get<std::string>().size());
  for (const auto& row : all)
    fmt::print("{:<{}}  {}\n", row["name"].get<std::string>(), width,
               row["summary"].get<std::string>());
}

void check_popef_names(const GivenOptions& given) {
  for (const char* name : {"output", "popef_name"})
    if (const std::string value = given.text(name); given.has(name) && !value.ends_with(".popef"))
      throw Usage(
          fmt::format("--{}: expected a name that ends in .popef, found '{}'", name, value));
  if (given.has("output") && given.has("popef_name"))
    throw Usage("--output and --popef_name: only one of them names the executable");
  if (given.text("popef_name").find('/') != std::string::npos)
    throw Usage(
        fmt::format("--popef_name: expected a name without a folder, found '{}'; --output "
                    "takes a path",
                    given.text("popef_name")));
}

// What is no work with a model; whether it was asked for.
bool inform(const GivenOptions& given) {
  if (given.has("version"))
    fmt::print("{}\n", versions());
  else if (given.has("print_completion"))
    fmt::print("{}", completion(given.text("print_completion")));
  else if (given.has("list_all_passes"))
    list_passes(given);
  else
    return false;
  return true;
}

// What is accepted, but not all of it acts.
void warn_of_options(const GivenOptions& given) {
  if (is_quiet(given)) return;
  for (const std::string& name : given.overridden())
    say("poprt: --{} is given several times, the last one counts: {}\n", name, given.text(name));
  if (given.has("perf_tuner"))
    say("poprt: --perf_tuner does nothing: {}\n", option_tables().find("perf_tuner")->note);
}

int main_checked(int argc, char** argv) {
  Command app("Converts ONNX models for the (emulated) IPU, compiles them to PopEF and runs them.",
              "poprt");
  Command* tensorflow =
      app.add_command("tf2onnx", "Options of --framework tensorflow, which come last");
  GivenOptions given;
  given.add_to(app, option_tables().options);
  given.add_to(*tensorflow, option_tables().tf2onnx);
  if (const auto code = app.parse(argc, argv)) return *code;
  given.take();
  std::vector<GivenOptions> models;
  if (given.has("config_yaml")) models = read_config_yaml(given.text("config_yaml"), given);
  if (given.has("manual_sharding_config"))
    read_sharding_yaml(given.text("manual_sharding_config"), given);
  for (GivenOptions& model : models)
    if (model.has("manual_sharding_config"))
      read_sharding_yaml(model.text("manual_sharding_config"), model);
  given.move_pass(kComparison, "precision_compare");
  given.check_needs();
  for (GivenOptions& model : models) {
    model.move_pass(kComparison, "precision_compare");
    model.check_needs();
  }

  if (given.has("logging_level")) check(poprt_log_set_level(given.text("logging_level").c_str()));
  if (inform(given)) return 0;
  check_popef_names(given);
  if (given.has("embed_source") && !exports_popef(given))
    throw Usage(
        "--embed_source needs an executable: give --export_popef, --output or --popef_name");
  warn_of_options(given);
  if (!models.empty()) {
    Fusion(given, models).run();
    return 0;
  }
  if (!given.has("input_model"))
    throw Usage("expected --input_model, found none: give --input_model PATH");
  const bool from_tensorflow = given.text("framework") == "tensorflow";
  if (tensorflow->parsed() && !from_tensorflow) throw Usage("tf2onnx needs --framework tensorflow");
  if (from_tensorflow && !given.has("saved_model"))
    throw Usage("--framework tensorflow takes a SavedModel: give tf2onnx --saved_model");
  if (given.has("only_manual_sharding")) {
    if (!given.has("sharding_info") && !given.has("pipelining_info"))
      throw Usage("--only_manual_sharding needs --manual_sharding_config");
    shard_only(given);
    return 0;
  }
  convert_and_compile(given);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  poprt::cli::hold_standard_streams();
  poprt::cli::remove_temporaries_when_interrupted();
  return poprt::cli::guarded("poprt", [&] {
    try {
      return main_checked(argc, argv);
    } catch (const Usage&) {
      throw;
    } catch (const Failure& e) {
      std::string message = e.what();
      for (size_t at; !piped_path.empty() && (at = message.find(piped_path)) != message.npos;)
        message.replace(at, piped_path.size(), piped_name);
      throw Failure(message);
    }
  });
}
