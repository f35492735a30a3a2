// Tokenizers of generators: texts as numbers of tokens, and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::cli {

// Its functions throw Failure. Those of a model of sentencepiece are thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // The number of tokens.
  virtual int64_t size() const = 0;
  // With `special`, the result also has the tokens that the model expects around a text, such as
  // <s>.
  virtual std::vector<int64_t> encode(std::string_view text, bool special) const = 0;
  // The text of a user as the first one of a chat, in the template of the model, which contains the
  // special tokens. Throws Failure if there is no template.
  virtual std::string chat(std::string_view text) const = 0;
  // Bytes that are not UTF-8 become U+FFFD. Special tokens, and tokens that are not in the
  // tokenizer, have no text.
  virtual std::string decode(std::span<const int64_t> tokens) const = 0;
  // Returns the text of a token with the space that it may begin with, or its name if it is a
  // special token or a byte. For a tokenizer.json it is always the name. The result is empty if the
  // token is not in the tokenizer.
  virtual std::string name(int64_t token) const = 0;
};

// Returns the tokenizer's file in a folder: tokenizer.model or spiece.model, which are models of
// sentencepiece, or else tokenizer.json if `json` is true. Returns an empty path if there is none.
std::filesystem::path find_tokenizer(const std::filesystem::path& folder, bool json);

// Why models of sentencepiece cannot be read, and what to install; "" if they can.
std::string missing_tokenizer_library();

// Opens a model of sentencepiece. If tokenizer_config.json is in the same folder, its fields
// add_bos_token and add_eos_token determine the special tokens; otherwise the token that begins a
// text is one, if the model has it. Throws Failure: one of the files cannot be read or is damaged,
// or the library of sentencepiece is not installed.
std::unique_ptr<Tokenizer> open_sentencepiece(const std::filesystem::path& file);

// Opens a tokenizer.json by Python's package tokenizers, in a child process. chat() renders
// chat_template.jinja, or chat_template of tokenizer_config.json, in the same folder by the package
// jinja2. If a package is missing, this function (tokenizers) or chat() (jinja2) throws Failure
// with the command that installs it.
std::unique_ptr<Tokenizer> open_tokenizer_json(const std::filesystem::path& file);

}  // namespace poprt::cli
