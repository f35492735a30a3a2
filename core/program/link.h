// Links several programs into one executable. They become its variants; the value of an input
// selects the one that runs.
//
// A program with the variants P and Q:
//
//   control.case [index] 0
//     ... P, with a prefix before the names of its anchors ...
//   control.end
//   control.case [index] 1
//     ... Q ...
//   control.end
//
// Only one variant runs at a time, and the state is the only memory of a variant that lasts from
// run to run. So the arena begins with the states of all variants, followed by as much memory as
// the largest variant needs. If a variant is for several IPUs, this is true of the memory of each
// shard, and the arena begins with the transfers. Weights with equal bytes are stored once.
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

// The names of the input that selects the variant, one u32: the first for link_graphs(), the second
// for the other links.
inline constexpr std::string_view kGraphIndex = "index";
inline constexpr std::string_view kBucketIndex = "poprt.bucket";
// The prefix of the names of mask inputs, which a runner fills: a mask marks the positions of a
// dimension that are not padding.
inline constexpr std::string_view kRealPlaces = "poprt.real.";

struct Variant {
  const Program* program = nullptr;
  std::span<const std::byte> weights;
  std::string prefix = {};  // prefix of the names of its anchors
  // Used instead of `weights`: it loads the variant when the linker needs it. The linker copies the
  // weights that are not stored yet and releases the rest, so weights that several variants have
  // are in memory once.
  std::function<LoadedProgram()> load = {};
  std::span<const NarrowWeights> narrow = {};  // weights that have a narrow type
};

struct Linked {
  Program program;
  // The records copy parts of Variant::weights when they are filled, so Variant::weights must live
  // as long as the records. The weights of variants with `load` are copied when they are linked.
  std::vector<Weight> weights;
  // The entries of the tables of all variants, at the new offsets. An entry is left out if its
  // weights overlap others, or are stored as the beginning of longer ones.
  std::vector<NarrowWeights> narrow;
};

// Links variants whose anchors are separate, and appends the input `index`. Throws invalid_argument
// (no variants, a duplicate name of an anchor, a variant that has variants itself), unimplemented
// (a variant with load or save programs, if any variant is for several IPUs), data_loss and the
// exceptions of Variant::load.
Linked link_graphs(std::span<const Variant> variants);

// Links variants of one model at several shapes. They share anchors; each anchor is as large as the
// largest variant needs in every dimension, and a variant uses the beginning of its memory, dense
// in the variant's shape. Prefixes are empty. Throws as link_graphs(), as well as invalid_argument
// if the variants have different anchors or different values of an input, and unimplemented if they
// have state, which they could not share.
Linked link_buckets(std::span<const Variant> variants);

// Links programs that use the same memory, such as an encoder and a decoder. They share anchors
// with the same name, and a variant need not have all anchors. Otherwise as link_buckets().
Linked link_parts(std::span<const Variant> variants);

}  // namespace poprt::program
