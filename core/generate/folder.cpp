#include "generate/folder.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

namespace poprt::generate {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostContext = int64_t{1} << 24;

std::string contents(const fs::path& path) {
  const auto file = MappedFile::open(path);
  std::string text(file->bytes().size(), '\0');
  copy_mapped(file->bytes(), std::as_writable_bytes(std::span(text)));
  return text;
}

class FolderReader {
 public:
  explicit FolderReader(fs::path folder) : folder_(std::move(folder)) {}

  ModelFolder run() {
    if (fs::exists(folder_ / "genai_config.json")) {
      read_genai();
    } else {
      find_model();
      if (fs::exists(folder_ / "config.json")) read_config();
      if (fs::exists(folder_ / "generation_config.json")) read_generation_config();
      finish_encoder();
    }
    if (!unused_.empty())
      log().warn(
          "'{}' has settings that do not apply here: {}; set the options of a sequence instead",
          (folder_ / file_of_unused_).string(), unused_);
    return std::move(found_);
  }

 private:
  json read(const char* name) {
    file_ = name;
    constexpr uint64_t kMostBytes = uint64_t{1} << 24;
    const fs::path path = folder_ / name;
    if (fs::file_size(path) > kMostBytes)
      fail(ErrorCode::resource_exhausted, "'{}' has more than {} bytes", path.string(), kMostBytes);
    const json read = try_parse_json(contents(path));
    if (!read.is_object()) fail(ErrorCode::data_loss, "'{}' is not a JSON object", path.string());
    return read;
  }

  [[noreturn]] void fail_key(std::string_view key, const json& value) const {
    fail(ErrorCode::data_loss, "'{}': '{}' is {}, which is not expected",
         (folder_ / file_).string(), key, json_text(value));
  }

  // The value of a key as a whole number, or as a list of them.
  int64_t whole(const json& value, const char* key) const {
    if (!value.is_number_integer()) fail_key(key, value);
    return whole_number(value);
  }
  std::vector<int64_t> whole_list(const json& value, const char* key) const {
    std::vector<int64_t> numbers;
    if (!value.is_array()) fail_key(key, value);
    for (const json& item : value) numbers.push_back(whole(item, key));
    return numbers;
  }

  std::string text(const json& from, const char* key) const {
    const auto found = from.find(key);
    if (found == from.end() || found->is_null()) return "";
    if (!found->is_string()) fail_key(key, *found);
    return found->get<std::string>();
  }

  json object(const json& from, const char* key) const {
    const auto found = from.find(key);
    if (found == from.end()) return json::object();
    if (!found->is_object()) fail_key(key, *found);
    return *found;
  }

  std::optional<int64_t> number(const json& from, const char* key) const {
    const auto found = from.find(key);
    if (found == from.end() || found->is_null()) return std::nullopt;
    const int64_t n = whole(*found, key);
    if (n < 0 || n > kMostContext) fail_key(key, *found);
    return n;
  }

  void read_stop_tokens(const json& from) {
    const auto found = from.find("eos_token_id");
    if (found == from.end() || found->is_null()) return;
    for (const int64_t token : found->is_array() ? whole_list(*found, "eos_token_id")
                                                 : std::vector{whole(*found, "eos_token_id")})
      if (token >= 0 && std::ranges::find(found_.stop_tokens, token) == found_.stop_tokens.end())
        found_.stop_tokens.push_back(token);
  }

  void read_genai() {
    const json config = read("genai_config.json");
    const json model = object(config, "model"), decoder = object(model, "decoder");
    if (decoder.contains("pipeline"))
      fail(ErrorCode::unimplemented, "'{}': decoders of several models are not supported",
           folder_.string());
    const auto file_of = [&](const json& part) {
      const std::string name = text(part, "filename");
      fs::path path = inside(name.empty() ? "model.onnx" : name);
      if (!fs::exists(path))
        fail(ErrorCode::not_found, "there is no '{}', which genai_config.json names",
             path.string());
      return path;
    };
    found_.model = file_of(decoder);
    // Before version 0.6 of onnxruntime-genai, one file contained the encoder and the first step of
    // the decoder.
    for (const char* key : {"encoder", "encoder_decoder_init"}) {
      if (!model.contains(key) || found_.encoder) continue;
      const json encoder = object(model, key), inputs = object(encoder, "inputs");
      if (text(encoder, "filename").empty())
        fail(ErrorCode::data_loss, "'{}': '{}' has no filename", (folder_ / file_).string(), key);
      EncoderFolder& e = found_.encoder.emplace();
      e.model = file_of(encoder);
      e.input_ids = text(inputs, "input_ids");
      e.attention_mask = text(inputs, "attention_mask");
      e.features = text(inputs, "audio_features");
      if (e.features.empty()) e.features = text(inputs, "input_features");
      e.context_length = number(encoder, "context_length").value_or(0);
      read_start_tokens(model);
    }
    const json inputs = object(decoder, "inputs"), outputs = object(decoder, "outputs");
    found_.input_ids = text(inputs, "input_ids");
    found_.attention_mask = text(inputs, "attention_mask");
    found_.position_ids = text(inputs, "position_ids");
    found_.logits = text(outputs, "logits");
    read_states(inputs, outputs);
    found_.context_length = number(model, "context_length").value_or(0);
    read_stop_tokens(model);
    note_unused(object(config, "search"));
    if (!found_.encoder) return;
    // onnxruntime-genai receives the first tokens of a text from its user. The files of
    // transformers contain them, if they are in the folder.
    for (const char* name : {"config.json", "generation_config.json"})
      if (fs::exists(folder_ / name)) read_start_tokens(read(name));
  }

