// Compiles a language model for generation: a decoder whose cache of past keys and values has a
// fixed size, is updated in place, and is shared by all shapes of the executable.
//
// A decoder with the inputs `past.0 [B,H,P,D]` and outputs `present.0 [B,H,P+S,D]` becomes one with
// `past.0 [B,H,C,D]` and `present.0 [B,H,C,D]`, where C is the maximum length:
//
//   before   present.0 = Concat(past.0, new)             ... attention over present.0
//   after    all = Concat(past.0, new)                   ... attention over `all`, C + S keys
//            present.0 = TensorScatter(past.0, new, poprt.position)
//
// The mask of the model hides the free places of the cache, and the positions of the tokens are an
// input, so the attention needs no change. GroupQueryAttention and TensorScatter already write at a
// position. The runtime gives past and present the same memory (program/aliases.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "ir/graph.h"

namespace poprt::compiler {

// Name of the opaque blob that describes the executable to the generator
// (generate/description.h).
inline constexpr const char* kGeneration = "poprt.generation";

struct GenerationOptions {
  int64_t max_length = 0;        // places of a cache
  int64_t slots = 1;             // sequences that a decoding step computes together
  std::vector<int64_t> prefill;  // numbers of tokens of a prompt that one run computes, ascending
  // Names of inputs and outputs; those of the exporters if empty.
  std::string input_ids, attention_mask, position_ids, logits;
  nlohmann::json settings;  // of the generator; it is part of the blob
};

// Reads the text that libpoprt writes. Throws invalid_argument.
GenerationOptions read_generation(std::string_view text);

// The shape of one of the programs: `batch` sequences with `tokens` new tokens each.
struct GenerationShape {
  int64_t batch = 1, tokens = 1;
};

// The shapes of an executable, smallest number of tokens first: the decoding step is the first one.
std::vector<GenerationShape> generation_shapes(const GenerationOptions& options);

// A model that was changed for generation.
class GenerationModel {
 public:
  // Finds the caches of the model and rewrites those that grow. Throws unimplemented, with the
  // names, for inputs and outputs without a known meaning.
  GenerationModel(ir::Graph& graph, GenerationOptions options);

  // Makes the inputs of a copy of the graph static.
  void fix(ir::Graph& copy, const GenerationShape& shape) const;
  // The contents of the blob.
  std::string note() const;

 private:
  struct Cache {
    std::string past, present;
    size_t axis = 2;
    bool grows = false;
    Shape tail;  // of one sequence, with the maximum length
  };

  void find_inputs(const ir::Graph& graph);
  void find_caches(ir::Graph& graph);
  void add_cache(ir::Value* output);
  void rewrite(ir::Graph& graph, Cache& cache);
  void take_last_logits(ir::Graph& graph);
  void check_forms(const ir::Graph& graph) const;

  GenerationOptions options_;
  std::vector<Cache> caches_;
  bool grows_ = false;
};

}  // namespace poprt::compiler
