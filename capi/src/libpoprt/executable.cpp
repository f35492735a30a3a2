#include "poprt/executable.h"

#include <ostream>
#include <span>

#include "distinct_files.h"
#include "kernels/common/describe_call.h"
#include "popef_handles.h"
#include "program/batch_rows.h"
#include "receiver.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/variants.h"
#include "struct_size.h"

using namespace poprt;

namespace {

// Returns the reason why a runner of the model refuses the dimension as its batching dimension, or
// an empty text if it accepts it.
std::string batching_refusal(const runtime::Model& model, size_t dimension) {
  if (model.variants)
    return fmt::format("runners of {} do not merge requests",
                       model.variants->kind == runtime::Variants::Kind::shapes
                           ? "a model at several shapes"
                           : "fused models");
  const auto& inputs = model.inputs();
  size_t first = 0;  // the input of requests that determines the rows of a batch
  while (first < inputs.size() && (!model.input_data[first].empty() || model.is_seed(first)))
    first++;
  const program::Anchor& a = first < inputs.size() ? inputs[first] : model.outputs()[0];
  if (dimension >= a.shape.size())
    fail(ErrorCode::invalid_argument, "there is no dimension {}: '{}' has shape {}", dimension,
         a.name, shape_string(a.shape));
  const int64_t rows = a.shape[dimension];
  if (rows <= 1) return {};
  const auto note = model.opaque.find(program::kBatchRows);
  if (note != model.opaque.end())
    for (const program::BatchRows& axis : program::read_batch_rows(note->second))
      if (axis.axis == dimension && axis.rows == rows) return axis.mixed;
  fail(ErrorCode::failed_precondition,
       "executable '{}' does not state whether requests may share a batch along dimension {}, "
       "because an earlier version compiled it; compile the model again",
       model.name, dimension);
}

}  // namespace

poprt_error* poprt_executable_open(const char* path, poprt_executable** out_executable) {
  return capi::guard([&] {
    capi::required(path, "path");
    auto& out = capi::required(out_executable, "out_executable");
    out = new poprt_executable{runtime::open_popef(path)};
  });
}

poprt_error* poprt_executable_open_bytes(const void* data, size_t size,
                                         poprt_executable** out_executable) {
  return capi::guard([&] {
    if (size) capi::required(static_cast<const char*>(data), "data");
    auto& out = capi::required(out_executable, "out_executable");
    const auto copy = std::make_shared<runtime::PayloadBuffer>();
    copy->append({static_cast<const std::byte*>(data), size});
    out = new poprt_executable{runtime::open_popef(copy->bytes(), copy)};
  });
}

poprt_error* poprt_executable_save(const poprt_executable* executable, const char* path) {
  return capi::guard([&] {
    capi::required(path, "path");
    runtime::save_model(*capi::required(executable, "executable").compiled(), path);
  });
}

poprt_error* poprt_executable_open_files(const char* const* paths, size_t path_count,
                                         const poprt_open_options* options,
                                         poprt_executable** out_executable) {
  return capi::guard([&] {
    const auto o = capi::read_options(options, "poprt_open_options");
    auto& out = capi::required(out_executable, "out_executable");
    if (path_count) capi::required(paths, "paths");
    std::vector<std::filesystem::path> files;
    for (const char* path : std::span(paths, path_count))
      files.emplace_back(&capi::required(path, "paths[]"));
    capi::check_reserved(o.reserved, "poprt_open_options");
    out = new poprt_executable{
        runtime::open_popef(files, {.check_package_hash = o.ignore_package_hash == 0,
                                    .executable = o.executable ? o.executable : ""})};
  });
}

poprt_error* poprt_executable_open_model(const poprt_popef_model* model,
                                         const poprt_open_options* options,
                                         poprt_executable** out_executable) {
  return capi::guard([&] {
    const auto o = capi::read_options(options, "poprt_open_options");
    const auto& from = capi::required(model, "model").model;
    auto& out = capi::required(out_executable, "out_executable");
    if (o.reserved) fail(ErrorCode::invalid_argument, "reserved is {}, must be 0", o.reserved);
    out = new poprt_executable{runtime::open_popef(
        from, {.check_package_hash = o.ignore_package_hash == 0, .executable = {}})};
  });
}

