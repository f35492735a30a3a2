#include "runtime/session/variants.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "program/link.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "program/variant_memory.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostVariants = 1024;

[[noreturn]] void throw_broken(std::string_view what) {
  fail(ErrorCode::data_loss, "opaque blob '{}': {}", kVariants, what);
}

size_t index_input(const Model& model, std::string_view name) {
  const auto& inputs = model.inputs();
  const auto found = std::ranges::find(inputs, name, &program::Anchor::name);
  if (found == inputs.end() || found->dtype != DType::u32 || element_count(found->shape) != 1)
    throw_broken(fmt::format("the program has no input '{}' of one u32", name));
  return static_cast<size_t>(found - inputs.begin());
}

void read_graphs(const Model& model, const Json& json, Variants& b) {
  b.index = index_input(model, program::kGraphIndex);
  b.names = json.at("graphs").get<std::vector<std::string>>();
  b.count = b.names.size();
}

Extent read_extent(const Json& json, const Variants& b) {
  Extent e;
  if (json.is_null()) return e;
  const std::string name = json.is_object() ? json.at("of") : json;
  const auto found = std::ranges::find(b.dimensions, name);
  if (found == b.dimensions.end()) throw_broken(fmt::format("there is no dimension '{}'", name));
  e.dimension = static_cast<int32_t>(found - b.dimensions.begin());
  if (!json.is_object()) return e;
  e.times = whole_number(json.at("times"));
  e.over = whole_number(json.at("over"));
  e.plus = whole_number(json.at("plus"));
  constexpr int64_t kMost = int64_t{1} << 20;
  if (e.times < 1 || e.times > kMost || e.over < 1 || e.over > kMost || e.plus < -kMost ||
      e.plus > kMost)
    throw_broken(fmt::format("dimension '{}' is scaled out of range", name));
  return e;
}

std::vector<VariantAnchor> read_anchors(const Json& json,
                                        const std::vector<program::Anchor>& anchors,
                                        const Variants& b, std::string_view index) {
  std::vector<VariantAnchor> list(anchors.size());
  for (size_t i = 0; i < anchors.size(); i++) {
    if (anchors[i].name == index) continue;
    const Json& given = json.at(anchors[i].name);
    for (const Json& d : given.at("shape")) list[i].extents.push_back(read_extent(d, b));
    if (list[i].extents.size() != anchors[i].shape.size())
      throw_broken(fmt::format("'{}' has {} dimensions, the program has {}", anchors[i].name,
                               list[i].extents.size(), shape_string(anchors[i].shape)));
    if (!given.contains("pad")) continue;
    if (given["pad"].is_string())
      list[i].mask = true;
    else
      list[i].pad = given["pad"];
  }
  return list;
}

// The shapes of a bucket must fit the anchors, because variants read and write that many elements.
std::vector<Shape> read_shapes(const Json& json, const std::vector<program::Anchor>& anchors,
                               std::string_view index) {
  std::vector<Shape> shapes;
  for (const program::Anchor& a : anchors) {
    Shape& s = shapes.emplace_back();
    if (a.name == index) continue;
    s = whole_numbers(json.at(a.name));
    bool fits = s.size() == a.shape.size();
    for (size_t d = 0; fits && d < s.size(); d++) fits = s[d] >= 0 && s[d] <= a.shape[d];
    if (!fits)
      throw_broken(fmt::format("'{}' is {} in a bucket, the program has {}", a.name,
                               shape_string(s), shape_string(a.shape)));
  }
  return shapes;
}

void read_sizes(const Variants& b, Bucket& bucket) {
  bucket.sizes.assign(b.dimensions.size(), 0);
  for (size_t i = 0; i < b.inputs.size(); i++)
    for (size_t d = 0; d < b.inputs[i].extents.size(); d++)
      if (const int32_t at = b.inputs[i].extents[d].dimension; at >= 0)
        bucket.sizes[static_cast<size_t>(at)] = bucket.inputs[i][d];
  constexpr int64_t kMostSize = int64_t{1} << 40;  // can be scaled without overflow
  for (const int64_t size : bucket.sizes)
    if (size > kMostSize) throw_broken(fmt::format("a size of {} is out of range", size));
  const auto agree = [&](const std::vector<VariantAnchor>& anchors,
                         const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < anchors.size(); i++)
      for (size_t d = 0; d < anchors[i].extents.size(); d++)
        if (anchors[i].extents[d].of(bucket.sizes, shapes[i][d]) != shapes[i][d])
          throw_broken("a bucket's shapes do not follow its dimensions");
  };
  agree(b.inputs, bucket.inputs);
  agree(b.outputs, bucket.outputs);
}

