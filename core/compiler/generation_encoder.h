// The encoder of a language model, which computes the keys and values of cross-attention once for
// each sequence.
//
// optimum exports an encoder, and a decoder that computes the keys and values of cross-attention in
// its first step, in a separate file or in a branch of an If:
//
//   encoder      hidden = f(input_ids, attention_mask), or f(input_features)
//   first        present.0.encoder.key = Transpose(Reshape(MatMul(encoder_hidden_states, w))), ...
//
// Both become one graph, whose results the decoder reads in every step. The encoders of
// onnxruntime-genai already have these results.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/shape.h"
#include "ir/graph.h"

namespace poprt::compiler {

struct EncoderOptions {
  std::string model;  // file of the encoder
  // File of the decoder that computes the keys and values of cross-attention. If empty, the encoder
  // computes them.
  std::string first;
  int64_t length = 0;            // the most tokens; 0 for features
  std::vector<int64_t> lengths;  // lengths of the compiled programs, ascending, up to `length`
  // Names of inputs; those of the exporters if empty.
  std::string input_ids, attention_mask, features;
  std::vector<int64_t> features_shape;  // of one sequence; sizes for dimensions that are open
};
// Reads the entry "encoder" of read_generation(). Throws invalid_argument for other JSON and for
// numbers outside their range, and data_loss if a number is not a whole one.
EncoderOptions read_encoder(const nlohmann::json& json);

// Keys or values of cross-attention: an input of the decoder and an output of the encoder.
struct CrossCache {
  std::string past, present;
  Shape tail;  // of one sequence, with all places
};

// Whether a name is that of keys or values of cross-attention.
bool is_cross_name(std::string_view name);
// The output for an input: past_key_values.0.encoder.key -> present.0.encoder.key. Throws
// unimplemented for a name that does not begin with "past".
std::string present_name(std::string_view past);

// Keeps one branch of a decoder whose input use_cache_branch (or use_cache) chooses: the one with
// past keys, or the first step. Other graphs do not change.
void choose_branch(ir::Graph& graph, bool with_past);

class EncoderModel {
 public:
  // Reads the files, and sets the sizes of `cross`. `decoder` is the graph with past keys. Throws
  // the errors of the import and of opsets::convert(), and, with a name, not_found for an input
  // that only the options name, invalid_argument for an encoder of tokens without a length, and
  // unimplemented for other forms.
  EncoderModel(EncoderOptions options, std::span<CrossCache> cross, const ir::Graph& decoder);

  const std::vector<int64_t>& lengths() const { return options_.lengths; }
  int64_t places() const { return places_; }  // of the keys of cross-attention
  int64_t width() const { return width_; }    // of the encoder's result
  // Inputs of the decoder; empty if it has none.
  const std::string& memory_mask() const { return memory_mask_; }
  const std::string& hidden_input() const { return hidden_input_; }

  // The graph for inputs of this length. Its outputs have all places.
  std::unique_ptr<ir::Graph> fixed(int64_t length) const;
  nlohmann::ordered_json note(std::span<const CrossCache> cross) const;

 private:
  void find_inputs(const ir::Graph& encoder);
  void join(ir::Graph& encoder, std::span<const CrossCache> cross);
  void fix(ir::Graph& copy, int64_t length) const;

  EncoderOptions options_;
  std::unique_ptr<ir::Graph> graph_;
  std::string memory_mask_, hidden_input_, hidden_name_;
  int64_t places_ = 0, width_ = 1;
};

}  // namespace poprt::compiler
