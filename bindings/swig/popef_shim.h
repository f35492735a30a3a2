// PopEF functions with types that every language can express; popef.i documents them.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "poprt_shim.h"

using raw_popef_metadata = poprt_popef_metadata;
using raw_popef_reader = poprt_popef_reader;
using raw_popef_blob = poprt_popef_blob;
using raw_popef_payload = poprt_popef_payload;
using raw_popef_model = poprt_popef_model;
using raw_popef_writer = poprt_popef_writer;
using raw_popef_blob_writer = poprt_popef_blob_writer;

// An anchor that owns the memory of poprt_popef_anchor.
struct raw_popef_anchor {
  std::string name, handle;
  int32_t type = POPRT_POPEF_UNKNOWN, dtype = POPRT_DTYPE_F32;
  bool is_per_replica = false;
  std::vector<int64_t> shape;
  std::vector<uint32_t> programs;

  static raw_popef_anchor* of(const poprt_popef_metadata* metadata, int64_t index,
                              poprt_result* error) {
    poprt_popef_anchor a{};
    a.struct_size = sizeof a;
    *error = poprt_popef_metadata_anchor(metadata, static_cast<size_t>(index), &a);
    if (*error) return nullptr;
    auto made = std::make_unique<raw_popef_anchor>();
    made->name = a.name;
    made->handle = a.handle;
    made->type = a.type;
    made->dtype = a.dtype;
    made->is_per_replica = a.is_per_replica != 0;
    made->shape.assign(a.shape, a.shape + a.rank);
    made->programs.assign(a.programs, a.programs + a.program_count);
    return made.release();
  }
  poprt_error* add_to(poprt_popef_metadata* metadata) const {
    poprt_popef_anchor a{};
    a.struct_size = sizeof a;
    a.name = name.c_str();
    a.handle = handle.c_str();
    a.type = type;
    a.dtype = dtype;
    a.shape = shape.data();
    a.rank = shape.size();
    a.programs = programs.data();
    a.program_count = programs.size();
    a.is_per_replica = is_per_replica;
    return poprt_popef_metadata_add_anchor(metadata, &a);
  }
};

// A blob info that owns the memory of poprt_popef_blob_info.
struct raw_popef_blob_info {
  std::string name, executable;
  std::vector<int64_t> shape;
  poprt_popef_blob_info info{};

  const poprt_popef_blob_info* complete() {
    info.struct_size = sizeof info;
    info.name = name.c_str();
    info.executable = executable.c_str();
    info.shape = shape.data();
    info.rank = shape.size();
    return &info;
  }
};

// Feeds that are written alternately.
struct raw_popef_feeds {
  std::list<raw_popef_blob_info> infos;

  poprt_popef_blob_writer* begin(poprt_popef_writer* writer, poprt_result* error) {
    std::vector<const poprt_popef_blob_info*> feeds;
    for (auto& info : infos) feeds.push_back(info.complete());
    poprt_popef_blob_writer* made = nullptr;
    *error = poprt_popef_writer_begin_feeds(writer, feeds.data(), feeds.size(), &made);
    return made;
  }
};

// The models of all executables, each of which is taken once.
struct raw_popef_models {
  std::vector<poprt_popef_model*> models;

  ~raw_popef_models() {
    for (poprt_popef_model* m : models) poprt_popef_model_free(m);
  }
  static raw_popef_models* of(const poprt_popef_reader* reader, poprt_result* error) {
    auto made = std::make_unique<raw_popef_models>();
    made->models.resize(poprt_popef_reader_count(reader, POPRT_POPEF_EXECUTABLE));
    *error = poprt_popef_model_create_all(reader, made->models.data(), made->models.size());
    if (!*error) return made.release();
    made->models.clear();
    return nullptr;
  }
  poprt_popef_model* take(int64_t index) {
    const auto i = static_cast<size_t>(index);
    return i < models.size() ? std::exchange(models[i], nullptr) : nullptr;
  }
};

namespace poprt_shim {

inline poprt_popef_blob_info blob_info(const poprt_popef_blob* blob) {
  poprt_popef_blob_info info{};
  info.struct_size = sizeof info;
  poprt_error_free(poprt_popef_blob_get_info(blob, &info));  // the blob exists, so this cannot fail
  return info;
}

inline poprt_error* parse_source(poprt_popef_reader* reader, int64_t size, int64_t read_fn,
                                 int64_t release_fn, int64_t user_data) {
  poprt_popef_source source{};
  source.struct_size = sizeof source;
  source.size = static_cast<uint64_t>(size);
  source.read = function<decltype(source.read)>(read_fn);
  source.release = function<decltype(source.release)>(release_fn);
  source.user_data = pointer(user_data);
  return poprt_popef_reader_parse_source(reader, &source);
}

inline poprt_error* set_flow(poprt_popef_metadata* metadata, int32_t flow, poprt_values values,
                             int64_t count) {
  const auto* first = static_cast<const int64_t*>(values);
  const std::vector<uint32_t> programs(first, first + count);
  return poprt_popef_metadata_set_flow(metadata, flow, programs.data(), programs.size());
}

inline size_t flow_count(const poprt_popef_metadata* metadata, int32_t flow) {
  size_t count = 0;
  poprt_popef_metadata_flow(metadata, flow, &count);
  return count;
}

inline size_t user_anchor_count(const poprt_popef_model* model, int32_t type) {
  size_t count = 0;
  poprt_popef_model_user_anchors(model, type, &count);
  return count;
}

}  // namespace poprt_shim
