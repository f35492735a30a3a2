// The types of the PopEF handles, and conversions of values.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "guard.h"
#include "popef/model.h"
#include "popef/reader.h"
#include "popef/types.h"

struct poprt_popef_metadata {
  explicit poprt_popef_metadata(poprt::popef::Metadata metadata);
  poprt::popef::Metadata value;
  std::vector<uint32_t> programs;  // keys of value.programsMap(), ascending
};

struct poprt_popef_blob {
  poprt::popef::BlobData data;
  poprt_popef_blob_type type;
  std::string name, executable;
  poprt::popef::TensorInfo info;  // for tensors and feeds
  uint64_t tensor_count = 0;      // for feeds
};

struct poprt_popef_payload {
  poprt::popef::Payload payload;
};

namespace poprt::capi {

// Blobs at stable addresses.
class BlobLists {
 public:
  // Adds the new blobs of a reader or a model since the last call.
  template <class Readers>
  void add(poprt_popef_blob_type type, const Readers& readers) {
    auto& list = lists_[static_cast<size_t>(type)];
    for (size_t i = list.size(); i < readers.size(); i++) list.push_back(blob_of(readers[i]));
  }
  size_t count(poprt_popef_blob_type type) const {
    return is_blob_type(type) ? list(type).size() : 0;
  }
  const poprt_popef_blob* at(poprt_popef_blob_type type, size_t index) const {
    return index < count(type) ? &list(type)[index] : nullptr;
  }

 private:
  static bool is_blob_type(poprt_popef_blob_type type) {
    return type >= POPRT_POPEF_EXECUTABLE && type <= POPRT_POPEF_OPAQUE;
  }
  const std::deque<poprt_popef_blob>& list(poprt_popef_blob_type type) const {
    return lists_[static_cast<size_t>(type)];
  }
  static poprt_popef_blob blob_of(const popef::ExecutableReader& r) {
    return {r, POPRT_POPEF_EXECUTABLE, r.name, {}, {}};
  }
  static poprt_popef_blob blob_of(const popef::TensorReader& r) {
    return {r, POPRT_POPEF_TENSOR, r.info.name(), r.executable, r.info.tensorInfo()};
  }
  static poprt_popef_blob blob_of(const popef::FeedReader& r) {
    return {
        r, POPRT_POPEF_FEED, r.info.name(), r.executable, r.info.tensorInfo(), r.info.numTensors()};
  }
  static poprt_popef_blob blob_of(const popef::OpaqueReader& r) {
    return {r, POPRT_POPEF_OPAQUE, r.name, r.executable, {}};
  }

  std::array<std::deque<poprt_popef_blob>, POPRT_POPEF_OPAQUE + 1> lists_;
};

// Throws invalid_argument.
popef::TensorInfo tensor_info_of(poprt_dtype dtype, const int64_t* shape, size_t rank);

inline const int64_t* shape_of(const popef::TensorInfo& info) {
  return info.shape().empty() ? nullptr : info.shape().data();
}
inline poprt_dtype dtype_of(const popef::TensorInfo& info) {
  if (info.dataType() == popef::DataType::F8) return POPRT_DTYPE_F8;
  return static_cast<poprt_dtype>(popef::dtype_of(info.dataType()));
}

// Returns the texts as lines.
poprt_string* lines_of(const std::vector<std::string>& lines);

}  // namespace poprt::capi

struct poprt_popef_reader {
  std::shared_ptr<poprt::popef::Reader> reader;
  poprt::capi::BlobLists blobs;
  std::deque<poprt_popef_metadata> metadata;
};

struct poprt_popef_model {
  poprt_popef_model(std::shared_ptr<const poprt::popef::Model> from,
                    std::vector<std::string> left_out);
  std::shared_ptr<const poprt::popef::Model> model;
  poprt_popef_metadata metadata;
  poprt::capi::BlobLists blobs;
  std::vector<size_t> user_inputs, user_outputs;  // indices of anchors
  std::vector<std::string> warnings;
};
