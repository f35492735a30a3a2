// poprt_exec run: one model on data from files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "common/arguments.h"
#include "exec/commands.h"
#include "exec/tensors.h"
#include "exec/values.h"

namespace poprt::cli {
namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> inputs, inputs_pb, outputs;
  int threads = 0, iterations = 1;
  bool json = false, random = false, profile = false;
  CompileSettings compile;
};

int run(Arguments& a) {
  using Clock = std::chrono::steady_clock;
  const auto t0 = Clock::now();
  const PreparedModel model = load_with_values(a.model, a.compile, a.inputs, a.inputs_pb);
  nlohmann::json texts = nlohmann::json::array();
  for (const auto& text : model.texts) {
    texts.push_back({{"name", text.name}, {"shape", text.shape}, {"values", text.values}});
    if (a.json) continue;
    fmt::print("output {}: string[{}]\n", text.name, fmt::join(text.shape, ","));
    for (const std::string& s : text.values) fmt::print("  {}\n", nlohmann::json(s).dump());
  }
  // Text needs no run.
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& word : a.outputs) files.push_back(split_pair(word, "--output"));
  std::vector<std::string> written;
  std::erase_if(files, [&](const auto& file) {
    const auto& [name, path] = file;
    std::vector<Array> elements;
    for (const auto& text : model.texts)
      if (text.name == name || text.name == fmt::format("{}[{}]", name, elements.size()))
        elements.push_back({POPRT_DTYPE_STRING, text.shape, {}, text.values});
    if (elements.empty()) return false;
    if (path.ends_with(".npz"))
      write_npz(path, elements);
    else
      write_npy(path, elements[0]);
    written.push_back(path);
    return true;
  });
  const Executable& executable = model.executable;
  if (!executable) {
    if (!files.empty()) throw Failure(fmt::format("the model has no output '{}'", files[0].first));
    if (!a.json)
      for (const std::string& path : written) fmt::print("wrote {}\n", path);
    if (a.json) fmt::print("{}\n", nlohmann::json({{"model", a.model}, {"texts", texts}}).dump(2));
    return 0;
  }
  const Runner runner = make_runner(executable.get(), a.threads, a.profile);
  const auto t1 = Clock::now();
  const auto ins = inputs_of(runner.get()), outs = outputs_of(runner.get());
  std::vector<AnchorMemory> in_memory, out_memory;
  for (const auto* anchor : ins) in_memory.emplace_back(anchor);
  for (const auto* anchor : outs) out_memory.emplace_back(anchor);
  const auto is_input = [&](const std::string& name) {
    return std::any_of(ins.begin(), ins.end(),
                       [&](const poprt_anchor* i) { return name == poprt_anchor_name(i); });
  };
  // What the program holds already is no input any more.
  fill_inputs(ins, in_memory, a.inputs, a.inputs_pb, a.random,
              [&](const std::string& name) { return !is_input(name) && model.holds(name); });
  struct Wanted {
    std::vector<size_t> outputs;  // of a sequence its elements, else one
    std::string path;
  };
  std::vector<Wanted> wanted;
  for (const auto& [name, path] : files) {
    Wanted w{{}, path};
    if (path.ends_with(".npz"))
      for (size_t i = 0; i < outs.size(); i++)
        if (poprt_anchor_name(outs[i]) == fmt::format("{}[{}]", name, w.outputs.size()))
          w.outputs.push_back(i);
    if (w.outputs.empty()) w.outputs.push_back(find_anchor(outs, name, "output"));
    wanted.push_back(std::move(w));
  }
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  for (auto& m : in_memory) in_data.push_back(m.data());
  for (auto& m : out_memory) out_data.push_back(m.data());

  std::vector<double> ms;
  for (int i = 0; i < a.iterations; i++) {
    const auto begin = Clock::now();
    check(poprt_runner_execute_indexed(runner.get(), in_data.data(), out_data.data()));
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  for (const Wanted& w : wanted) {
    std::vector<Array> arrays;
    for (const size_t i : w.outputs) arrays.push_back(cropped(outs, out_memory, i));
    if (w.path.ends_with(".npz"))
      write_npz(w.path, arrays);
    else
      write_npy(w.path, arrays[0]);
    written.push_back(w.path);
  }

  const double load_ms = std::chrono::duration<double, std::milli>(t1 - t0).count();
  const double best = *std::min_element(ms.begin(), ms.end());
  std::string profile;
  if (a.profile) {
    poprt_string* text = nullptr;
    check(poprt_runner_profile(runner.get(), &text));
    profile = take(text);
  }
  if (a.json) {
    nlohmann::json j;
    j["model"] = a.model;
    j["load_ms"] = load_ms;
    j["latency_ms"] = ms;
    for (size_t i = 0; i < outs.size(); i++)
      j["outputs"].push_back({{"name", poprt_anchor_name(outs[i])},
                              {"dtype", poprt_dtype_name(poprt_anchor_dtype(outs[i]))},
                              {"shape", cropped(outs, out_memory, i).shape}});
    if (!model.folded.empty()) j["folded_inputs"] = model.folded;
    if (!texts.empty()) j["texts"] = texts;
    if (a.profile) j["profile"] = nlohmann::json::parse(profile);
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("ready after {:.2f} ms; {} run{}, fastest {:.4f} ms\n", load_ms, a.iterations,
             a.iterations == 1 ? "" : "s", best);
  if (!model.folded.empty())
    fmt::print("compiled with the values of: {}\n", fmt::join(model.folded, ", "));
  for (size_t i = 0; i < outs.size(); i++) {
    const auto real = cropped(outs, out_memory, i).shape;
    fmt::print("output {}: {}{}\n", poprt_anchor_name(outs[i]), anchor_type(outs[i]),
               real == shape_of(outs[i]) ? "" : fmt::format(", of it [{}]", fmt::join(real, ",")));
  }
  for (const std::string& path : written) fmt::print("wrote {}\n", path);
  if (a.profile) {
    const auto j = nlohmann::json::parse(profile);
    std::vector<nlohmann::json> rows(j["instructions"].begin(), j["instructions"].end());
    std::sort(rows.begin(), rows.end(),
              [](const auto& x, const auto& y) { return x["min_ns"] > y["min_ns"]; });
    double total = 0;
    for (const auto& r : rows) total += r["min_ns"].get<double>();
    fmt::print("{:>10} {:>6}  {:<28} {}\n", "us", "%", "kernel", "instruction");
    for (const auto& r : rows)
      fmt::print("{:>10.2f} {:>6.2f}  {:<28} {}\n", r["min_ns"].get<double>() / 1e3,
                 100 * r["min_ns"].get<double>() / std::max(total, 1.0),
                 r["kernel"].get<std::string>(), r["name"].get<std::string>());
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, std::function<int()>& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("run", "Run a model on data from files");
  c->add_option("MODEL", a->model, ".popef, or .onnx (compiled first)")->required();
  c->add_option("--input", a->inputs,
                "NAME=FILE.npy, FILE.npz for a sequence, FILE.none for an optional that is absent")
      ->expected(1, 1 << 20);
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb: an ONNX TensorProto")
      ->expected(1, 1 << 20);
  c->add_option("--output", a->outputs,
                "NAME=FILE.npy, or FILE.npz for a sequence: write this output")
      ->expected(1, 1 << 20);
  c->add_flag("--random", a->random, "Make up inputs that are not given");
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_option("--iterations", a->iterations, "Runs")
      ->check(between(1, 1000000000))
      ->capture_default_str();
  c->add_flag("--profile", a->profile, "Time every instruction");
  c->add_flag("--json", a->json, "Report as JSON");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