  // The names of recurrent states: past_conv_names and present_conv_names, for example. Caches of
  // keys and values are found by the structure of the graph.
  void read_states(const json& inputs, const json& outputs) {
    constexpr std::string_view kPast = "past";
    for (const auto& [key, past] : inputs.items()) {
      if (!key.starts_with(kPast) || key == "past_key_names" || key == "past_value_names" ||
          !past.is_string() || past.get_ref<const std::string&>().find("%d") == std::string::npos)
        continue;
      const std::string other = "present" + key.substr(kPast.size());
      const std::string present = text(outputs, other.c_str());
      if (present.find("%d") != std::string::npos)
        found_.states.emplace_back(past.get<std::string>(), present);
    }
  }

  // Returns the path of a file in the folder. A configuration must not name a file outside it.
  fs::path inside(const std::string& name) const {
    const fs::path given(name);
    if (given.is_absolute() || std::ranges::find(given, fs::path("..")) != given.end())
      fail(ErrorCode::permission_denied, "'{}' names '{}', which is outside of the folder",
           (folder_ / file_).string(), name);
    return folder_ / given;
  }

  // Reads the tokens with which a text of a decoder with an encoder begins, and its forced and
  // suppressed tokens.
  void read_start_tokens(const json& from) {
    if (const auto start = number(from, "decoder_start_token_id")) {
      const bool given = !found_.start_tokens.empty();
      if (given)
        found_.start_tokens[0] = *start;
      else
        found_.start_tokens = {*start};
    }
    const auto forced = from.find("forced_decoder_ids");
    if (forced != from.end() && forced->is_array()) {
      // Pairs of a place and a token, from place 1 on. The first pair without a token, or with a
      // place that does not follow, ends the forced tokens.
      std::vector<int64_t> tokens = found_.start_tokens;
      tokens.resize(std::min<size_t>(tokens.size(), 1));
      for (const json& pair : *forced) {
        if (!pair.is_array() || pair.size() != 2) fail_key("forced_decoder_ids", *forced);
        if (pair[1].is_null() ||
            whole(pair[0], "forced_decoder_ids") != static_cast<int64_t>(tokens.size()))
          break;
        tokens.push_back(whole(pair[1], "forced_decoder_ids"));
      }
      found_.start_tokens = std::move(tokens);
    }
    read_rules(from);
  }

  // Reads the forced and suppressed tokens.
  void read_rules(const json& from) {
    if (const auto token = number(from, "forced_bos_token_id")) found_.forced_first = token;
    if (const auto token = number(from, "forced_eos_token_id")) found_.forced_last = token;
    for (const auto& [key, list] : {std::pair("suppress_tokens", &found_.suppressed),
                                    std::pair("begin_suppress_tokens", &found_.suppressed_first)})
      if (const auto all = from.find(key); all != from.end() && all->is_array()) {
        *list = whole_list(*all, key);
        std::erase_if(*list, [](int64_t token) { return token < 0; });
      }
    const auto words = from.find("bad_words_ids");
    if (words == from.end() || !words->is_array()) return;
    for (const json& word : *words) {
      const std::vector<int64_t> tokens = whole_list(word, "bad_words_ids");
      // As in transformers, a word that is a stop token has no effect.
      if (tokens.size() == 1 && tokens[0] >= 0 &&
          std::ranges::find(found_.stop_tokens, tokens[0]) == found_.stop_tokens.end())
        found_.suppressed.push_back(tokens[0]);
    }
  }

