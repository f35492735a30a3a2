#include "generate/folder.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace poprt::generate {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostContext = int64_t{1} << 24;
constexpr int64_t kDefaultPiece = 64;

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
    }
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
    const int64_t n = whole_number(*found);
    if (n < 0 || n > kMostContext) fail_key(key, *found);
    return n;
  }

  void read_stop_tokens(const json& from) {
    const auto found = from.find("eos_token_id");
    if (found == from.end() || found->is_null()) return;
    for (const int64_t token :
         found->is_array() ? whole_numbers(*found) : std::vector{whole_number(*found)})
      if (token >= 0 && std::ranges::find(found_.stop_tokens, token) == found_.stop_tokens.end())
        found_.stop_tokens.push_back(token);
  }

  void read_genai() {
    const json config = read("genai_config.json");
    const json model = object(config, "model"), decoder = object(model, "decoder");
    if (model.contains("encoder"))
      fail(ErrorCode::unimplemented, "'{}': models with an encoder are not supported",
           folder_.string());
    if (decoder.contains("pipeline"))
      fail(ErrorCode::unimplemented, "'{}': decoders of several models are not supported",
           folder_.string());
    const std::string file = text(decoder, "filename");
    found_.model = inside(file.empty() ? "model.onnx" : file);
    if (!fs::exists(found_.model))
      fail(ErrorCode::not_found, "there is no '{}', which genai_config.json names",
           found_.model.string());
    const json inputs = object(decoder, "inputs"), outputs = object(decoder, "outputs");
    found_.input_ids = text(inputs, "input_ids");
    found_.attention_mask = text(inputs, "attention_mask");
    found_.position_ids = text(inputs, "position_ids");
    found_.logits = text(outputs, "logits");
    found_.context_length = number(model, "context_length").value_or(0);
    read_stop_tokens(model);
  }

  // Returns the path of a file in the folder. A configuration must not name a file outside it.
  fs::path inside(const std::string& name) const {
    const fs::path given(name);
    if (given.is_absolute() || std::ranges::find(given, fs::path("..")) != given.end())
      fail(ErrorCode::permission_denied, "'{}' names '{}', which is outside of the folder",
           (folder_ / file_).string(), name);
    return folder_ / given;
  }

  void find_model() {
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
    if (config.value("is_encoder_decoder", json(false)) == json(true))
      fail(ErrorCode::unimplemented, "'{}': models with an encoder are not supported",
           folder_.string());
    // A window counts keys by their places, and there may be free places between the old tokens and
    // the new ones. So the window must not exclude any token: it limits the length of texts.
    const auto window = number(config, "sliding_window");
    const bool used = config.value("use_sliding_window", json(true)) != json(false);
    if (window && used) found_.context_length = std::min(found_.context_length, *window);
  }

  void read_generation_config() { read_stop_tokens(read("generation_config.json")); }

  const fs::path folder_;
  fs::path file_;
  ModelFolder found_;
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

std::string generation_text(const ModelFolder& folder, const GenerationSizes& sizes) {
  const int64_t context = folder.context_length;
  if (context && sizes.max_length > context)
    fail(ErrorCode::invalid_argument, "max_length is {}, the model has a context of {}",
         sizes.max_length, context);
  const int64_t length = sizes.max_length ? sizes.max_length
                         : context        ? std::min(context, kDefaultLength)
                                          : kDefaultLength;
  std::vector<int64_t> prefill = sizes.prefill;
  if (prefill.empty() && length >= 2) prefill = {std::min(kDefaultPiece, length)};
  return json_text(nlohmann::ordered_json{
      {"max_length", length},
      {"slots", sizes.slots ? sizes.slots : 1},
      {"prefill", prefill},
      {"input_ids", folder.input_ids},
      {"attention_mask", folder.attention_mask},
      {"position_ids", folder.position_ids},
      {"logits", folder.logits},
      {"settings", {{"stop_tokens", folder.stop_tokens}, {"context_length", context}}}});
}

}  // namespace poprt::generate