// A request's memory may be only as large as its bucket needs, so a variant must not use more.
void check_memory(const Model& model, const Variants& b) {
  const auto check = [](const std::vector<program::Anchor>& anchors,
                        const std::vector<Shape>& shapes, const std::vector<uint64_t>& used,
                        size_t index) {
    for (size_t i = 0; i < anchors.size(); i++)
      if (i != index && used[i] > dtype_bytes(anchors[i].dtype, element_count(shapes[i])))
        throw_broken(fmt::format("'{}' is {} in a bucket, and its variant uses {} bytes",
                                 anchors[i].name, shape_string(shapes[i]), used[i]));
  };
  const auto used = program::memory_of_variants(model.program(), b.index, b.buckets.size());
  for (size_t v = 0; v < b.buckets.size(); v++) {
    check(model.inputs(), b.buckets[v].inputs, used[v].inputs, b.index);
    check(model.outputs(), b.buckets[v].outputs, used[v].outputs, SIZE_MAX);
  }
}

void read_buckets(const Model& model, const Json& json, Variants& b) {
  b.kind = Variants::Kind::shapes;
  b.index = index_input(model, program::kBucketIndex);
  b.dimensions = json.at("dimensions").get<std::vector<std::string>>();
  b.exact.assign(b.dimensions.size(), false);
  if (json.contains("exact"))
    for (const std::string name : json["exact"]) {
      const auto found = std::ranges::find(b.dimensions, name);
      if (found == b.dimensions.end())
        throw_broken(fmt::format("there is no dimension '{}'", name));
      b.exact[static_cast<size_t>(found - b.dimensions.begin())] = true;
    }
  b.inputs = read_anchors(json.at("inputs"), model.inputs(), b, program::kBucketIndex);
  b.outputs = read_anchors(json.at("outputs"), model.outputs(), b, "");
  for (const Json& given : json.at("buckets")) {
    Bucket& bucket = b.buckets.emplace_back();
    bucket.inputs = read_shapes(given.at("inputs"), model.inputs(), program::kBucketIndex);
    bucket.outputs = read_shapes(given.at("outputs"), model.outputs(), "");
    read_sizes(b, bucket);
  }
  b.count = b.buckets.size();
  check_memory(model, b);
}

}  // namespace

void read_variants(Model& model) {
  const auto blob = model.opaque.find(kVariants);
  if (blob == model.opaque.end()) return;
  auto made = std::make_shared<Variants>();
  try {
    const Json json = parse_ordered_json(blob->second);
    const std::string kind = json.at("kind");
    if (kind == "graphs")
      read_graphs(model, json, *made);
    else if (kind == "shapes")
      read_buckets(model, json, *made);
    else
      fail(ErrorCode::failed_precondition, "variants of kind '{}', made by a newer poprt?", kind);
  } catch (const nlohmann::json::exception& e) {
    throw_broken(e.what());
  }
  if (made->count < 1 || made->count > kMostVariants)
    throw_broken(fmt::format("{} variants, expected 1 to {}", made->count, kMostVariants));
  model.variants = std::move(made);
}

const uint32_t* variant_number(size_t i) {
  static constexpr auto numbers = [] {
    std::array<uint32_t, kMostVariants> list{};
    std::iota(list.begin(), list.end(), 0u);
    return list;
  }();
  return &numbers.at(i);
}

size_t variant_of(const void* index) {
  uint32_t value = 0;
  if (index) std::memcpy(&value, index, sizeof value);
  return value;
}

std::vector<std::string> variant_names(const Variants& variants) {
  std::vector<std::string> names;
  for (size_t i = 0; i < variants.count; i++) {
    std::string name;
    if (variants.kind == Variants::Kind::graphs) {
      name = fmt::format("graph{} {}", i, variants.names[i]);
    } else {
      for (size_t d = 0; d < variants.dimensions.size(); d++)
        name += fmt::format("{}{} {}", d ? ", " : "", variants.dimensions[d],
                            variants.buckets[i].sizes[d]);
    }
    names.push_back(std::move(name));
  }
  return names;
}

void check_variant(const Variants& variants, const void* index) {
  const size_t value = variant_of(index);
  if (value >= variants.count)
    fail(ErrorCode::invalid_argument, "input '{}' is {}: the executable has {} {}, 0 to {}",
         variants.kind == Variants::Kind::graphs ? program::kGraphIndex : program::kBucketIndex,
         value, variants.count, variants.kind == Variants::Kind::graphs ? "models" : "shapes",
         variants.count - 1);
}