  // Notes the settings of other libraries that change their texts, and that are options of a
  // sequence here, or have no equivalent.
  void note_unused(const json& from) {
    file_of_unused_ = file_;
    const auto note = [&](const char* key, const json& neutral) {
      const auto found = from.find(key);
      if (found == from.end() || found->is_null() || *found == neutral) return;
      if (found->is_structured() && found->empty()) return;
      const bool is_short = found->is_number() || found->is_boolean();
      add_unused(is_short ? fmt::format("{} {}", key, json_text(*found)) : key);
    };
    if (from.value("do_sample", json()) == true && from.value("top_k", json()) != 1) {
      note("do_sample", false);
      for (const char* key : {"temperature", "top_k", "top_p", "min_p"}) note(key, nullptr);
    }
    if (from.value("num_beams", json(1)) != 1) {
      note("num_beams", 1);
      note("num_beam_groups", 1);
      note("length_penalty", 1);
      note("early_stopping", false);
      note("diversity_penalty", 0);
    }
    for (const char* key : {"num_return_sequences", "repetition_penalty",
                            "encoder_repetition_penalty", "guidance_scale"})
      note(key, 1);
    for (const char* key : {"no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "penalty_alpha",
                            "min_length", "min_new_tokens"})
      note(key, 0);
    for (const char* key : {"max_new_tokens", "max_time", "stop_strings", "sequence_bias",
                            "exponential_decay_length_penalty"})
      note(key, nullptr);
    const auto length = from.find("max_length");
    if (length != from.end() && length->is_number() &&
        (!found_.context_length || *length < found_.context_length))
      note("max_length", nullptr);
    const auto words = from.find("bad_words_ids");
    if (words != from.end() && std::ranges::any_of(*words, [](const json& word) {
          return word.is_array() && word.size() > 1;
        }))
      add_unused("bad_words_ids of several tokens");
  }

  void add_unused(const std::string& setting) {
    unused_ += (unused_.empty() ? "" : ", ") + setting;
  }

  // Reads the settings that transformers applies to texts. With an encoder, read_start_tokens()
  // reads the forced and suppressed tokens.
  void read_text_settings(const json& from) {
    if (!found_.encoder) read_rules(from);
    note_unused(from);
  }

  void finish_encoder() const {
    if (found_.encoder && found_.start_tokens.empty())
      fail(ErrorCode::data_loss,
           "'{}': no configuration has a decoder_start_token_id, with which a text begins",
           folder_.string());
  }

  // The files of optimum for a model with an encoder.
  void find_encoder(const json& config) {
    EncoderFolder& e = found_.encoder.emplace();
    const auto file = [&](const char* name) {
      for (const fs::path& path : {folder_ / name, folder_ / "onnx" / name})
        if (fs::exists(path)) return path;
      return fs::path();
    };
    e.model = file("encoder_model.onnx");
    e.first = file("decoder_model.onnx");
    found_.model = file("decoder_with_past_model.onnx");
    if (found_.model.empty() || e.first.empty())
      found_.model = e.first = file("decoder_model_merged.onnx");
    if (e.model.empty() || found_.model.empty())
      fail(
          ErrorCode::not_found,
          "folder '{}' has no {}; export the model with past keys (text2text-generation-with-past, "
          "automatic-speech-recognition-with-past)",
          folder_.string(),
          e.model.empty() ? "encoder_model.onnx"
                          : "decoder_model_merged.onnx, and not both of decoder_model.onnx and "
                            "decoder_with_past_model.onnx");
    e.context_length = found_.context_length;
    if (const auto n = number(config, "max_target_positions")) found_.context_length = *n;
    const auto source = number(config, "max_source_positions"),
               bins = number(config, "num_mel_bins");
    if (bins && source) e.features_shape = {*bins, 2 * *source};
    read_start_tokens(config);
  }

  void find_model() {
    if (fs::exists(folder_ / "encoder_model.onnx") ||
        fs::exists(folder_ / "onnx" / "encoder_model.onnx")) {
      if (!fs::exists(folder_ / "config.json"))
        fail(ErrorCode::not_found, "folder '{}' has an encoder_model.onnx and no config.json",
             folder_.string());
      return;  // read_config() finds the files
    }
    for (const char* name : {"model.onnx", "decoder_with_past_model.onnx",
                             "decoder_model_merged.onnx", "onnx/model.onnx"})
      if (fs::exists(folder_ / name)) {
        found_.model = folder_ / name;
        return;
      }
    fail(ErrorCode::not_found,
         "folder '{}' has neither genai_config.json nor a model.onnx or "
         "decoder_with_past_model.onnx",
         folder_.string());
  }

