// Models that are several variants of which one runs (program/link.h): fused models, and models at
// several shapes.
//
// The opaque blob says what they are, as JSON:
//
//   {"kind": "graphs", "graphs": ["bert", "resnet50"]}
//
//   {"kind": "shapes",
//    "dimensions": ["batch", "sequence"],
//    "inputs": {"ids": {"shape": ["batch", "sequence"], "pad": 0}, ...},
//    "outputs": {"logits": {"shape": ["batch", "sequence", null]}, ...},
//    "buckets": [{"inputs": {"ids": [1, 64], ...}, "outputs": {"logits": [1, 64, 768], ...}}, ...]}
//
// A dimension is null where all buckets have the same size, the name of one, or of an output
// {"of": NAME, "times": a, "over": b, "plus": c} for (a * size + b - 1) / b + c. "pad" is the value
// of what an input is padded with, or "mask": the runner makes the input, ones and then zeros.
// "exact" lists dimensions that are not padded: a request has exactly a size of theirs. Inputs
// whose names begin with program::kRealPlaces are masks that no model has: the runner makes them.
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

// What one dimension of an anchor follows.
struct Extent {
  int32_t dimension = -1;  // in Variants::dimensions; -1: the same in all buckets
  int64_t times = 1, over = 1, plus = 0;

  // Of an anchor of `shape` dimension that belongs to a bucket.
  int64_t of(std::span<const int64_t> sizes, int64_t fixed) const {
    return dimension < 0 ? fixed
                         : (times * sizes[static_cast<size_t>(dimension)] + over - 1) / over + plus;
  }
};

struct VariantAnchor {
  std::vector<Extent> extents;  // one per dimension
  double pad = 0;               // inputs
  bool mask = false;
};

struct Bucket {
  std::vector<int64_t> sizes;          // of the dimensions
  std::vector<Shape> inputs, outputs;  // by anchor; empty for the index
};

struct Variants {
  enum class Kind : uint8_t { graphs, shapes };
  Kind kind = Kind::graphs;
  size_t count = 0;
  size_t index = 0;                // the input that says which one runs
  std::vector<std::string> names;  // of graphs: the models
  // Of shapes:
  std::vector<std::string> dimensions;
  std::vector<bool> exact;                     // by dimension: it is not padded
  std::vector<VariantAnchor> inputs, outputs;  // by anchor
  std::vector<Bucket> buckets;                 // in the order of the variants
};

// Fills Model::variants from the blob, if there is one. Throws data_loss when it contradicts the
// program.
void read_variants(Model& model);

// Of a run: throws invalid_argument when the value of the index (null: 0) is not a variant.
void check_variant(const Variants& variants, const void* index);

// The one that the value of the index (null: 0) says.
size_t variant_of(const void* index);

// For people: "graph0 bert", "batch 1, sequence 64".
std::vector<std::string> variant_names(const Variants& variants);

// What the index points at for variant `i` of at most 1024; lives for ever.
const uint32_t* variant_number(size_t i);

// One model of several: inputs and outputs of the first are called graph0/NAME, and so on; opaque
// blobs and engine options too. Weights of equal bytes are there once. Throws invalid_argument
// (none, or one that has variants or replicas).
std::shared_ptr<const Model> fuse_models(std::span<const std::shared_ptr<const Model>> models);

}  // namespace poprt::runtime
