#include "runtime/runner/model_fusion_runner.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

constexpr std::string_view kIndex = "index";

// K of "graphK/NAME".
std::optional<uint32_t> graph_of(std::string_view name) {
  constexpr std::string_view kPrefix = "graph";
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  const std::string_view rest = name.substr(kPrefix.size());
  uint32_t k = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), k);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != '/') return std::nullopt;
  return k;
}

RunnerConfig without_checks(RunnerConfig config) {
  if (config.batching_dim != std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_argument, "a fused model runs whole batches: leave batching_dim unset");
  config.validate_io_params = false;
  return config;
}

}  // namespace

ModelFusionRunner::ModelFusionRunner(std::shared_ptr<const Model> model, RunnerConfig config)
    : validate_(config.validate_io_params),
      runner_(std::move(model), without_checks(std::move(config))) {
  uint32_t count = 0;
  const auto count_graph = [&](const DataDesc& d) {
    const auto graph = graph_of(d.anchor.name);
    if (!graph || *graph >= 1024)
      fail(ErrorCode::failed_precondition,
           "not a fused model: anchor '{}' is not called graph<K>/<name>", d.anchor.name);
    count = std::max(count, *graph + 1);
  };
  for (const DataDesc& d : runner_.execute_inputs()) {
    if (d.anchor.name != kIndex) {
      count_graph(d);
      inputs_.push_back(d);
      continue;
    }
    if ((d.anchor.dtype != DType::u32 && d.anchor.dtype != DType::u8) ||
        element_count(d.anchor.shape) != 1)
      fail(ErrorCode::failed_precondition, "input 'index' is {} {}, expected one u32 or u8",
           dtype_name(d.anchor.dtype), shape_string(d.anchor.shape));
    index_bytes_ = d.size_in_bytes;
  }
  if (index_bytes_ == 0)
    fail(ErrorCode::failed_precondition, "not a fused model: there is no input 'index'");
  for (const DataDesc& d : runner_.execute_outputs()) count_graph(d);
  for (uint32_t i = 0; i < count; i++) index_values_.push_back(i);
}

std::vector<InputBinding> ModelFusionRunner::select(std::span<const InputBinding> inputs,
                                                    std::span<const OutputBinding> outputs) const {
  const auto& model = runner_.model();
  std::optional<uint32_t> graph;
  std::string_view first;
  const auto see = [&](std::string_view name) {
    const auto mine = graph_of(name);
    if (!mine || *mine >= index_values_.size()) return;
    if (graph && *graph != *mine)
      fail(ErrorCode::invalid_argument, "'{}' and '{}' belong to different graphs", first, name);
    graph = mine;
    first = name;
  };
  std::vector<InputBinding> list;
  list.reserve(inputs.size() + 1);
  for (size_t i = 0; i < inputs.size(); i++) {
    InputBinding b = inputs[i];
    if (!b.name.data()) {
      if (b.index >= inputs_.size())
        fail(ErrorCode::not_found, "there is no input {}; the model has {}", b.index,
             inputs_.size());
      b.name = inputs_[b.index].anchor.name;
    }
    if (b.name == kIndex)
      fail(ErrorCode::invalid_argument, "input 'index' is the runner's: leave it out of requests");
    if (validate_) {
      const auto& a = model.inputs()[find_anchor(model.inputs(), b.name, i, "input")];
      if (b.bytes != a.bytes()) fail_wrong_size(a, b.bytes, "input");
    }
    see(b.name);
    list.push_back(b);
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    const OutputBinding& b = outputs[i];
    size_t at = b.index;
    if (b.name.data()) {
      if (validate_) at = find_anchor(model.outputs(), b.name, i, "output");
    } else if (at >= model.outputs().size()) {
      fail(ErrorCode::not_found, "there is no output {}; the model has {}", at,
           model.outputs().size());
    }
    if (validate_ && b.bytes != model.outputs()[at].bytes())
      fail_wrong_size(model.outputs()[at], b.bytes, "output");
    see(b.name.data() ? b.name : std::string_view(model.outputs()[at].name));
  }
  if (!graph)
    fail(ErrorCode::invalid_argument, "the request names no anchor of any of the {} graphs",
         graphs());
  if (validate_) {
    const auto missing = [&](const auto& anchors, const auto& given, std::string_view direction) {
      for (const program::Anchor& a : anchors) {
        if (graph_of(a.name) != graph) continue;
        if (std::none_of(given.begin(), given.end(), [&](const auto& b) {
              return b.name.data() ? b.name == a.name : anchors[b.index].name == a.name;
            }))
          fail(ErrorCode::invalid_argument, "{} '{}' of graph {} is missing", direction, a.name,
               *graph);
      }
    };
    missing(model.inputs(), list, "input");
    missing(model.outputs(), outputs, "output");
  }
  // Little-endian, so that the first byte is a u8 as well.
  list.push_back({kIndex, 0, &index_values_[*graph], index_bytes_});
  return list;
}

void ModelFusionRunner::execute(std::span<const InputBinding> inputs,
                                std::span<const OutputBinding> outputs) {
  runner_.execute(select(inputs, outputs), outputs);
}

RequestPtr ModelFusionRunner::execute_async(std::span<const InputBinding> inputs,
                                            std::span<const OutputBinding> outputs,
                                            RequestCallback callback,
                                            const RequestOptions& options) {
  return runner_.execute_async(select(inputs, outputs), outputs, callback, options);
}

}  // namespace poprt::runtime
