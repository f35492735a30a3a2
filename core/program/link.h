// Several programs in one executable: variants, of which the value of an input says which one runs.
//
// A program with the variants P and Q:
//
//   control.case [index] 0
//     ... P, its anchors under names of their own ...
//   control.end
//   control.case [index] 1
//     ... Q ...
//   control.end
//
// Variants run one at a time and forget everything, but for their state: the arena is as large as
// the largest, with the states of all in front. Weights of equal bytes are there once.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/builder.h"
#include "program/narrow_weights.h"
#include "program/program.h"
#include "program/serialize.h"

namespace poprt::program {

// The input that says which variant runs: one u32.
inline constexpr std::string_view kGraphIndex = "index";
inline constexpr std::string_view kBucketIndex = "poprt.bucket";
// What names of inputs begin with that a runner makes: which places of a dimension are real.
inline constexpr std::string_view kRealPlaces = "poprt.real.";

struct Variant {
  const Program* program = nullptr;
  std::span<const std::byte> weights;
  std::string prefix = {};  // in front of its anchors' names
  // Instead of `weights`: makes them when it is this variant's turn. What no variant before had is
  // copied, the rest goes, so that the weights of all are never in memory at the same time.
  std::function<LoadedProgram()> load = {};
  std::span<const NarrowWeights> narrow = {};  // among its weights
  // What makes its weights, which of Winograd's give the plain ones, too; others may be left out.
  std::span<const Weight> records = {};
};

struct Linked {
  Program program;
  std::vector<Weight> weights;  // copies of what lies in `weights` of variants, which must live
  // Those of the variants, but for Winograd's that no record of the variant gives plain.
  std::vector<NarrowWeights> narrow;
};

// Variants with anchors of their own, and last the input `index`. Throws invalid_argument (none, an
// anchor's name that is taken, a variant that is several already), data_loss.
Linked link_graphs(std::span<const Variant> variants);

// Variants of one model at several shapes: they share anchors, each as large as the largest variant
// needs in every dimension, of which a variant uses the beginning, dense in its own shape. Prefixes
// are empty. Throws as above, and invalid_argument when the variants have different anchors,
// unimplemented when they have state: each would have its own.
Linked link_buckets(std::span<const Variant> variants);

}  // namespace poprt::program
