#include "poprt/executable.h"

#include "guard.h"
#include "runtime/payload_buffer.h"
#include "runtime/popef_file.h"

using namespace poprt;

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
    runtime::save_model(*capi::required(executable, "executable").model, path);
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
    const auto& model = *capi::required(executable, "executable").model;
    auto& out = capi::required(out_text, "out_text");
    out = capi::make_string(program::to_string(model.program()));
  });
}

void poprt_executable_free(poprt_executable* executable) { delete executable; }