poprt_error* poprt_executable_fuse(const poprt_executable* const* executables,
                                   size_t executable_count, poprt_executable** out_executable) {
  return capi::guard([&] {
    auto& out = capi::required(out_executable, "out_executable");
    if (executable_count) capi::required(executables, "executables");
    std::vector<std::shared_ptr<const runtime::Model>> models;
    for (const poprt_executable* e : std::span(executables, executable_count))
      models.push_back(capi::required(e, "executables[]").compiled());
    out = new poprt_executable{runtime::fuse_models(models)};
  });
}

poprt_error* poprt_executable_popef_model(const poprt_executable* executable,
                                          poprt_popef_model** out_model) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_model, "out_model");
    out = new poprt_popef_model(runtime::popef_model(model), {});
  });
}

poprt_error* poprt_executable_popef_metadata(const poprt_executable* executable,
                                             poprt_popef_metadata** out_metadata) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_metadata, "out_metadata");
    out = new poprt_popef_metadata(model.metadata);
  });
}

poprt_error* poprt_executable_save_bytes(const poprt_executable* executable, poprt_write_fn write,
                                         void* user_data) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    if (!write) fail(ErrorCode::invalid_argument, "argument 'write' is null");
    capi::Receiver receiver(write, user_data);
    std::ostream stream(&receiver);
    try {
      runtime::save_model(model, stream);
    } catch (const Error&) {
      if (!receiver.stopped()) throw;
    }
    if (receiver.stopped())
      fail(ErrorCode::cancelled, "the receiver of executable '{}' stopped", model.name);
  });
}

poprt_error* poprt_executable_save_parts(const poprt_executable* executable,
                                         const char* executable_path, const char* variables_path) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    capi::require_distinct(&capi::required(executable_path, "executable_path"),
                           &capi::required(variables_path, "variables_path"));
    runtime::save_parts(model, executable_path, variables_path);
  });
}

size_t poprt_executable_input_count(const poprt_executable* executable) {
  return executable ? executable->model->inputs().size() : 0;
}

size_t poprt_executable_output_count(const poprt_executable* executable) {
  return executable ? executable->model->outputs().size() : 0;
}

const poprt_anchor* poprt_executable_input(const poprt_executable* executable, size_t index) {
  return executable ? capi::anchor_at(executable->model->inputs(), index) : nullptr;
}

const poprt_anchor* poprt_executable_output(const poprt_executable* executable, size_t index) {
  return executable ? capi::anchor_at(executable->model->outputs(), index) : nullptr;
}

const char* poprt_executable_name(const poprt_executable* executable) {
  return executable ? executable->model->name.c_str() : "";
}

size_t poprt_executable_weights_bytes(const poprt_executable* executable) {
  return executable ? executable->model->program().weights_bytes : 0;
}

size_t poprt_executable_arena_bytes(const poprt_executable* executable) {
  return executable ? executable->model->program().arena_bytes : 0;
}

poprt_error* poprt_executable_listing(const poprt_executable* executable, poprt_string** out_text) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_text, "out_text");
    out = capi::make_string(program::to_string(model.program(), kernels::describe_call));
  });
}

poprt_error* poprt_executable_batching_refusal(const poprt_executable* executable, size_t dimension,
                                               poprt_string** out_text) {
  return capi::guard([&] {
    const auto& model = *capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_text, "out_text");
    out = capi::make_string(batching_refusal(model, dimension));
  });
}

size_t poprt_executable_metadata_count(const poprt_executable* executable) {
  return executable ? executable->model->onnx_metadata.size() : 0;
}

const char* poprt_executable_metadata_key(const poprt_executable* executable, size_t index) {
  return index < poprt_executable_metadata_count(executable)
             ? executable->model->onnx_metadata[index].first.c_str()
             : nullptr;
}

const char* poprt_executable_metadata_value(const poprt_executable* executable, size_t index) {
  return index < poprt_executable_metadata_count(executable)
             ? executable->model->onnx_metadata[index].second.c_str()
             : nullptr;
}

void poprt_executable_free(poprt_executable* executable) { delete executable; }
