// Finds the model in a folder that an exporter wrote, and the settings that a generator needs:
//
//   genai_config.json          onnxruntime-genai: names of inputs and outputs, stop tokens, context
//   config.json                optimum: the context; stop tokens also in generation_config.json
//   model.onnx, decoder_model_merged.onnx, decoder_with_past_model.onnx, or the file that genai
//   names
//   encoder_model.onnx         an encoder; unless the decoder is merged, with decoder_model.onnx
//
// Without genai_config.json, model.onnx and the files of a model with an encoder may also be in the
// subfolder onnx.
//
// The path may also be that of a .onnx or .popef file, which has no settings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace poprt::generate {

// The encoder of a model such as BART, T5 or Whisper.
struct EncoderFolder {
  std::filesystem::path model, first;  // EncoderOptions in compiler/generation_encoder.h
  int64_t context_length = 0;          // 0: unknown
  std::string input_ids, attention_mask, features;
  std::vector<int64_t> features_shape;
};

struct ModelFolder {
  std::filesystem::path model;
  bool is_popef = false;
  int64_t context_length = 0;        // 0: unknown
  std::vector<int64_t> stop_tokens;  // each of them ends a text
  // The names of inputs and outputs; if empty, the names that exporters use.
  std::string input_ids, attention_mask, position_ids, logits;
  // Pairs of the names of an input and an output with a recurrent state; "%d" is a number.
  std::vector<std::pair<std::string, std::string>> states;
  std::optional<EncoderFolder> encoder;
  // Settings of texts (description.h). Only models with an encoder have start_tokens.
  std::vector<int64_t> start_tokens, suppressed, suppressed_first;
  std::optional<int64_t> forced_first, forced_last;
};

// Throws not_found (no such path, or no model in the folder), data_loss (a configuration that is
// not JSON, a wrong type in it, or, without genai_config.json, no decoder_start_token_id of a model
// with an encoder), resource_exhausted (a very large configuration), unimplemented (a decoder of
// several models), and permission_denied (a model outside the folder). Logs a warning with the
// settings of texts that do not apply here.
ModelFolder open_folder(const std::filesystem::path& path);

// The largest lengths of a text and of the input of an encoder that are chosen by default.
inline constexpr int64_t kDefaultLength = 2048, kDefaultSource = 512;
// 0 and empty lists select the defaults: the context, at most kDefaultLength; one slot; pieces of
// prompts that the compiler chooses; the context of the encoder, at most kDefaultSource.
struct GenerationSizes {
  int64_t max_length = 0, slots = 0;
  std::vector<int64_t> prefill;
  int64_t encoder_length = 0;
  std::vector<std::pair<std::string, std::string>> states;  // in addition to the folder's
  std::string cache_precision;  // "int8"; empty: the precision of the model
};
// Returns the options of the compilation as JSON (compiler/generation.h). Throws invalid_argument
// for lengths above the context of the model, and for an encoder_length that the model cannot use.
std::string generation_text(const ModelFolder& folder, const GenerationSizes& sizes);

}  // namespace poprt::generate
