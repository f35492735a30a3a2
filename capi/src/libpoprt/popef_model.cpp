#include "poprt/popef_model.h"

#include "popef_handles.h"

using namespace poprt;

poprt_popef_model::poprt_popef_model(std::shared_ptr<const popef::Model> from,
                                     std::vector<std::string> left_out)
    : model(std::move(from)), metadata(model->metadata), warnings(std::move(left_out)) {
  blobs.add(POPRT_POPEF_EXECUTABLE, std::vector{model->executable});
  blobs.add(POPRT_POPEF_TENSOR, model->tensors);
  blobs.add(POPRT_POPEF_FEED, model->feeds);
  blobs.add(POPRT_POPEF_OPAQUE, model->opaqueBlobs);
  const popef::Anchor* first = model->metadata.anchors().data();
  for (const auto* a : model->getUserInputAnchors())
    user_inputs.push_back(static_cast<size_t>(a - first));
  for (const auto* a : model->getUserOutputAnchors())
    user_outputs.push_back(static_cast<size_t>(a - first));
}

poprt_error* poprt_popef_model_create(const poprt_popef_reader* reader, const char* executable,
                                      poprt_popef_model** out_model) {
  return capi::guard([&] {
    const popef::ModelBuilder builder(capi::required(reader, "reader").reader);
    auto& out = capi::required(out_model, "out_model");
    const auto model = executable ? builder.createModel(executable) : builder.createModel();
    out = new poprt_popef_model(model, builder.warnings());
  });
}

poprt_error* poprt_popef_model_create_all(const poprt_popef_reader* reader,
                                          poprt_popef_model** out_models, size_t count) {
  return capi::guard([&] {
    const auto& r = capi::required(reader, "reader");
    const size_t executables = r.reader->executables().size();
    if (count != executables)
      fail(ErrorCode::invalid_argument, "there are {} executables, and room for {} models",
           executables, count);
    if (count) capi::required(out_models, "out_models");
    const popef::ModelBuilder builder(r.reader);
    const auto models = builder.createModels();
    std::vector<std::unique_ptr<poprt_popef_model>> made;
    for (const auto& m : models)
      made.push_back(std::make_unique<poprt_popef_model>(m, builder.warnings()));
    for (size_t i = 0; i < count; i++) out_models[i] = made[i].release();
  });
}

void poprt_popef_model_free(poprt_popef_model* model) { delete model; }

const poprt_popef_metadata* poprt_popef_model_metadata(const poprt_popef_model* model) {
  return model ? &model->metadata : nullptr;
}

size_t poprt_popef_model_count(const poprt_popef_model* model, poprt_popef_blob_type type) {
  if (!model) return 0;
  return type == POPRT_POPEF_METADATA_BLOB ? 1 : model->blobs.count(type);
}

const poprt_popef_blob* poprt_popef_model_blob(const poprt_popef_model* model,
                                               poprt_popef_blob_type type, size_t index) {
  return model ? model->blobs.at(type, index) : nullptr;
}

const size_t* poprt_popef_model_user_anchors(const poprt_popef_model* model,
                                             poprt_popef_anchor_type type, size_t* out_count) {
  const std::vector<size_t>* anchors = nullptr;
  if (model && type == POPRT_POPEF_INPUT) anchors = &model->user_inputs;
  if (model && type == POPRT_POPEF_OUTPUT) anchors = &model->user_outputs;
  if (out_count) *out_count = anchors ? anchors->size() : 0;
  return anchors && !anchors->empty() ? anchors->data() : nullptr;
}

poprt_error* poprt_popef_model_warnings(const poprt_popef_model* model, poprt_string** out_text) {
  return capi::guard([&] {
    const auto& m = capi::required(model, "model");
    auto& out = capi::required(out_text, "out_text");
    out = capi::lines_of(m.warnings);
  });
}
