#include "popef/model.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "popef/error.h"
#include "popef/log.h"

namespace poprt::popef {
namespace {

bool in_main(const Metadata& metadata, const Anchor& anchor, TensorType type) {
  return anchor.type() == type && !anchor.handle().empty() &&
         anchor.usedBy(metadata.programFlow().main());
}

std::string info_string(const TensorInfo& info) {
  return fmt::format("{}[{}]", data_type_name(info.dataType()), fmt::join(info.shape(), ","));
}

template <class Reader>
const Reader* find(const std::vector<Reader>& readers, const std::string& name) {
  const auto it = std::find_if(readers.begin(), readers.end(),
                               [&](const Reader& r) { return r.info.name() == name; });
  return it == readers.end() ? nullptr : &*it;
}

using AnchorsByName = std::unordered_map<std::string_view, std::vector<const Anchor*>>;

// The anchors of all other models, by name, type and shape. They are read only if a blob does not
// fit.
class OtherAnchors {
 public:
  OtherAnchors(const std::string& executable, const std::vector<Metadata>& all)
      : executable_(executable), all_(all) {}

  // Whether the blob may belong to another model: it names no model, and another model has a
  // suitable anchor of the same name.
  template <class Blob>
  bool has(const Blob& blob) {
    if (!blob.executable.empty()) return false;
    if (!std::exchange(known_, true))
      for (const Metadata& m : all_)
        if (m.executable() != executable_)
          for (const Anchor& a : m.anchors()) keys_.insert(key(a.name(), a.tensorInfo()));
    return keys_.contains(key(blob.info.name(), blob.info.tensorInfo()));
  }

 private:
  static std::string key(const std::string& name, const TensorInfo& info) {
    return info_string(info) + name;
  }