  void read_config() {
    const json config = read("config.json");
    for (const char* key : {"max_position_embeddings", "n_positions", "n_ctx"})
      if (const auto n = number(config, key); n && !found_.context_length)
        found_.context_length = *n;
    read_stop_tokens(config);
    if (found_.model.empty() || config.value("is_encoder_decoder", json(false)) == json(true))
      find_encoder(config);
    // Older versions of transformers wrote these settings to config.json.
    if (!fs::exists(folder_ / "generation_config.json")) read_text_settings(config);
  }

  void read_generation_config() {
    const json config = read("generation_config.json");
    read_stop_tokens(config);
    if (found_.encoder) read_start_tokens(config);
    read_text_settings(config);
  }

  const fs::path folder_;
  fs::path file_;
  ModelFolder found_;
  fs::path file_of_unused_;
  std::string unused_;  // settings, for a warning
};

}  // namespace

ModelFolder open_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) fail(ErrorCode::not_found, "there is no model '{}'", path.string());
  if (fs::is_directory(path, error)) return FolderReader(path).run();
  ModelFolder file;
  file.model = path;
  file.is_popef = path.extension() == ".popef";
  return file;
}

namespace {

// An encoder of tokens is compiled for a few lengths.
nlohmann::ordered_json encoder_options(const EncoderFolder& e, int64_t given) {
  const bool features = !e.features.empty() || !e.features_shape.empty();
  if (given && features)
    fail(ErrorCode::invalid_argument,
         "encoder_length is {}, and the encoder of the model has features of one size", given);
  if (given < 0 || (e.context_length && given > e.context_length))
    fail(ErrorCode::invalid_argument, "encoder_length is {}, the encoder has a context of {}",
         given, e.context_length);
  const int64_t length = given              ? given
                         : e.context_length ? std::min(e.context_length, kDefaultSource)
                                            : kDefaultSource;
  std::vector<int64_t> lengths;
  for (const int64_t n : {int64_t{32}, int64_t{128}})
    if (n < length) lengths.push_back(n);
  if (features) lengths.clear();
  return {{"model", e.model.string()},       {"first", e.first.string()},
          {"length", features ? 0 : length}, {"lengths", lengths},
          {"input_ids", e.input_ids},        {"attention_mask", e.attention_mask},
          {"features", e.features},          {"features_shape", e.features_shape}};
}

}  // namespace

std::string generation_text(const ModelFolder& folder, const GenerationSizes& sizes) {
  const int64_t context = folder.context_length;
  if (context && sizes.max_length > context)
    fail(ErrorCode::invalid_argument, "max_length is {}, the model has a context of {}",
         sizes.max_length, context);
  const int64_t length = sizes.max_length ? sizes.max_length
                         : context        ? std::min(context, kDefaultLength)
                                          : kDefaultLength;
  nlohmann::ordered_json settings = {{"stop_tokens", folder.stop_tokens},
                                     {"context_length", context}};
  nlohmann::ordered_json options = {{"max_length", length},
                                    {"slots", sizes.slots ? sizes.slots : 1},
                                    {"input_ids", folder.input_ids},
                                    {"attention_mask", folder.attention_mask},
                                    {"position_ids", folder.position_ids},
                                    {"logits", folder.logits}};
  if (!sizes.prefill.empty()) options["prefill"] = sizes.prefill;
  if (!sizes.cache_precision.empty()) options["cache_precision"] = sizes.cache_precision;
  if (!sizes.states.empty()) options["states"] = sizes.states;
  if (!folder.states.empty()) options["optional_states"] = folder.states;
  if (folder.encoder) {
    options["encoder"] = encoder_options(*folder.encoder, sizes.encoder_length);
    settings["start_tokens"] = folder.start_tokens;
  } else if (sizes.encoder_length) {
    fail(ErrorCode::invalid_argument, "encoder_length is {}, and the model has no encoder",
         sizes.encoder_length);
  }
  if (!folder.suppressed.empty()) settings["suppressed"] = folder.suppressed;
  if (!folder.suppressed_first.empty()) settings["suppressed_first"] = folder.suppressed_first;
  if (folder.forced_first) settings["forced_first"] = *folder.forced_first;
  if (folder.forced_last) settings["forced_last"] = *folder.forced_last;
  options["settings"] = settings;
  return json_text(options);
}

}  // namespace poprt::generate
