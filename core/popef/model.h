// Models: the blobs of a reader put together by their links.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "popef/reader.h"

namespace poprt::popef {

// One executable with everything that belongs to it. Immutable; keeps its files alive.
class Model {
 public:
  Model(Metadata model_metadata, ExecutableReader model_executable)
      : metadata(std::move(model_metadata)), executable(std::move(model_executable)) {}

  Metadata metadata;
  ExecutableReader executable;
  std::vector<TensorReader> tensors;  // one per anchor name at most
  std::vector<FeedReader> feeds;
  std::vector<OpaqueReader> opaqueBlobs;

  // The anchors that the caller must serve, in metadata order: inputs of the main programs for
  // which there is neither tensor nor feed data, and outputs of the main programs; not those
  // without a handle, which cannot be connected. Valid while the model lives.
  std::vector<const Anchor*> getUserInputAnchors() const;
  std::vector<const Anchor*> getUserOutputAnchors() const;

  // Null when there is none.
  const TensorReader* findTensor(const std::string& name) const;
  const FeedReader* findFeed(const std::string& name) const;
};

// Throws LinkError when an executable has no metadata or several, when metadata has no executable
// (unless one model is asked for by name), when none or (without a name) several models are there,
// and FormatError when tensor data does not fit its anchor (and no anchor of another model, when it
// is tied to none). Of several tensor blobs for one anchor
// the last one wins (so data can be replaced by appending), one tied to the executable before one
// that is not.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}

  std::shared_ptr<Model> createModel() const;
  std::shared_ptr<Model> createModel(const std::string& executable) const;
  std::vector<std::shared_ptr<Model>> createModels() const;

  // What was left out of the models made so far, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void check_links() const;
  std::shared_ptr<Model> build(const ExecutableReader& executable) const;

  std::shared_ptr<Reader> reader_;
  mutable std::vector<std::string> warnings_;
};

}  // namespace poprt::popef
