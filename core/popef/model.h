// Models: the blobs of a reader, combined by their links.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "popef/reader.h"

namespace poprt::popef {

// One executable and all blobs that belong to it. Immutable; keeps its files alive.
class Model {
 public:
  Model(Metadata model_metadata, ExecutableReader model_executable)
      : metadata(std::move(model_metadata)), executable(std::move(model_executable)) {}

  Metadata metadata;
  ExecutableReader executable;
  std::vector<TensorReader> tensors;  // at most one for each name of an anchor
  std::vector<FeedReader> feeds;
  std::vector<OpaqueReader> opaqueBlobs;
  std::vector<BlobData> metadataBlobs;  // the blob of `metadata`

  // Verifies all of these blobs. Returns the number of those without checksums. Throws as
  // BlobData::verify().
  size_t verify() const;

  // The anchors that the caller must connect, in the order of the metadata: inputs of the main
  // programs without tensor or feed data, and outputs of the main programs. Anchors without a
  // handle cannot be connected and are omitted. Valid while the model lives.
  std::vector<const Anchor*> getUserInputAnchors() const;
  std::vector<const Anchor*> getUserOutputAnchors() const;

  // Null if it does not exist.
  const TensorReader* findTensor(const std::string& name) const;
  const FeedReader* findFeed(const std::string& name) const;
};

// Combines blobs into models. If several tensor (or feed) blobs are for one anchor, the last one
// that names the executable is used, or the last one of all if none does. So data can be replaced
// by appending.
//
// All functions throw LinkError if an executable has no metadata or several, and, except for
// createModel() with a name, if metadata has no executable. createModel() also throws it if the
// named executable does not exist or, without a name, unless there is exactly one. They throw
// FormatError if data does not fit its anchor, unless it names no executable, fits an anchor of
// another model, and the anchor of this model has other data.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}

  std::shared_ptr<Model> createModel() const;
  std::shared_ptr<Model> createModel(const std::string& executable) const;
  std::vector<std::shared_ptr<Model>> createModels() const;

  // The data and opaque blobs that were ignored in the models made so far, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void check_links() const;
  std::shared_ptr<Model> build(const ExecutableReader& executable) const;

  std::shared_ptr<Reader> reader_;
  mutable std::vector<std::string> warnings_;
  mutable std::unordered_set<size_t> warned_;  // indices of opaque blobs that warnings_ names
};

}  // namespace poprt::popef
