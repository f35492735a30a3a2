// Models with several variants, of which an input selects one for each run (program/link.h): fused
// models, and models at several shapes.
//
// The opaque blob kVariants describes them as JSON:
//
//   {"kind": "graphs", "graphs": ["bert", "resnet50"]}
//
//   {"kind": "shapes",
//    "dimensions": ["batch", "sequence"],
//    "inputs": {"ids": {"shape": ["batch", "sequence"], "pad": 0}, ...},
//    "outputs": {"logits": {"shape": ["batch", "sequence", null]}, ...},
//    "buckets": [{"inputs": {"ids": [1, 64], ...}, "outputs": {"logits": [1, 64, 768], ...}}, ...]}
//
// The entry of a dimension in "shape" is null if all buckets have the same size, or if an output
// NAME:shape contains the real size of the dimension. Otherwise it is the name in `dimensions` that
// the dimension follows or, for an output, {"of": NAME, "times": a, "over": b, "plus": c}, which
// means the size (a * size + b - 1) / b + c. "pad" is the value with which an input is padded, or
// "mask": then the runner fills the input with ones and then zeros. "exact" lists dimensions that
// are not padded: a request must have exactly one of their sizes. Inputs whose names begin with
// program::kRealPlaces are not inputs of the model; they are masks that the runner fills.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session/model.h"

namespace poprt::runtime {

inline constexpr const char* kVariants = "poprt.branches";

// How one dimension of an anchor follows from the sizes of a bucket.
struct Extent {
  int32_t dimension = -1;  // index in Variants::dimensions; -1: the size of the bucket
  int64_t times = 1, over = 1, plus = 0;

  // The size in a bucket with the given sizes. `fixed` is the size in the anchor's shape.
  int64_t of(std::span<const int64_t> sizes, int64_t fixed) const {
    return dimension < 0 ? fixed
                         : (times * sizes[static_cast<size_t>(dimension)] + over - 1) / over + plus;
  }
};

struct VariantAnchor {
  std::vector<Extent> extents;  // by dimension
  double pad = 0;               // for inputs
  bool mask = false;
};

struct Bucket {
  std::vector<int64_t> sizes;          // by dimension
  std::vector<Shape> inputs, outputs;  // by anchor; empty for the index
};

struct Variants {
  enum class Kind : uint8_t { graphs, shapes };
  Kind kind = Kind::graphs;
  size_t count = 0;
  size_t index = 0;                // the input that selects the variant
  std::vector<std::string> names;  // for graphs: names of the models
  // For shapes:
  std::vector<std::string> dimensions;
  std::vector<bool> exact;                     // by dimension: whether it is not padded
  std::vector<VariantAnchor> inputs, outputs;  // by anchor
  std::vector<Bucket> buckets;                 // in the order of the variants
};

// Fills Model::variants from the blob, if there is one. Throws data_loss if the blob is invalid or
// contradicts the program, and failed_precondition for a kind of variants that is not known.
void read_variants(Model& model);

// Checks the index of a run. Throws invalid_argument if its value (null: 0) is not the number of a
// variant.
void check_variant(const Variants& variants, const void* index);

// The variant that the value of the index (null: 0) selects.
size_t variant_of(const void* index);

// The names of the variants for users, such as "graph0 bert" or "batch 1, sequence 64".
std::vector<std::string> variant_names(const Variants& variants);

// Returns a value of the index that selects variant `i`. `i` must be below 1024. The result has
// static storage.
const uint32_t* variant_number(size_t i);

// Fuses models into one with a variant for each. The inputs and outputs of the first are called
// graph0/NAME, and so on; the same applies to opaque blobs and engine options. Weights with equal
// bytes are stored once. Throws invalid_argument for no models or more than 1024, for a model with
// variants, replicas or a feed, and for models with different batches_per_step, and the errors of
// program::link_graphs().
std::shared_ptr<const Model> fuse_models(std::span<const std::shared_ptr<const Model>> models);

}  // namespace poprt::runtime