  const std::string& executable_;
  const std::vector<Metadata>& all_;
  bool known_ = false;
  std::unordered_set<std::string> keys_;
};

// The blobs that belong to the model, at most one for each name of an anchor, in the order in which
// they were read.
template <class Reader>
std::vector<Reader> choose(const std::vector<Reader>& all, const std::string& executable,
                           const AnchorsByName& anchors, const std::vector<Metadata>& metadata,
                           std::vector<std::string>& warnings) {
  std::unordered_map<std::string_view, const Reader*> chosen;
  std::vector<const Reader*> misfits;
  for (const Reader& r : all) {
    if (!r.executable.empty() && r.executable != executable) continue;
    const auto anchor = anchors.find(r.info.name());
    if (anchor == anchors.end()) {
      warnings.push_back(fmt::format("data of '{}' (offset {}) belongs to no anchor of model '{}'",
                                     r.info.name(), r.blob().offset, executable));
      continue;
    }
    const bool fits =
        std::any_of(anchor->second.begin(), anchor->second.end(),
                    [&](const Anchor* a) { return a->tensorInfo() == r.info.tensorInfo(); });
    if (!fits) {
      misfits.push_back(&r);
      continue;
    }
    const Reader*& slot = chosen[r.info.name()];
    if (slot != nullptr) {
      const bool replaces = !r.executable.empty() || slot->executable.empty();
      warnings.push_back(fmt::format(
          "model '{}': data of '{}' at offset {} replaces that at {}", executable, r.info.name(),
          (replaces ? &r : slot)->blob().offset, (replaces ? slot : &r)->blob().offset));
      if (!replaces) continue;
    }
    slot = &r;
  }
  OtherAnchors others(executable, metadata);
  for (const Reader* r : misfits) {
    const std::string& name = r->info.name();
    if (!chosen.contains(name) || !others.has(*r))
      raise<FormatError>("model '{}': data of '{}' (offset {}) is {}, its anchor is {}", executable,
                         name, r->blob().offset, info_string(r->info.tensorInfo()),
                         info_string(anchors.at(name).front()->tensorInfo()));
  }
  std::vector<Reader> result;
  for (const Reader& r : all) {
    const auto it = chosen.find(r.info.name());
    if (it != chosen.end() && it->second == &r) result.push_back(r);
  }
  return result;
}

}  // namespace

std::vector<const Anchor*> Model::getUserInputAnchors() const {
  std::vector<const Anchor*> anchors;
  for (const Anchor& a : metadata.anchors())
    if (in_main(metadata, a, TensorType::INPUT) && !findTensor(a.name()) && !findFeed(a.name()))
      anchors.push_back(&a);
  return anchors;
}

std::vector<const Anchor*> Model::getUserOutputAnchors() const {
  std::vector<const Anchor*> anchors;
  for (const Anchor& a : metadata.anchors())
    if (in_main(metadata, a, TensorType::OUTPUT)) anchors.push_back(&a);
  return anchors;
}

const TensorReader* Model::findTensor(const std::string& name) const { return find(tensors, name); }
const FeedReader* Model::findFeed(const std::string& name) const { return find(feeds, name); }

size_t Model::verify() const {
  return verify_blobs(metadataBlobs, std::vector{executable}, tensors, feeds, opaqueBlobs);
}

// Checks that each metadata has its executable, which is required unless one model is requested by
// name.
void ModelBuilder::check_links() const {
  for (const Metadata& m : reader_->metadata()) {
    const auto& executables = reader_->executables();
    if (std::none_of(executables.begin(), executables.end(),
                     [&](const ExecutableReader& e) { return e.name == m.executable(); }))
      raise<LinkError>("there is metadata for executable '{}', which was not read", m.executable());
  }
}

std::shared_ptr<Model> ModelBuilder::createModel() const {
  const auto& executables = reader_->executables();
  if (executables.empty()) raise<LinkError>("no executable was read, so there is no model");
  if (executables.size() > 1) {
    std::string names;
    for (const auto& e : executables) names += fmt::format(" '{}'", e.name);
    raise<LinkError>("{} executables were read, name the one to use:{}", executables.size(), names);
  }
  check_links();
  return build(executables.front());
}

std::shared_ptr<Model> ModelBuilder::createModel(const std::string& executable) const {
  for (const auto& e : reader_->executables())
    if (e.name == executable) return build(e);
  raise<LinkError>("no executable '{}' among the {} that were read", executable,
                   reader_->executables().size());
}

std::vector<std::shared_ptr<Model>> ModelBuilder::createModels() const {
  check_links();
  std::vector<std::shared_ptr<Model>> models;
  for (const auto& e : reader_->executables()) models.push_back(build(e));
  return models;
}

std::shared_ptr<Model> ModelBuilder::build(const ExecutableReader& executable) const {
  const Metadata* metadata = nullptr;
  const BlobData* metadata_blob = nullptr;
  for (size_t i = 0; i < reader_->metadata().size(); i++) {
    const Metadata& m = reader_->metadata()[i];
    if (m.executable() != executable.name) continue;
    if (metadata != nullptr)
      raise<LinkError>("executable '{}' has metadata twice", executable.name);
    metadata = &m;
    metadata_blob = &reader_->metadataBlobs()[i];
  }
  if (metadata == nullptr) raise<LinkError>("executable '{}' has no metadata", executable.name);

  const size_t known = warnings_.size();
  auto model = std::make_shared<Model>(*metadata, executable);
  model->metadataBlobs.push_back(*metadata_blob);
  AnchorsByName anchors;
  for (const Anchor& a : model->metadata.anchors()) anchors[a.name()].push_back(&a);
  model->tensors =
      choose(reader_->tensors(), executable.name, anchors, reader_->metadata(), warnings_);
  model->feeds = choose(reader_->feeds(), executable.name, anchors, reader_->metadata(), warnings_);
  std::unordered_set<std::string_view> executables;
  for (const ExecutableReader& e : reader_->executables()) executables.insert(e.name);
  const auto& opaque_blobs = reader_->opaqueBlobs();
  for (size_t i = 0; i < opaque_blobs.size(); i++) {
    const OpaqueReader& opaque = opaque_blobs[i];
    if (opaque.executable == executable.name) model->opaqueBlobs.push_back(opaque);
    if (opaque.executable.empty() || executables.contains(opaque.executable)) continue;
    // Added once for any number of models.
    if (!warned_.insert(i).second) continue;
    warnings_.push_back(
        fmt::format("opaque blob '{}' (offset {}) belongs to executable '{}', which was not read",
                    opaque.name, opaque.blob().offset, opaque.executable));
  }
  for (size_t i = known; i < warnings_.size(); i++) log().warn("{}", warnings_[i]);
  log().info("model '{}': {} anchors, {} tensors, {} feeds, {} opaque blobs", executable.name,
             model->metadata.anchors().size(), model->tensors.size(), model->feeds.size(),
             model->opaqueBlobs.size());
  return model;
}

}  // namespace poprt::popef
