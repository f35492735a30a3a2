#include "exec/support/faithful_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/arguments.h"
#include "compiler/driver.h"
#include "compiler/faithful.h"
#include "exec/support/debug_model.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

compiler::DriverOptions options_of(const CompileSettings& s) {
  compiler::DriverOptions o;
  for (const NamedShape& shape : parse_single_shapes(s.input_shape))
    o.input_shape[shape.name] = shape.shape;
  if (s.batch_size > 0) {
    o.batch_size = s.batch_size;
    o.batch_axis = s.axis();
  }
  if (s.precision == "fp16") o.precision = compiler::Precision::fp16;
  if (s.precision == "fp32") o.precision = compiler::Precision::fp32;
  o.passes = s.passes;
  o.skip_passes = s.skip_passes;
  o.strict = s.strict;
  return o;
}

std::map<std::string, Tensor> feeds_of(const FaithfulRun& run, const ir::Graph& graph) {
  std::map<std::string, Tensor> feeds;
  for (const auto& [words, option] :
       {std::pair(&run.inputs, "--input"), std::pair(&run.inputs_pb, "--input-pb")})
    for (const std::string& word : *words) {
      const GivenInput given = read_given(word, option);
      const ir::Value* v = graph.find(given.name);
      if (!v || !graph.is_input(v))
        throw Failure(fmt::format("the model has no input '{}'", given.name));
      if (given.sequence || given.arrays.size() != 1)
        throw Failure(fmt::format("'{}': --numerics faithful supports only tensors", word));
      Tensor data =
          tensor_of(as_stored_type(given.arrays[0], static_cast<poprt_dtype>(v->dtype()), word));
      if (!feeds.emplace(given.name, std::move(data)).second)
        throw Usage(fmt::format("{}: input '{}' is given twice", option, given.name));
    }
  return feeds;
}

}  // namespace

int run_faithfully(const FaithfulRun& run) {
  const auto graph =
      compiler::read_model({.path = run.model}, run.compile.allow_links, run.compile.strict);
  run.compile.check_names(input_names(*graph));
  compiler::convert_model(*graph, options_of(run.compile));
  const auto outputs = compiler::run_faithfully(*graph, feeds_of(run, *graph),
                                                {.saturate = run.saturate, .seed = run.seed});
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& word : run.outputs) {
    files.push_back(split_pair(word, "--output"));
    if (!outputs.contains(files.back().first))
      throw Failure(fmt::format("the model has no output '{}'", files.back().first));
  }
  require_separate_files(run.model, {&run.inputs, &run.inputs_pb}, files);
  for (const ir::Value* v : graph->outputs())
    fmt::print("output {}: {}\n", v->name(), ir::type_string(v->type));
  for (const auto& [name, path] : files) {
    const Tensor& t = outputs.at(name);
    write_npy(path,
              to_npy_type(static_cast<poprt_dtype>(t.dtype()), t.shape(), t.data(), t.bytes()));
    fmt::print("wrote {}\n", path);
  }
  return 0;
}

}  // namespace poprt::cli
