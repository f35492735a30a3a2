// A tokenizer.json by Python's package tokenizers. A child process reads a JSON object for each
// call from its standard input, and answers with one:
//
//   {"size": 32000}                                         when the file is open
//   {"encode": "Hello", "special": true}  ->  {"tokens": [1, 15043]}
//   {"decode": [15043]}                   ->  {"text": "Hello"}
//   {"name": 15043}                       ->  {"text": "\u2581Hello"}
//   {"chat": "Hello"}                     ->  {"text": "<|user|>\nHello<|end|>\n<|assistant|>\n"}
//
// A template is a file of the model and may be hostile, so it runs in the sandbox of jinja2, with
// the settings and functions that transformers gives it.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/abi.h"
#include "common/child.h"
#include "common/tokenizer.h"

namespace poprt::cli {
namespace {

constexpr const char* kServe = R"python(
import json, os, sys, time
def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
def template(folder, config):
    file = os.path.join(folder, "chat_template.jinja")
    if os.path.exists(file):
        with open(file, encoding="utf-8") as text:
            return text.read()
    found = config.get("chat_template")
    if isinstance(found, list):
        found = next((named["template"] for named in found if named["name"] == "default"), None)
    if not found:
        raise LookupError("the model has no template for chats (chat_template of tokenizer_config.json)")
    return found
def refuse(message):
    raise ValueError(message)
def chat(text):
    try:
        import jinja2.sandbox
    except ImportError:
        raise ImportError("the template is rendered by Python's package jinja2, which is not installed: "
                          "python3 -m pip install jinja2 (POPRT_PYTHON selects the interpreter)")
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    config = {}
    if os.path.exists(os.path.join(folder, "tokenizer_config.json")):
        with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
            config = json.load(file)
    tokens = {key: value["content"] if isinstance(value, dict) else value
              for key, value in config.items() if key.endswith("_token") and value}
    box = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                       extensions=["jinja2.ext.loopcontrols"])
    box.filters["tojson"] = lambda value, **how: json.dumps(value, ensure_ascii=False, indent=how.get("indent"))
    box.globals.update(raise_exception=refuse, strftime_now=time.strftime)
    return box.from_string(template(folder, config)).render(
        messages=[{"role": "user", "content": text}], add_generation_prompt=True, **tokens)
try:
    import tokenizers
except ImportError:
    answer({"missing": True})
    sys.exit()
try:
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    answer({"size": tokenizer.get_vocab_size(with_added_tokens=True)})
except Exception as e:
    answer({"error": str(e)})
    sys.exit()
for line in sys.stdin:
    asked = json.loads(line)
    try:
        if "encode" in asked:
            answer({"tokens": tokenizer.encode(asked["encode"], add_special_tokens=asked["special"]).ids})
        elif "chat" in asked:
            answer({"text": chat(asked["chat"])})
        elif "decode" in asked:
            answer({"text": tokenizer.decode(asked["decode"], skip_special_tokens=True)})
        else:
            answer({"text": tokenizer.id_to_token(asked["name"]) or ""})
    except Exception as e:
        answer({"error": str(e)})
)python";

// A child process with a socket as its standard input and output.
class TokenizerChild {
 public:
  explicit TokenizerChild(const std::vector<std::string>& words) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw Failure(fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, sockets[1], 0);
    posix_spawn_file_actions_adddup2(&actions, sockets[1], 1);
    const int error =
        posix_spawnp(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(sockets[1]);
    socket_ = sockets[0];
    if (!error) return;
    ::close(socket_);
    throw Failure(fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  }
  // The child ends at the end of its input.
  ~TokenizerChild() {
    ::close(socket_);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  TokenizerChild(const TokenizerChild&) = delete;
  TokenizerChild& operator=(const TokenizerChild&) = delete;

  void write(const std::string& line) {
    for (size_t at = 0; at < line.size();) {
      const ssize_t count = send(socket_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw Failure("the process of Python's package tokenizers has ended");
      at += static_cast<size_t>(count);
    }
  }

  nlohmann::json read() {
    size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      char bytes[4096];
      const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw Failure("the process of Python's package tokenizers has ended");
      received_.append(bytes, static_cast<size_t>(count));
    }
    const nlohmann::json answer = nlohmann::json::parse(received_.substr(0, end), nullptr, false);
    received_.erase(0, end + 1);
    if (!answer.is_object()) throw Failure("Python's package tokenizers gave no JSON object");
    return answer;
  }

 private:
  pid_t child_ = 0;
  int socket_ = -1;
  std::string received_;
};

class TokenizerJson : public Tokenizer {
 public:
  explicit TokenizerJson(const std::filesystem::path& file)
      : file_(file.string()), child_(words_for(file_)) {
    const nlohmann::json answer = child_.read();
    if (answer.contains("missing"))
      throw Failure(
          fmt::format("'{}' is read by Python's package tokenizers, which is not "
                      "installed: python3 -m pip install tokenizers (POPRT_PYTHON "
                      "selects the interpreter)",
                      file_));
    size_ = value_of(answer, "size").get<int64_t>();
  }

  int64_t size() const override { return size_; }
  std::vector<int64_t> encode(std::string_view text, bool special) const override {
    return request({{"encode", text}, {"special", special}}, "tokens").get<std::vector<int64_t>>();
  }
  std::string chat(std::string_view text) const override {
    return request({{"chat", text}}, "text").get<std::string>();
  }
  std::string decode(std::span<const int64_t> tokens) const override {
    nlohmann::json known = nlohmann::json::array();
    for (const int64_t token : tokens)
      if (is_id(token)) known.push_back(token);
    return request({{"decode", known}}, "text").get<std::string>();
  }
  std::string name(int64_t token) const override {
    if (!is_id(token)) return {};
    return request({{"name", token}}, "text").get<std::string>();
  }

 private:
  static std::vector<std::string> words_for(const std::string& file) {
    std::vector<std::string> words = python_program(kServe);
    words.push_back(file);
    return words;
  }
  // The package takes ids of 32 bits and has no text for those that are not in the tokenizer. The
  // ids of a tokenizer may have gaps, so an id may be larger than the number of tokens.
  static bool is_id(int64_t token) { return token >= 0 && token <= UINT32_MAX; }
  nlohmann::json value_of(const nlohmann::json& answer, const char* key) const {
    if (answer.contains("error"))
      throw Failure(fmt::format("'{}': {}", file_, answer["error"].get<std::string>()));
    if (!answer.contains(key)) throw Failure(fmt::format("'{}': there is no answer", file_));
    return answer[key];
  }
  nlohmann::json request(const nlohmann::json& question, const char* key) const {
    // Words of a command may have bytes that are not UTF-8.
    child_.write(question.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
    return value_of(child_.read(), key);
  }

  const std::string file_;
  mutable TokenizerChild child_;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer_json(const std::filesystem::path& file) {
  return std::make_unique<TokenizerJson>(file);
}

}  // namespace poprt::cli
