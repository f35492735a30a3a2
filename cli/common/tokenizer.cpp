#include "common/tokenizer.h"

#include <dlfcn.h>

#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "common/abi.h"
#include "tokenizer/library.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerLibrary = "libpoprt_tokenizer.so.1";
constexpr uintmax_t kMostTokenizerBytes = uintmax_t{256} << 20;

// The library is bound to its own dependencies first, because sentencepiece contains another
// protobuf. Sanitizers refuse this flag; their builds have no such library.
#if defined(__clang__)
#define POPRT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define POPRT_SANITIZED 0
#endif
constexpr int kBinding = POPRT_SANITIZED ? 0 : RTLD_DEEPBIND;

// Loads the library for the first model. A later call tries again after a failure.
const poprt_tokenizer_library& tokenizer_library() {
  static std::mutex mutex;
  static const poprt_tokenizer_library* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded) return *loaded;
  void* library = dlopen(kTokenizerLibrary, RTLD_NOW | RTLD_LOCAL | kBinding);
  if (!library) {
    const char* why = dlerror();
    throw Failure(
        std::string("models of sentencepiece are read by ") + kTokenizerLibrary +
        ", which cannot be loaded (" + (why ? why : "unknown reason") +
        "): install package libpoprt-tokenizer1 of Debian, which wheels do not contain (a build "
        "needs libsentencepiece-dev)");
  }
  const auto table = reinterpret_cast<const poprt_tokenizer_library* (*)(void)>(
      dlsym(library, "poprt_tokenizer_library_table"));
  const poprt_tokenizer_library* found = table ? table() : nullptr;
  const int32_t version = found ? found->version : 0;
  if (version != POPRT_TOKENIZER_VERSION) {
    dlclose(library);
    throw Failure(std::string(kTokenizerLibrary) + " has version " + std::to_string(version) +
                  ", this program requires " + std::to_string(POPRT_TOKENIZER_VERSION) +
                  ": install both from one build");
  }
  return *(loaded = found);
}

std::string read_tokenizer_file(const fs::path& file) {
  std::error_code failed;
  const uintmax_t size = fs::file_size(file, failed);
  if (!failed && size > kMostTokenizerBytes)
    throw Failure("'" + file.string() + "' has " + std::to_string(size) + " bytes; the limit is " +
                  std::to_string(kMostTokenizerBytes));
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream || failed) throw Failure("'" + file.string() + "' cannot be read");
  return bytes;
}

// The tokens that are added around a text.
struct SpecialTokens {
  bool begin = true, end = false;
};

SpecialTokens special_tokens(const fs::path& folder) {
  SpecialTokens special;
  const fs::path file = folder / "tokenizer_config.json";
  std::error_code failed;
  if (!fs::exists(file, failed)) return special;
  const nlohmann::json json = nlohmann::json::parse(read_tokenizer_file(file), nullptr, false);
  if (!json.is_object()) throw Failure("'" + file.string() + "' is not a JSON object");
  const auto read = [&](const char* name, bool& value) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) return;
    if (!found->is_boolean())
      throw Failure("'" + file.string() + "': '" + name + "' is not true or false");
    value = found->get<bool>();
  };
  read("add_bos_token", special.begin);
  read("add_eos_token", special.end);
  return special;
}

// A text that the library returns, or the reason why it has none.
struct TextResult {
  std::string text;
  std::array<char, 512> error{};

  static void add(void* self, const char* text, size_t size) {
    static_cast<TextResult*>(self)->text.append(text, size);
  }
};

// The library's errors begin with a place in its source, "./src/file.cc(232) [condition] reason".
// Returns ": reason", or an empty text if there is none.
std::string reason_of(std::string_view error) {
  const size_t place = error.find(".cc("), end = error.find("] ");
  if (place != error.npos && end != error.npos && place < end) error.remove_prefix(end + 2);
  return error.empty() ? std::string() : ": " + std::string(error);
}

class SentencePiece : public Tokenizer {
 public:
  explicit SentencePiece(const fs::path& file)
      : library_(tokenizer_library()), special_(special_tokens(file.parent_path())) {
    const std::string bytes = read_tokenizer_file(file);
    std::array<char, 512> error{};
    model_ = library_.open(bytes.data(), bytes.size(), error.data(), error.size());
    if (!model_)
      throw Failure("'" + file.string() + "' is not a model of sentencepiece" +
                    reason_of(error.data()));
    size_ = library_.size(model_);
  }
  ~SentencePiece() override { library_.close(model_); }
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;

  int64_t size() const override { return size_; }

  std::vector<int64_t> encode(std::string_view text, bool special) const override {
    std::vector<int64_t> tokens;
    if (special && special_.begin && library_.begin(model_) >= 0)
      tokens.push_back(library_.begin(model_));
    const auto add = [](void* to, const int32_t* found, size_t count) {
      auto& all = *static_cast<std::vector<int64_t>*>(to);
      all.insert(all.end(), found, found + count);
    };
    std::array<char, 512> error{};
    if (library_.encode(model_, text.data(), text.size(), add, &tokens, error.data(), error.size()))
      throw Failure(std::string("the text cannot be encoded: ") + error.data());
    if (special && special_.end && library_.end(model_) >= 0)
      tokens.push_back(library_.end(model_));
    return tokens;
  }

  // Special tokens of a template would be encoded as text.
  std::string chat(std::string_view) const override {
    throw Failure(
        "a model of sentencepiece has no template for chats: give a tokenizer.json by --tokenizer, "
        "or write the template into --prompt");
  }

  std::string decode(std::span<const int64_t> tokens) const override {
    std::vector<int32_t> known;
    for (const int64_t token : tokens)
      if (token >= 0 && token < size_) known.push_back(static_cast<int32_t>(token));
    TextResult result;
    if (library_.decode(model_, known.data(), known.size(), TextResult::add, &result,
                        result.error.data(), result.error.size()))
      throw Failure(std::string("the tokens cannot be decoded: ") + result.error.data());
    return result.text;
  }

  std::string name(int64_t token) const override {
    TextResult result;
    if (token < 0 || token >= size_) return {};
    if (library_.piece(model_, static_cast<int32_t>(token), TextResult::add, &result,
                       result.error.data(), result.error.size()))
      throw Failure(std::string("the token has no name: ") + result.error.data());
    constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581
    for (size_t at = 0; (at = result.text.find(kSpace, at)) != std::string::npos; at++)
      result.text.replace(at, kSpace.size(), " ");
    return result.text;
  }

 private:
  const poprt_tokenizer_library& library_;
  const SpecialTokens special_;
  poprt_tokenizer_model* model_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace

fs::path find_tokenizer(const fs::path& folder, bool json) {
  std::error_code failed;
  for (const char* name : {"tokenizer.model", "spiece.model", "tokenizer.json"})
    if ((json || name != std::string_view("tokenizer.json")) &&
        fs::is_regular_file(folder / name, failed))
      return folder / name;
  return {};
}

std::string missing_tokenizer_library() {
  try {
    tokenizer_library();
    return {};
  } catch (const Failure& e) {
    return e.what();
  }
}

std::unique_ptr<Tokenizer> open_sentencepiece(const fs::path& file) {
  return std::make_unique<SentencePiece>(file);
}

}  // namespace poprt::cli
