#include "runtime/runner/model_fusion_runner.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/variants.h"

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
    fail(ErrorCode::invalid_argument,
         "a fused model runs whole batches: leave `batching_dim` unset");
  config.validate_io_params = false;
  return config;
}

// Refuses a model at several shapes. A model that was fused by hand has no variants; the
// constructor recognises it by the names of its anchors.
void check_fused(const Model& model) {
  if (model.variants && model.variants->kind != Variants::Kind::graphs)
    fail(ErrorCode::failed_precondition,
         "not a fused model: '{}' is one model at several shapes, which a model runner serves",
         model.name);
}

}  // namespace

ModelFusionRunner::ModelFusionRunner(std::shared_ptr<const Model> model, RunnerConfig config)
    : validate_(config.validate_io_params),
      runner_(std::move(model), without_checks(std::move(config))) {
  check_fused(runner_.model());
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
  if (runner_.model().variants)
    count = std::max(count, static_cast<uint32_t>(runner_.model().variants->count));
  requests_ = std::vector<std::atomic<uint64_t>>(count);
}

std::vector<uint64_t> ModelFusionRunner::graph_requests() const {
  std::vector<uint64_t> counts;
  for (const auto& r : requests_) counts.push_back(r.load(std::memory_order_relaxed));
  return counts;
}

// Checks that the request has every anchor of the graph, except inputs for which the model has
// data.
void ModelFusionRunner::check_complete(uint32_t graph, std::span<const InputBinding> inputs,
                                       std::span<const OutputBinding> outputs) const {
  const auto missing = [&](const auto& descs, const auto& given, std::string_view direction) {
    for (const DataDesc& d : descs) {
      if (graph_of(d.anchor.name) != graph || d.popef_contains_tensor_data) continue;
      if (std::none_of(given.begin(), given.end(), [&](const auto& b) {
            return b.name.data() ? b.name == d.anchor.name
                                 : descs[b.index].anchor.name == d.anchor.name;
          }))
        fail(ErrorCode::invalid_argument, "{} '{}' of graph {} is missing", direction,
             d.anchor.name, graph);
    }
  };
  missing(inputs_, inputs, "input");
  missing(execute_outputs(), outputs, "output");
}

// If a request contains the index, it must agree with the names.
void ModelFusionRunner::check_index(const InputBinding& given, uint32_t graph) const {
  // Callers may give it as a number of 8, 32 or 64 bits.
  uint64_t value = 0;
  if (!given.data || (given.bytes != index_bytes_ && given.bytes != 1 &&
                      given.bytes != sizeof(uint32_t) && given.bytes != sizeof value))
    fail(ErrorCode::invalid_argument, "input 'index': expected {} bytes, given {}", index_bytes_,
         given.data ? given.bytes : 0);
  std::memcpy(&value, given.data, std::min<uint64_t>(given.bytes, sizeof value));
  if (value >= graphs())
    fail(ErrorCode::invalid_argument, "input 'index' is {}: there are {} graphs", value, graphs());
  if (value != graph)
    fail(ErrorCode::invalid_argument,
         "input 'index' is {}, but the other anchors are graph {}'s: leave it out", value, graph);
}

ModelFusionRunner::Selected ModelFusionRunner::select(
    std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs) const {
  const auto& model = runner_.model();
  std::optional<uint32_t> graph;
  std::string_view first;
  const auto see = [&](std::string_view name) {
    const auto mine = graph_of(name);
    if (!mine || *mine >= graphs()) return;
    if (graph && *graph != *mine)
      fail(ErrorCode::invalid_argument, "'{}' and '{}' belong to different graphs", first, name);
    graph = mine;
    first = name;
  };
  const InputBinding* index = nullptr;
  std::vector<InputBinding> list;
  list.reserve(inputs.size() + 1);
  for (size_t i = 0; i < inputs.size(); i++) {
    InputBinding b = inputs[i];
    if (!b.name.data()) {
      if (b.index >= inputs_.size())
        fail(ErrorCode::not_found, "there is no input {}; the model has {}",
             static_cast<int64_t>(b.index), inputs_.size());
      b.name = inputs_[b.index].anchor.name;
    }
    if (b.name == kIndex) {
      index = &inputs[i];
      continue;
    }
    if (validate_) {
      const auto& a = model.inputs()[find_anchor(model.inputs(), b.name, i, "input")];
      if (b.bytes != a.bytes()) fail_wrong_size(a, b.bytes, "input");
    } else if (const auto a = std::ranges::find(model.inputs(), b.name, &program::Anchor::name);
               a != model.inputs().end() && b.bytes > a->bytes()) {
      // The index of the request is that of one batch, so its inputs have at most one batch.
      fail_wrong_size(*a, b.bytes, "input");
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
      fail(ErrorCode::not_found, "there is no output {}; the model has {}",
           static_cast<int64_t>(at), model.outputs().size());
    }
    if (validate_ && b.bytes != model.outputs()[at].bytes())
      fail_wrong_size(model.outputs()[at], b.bytes, "output");
    see(b.name.data() ? b.name : std::string_view(model.outputs()[at].name));
  }
  if (!graph)
    fail(ErrorCode::invalid_argument, "the request names no anchor of any of the {} graphs",
         graphs());
  if (index) check_index(*index, *graph);
  if (validate_) check_complete(*graph, list, outputs);
  // Little-endian, so the first byte is also a valid u8.
  list.push_back({kIndex, 0, variant_number(*graph), index_bytes_});
  return {std::move(list), *graph};
}

std::vector<size_t> ModelFusionRunner::outputs_of(std::span<const InputBinding> inputs) const {
  std::optional<uint32_t> graph;
  for (const InputBinding& b : inputs) {
    const std::string_view name = b.name.data()              ? b.name
                                  : b.index < inputs_.size() ? inputs_[b.index].anchor.name
                                                             : std::string_view();
    if (const auto mine = graph_of(name); mine && !graph) graph = mine;
  }
  if (!graph || *graph >= graphs())
    fail(ErrorCode::invalid_argument, "the request names no input of any of the {} graphs",
         graphs());
  std::vector<size_t> list;
  for (size_t i = 0; i < execute_outputs().size(); i++)
    if (graph_of(execute_outputs()[i].anchor.name) == graph) list.push_back(i);
  return list;
}

void ModelFusionRunner::execute(std::span<const InputBinding> inputs,
                                std::span<const OutputBinding> outputs) {
  const Selected s = select(inputs, outputs);
  runner_.execute(s.inputs, outputs);
  requests_[s.graph].fetch_add(1, std::memory_order_relaxed);
}

RequestPtr ModelFusionRunner::execute_async(std::span<const InputBinding> inputs,
                                            std::span<const OutputBinding> outputs,
                                            RequestCallback callback,
                                            const RequestOptions& options) {
  const Selected s = select(inputs, outputs);
  RequestPtr request = runner_.execute_async(s.inputs, outputs, callback, options);
  requests_[s.graph].fetch_add(1, std::memory_order_relaxed);
  return request;
}

}  // namespace poprt::runtime
