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
// The mask of the model hides the free places of the cache. Positions that the model computes from
// the sizes of its caches, as the mask of a sliding window, become numbers of an input
// (passes/common/token_positions.h), so the attention needs no change. GenerationModel::fix() lets
// known forms of attention read present.0 instead of the copy `all` (compiler/byte_caches.h).
// GroupQueryAttention and TensorScatter already write at a position. The runtime gives past and
// present the same memory (program/aliases.h).
//
// Recurrent states (Mamba, RWKV, linear attention, LSTM) have the same size before and after a run
// (generation_states.h). They cannot be padded, so a prompt is computed in full pieces.
//
// Caches of keys and values may be stored in 8 bits (compiler/byte_caches.h).
//
// A static cache has inputs for the place of the new tokens (TensorScatter's write_indices) and the
// number of places in use (nonpad_kv_seqlen of Attention). The generator sets them from the lengths
// of the slots. If TensorScatter has the mode `circular` and the cache a fixed size W below the
// maximum length, the cache is a ring: token t is in place t % W, and a token attends to the last W
// ones. A run with several new tokens must not replace earlier tokens, because the first new tokens
// attend to them.
//
// GroupQueryAttention with sliding_window_cache also expects a cache of a few places more than its
// window. Its cache has the maximum length here, so nothing slides: the attribute is removed, and
// the window remains.
//
// With an encoder, the executable also has programs that compute the keys and values of
// cross-attention from the input (generation_encoder.h). They are inputs of the decoder, which
// computes one token at a time. Such decoders have no masks and positions
// (passes/common/token_positions.h): the cache is written first, and attention reads its C places.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compiler/generation_encoder.h"
#include "compiler/generation_states.h"
#include "ir/graph.h"
#include "passes/common/token_positions.h"

namespace poprt::compiler {

// Name of the opaque blob that describes the executable to the generator
// (generate/description.h).
inline constexpr const char* kGeneration = "poprt.generation";

struct GenerationOptions {
  int64_t max_length = 0;        // places of a cache
  int64_t slots = 1;             // sequences that a decoding step computes together
  std::vector<int64_t> prefill;  // numbers of tokens of a prompt that one run computes, ascending
  bool default_prefill = false;  // the model determines `prefill`
  // Names of inputs and outputs; those of the exporters if empty.
  std::string input_ids, attention_mask, position_ids, logits;
  std::vector<StateNames> states;  // of recurrent states, in addition to those that are found
  bool byte_caches = false;        // keys and values are stored in 8 bits
  nlohmann::json settings;         // of the generator; it is part of the blob
  std::optional<EncoderOptions> encoder;
};

// Reads the JSON text that generate::generation_text() writes (generate/folder.h). Throws
// invalid_argument for other JSON and for options outside their range, and data_loss if a number is
// not a whole one.
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
  // Finds the caches of the model and rewrites those that grow. Throws, with the names,
  // unimplemented for inputs and outputs without a known meaning, not_found for an input that only
  // the options name, and invalid_argument for options without an effect on the model.
  GenerationModel(ir::Graph& graph, GenerationOptions options);

  // The shapes of the executable.
  std::vector<GenerationShape> shapes() const { return generation_shapes(options_); }
  // Makes the inputs of a copy of the graph static. Then stores its caches in 8 bits if byte_caches
  // is set; otherwise, if its caches grow, lets attention read them as they are after the write
  // (compiler/byte_caches.h). In a decoder with an encoder, computes the positions of its tokens
  // from an input instead of both.
  void fix(ir::Graph& copy, const GenerationShape& shape) const;
  // The encoder, if there is one; it is compiled at each of its lengths.
  const EncoderModel* encoder() const { return encoder_.get(); }
  // The contents of the blob.
  std::string note() const;

 private:
  struct Cache {
    std::string past, present;
    size_t axis = 2;
    bool grows = false;
    Shape tail;  // of one sequence, with all places
  };

  void find_inputs(ir::Graph& graph);
  void flatten_positions(ir::Graph& graph);
  void check_byte_caches() const;
  void find_logits(const ir::Graph& graph);
  bool is_state_or_cache(const ir::Graph& graph, ir::Value* output) const;
  void find_states(ir::Graph& graph);
  void check_states(const ir::Graph& graph) const;
  void choose_prefill();
  bool is_mask_of_new_tokens(const ir::Graph& graph) const;
  void find_caches(ir::Graph& graph);
  void check_rings() const;
  // The places of a cache.
  int64_t places() const { return ring_ ? ring_ : options_.max_length; }
  bool add_cache(ir::Value* output);
  void find_encoder(ir::Graph& graph);
  void check_inputs(const ir::Graph& graph) const;
  void place_tokens(ir::Graph& graph);
  void check_positions(const ir::Graph& ours, const ir::Graph& theirs) const;
  void place_new_tokens(ir::Graph& graph);
  std::vector<Tensor> numbers_at(const ir::Graph& graph, const std::vector<std::string>& names,
                                 int64_t past, int64_t position, int64_t tokens) const;
  std::optional<Shape> fixed_shape(const ir::Value& input, const GenerationShape& shape) const;
  void rewrite(ir::Graph& graph, Cache& cache);
  void take_last_logits(ir::Graph& graph);
  void gather_last_logits(ir::Graph& graph, size_t at) const;
  void check_forms(const ir::Graph& graph) const;

  GenerationOptions options_;
  std::vector<Cache> caches_;
  std::vector<RecurrentState> states_;
  bool grows_ = false;
  int64_t ring_ = 0;  // places of the caches if they are rings
  // Inputs of a static cache: the first place of the new tokens, and the number of places in use.
  std::string write_indices_, valid_places_;
  bool one_token_ = false;           // the tokens have no axis of the sequence
  bool mask_of_new_tokens_ = false;  // otherwise the mask covers earlier tokens, too
  // With an encoder.
  std::unique_ptr<EncoderModel> encoder_;
  std::vector<CrossCache> cross_;
  std::vector<passes::PlacedCache> placed_;  // the caches that grow
  std::optional<passes::TokenPositions> positions_;
};

}  // namespace poprt::compiler
