// poprt_exec compare: a model's outputs against reference outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/arguments.h"
#include "exec/commands.h"
#include "exec/tensors.h"

namespace poprt::cli {
namespace {

struct Arguments {
  std::string model, data_set;
  std::vector<std::string> inputs, inputs_pb, references;
  double rtol = 1e-3, atol = 1e-4;
  int threads = 0;
  bool json = false;
  CompileSettings compile;
};

struct Difference {
  std::string name;
  size_t elements = 0, mismatches = 0;
  double max_abs = 0, max_rel = 0;
};

Difference compare(const poprt_anchor* anchor, const AnchorMemory& got, const Array& want,
                   const Arguments& a) {
  Difference d;
  d.name = poprt_anchor_name(anchor);
  if (want.shape != shape_of(anchor)) {
    std::string s;
    for (const int64_t x : want.shape) s += fmt::format("{}{}", s.empty() ? "" : ",", x);
    throw Failure(fmt::format("output '{}' is {}, its reference has shape [{}]", d.name,
                              anchor_type(anchor), s));
  }
  const auto x = as_doubles(poprt_anchor_dtype(anchor), shape_of(anchor), got.data(), got.bytes());
  const auto y = as_doubles(want.dtype, want.shape, want.data.data(), want.data.size());
  d.elements = x.size();
  for (size_t i = 0; i < x.size(); i++) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double difference = std::fabs(x[i] - y[i]);
    if (!(difference <= a.atol + a.rtol * std::fabs(y[i]))) d.mismatches++;
    if (std::isnan(difference)) continue;
    d.max_abs = std::max(d.max_abs, difference);
    if (y[i] != 0) d.max_rel = std::max(d.max_rel, difference / std::fabs(y[i]));
  }
  return d;
}

int run(Arguments& a) {
  const Executable executable = load_model(a.model, a.compile);
  const Runner runner = make_runner(executable.get(), a.threads);
  const auto ins = inputs_of(runner.get()), outs = outputs_of(runner.get());
  if (!a.data_set.empty()) {  // input_0.pb ... output_0.pb, as ONNX's test data sets have it
    const auto add = [&](const auto& anchors, const char* stem, std::vector<std::string>& words) {
      for (size_t i = 0; i < anchors.size(); i++) {
        const std::string path = fmt::format("{}/{}_{}.pb", a.data_set, stem, i);
        if (std::filesystem::exists(path))
          words.push_back(fmt::format("{}={}", poprt_anchor_name(anchors[i]), path));
      }
    };
    add(ins, "input", a.inputs_pb);
    add(outs, "output", a.references);
  }
  if (a.references.empty())
    throw Usage("nothing to compare with; give --reference NAME=FILE.npy or --data_set FOLDER");
  std::vector<AnchorMemory> in_memory, out_memory;
  for (const auto* anchor : ins) in_memory.emplace_back(anchor);
  for (const auto* anchor : outs) out_memory.emplace_back(anchor);
  fill_inputs(ins, in_memory, a.inputs, a.inputs_pb, false);
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  for (auto& m : in_memory) in_data.push_back(m.data());
  for (auto& m : out_memory) out_data.push_back(m.data());
  check(poprt_runner_execute_indexed(runner.get(), in_data.data(), out_data.data()));

  nlohmann::json rows = nlohmann::json::array();
  bool same = true;
  for (const std::string& word : a.references) {
    const auto [name, path] = split_pair(word, "--reference");
    const size_t i = find_anchor(outs, name, "output");
    const Difference d = compare(outs[i], out_memory[i], read_tensor(path), a);
    same &= d.mismatches == 0;
    rows.push_back({{"output", d.name},
                    {"elements", d.elements},
                    {"mismatches", d.mismatches},
                    {"max_abs", d.max_abs},
                    {"max_rel", d.max_rel}});
    if (!a.json)
      fmt::print(
          "{} {}: {} of {} outside rtol {} atol {}; largest difference {:.3g} absolute, {:.3g} "
          "relative\n",
          d.mismatches ? "DIFFERS" : "agrees ", d.name, d.mismatches, d.elements, a.rtol, a.atol,
          d.max_abs, d.max_rel);
  }
  if (a.json)
    fmt::print(
        "{}\n",
        nlohmann::json({{"agrees", same}, {"rtol", a.rtol}, {"atol", a.atol}, {"outputs", rows}})
            .dump(2));
  return same ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "compare", "Compare a model's outputs with reference outputs; exit 1 when they differ");
  c->add_option("MODEL", a->model, ".popef, or .onnx (compiled first)")->required();
  c->add_option("--input", a->inputs, "NAME=FILE.npy")->expected(1, 1 << 20);
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb")->expected(1, 1 << 20);
  c->add_option("--reference", a->references, "NAME=FILE.npy or .pb: what an output should be")
      ->expected(1, 1 << 20);
  c->add_option("--data_set", a->data_set, "Folder with input_0.pb ... output_0.pb ...")
      ->check(CLI::ExistingDirectory);
  c->add_option("--rtol", a->rtol, "Relative tolerance")
      ->check(at_least(0.0))
      ->capture_default_str();
  c->add_option("--atol", a->atol, "Absolute tolerance")
      ->check(at_least(0.0))
      ->capture_default_str();
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_flag("--json", a->json, "Report as JSON");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