namespace {

// A model in the form of a variant: the values of inputs that its file stores in blobs are among
// the weights again.
struct Part {
  program::Program program;
  std::vector<std::byte> weights;
  program::Variant variant;
};

std::unique_ptr<Part> make_part(const Model& model, std::string prefix) {
  if (model.replication_factor != 1)
    fail(ErrorCode::invalid_argument,
         "model '{}' has {} replicas: only models with one can be fused", model.name,
         model.replication_factor);
  if (model.variants)
    fail(ErrorCode::invalid_argument,
         "model '{}' is several variants already ({}): only models with one shape can be fused",
         model.name,
         model.variants->kind == Variants::Kind::graphs ? "it is a fused one"
                                                        : "it has several shapes");
  auto part = std::make_unique<Part>();
  part->variant = {&model.program(), model.image.weights, std::move(prefix), {}, model.narrow};
  const std::vector<program::Anchor>& inputs = model.inputs();
  for (size_t i = 0; i < inputs.size(); i++) {
    const std::span<const std::byte> data = model.input_data[i];
    if (data.empty() || inputs[i].data != program::kNoData) continue;
    if (data.size() != inputs[i].bytes())
      fail(ErrorCode::invalid_argument, "model '{}': input '{}' has a feed, which cannot be fused",
           model.name, inputs[i].name);
    if (part->weights.empty()) {
      part->program = model.program();
      part->weights.assign(model.image.weights.begin(), model.image.weights.end());
      part->variant.program = &part->program;
    }
    part->weights.resize(align_up(part->weights.size(), 64));
    part->program.inputs[i].data = part->weights.size();
    part->weights.insert(part->weights.end(), data.begin(), data.end());
    part->program.weights_bytes = part->weights.size();
  }
  if (!part->weights.empty()) part->variant.weights = part->weights;
  return part;
}

// Adds the blobs of one model with their names in a fused model. A blob about an output has the
// name of the output at its end.
void add_notes(const Model& model, const std::string& prefix, program::Notes& notes,
               Json& metadata) {
  constexpr std::string_view kOfOutput = "class_labels/";
  for (const auto& [name, text] : model.opaque) {
    if (name == kOnnxMetadata || name == program::kShards) continue;
    const bool of_output = name.starts_with(kOfOutput);
    notes[of_output ? std::string(kOfOutput) + prefix + name.substr(kOfOutput.size())
                    : prefix + name] = text;
  }
  for (const auto& [key, value] : model.onnx_metadata) metadata[prefix + key] = value;
}

}  // namespace

std::shared_ptr<const Model> fuse_models(std::span<const std::shared_ptr<const Model>> models) {
  if (models.empty()) fail(ErrorCode::invalid_argument, "there are no models to fuse");
  if (models.size() > kMostVariants)
    fail(ErrorCode::invalid_argument, "{} models: at most {} can be fused", models.size(),
         kMostVariants);
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<program::Variant> variants;
  program::Notes notes;
  Json metadata = Json::object();
  Json names = Json::array();
  std::vector<popef::Option> options;
  for (size_t i = 0; i < models.size(); i++) {
    const std::string prefix = fmt::format("graph{}/", i);
    const Model& m = *models[i];
    if (m.batches_per_step != models[0]->batches_per_step)
      fail(ErrorCode::invalid_argument,
           "model '{}' has {} batches per step, model '{}' has {}: they run in the same steps",
           m.name, m.batches_per_step, models[0]->name, models[0]->batches_per_step);
    parts.push_back(make_part(m, prefix));
    variants.push_back(parts.back()->variant);
    add_notes(m, prefix, notes, metadata);
    names.push_back(m.name);
    for (const auto& option : m.metadata.engineOptions())
      options.emplace_back(prefix + option.name(), option.value());
  }
  notes[kVariants] = json_text(Json{{"kind", "graphs"}, {"graphs", names}});
  if (!metadata.empty()) notes[kOnnxMetadata] = json_text(metadata);
  const program::Linked linked = program::link_graphs(variants);
  if (program::has_shards(linked.program))
    notes[program::kShards] = program::note_of_shards(linked.program);
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            linked.program, linked.weights, notes, linked.narrow);
  auto made = std::make_shared<Model>(*open_payload("model_fusion", payload->bytes(), payload));
  made->metadata.setEngineOptions(std::move(options));
  made->batches_per_step = models[0]->batches_per_step;
  made->metadata.setDeviceIterations(made->batches_per_step);
  return made;
}

}  // namespace poprt::runtime
