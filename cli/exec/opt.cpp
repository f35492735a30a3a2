// poprt_exec opt: runs passes on an ONNX model or a text graph and prints the result.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/log_level.h"
#include "common/arguments.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "ir/text.h"
#include "kernels/common/describe_call.h"
#include "kernels/common/instruction_set.h"
#include "ops/op.h"

namespace poprt::cli {
namespace {

struct OptArguments {
  std::string model;
  std::vector<std::string> passes, skip_passes, input_shape, pass_args;
  std::string stage = "none", stop_after;
  int64_t rewrite_limit = -1, batch_size = 0, batch_axis = -1;
  bool strict = false, timing = false, dump_each = false, elide = false, program = false;
};

// Parses "PASS.PARAMETER=TEXT" words. A backslash and n in a text are a line feed.
std::map<std::string, passes::Arguments, std::less<>> arguments_of(
    const std::vector<std::string>& words) {
  std::map<std::string, passes::Arguments, std::less<>> all;
  for (const std::string& word : words) {
    const size_t dot = word.find('.'), at = word.find('=');
    if (dot == std::string::npos || at == std::string::npos || dot > at)
      throw Usage(fmt::format("--pass_args: expected PASS.PARAMETER=TEXT, found '{}'", word));
    std::string text = word.substr(at + 1);
    for (size_t i; (i = text.find("\\n")) != std::string::npos;) text.replace(i, 2, "\n");
    auto& given = all[std::string(passes::pass_of(word.substr(0, dot)).name)];
    if (!given.emplace(word.substr(dot + 1, at - dot - 1), text).second)
      throw Usage(fmt::format("--pass_args: {} is given twice", word.substr(0, at)));
  }
  return all;
}

std::unique_ptr<ir::Graph> read(const std::string& path, bool strict) {
  if (path.ends_with(".onnx")) return compiler::read_model({.path = path}, false, strict);
  const auto file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  try {
    return ir::parse_text(std::string(text));
  } catch (Error& e) {
    e.add_context(path);
    throw;
  }
}

// Reports unknown names before any work.
void check_passes(const OptArguments& a) {
  for (const auto& names : {a.passes, a.skip_passes})
    for (const std::string& name : names) passes::pass_of(name);
  if (!a.stop_after.empty()) passes::pass_of(a.stop_after);
}

// Refuses options of a conversion if there is none.
void check_stage(const OptArguments& a) {
  if (a.program || a.stage != "none") return;
  const std::pair<const char*, bool> given[] = {{"--input_shape", !a.input_shape.empty()},
                                                {"--batch_size", a.batch_size > 0},
                                                {"--skip_passes", !a.skip_passes.empty()}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw Usage(fmt::format(
          "{} has an effect with --stage convert, --stage compile or --program only", option));
}

// Returns the options of the pipelines. The passes of --passes also use the limit of rewrites and
// the function that reports each pass.
compiler::DriverOptions driver_options(const OptArguments& a, const ir::TextOptions& text) {
  compiler::DriverOptions options;
  std::map<std::string, std::vector<Shape>> shapes;
  for (const NamedShape& s : parse_shapes(a.input_shape)) shapes[s.name].push_back(s.shape);
  options.shapes = compiler::shape_sets_of(shapes);
  options.use_assigned_ipus = true;
  options.batch_size = a.batch_size;
  options.batch_axis = a.batch_size > 0 && a.batch_axis < 0 ? 0 : a.batch_axis;
  options.skip_passes = a.skip_passes;
  options.stop_after = a.stop_after;
  options.strict = a.strict;
  if (a.rewrite_limit >= 0) options.rewrite_limit = a.rewrite_limit;
  options.after_pass = [&](const passes::PassReport& r, const ir::Graph& g) {
    if (a.timing)
      print_error("{:<32} {:>6} rewrites {:>9.3f} ms  {} -> {} nodes\n", r.name, r.rewrites,
                  r.milliseconds, r.nodes_before, r.nodes_after);
    if (a.dump_each) fmt::print("# after {}\n{}\n", r.name, ir::to_text(g, text));
  };
  return options;
}

int run(const OptArguments& a) {
  warn_of_unknown_log_level();
  kernels::warn_of_unknown_isa();
  check_passes(a);
  const auto arguments = arguments_of(a.pass_args);
  for (const auto& [name, given] : arguments)
    if (std::ranges::none_of(a.passes,
                             [&](const std::string& p) { return passes::pass_of(p).name == name; }))
      throw Usage(fmt::format("--pass_args: --passes does not contain {}", name));
  std::unique_ptr<ir::Graph> graph = read(a.model, a.strict);
  ir::TextOptions text;
  if (a.elide) {
    text.large = ir::TextOptions::Large::elide;
    text.list_elements = 8;
  }
  compiler::DriverOptions options = driver_options(a, text);
  check_stage(a);
  const auto run_named = [&](ir::Graph& g) {
    passes::PassManagerOptions manager;
    manager.rewrite_limit = options.rewrite_limit;
    manager.stop_after = a.stop_after;
    manager.after_each = options.after_pass;
    manager.arguments = arguments;
    std::vector<const passes::PassDef*> list;
    for (const std::string& name : a.passes) list.push_back(&passes::pass_of(name));
    if (!list.empty()) passes::run_passes(g, list, manager);
  };
  std::string graphs;  // printed after all of them have succeeded
  options.begins = [&](const compiler::Part& part, const ir::Graph&) {
    if (part.count == 1 || a.program) return;
    const std::string title = fmt::format("# {}\n", part.name);
    if (a.dump_each)
      fmt::print("{}", title);
    else
      graphs += title;
  };
  options.converted = [&](const compiler::Part&, ir::Graph& g) { run_named(g); };
  const auto add_graph = [&](const ir::Graph& g) {
    if (!a.dump_each) graphs += ir::to_text(g, text);
  };
  if (a.program) {
    const compiler::Executable made = compiler::compile_model(std::move(graph), options);
    fmt::print("{}", program::to_string(made.program, kernels::describe_call));
  } else if (a.stage == "compile") {
    options.passes_only = true;
    options.lowered = add_graph;
    compiler::compile_model(std::move(graph), options);
  } else {
    if (a.stage == "convert") {
      options.keep_onnx = true;  // like `poprt`
      compiler::convert_model(*graph, options);
    } else {
      if (!a.passes.empty()) ops::infer(*graph);
      run_named(*graph);
    }
    add_graph(*graph);
  }
  fmt::print("{}", graphs);
  return 0;
}

}  // namespace

void add_opt(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<OptArguments>();
  Command* c =
      app.add_command("opt", "Run passes on an .onnx model or a text graph and print the graph");
  c->add_option("MODEL", a->model, ".onnx, or any other name for the text form")->required();
  add_plugin_option(*c);
  c->add_option("--passes", a->passes, "Passes in this order, comma separated")->delimiter(',');
  c->add_option("--pass_args", a->pass_args, "PASS.PARAMETER=TEXT: an argument of a pass")->many();
  c->add_option("--stage", a->stage,
                "Default pipelines to run first: none, convert, or compile (both)")
      ->check(one_of({"none", "convert", "compile"}))
      ->capture_default_str();
  c->add_option("--skip_passes", a->skip_passes, "Default passes to leave out")->delimiter(',');
  c->add_option("--input_shape", a->input_shape,
                "NAME=d0,d1,..., or several shapes separated by /; the model is compiled at each")
      ->many();
  add_batch_options(*c, a->batch_size, a->batch_axis);
  c->add_option("--rewrite_limit", a->rewrite_limit,
                "Stop after this number of rewrites, to find the one that breaks a model")
      ->check(at_least<int64_t>(0));
  c->add_option("--stop_after", a->stop_after, "Stop after this pass");
  c->add_flag("--strict", a->strict,
              "Treat warnings about the model, such as unknown attributes, as errors");
  c->add_flag("--timing", a->timing, "Time, rewrites and node counts of each pass, on stderr");
  c->add_flag("--dump_each", a->dump_each, "Print the graph after each pass");
  c->add_flag("--elide", a->elide, "Omit the elements of large tensors; the text cannot be parsed");
  c->add_flag("--program", a->program, "Compile and print the program instead of the graph");
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
