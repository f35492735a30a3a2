#include "runtime/runner/runner_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "base/log.h"
#include "program/batch_rows.h"
#include "program/link.h"
#include "runtime/runner/memory_overlaps.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/variants.h"

namespace poprt::runtime {
namespace {

using program::Anchor;

constexpr size_t kMaxQueueDepth = size_t{1} << 20;
// The maximum size of the copied inputs and outputs of a step, if the model determines the number
// of batches of a step. A chip would stream them through few buffers.
constexpr uint64_t kStagedBytes = uint64_t{64} << 20;
constexpr uint32_t kNoBatchingDim = std::numeric_limits<uint32_t>::max();

// The memory of an anchor without bytes, for which null is allowed.
char no_bytes;

// The index of `name`; anchors.size() for an unknown name unless `strict`.
size_t lookup(std::span<const Anchor> anchors, std::string_view name, size_t hint,
              std::string_view direction, bool strict) {
  if (strict) return find_anchor(anchors, name, hint, direction);
  if (hint < anchors.size() && anchors[hint].name == name) return hint;
  size_t i = 0;
  while (i < anchors.size() && anchors[i].name != name) i++;
  return i;
}

// Binds the inputs or the outputs. `rows` is 0 until an anchor has determined it; `rows_from` is
// the name of that anchor.
template <class Binding, class Pointer>
void bind_anchors(const RunnerPlan& plan, std::span<const Binding> bindings,
                  std::span<const Anchor> anchors, std::span<const AnchorRows> layout,
                  bool are_inputs, Pointer* pointers, uint64_t& rows, std::string_view& rows_from) {
  const std::string_view direction = are_inputs ? "input" : "output";
  const bool strict = plan.config.validate_io_params;
  const uint64_t unit = plan.dynamic ? 1 : plan.replicas;
  std::fill_n(pointers, anchors.size(), nullptr);
  size_t bound = 0;
  for (size_t i = 0; i < bindings.size(); i++) {
    const Binding& b = bindings[i];
    size_t at = b.index;
    if (b.name.data()) {
      at = lookup(anchors, b.name, i, direction, strict);
      if (at == anchors.size()) continue;
    } else if (at >= anchors.size()) {
      fail(ErrorCode::not_found, "there is no {} {}; the model has {}", direction,
           static_cast<int64_t>(at), anchors.size());
    }
    if (pointers[at])
      fail(ErrorCode::invalid_argument, "{} '{}' is given twice", direction, anchors[at].name);
    if (are_inputs && plan.fixed[at]) {
      if (!strict) continue;
      fail(ErrorCode::invalid_argument,
           "input '{}' is frozen or comes with the model: leave it out of requests",
           anchors[at].name);
    }
    const AnchorRows& a = layout[at];
    const uint64_t row = a.outer * a.row_bytes;
    if (row == 0) {
      if (strict && b.bytes) fail_wrong_size(anchors[at], b.bytes, direction);
    } else if (strict || rows == 0) {
      const uint64_t n = b.bytes / row;
      if (n == 0 || b.bytes % row != 0 || n % unit != 0)
        fail_wrong_size(anchors[at], b.bytes, direction);
      if (rows && n != rows)
        fail(ErrorCode::invalid_argument, "{} '{}': {} bytes are {} {} of {} {}, but '{}' has {}",
             direction, anchors[at].name, b.bytes, n, plan.dynamic ? "rows" : "batches",
             dtype_name(anchors[at].dtype), shape_string(anchors[at].shape), rows_from, rows);
      rows = n;
      rows_from = anchors[at].name;
    } else if (b.bytes / row < rows) {
      // A run would read or write beyond the memory.
      fail(ErrorCode::invalid_argument,
           "{} '{}': expected at least {} bytes for {} {}, which '{}' has, given {}", direction,
           anchors[at].name, checked_mul(row, rows), rows, plan.dynamic ? "rows" : "batches",
           rows_from, b.bytes);
    }
    if (!b.data && (b.bytes || row))
      fail(ErrorCode::invalid_argument, "{} '{}': the pointer is null", direction,
           anchors[at].name);
    pointers[at] = b.data ? b.data : &no_bytes;
    bound++;
  }
  if (strict && bound != anchors.size())
    for (size_t i = 0; i < anchors.size(); i++)
      if (!pointers[i] && !(are_inputs && plan.fixed[i]))
        fail(ErrorCode::invalid_argument, "{} '{}' is missing", direction, anchors[i].name);
}

void check(const RunnerConfig& config, const Model& model) {
  check_numbers(config);
  const int replicas = config.replication_factor * static_cast<int>(model.replication_factor);
  for (const auto& [id, device] : config.replica_id_to_device)
    if (id < 0 || id >= replicas)
      fail(ErrorCode::not_found, "there is no replica {}: ids are 0 to {}", id, replicas - 1);
}

// Returns the index of the anchor for memory that the caller provides in addition to requests.
// Throws not_found, and invalid_argument if the memory does not have the anchor's size.
size_t find_view(const std::vector<Anchor>& anchors, std::string_view name, uint64_t bytes,
                 std::string_view direction, std::string_view what) {
  const size_t i = find_anchor(anchors, name, 0, direction);
  if (bytes != anchors[i].bytes()) fail_wrong_size(anchors[i], bytes, what);
  return i;
}

}  // namespace

void check_numbers(const RunnerConfig& config) {
  if (config.queue_depth > kMaxQueueDepth)
    fail(ErrorCode::invalid_argument, "queue depth must be 1 to {}, given {}", kMaxQueueDepth,
         config.queue_depth);
  if (config.replication_factor < 1 || config.replication_factor > 1024)
    fail(ErrorCode::invalid_argument, "replication factor must be 1 to 1024, given {}",
         config.replication_factor);
  if (config.ring_buffer_size_multiplier < 1 || config.ring_buffer_size_multiplier > 1024)
    fail(ErrorCode::invalid_argument, "ring buffer size multiplier must be 1 to 1024, given {}",
         config.ring_buffer_size_multiplier);
  if (config.batches_per_step < 0 || config.batches_per_step > 1'000'000)
    fail(ErrorCode::invalid_argument, "batches per step must be 1 to 1000000, given {}",
         config.batches_per_step);
  if (std::min({config.timeout, config.batch_size_timeout, config.data_parallel_timeout}).count() <
      0)
    fail(ErrorCode::invalid_argument, "timeouts must not be negative");
}

std::vector<AnchorRows> RunnerPlan::rows_of(const std::vector<Anchor>& anchors) const {
  std::vector<AnchorRows> list;
  for (const Anchor& a : anchors) {
    AnchorRows r;
    r.bytes = a.bytes();
    r.row_bytes = r.bytes;
    if (dynamic) {
      const uint32_t d = config.batching_dim;
      const uint64_t extent = d < a.shape.size() ? static_cast<uint64_t>(a.shape[d]) : 0;
      if (extent == 0 || extent % chunk_rows != 0)
        fail(ErrorCode::failed_precondition,
             "batching_dim {}: '{}' has shape {}, which is not a batch of {} there", d, a.name,
             shape_string(a.shape), chunk_rows);
      for (uint32_t i = 0; i < d; i++) r.outer *= static_cast<uint64_t>(a.shape[i]);
      if (r.outer == 0 || r.bytes % (r.outer * chunk_rows) != 0)
        fail(ErrorCode::failed_precondition,
             "batching_dim {}: a row of '{}' ({} {}) is not a whole number of bytes", d, a.name,
             dtype_name(a.dtype), shape_string(a.shape));
      r.row_bytes = r.bytes / (r.outer * chunk_rows);
    }
    list.push_back(r);
  }
  return list;
}

// The compiled number of batches of a step, limited by kStagedBytes and kMaxQueueDepth.
uint64_t RunnerPlan::compiled_loops() const {
  uint64_t bytes = 1;
  if (config.overlap_io || chunk_rows > 1 || !flat) {
    for (size_t i = 0; i < inputs.size(); i++) bytes += fixed[i] ? 0 : inputs[i].bytes;
    for (const AnchorRows& o : outputs) bytes += o.bytes;
  }
  const uint64_t rows = checked_mul<uint64_t>(checked_mul<uint64_t>(replicas, chunk_rows),
                                              config.ring_buffer_size_multiplier);
  const uint64_t most = std::min(kStagedBytes / (bytes * replicas), kMaxQueueDepth / rows);
  return std::clamp<uint64_t>(model->batches_per_step, 1, std::max<uint64_t>(most, 1));
}

RunnerPlan::RunnerPlan(std::shared_ptr<const Model> m, RunnerConfig c)
    : model(std::move(m)), config(std::move(c)) {
  check(config, *model);
  dynamic = config.batching_dim != kNoBatchingDim;
  replicas = model->replication_factor;
  tracing = config.flush_on_waiting_outputs;
  several_shapes = std::ranges::any_of(
      model->inputs(), [](const Anchor& a) { return a.name == program::kBucketIndex; });
  fix_inputs();
  divide_in_rows();
  plan_steps();
  describe(model->inputs(), input_descs);
  describe(model->outputs(), output_descs);
  take_padding();
}

// Fixes the inputs that requests do not have. Values of the model are used in place.
void RunnerPlan::fix_inputs() {
  const auto& in = model->inputs();
  fixed.resize(in.size());
  fixed_data.resize(in.size());
  for (size_t i = 0; i < in.size(); i++)
    fixed[i] = in[i].data != program::kNoData ||
               (i < model->input_data.size() && !model->input_data[i].empty()) || model->is_seed(i);
  for (const auto& [name, view] : config.frozen_inputs) {
    const size_t i = find_view(in, name, view.bytes, "input", "frozen input");
    if (!view.data && view.bytes)
      fail(ErrorCode::invalid_argument, "frozen input '{}': the pointer is null", name);
    fixed[i] = true;
    fixed_data[i] = TensorMemory(view.bytes);
    if (view.bytes) std::memcpy(fixed_data[i].data(), view.data, view.bytes);
  }
}

void RunnerPlan::divide_in_rows() {
  const auto& in = model->inputs();
  if (dynamic) {
    // The first input of requests determines the size of a batch, or the first output if there is
    // none.
    size_t first = 0;
    while (first < in.size() && fixed[first]) first++;
    const Anchor& a = first < in.size() ? in[first] : model->outputs()[0];
    if (config.batching_dim >= a.shape.size() || a.shape[config.batching_dim] == 0)
      fail(ErrorCode::failed_precondition, "batching_dim {}: '{}' has shape {}",
           config.batching_dim, a.name, shape_string(a.shape));
    chunk_rows = static_cast<uint64_t>(a.shape[config.batching_dim]);
  }
  // A frozen input has no rows, even with batching_dim.
  const bool was_dynamic = dynamic;
  for (size_t i = 0; i < in.size(); i++) {
    dynamic = was_dynamic && !fixed[i];
    inputs.push_back(rows_of({in[i]})[0]);
  }
  dynamic = was_dynamic;
  outputs = rows_of(model->outputs());
  for (const auto* list : {&inputs, &outputs})
    for (const AnchorRows& r : *list) flat = flat && r.outer == 1;
  for (const AnchorRows& r : inputs) largest_input = std::max(largest_input, r.bytes);
  if (dynamic && chunk_rows > 1) require_separate_rows();
}

// Rows of several requests, and padding, share a batch: none may change the results of another.
void RunnerPlan::require_separate_rows() const {
  const uint32_t d = config.batching_dim;
  const auto note = model->opaque.find(program::kBatchRows);
  if (note == model->opaque.end()) {
    if (model->blobs)
      log().warn(
          "batching_dim {}: the executable '{}' does not state whether requests may share a batch, "
          "because an earlier version compiled it; compile the model again to have this checked",
          d, model->name);
    return;
  }
  const std::vector<program::BatchRows> axes = program::read_batch_rows(note->second);
  const auto found = std::ranges::find_if(axes, [&](const program::BatchRows& a) {
    return a.axis == d && a.rows == static_cast<int64_t>(chunk_rows);
  });
  if (found == axes.end())
    fail(ErrorCode::failed_precondition,
         "batching_dim {}: the executable states nothing about batches of {} along this dimension, "
         "because an input that has another size is frozen; leave `batching_dim` unset",
         d, chunk_rows);
  if (!found->mixed.empty())
    fail(ErrorCode::failed_precondition,
         "batching_dim {}: requests in one batch would change each other's results: {}; leave "
         "batching_dim unset, or compile the model for one row",
         d, found->mixed);
  for (size_t i = 0; i < fixed.size(); i++)
    if (fixed[i] && std::ranges::count(found->inputs, model->inputs()[i].name))
      fail(ErrorCode::failed_precondition,
           "batching_dim {}: '{}' has one value for all requests, but the model reads a row of it "
           "for each of {}; leave `batching_dim` unset",
           d, model->inputs()[i].name, chunk_rows);
}

void RunnerPlan::plan_steps() {
  // Requests to a model at several shapes are used in place, and overlap_io would copy them.
  const bool shapes = model->variants && model->variants->kind == Variants::Kind::shapes;
  config.overlap_io = config.overlap_io || (model->overlap_io && !shapes);
  const uint64_t loops =
      config.batches_per_step ? static_cast<uint64_t>(config.batches_per_step) : compiled_loops();
  step_chunks = checked_mul<uint64_t>(replicas, loops);
  step_rows = checked_mul<uint64_t>(step_chunks, chunk_rows);
  const uint64_t ring = checked_mul<uint64_t>(step_rows, config.ring_buffer_size_multiplier);
  if (ring > kMaxQueueDepth)
    fail(ErrorCode::invalid_argument, "a ring of {} rows is too long: at most {}", ring,
         kMaxQueueDepth);
  depth = ring;
  if (config.ring_buffer_size_multiplier == RunnerConfig::kDefaultMultiplier)
    depth = std::max<size_t>(64, ring);
  if (config.queue_depth) depth = config.queue_depth;
}

void RunnerPlan::describe(const std::vector<Anchor>& anchors, std::vector<DataDesc>& to) const {
  for (size_t i = 0; i < anchors.size(); i++) {
    DataDesc d{anchors[i], anchors[i].bytes(), &to == &input_descs && fixed[i]};
    if (replicas > 1 && !d.popef_contains_tensor_data) {
      d.anchor.shape.insert(d.anchor.shape.begin(), static_cast<int64_t>(replicas));
      d.size_in_bytes *= replicas;
    }
    to.push_back(std::move(d));
  }
}

// Takes the pointers of flush_by_name, which must name every input and output, as a request does,
// or none.
void RunnerPlan::take_padding() {
  const auto& in = model->inputs();
  const auto& out = model->outputs();
  padding.resize(in.size());
  for (const auto& [name, view] : config.flush_by_name.inputs)
    padding[find_view(in, name, view.bytes, "input", "flush input")] =
        static_cast<const std::byte*>(view.data);
  padding_results.resize(out.size());
  for (const auto& [name, view] : config.flush_by_name.outputs)
    padding_results[find_view(out, name, view.bytes, "output", "flush output")] =
        static_cast<std::byte*>(view.data);
  if ((config.flush_by_name.inputs.empty() && config.flush_by_name.outputs.empty()) ||
      !config.validate_io_params)
    return;
  std::string missing;
  const auto note = [&](std::string_view direction, const Anchor& a) {
    missing += fmt::format("{}{} '{}'", missing.empty() ? "" : ", ", direction, a.name);
  };
  for (size_t i = 0; i < in.size(); i++)
    if (!fixed[i] && in[i].bytes() && !padding[i]) note("input", in[i]);
  for (size_t i = 0; i < out.size(); i++)
    if (out[i].bytes() && !padding_results[i]) note("output", out[i]);
  if (!missing.empty())
    fail(ErrorCode::invalid_argument, "flush_by_name is a request like any other, but lacks: {}",
         missing);
}

uint64_t RunnerPlan::resolve(std::span<const InputBinding> in, std::span<const OutputBinding> out,
                             const void** input_pointers, void** output_pointers,
                             std::vector<TensorMemory>& copies) const {
  uint64_t rows = 0;
  std::string_view rows_from;
  bind_anchors(*this, in, std::span(model->inputs()), inputs, true, input_pointers, rows,
               rows_from);
  bind_anchors(*this, out, std::span(model->outputs()), outputs, false, output_pointers, rows,
               rows_from);
  if (rows == 0) rows = dynamic ? chunk_rows : replicas;
  separate_memory(input_pointers, output_pointers, rows, copies);
  return rows;
}

void RunnerPlan::separate_memory(const void** input_pointers, void* const* output_pointers,
                                 uint64_t rows, std::vector<TensorMemory>& copies) const {
  if (several_shapes) return;
  const auto memory = [&](const auto& anchors, const auto& sizes, const auto* pointers, size_t i) {
    const AnchorRows& a = sizes[i];
    const void* const data = pointers ? pointers[i] : nullptr;
    return RequestMemory{anchors[i].name, data, data ? a.outer * a.row_bytes * rows : 0};
  };
  separate_inputs(
      inputs.size(), [&](size_t i) { return memory(model->inputs(), inputs, input_pointers, i); },
      outputs.size(),
      [&](size_t i) { return memory(model->outputs(), outputs, output_pointers, i); }, copies,
      [&](size_t i, const void* copy) { input_pointers[i] = copy; });
}

uint64_t RunnerPlan::rows_of_inputs(std::span<const InputBinding> in) const {
  uint64_t rows = 0;
  std::string_view rows_from;
  std::vector<const void*> pointers(model->inputs().size());
  bind_anchors(*this, in, std::span(model->inputs()), inputs, true, pointers.data(), rows,
               rows_from);
  return rows ? rows : dynamic ? chunk_rows : replicas;
}

Shape RunnerPlan::output_shape(size_t i, uint64_t rows) const {
  if (dynamic) {
    Shape shape = model->outputs()[i].shape;
    int64_t& extent = shape[config.batching_dim];
    extent = extent / static_cast<int64_t>(chunk_rows) * static_cast<int64_t>(rows);
    return shape;
  }
  Shape shape = output_descs[i].anchor.shape;
  if (rows == replicas) return shape;
  if (shape.empty()) return {static_cast<int64_t>(rows)};
  shape[0] *= static_cast<int64_t>(rows / replicas);
  return shape;
}

}  // namespace poprt::runtime
