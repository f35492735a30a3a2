#include "serve/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "common/abi.h"
#include "serve/json_tensors.h"

namespace poprt::serve {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int64_t kMostTexts = 128;         // of one request
constexpr size_t kMostStops = 16;           // stop strings of a request
constexpr size_t kMostStopBytes = 1024;     // of each
constexpr size_t kMostTokenBytes = 64;      // of a token of a prompt, on average
constexpr uint64_t kMostTop = 20;           // value of logprobs
constexpr int64_t kTickNs = 100'000'000;    // between two checks of the connection
constexpr uint64_t kMostSeed = 1ULL << 53;  // the option of a sequence is a double

// Fields of a request that are options of a sequence.
struct Field {
  std::string_view name;
  const char* option;
  double otherwise;
};
constexpr std::array kFields = {
    Field{"max_tokens", "max_new_tokens", 16},
    Field{"temperature", "temperature", 1},
    Field{"top_p", "top_p", 1},
    Field{"top_k", "top_k", 0},
    Field{"min_p", "min_p", 0},
    Field{"repetition_penalty", "repetition_penalty", 1},
    Field{"min_tokens", "min_new_tokens", 0},
};

[[noreturn]] void refuse_field(std::string_view name, const std::string& expected) {
  throw Error(POPRT_INVALID_ARGUMENT, "'" + std::string(name) + "': " + expected);
}

std::vector<int64_t> read_tokens(const Json& list, std::string_view name) {
  std::vector<int64_t> tokens;
  if (!list.is_array()) refuse_field(name, "expected an array of tokens");
  for (const Json& token : list) {
    if (!token.is_number_integer() || token.get<double>() < 0 || token.get<double>() > 1e15)
      refuse_field(name, "expected an array of tokens, which are numbers from 0");
    tokens.push_back(token.get<int64_t>());
  }
  return tokens;
}

Prompt read_prompt(const Json& prompt) {
  if (prompt.is_string()) return {{}, prompt.get<std::string>()};
  return {read_tokens(prompt, "prompt"), {}};
}

// A text, an array of tokens, or an array of such prompts.
void read_prompts(const Json& prompt, CompletionRequest& request) {
  const bool list = prompt.is_array() && !prompt.empty();
  if (!list && !prompt.is_string())
    refuse_field("prompt", "expected a text, an array of tokens, or an array of such prompts");
  if (list && (prompt[0].is_array() || prompt[0].is_string()))
    for (const Json& one : prompt) request.prompts.push_back(read_prompt(one));
  else
    request.prompts.push_back(read_prompt(prompt));
}

void read_stops(const Json& value, CompletionRequest& request) {
  const std::string expected = "expected a text, or an array of up to " +
                               std::to_string(kMostStops) + " texts, of 1 to " +
                               std::to_string(kMostStopBytes) + " bytes";
  const auto add = [&](const Json& text) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty() ||
        text.get_ref<const std::string&>().size() > kMostStopBytes)
      refuse_field("stop", expected);
    request.stop_texts.push_back(text.get<std::string>());
  };
  if (!value.is_array()) return add(value);
  if (value.size() > kMostStops) refuse_field("stop", expected);
  for (const Json& text : value) add(text);
}

bool read_flag(const Json& value, std::string_view name) {
  if (!value.is_boolean()) refuse_field(name, "expected true or false");
  return value.get<bool>();
}

// Accepts fields of other servers with the value that requests nothing, because clients send these
// values by default. Returns false if the field is not one of them.
bool read_foreign_field(const std::string& name, const Json& value) {
  const auto expect = [&](bool good, const char* expected) {
    if (!good)
      refuse_field(name, std::string("expected ") + expected + ": the server does not support it");
  };
  if (name == "frequency_penalty" || name == "presence_penalty")
    expect(value.is_number() && value.get<double>() == 0, "0");
  else if (name == "best_of")
    expect(value.is_number_unsigned() && value.get<uint64_t>() == 1, "1");
  else if (name == "echo")
    expect(value.is_boolean() && !value.get<bool>(), "false");
  else if (name == "suffix")
    expect(value.is_string() && value.get_ref<const std::string&>().empty(), "an empty text");
  else if (name == "logit_bias")
    expect(value.is_object() && value.empty(), "an empty object");
  else
    return name == "user";  // describes the sender
  return true;
}

// The error of a status of HTTP, as clients of this interface read it.
Json error_json(int status, std::string_view message) {
  const char* const type = status == 401   ? "authentication_error"
                           : status == 404 ? "not_found_error"
                           : status == 429 ? "rate_limit_error"
                           : status < 500  ? "invalid_request_error"
                                           : "server_error";
  return {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}};
}

// Reads a field that is not in kFields. Returns false if the server does not know the field.
bool read_field(const std::string& name, const Json& value, CompletionRequest& request) {
  if (name == "model") {
    if (!value.is_string()) refuse_field(name, "expected the name of a generator");
    request.model = value.get<std::string>();
  } else if (name == "prompt") {
    read_prompts(value, request);
  } else if (name == "stream") {
    request.stream = read_flag(value, name);
  } else if (name == "ignore_eos") {
    request.options.emplace_back("ignore_stop", read_flag(value, name) ? 1 : 0);
  } else if (name == "stop_token_ids") {
    request.stop_tokens = read_tokens(value, name);
  } else if (name == "seed") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > kMostSeed - kMostTexts)
      refuse_field(name, "expected a whole number from 0 to 2^53 - 128");
    request.seed = value.get<uint64_t>();
  } else if (name == "n") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() < 1 ||
        value.get<uint64_t>() > static_cast<uint64_t>(kMostTexts))
      refuse_field(name, "expected a whole number from 1 to " + std::to_string(kMostTexts));
    request.n = value.get<int64_t>();
  } else if (name == "logprobs") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > kMostTop)
      refuse_field(name, "expected a whole number from 0 to " + std::to_string(kMostTop));
    request.log_probabilities = true;
    request.top_log_probabilities = value.get<int64_t>();
    if (request.top_log_probabilities > 0) request.options.emplace_back("wait_for_logits", 1);
  } else if (name == "stream_options") {
    if (!value.is_object()) refuse_field(name, "expected an object");
    for (const auto& [key, flag] : value.items()) {
      if (key != "include_usage") refuse_field(name, "'" + key + "' is not known");
      request.include_usage = read_flag(flag, key);
    }
  } else if (name == "stop") {
    read_stops(value, request);
  } else if (name == "add_special_tokens") {
    request.add_special_tokens = read_flag(value, name);
  } else {
    return read_foreign_field(name, value);
  }
  return true;
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string new_id() {
  static std::atomic<uint64_t> count{0};
  return "cmpl-" + std::to_string(seconds_now()) + "-" + std::to_string(++count);
}

// The text of a token, or its number.
std::string token_name(const LoadedGenerator& generator, int64_t token) {
  std::string name;
  if (generator.tokenizer) name = generator.tokenizer->name(token);
  return name.empty() ? "token_id:" + std::to_string(token) : name;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Encodes the texts of the request. Throws Error (invalid_argument) if there is no tokenizer.
void encode(const LoadedGenerator& generator, CompletionRequest& request) {
  const Tokenizer* tokenizer = generator.tokenizer.get();
  if (!tokenizer && !request.stop_texts.empty())
    refuse_field("stop", generator.no_tokenizer + "; use 'stop_token_ids'");
  const auto most =
      static_cast<size_t>(poprt_generator_max_length(generator.generator.get())) * kMostTokenBytes;
  for (Prompt& prompt : request.prompts) {
    if (!prompt.text) continue;
    if (!tokenizer)
      refuse_field("prompt",
                   generator.no_tokenizer + "; expected an array of tokens, such as [1, 15, 27]");
    if (prompt.text->size() > most)
      refuse_field("prompt", "the text has " + std::to_string(prompt.text->size()) +
                                 " bytes; the limit is " + std::to_string(most));
    try {
      prompt.tokens = tokenizer->encode(*prompt.text, request.add_special_tokens);
    } catch (const cli::Failure& e) {
      refuse_field("prompt", e.what());
    }
    if (prompt.tokens.empty()) refuse_field("prompt", "the text has no tokens");
  }
}

// The message of an option with the name of its field, such as max_tokens for max_new_tokens.
std::string with_field_name(std::string message, const std::string& option) {
  for (const Field& field : kFields)
    if (field.option == option && message.starts_with(option + " "))
      message.replace(0, option.size(), field.name);
  return message;
}

serving::Sequence make_sequence(const LoadedGenerator& generator, const CompletionRequest& request,
                                const std::vector<int64_t>& prompt, uint64_t seed) {
  poprt_sequence* made = nullptr;
  serving::check(poprt_generator_new_sequence(generator.generator.get(), &made));
  serving::Sequence sequence(made);
  const auto length = static_cast<size_t>(poprt_generator_max_length(generator.generator.get()));
  if (prompt.size() >= length)
    throw Error(POPRT_INVALID_ARGUMENT, "the prompt has " + std::to_string(prompt.size()) +
                                            " tokens; prompt and text have at most " +
                                            std::to_string(length));
  for (const int64_t token : prompt) serving::check(poprt_sequence_append(made, token));
  for (const int64_t token : request.stop_tokens)
    serving::check(poprt_sequence_add_stop_token(made, token));
  for (const auto& [name, value] : request.options) try {
      serving::check(poprt_sequence_set_option(made, name.c_str(), value));
    } catch (const Error& e) {
      throw Error(e.code(), with_field_name(e.what(), name));
    }
  serving::check(poprt_sequence_set_option(made, "seed", static_cast<double>(seed)));
  return sequence;
}

}  // namespace

CompletionRequest parse_completion(std::string_view body) {
  const Json json = parse_object(body);
  CompletionRequest request;
  for (const Field& field : kFields) {
    const auto given = json.find(field.name);
    const bool set = given != json.end() && !given->is_null();
    if (set && !given->is_number()) refuse_field(field.name, "expected a number");
    if (set && field.name == "max_tokens" && given->get<double>() < 1)
      refuse_field(field.name, "expected at least 1");
    request.options.emplace_back(field.option, set ? given->get<double>() : field.otherwise);
    if (field.name == "min_tokens")
      request.min_tokens = static_cast<int64_t>(std::clamp(request.options.back().second, 0., 1e9));
  }
  for (const auto& [name, value] : json.items()) {
    const bool option = std::any_of(kFields.begin(), kFields.end(),
                                    [&](const Field& field) { return field.name == name; });
    if (!option && !value.is_null() && !read_field(name, value, request))
      refuse_field(name, "the field is not supported");
  }
  const auto value_of = [&](std::string_view option) {
    return std::ranges::find(request.options, option, [](const auto& o) { return o.first; })
        ->second;
  };
  if (value_of("min_new_tokens") > value_of("max_new_tokens"))
    refuse_field("min_tokens", "expected at most 'max_tokens', which is " +
                                   fmt::format("{}", value_of("max_new_tokens")));
  if (const auto given = json.find("stream_options");
      given != json.end() && !given->is_null() && !request.stream)
    refuse_field("stream_options", "expected only with \"stream\": true");
  if (request.model.empty()) refuse_field("model", "expected the name of a generator");
  if (request.prompts.empty()) refuse_field("prompt", "expected a text or an array of tokens");
  if (static_cast<int64_t>(request.prompts.size()) > kMostTexts / request.n)
    throw Error(POPRT_INVALID_ARGUMENT, "the request has more than " + std::to_string(kMostTexts) +
                                            " texts, counting 'n' for each prompt");
  return request;
}

Completion::Completion(CompletionRequest given)
    : request(std::move(given)),
      id_(new_id()),
      created_(seconds_now()),
      choices_(request.prompts.size() * static_cast<size_t>(request.n)) {}

Json Completion::envelope() const {
  return {{"id", id_},
          {"object", "text_completion"},
          {"created", created_},
          {"model", request.model},
          {"choices", Json::array()}};
}

Json Completion::usage() const {
  size_t prompt = 0, text = 0;
  for (const Prompt& one : request.prompts) prompt += one.tokens.size();
  for (const Choice& choice : choices_) text += choice.tokens.size();
  return {{"prompt_tokens", prompt}, {"completion_tokens", text}, {"total_tokens", prompt + text}};
}

Json Completion::choice_json(size_t index, size_t from, const std::string& text) const {
  const Choice& choice = choices_[index];
  Json json = {{"index", index}, {"text", text}, {"token_ids", Json::array()}};
  Json names = Json::array(), logs = Json::array(), tops = Json::array();
  for (size_t i = from; i < choice.tokens.size(); i++) {
    const ChosenToken& token = choice.tokens[i];
    json["token_ids"].push_back(token.id);
    names.push_back(token_name(*generator_, token.id));
    logs.push_back(token.log_probability);
    Json top = Json::object();
    for (const auto& [id, log] : token.top) top[token_name(*generator_, id)] = log;
    tops.push_back(std::move(top));
  }
  json["logprobs"] = nullptr;
  if (request.log_probabilities) json["logprobs"] = {{"tokens", names}, {"token_logprobs", logs}};
  if (request.top_log_probabilities > 0) json["logprobs"]["top_logprobs"] = tops;
  json["finish_reason"] = nullptr;
  if (!choice.finish_reason.empty()) json["finish_reason"] = choice.finish_reason;
  return json;
}

void Completion::add_event(const std::string& json) { events_ += "data: " + json + "\n\n"; }

void Completion::notify() {
  if (!waits_ || closed_) return;
  waits_ = false;
  wake();
}

void Completion::add_token(size_t index, ChosenToken token, const std::string& text) {
  const std::lock_guard lock(mutex_);
  Choice& choice = choices_[index];
  choice.tokens.push_back(std::move(token));
  choice.text += text;
  if (!request.stream) return;
  Json event = envelope();
  event["choices"].push_back(choice_json(index, choice.tokens.size() - 1, text));
  add_event(text_of(event));
  notify();
}

void Completion::end_choice(size_t index, std::string reason, const std::string& text,
                            std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  running_--;
  if (!error && reason == "error") incomplete_ = true;
  try {
    Choice& choice = choices_[index];
    choice.finish_reason = std::move(reason);
    choice.text += text;
    if (error && !error_) error_ = error;
    if (request.stream) {
      Json event = error ? error_json(500, error->what()) : envelope();
      if (!error) event["choices"].push_back(choice_json(index, choice.tokens.size(), text));
      add_event(text_of(event));
      if (running_ == 0 && request.include_usage) {
        Json last = envelope();
        last["usage"] = usage();
        add_event(text_of(last));
      }
      if (running_ == 0) add_event("[DONE]");
    }
  } catch (const std::exception&) {  // out of memory
    incomplete_ = true;
  }
  if (request.stream || running_ == 0) notify();
}

bool Completion::abandoned() {
  const std::lock_guard lock(mutex_);
  return closed_ || !is_connected();
}

void Completion::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

int64_t Completion::read(char* to, size_t capacity, const std::function<void()>& suspend) {
  const std::lock_guard lock(mutex_);
  if (sent_ == events_.size()) {
    events_.clear();
    sent_ = 0;
    if (running_ == 0 && incomplete_) throw std::bad_alloc();
    if (running_ == 0) return -1;
    waits_ = true;
    suspend();
    return 0;
  }
  const size_t size = std::min(capacity, events_.size() - sent_);
  std::memcpy(to, events_.data() + sent_, size);
  sent_ += size;
  return static_cast<int64_t>(size);
}

std::string Completion::format() const {
  const std::lock_guard lock(mutex_);
  if (error_) throw *error_;
  if (incomplete_) throw Error(POPRT_RESOURCE_EXHAUSTED, "out of memory");
  Json json = envelope();
  for (size_t i = 0; i < choices_.size(); i++)
    json["choices"].push_back(choice_json(i, 0, choices_[i].text));
  json["usage"] = usage();
  return text_of(json);
}

namespace {

// The error for an exception: itself, or one with this code. Nothing if there is no memory for it.
std::optional<Error> error_of(const std::exception& e, poprt_error_code code) {
  try {
    if (const auto* error = dynamic_cast<const Error*>(&e)) return *error;
    if (dynamic_cast<const std::bad_alloc*>(&e)) return std::nullopt;
    return Error(code, e.what());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

void Generations::start(const std::shared_ptr<const LoadedGenerator>& generator,
                        const std::shared_ptr<Completion>& completion) {
  admission_.check_open();
  encode(*generator, completion->request);
  completion->generator_ = generator;
  const CompletionRequest& request = completion->request;
  const uint64_t seed = request.seed ? *request.seed : std::random_device{}();
  std::vector<serving::Sequence> sequences;
  for (const Prompt& prompt : request.prompts) try {
      for (int64_t i = 0; i < request.n; i++)
        sequences.push_back(
            make_sequence(*generator, request, prompt.tokens, seed + static_cast<uint64_t>(i)));
    } catch (const Error& e) {
      if (request.prompts.size() == 1) throw;
      throw Error(e.code(), "prompt " + std::to_string(&prompt - request.prompts.data()) +
                                ", counted from 0: " + e.what());
    }
  const auto count = static_cast<int64_t>(sequences.size());
  admission_.enter(count, generator->counters->rejected);
  try {
    for (const serving::Sequence& sequence : sequences)
      serving::check(poprt_sequence_start(sequence.get()));
  } catch (const std::exception&) {
    admission_.leave(count);
    throw;
  }
  completion->running_ = completion->choices_.size();
  completion->waits_ = !request.stream;
  for (const Prompt& prompt : request.prompts)
    generator->counters->prompt_tokens += prompt.tokens.size() * static_cast<size_t>(request.n);
  for (size_t i = 0; i < sequences.size(); i++) {
    try {
      std::thread([this, i, model = generator, shared = completion,
                   sequence = std::move(sequences[i])]() mutable {
        model->counters->in_flight++;
        read_text(*model, *shared, i, sequence.get());
        model->counters->in_flight--;
        sequence.reset();
        shared.reset();
        model.reset();
        admission_.leave();  // the last use of this object
      }).detach();
    } catch (const std::exception& e) {
      completion->end_choice(i, "error", "", error_of(e, POPRT_RESOURCE_EXHAUSTED));
      admission_.leave();
    }
  }
}

namespace {

// Whether a call had its result in time. Throws its error.
bool in_time(poprt_error* failed) {
  const bool late = failed && poprt_error_get_code(failed) == POPRT_DEADLINE_EXCEEDED;
  if (late) poprt_error_free(failed);
  if (!late) serving::check(failed);
  return !late;
}

// The most probable of `count` tokens, according to the logits for which the sequence waits.
std::vector<std::pair<int64_t, double>> top_tokens(const poprt_sequence* sequence, int64_t count,
                                                   int64_t most) {
  std::vector<std::pair<int64_t, double>> tokens;
  for (int64_t i = 0; i < count; i++) tokens.emplace_back(i, poprt_sequence_logit(sequence, i));
  const auto before = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  const auto end = tokens.begin() + std::min(most, count);
  std::partial_sort(tokens.begin(), end, tokens.end(), before);
  double sum = 0;
  for (const auto& [id, logit] : tokens) sum += std::exp(logit - tokens[0].second);
  const double log_sum = tokens[0].second + std::log(sum);
  tokens.erase(end, tokens.end());
  for (auto& [id, value] : tokens) value -= log_sum;
  return tokens;
}

// Waits for the next token, which has the number -1 at the end of the text. Returns false if it
// does not come within kTickNs; then the next call continues with `token`.
bool next_token(poprt_sequence* sequence, int64_t most, ChosenToken& token) {
  if (most > 0 && token.top.empty()) {
    int64_t count = 0;
    if (!in_time(poprt_sequence_wait_logits(sequence, kTickNs, &count))) return false;
    if (count > 0) {
      token.top = top_tokens(sequence, count, most);
      serving::check(poprt_sequence_resume(sequence));
    }
  }
  if (!in_time(poprt_sequence_next(sequence, kTickNs, &token.id))) return false;
  token.log_probability = poprt_sequence_log_probability(sequence);
  const auto chosen = [&](const auto& one) { return one.first == token.id; };
  if (!token.top.empty() && token.id >= 0 && std::ranges::none_of(token.top, chosen))
    token.top.emplace_back(token.id, token.log_probability);
  return true;
}

}  // namespace

// Reads the tokens of a text until its end or a stop string, and returns why it has ended.
std::string Generations::read_tokens(const LoadedGenerator& generator, Completion& completion,
                                     size_t index, poprt_sequence* sequence,
                                     cli::TextStream* stream) {
  GeneratorCounters& counters = *generator.counters;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return (Clock::now() - begin).count(); };
  bool first = true;
  for (ChosenToken token;;) {
    const bool come = next_token(sequence, completion.request.top_log_probabilities, token);
    if (cancelled_ || completion.abandoned()) poprt_sequence_cancel(sequence);
    if (!come) {
      if (!first || wait_ns_ == 0 || elapsed() < wait_ns_) continue;
      poprt_sequence_cancel(sequence);
      throw Error(POPRT_DEADLINE_EXCEEDED, "the text had no token within the time limit");
    }
    if (token.id < 0) break;
    if (first) {
      counters.first_tokens++;
      counters.first_token_ns += static_cast<uint64_t>(elapsed());
    }
    first = false;
    counters.tokens++;
    const std::string text = stream ? stream->add(token.id) : "";
    completion.add_token(index, std::exchange(token, {}), text);
    if (!stream || !stream->stopped()) continue;
    poprt_sequence_cancel(sequence);
    return "stop";
  }
  poprt_string* text = nullptr;
  serving::check(poprt_sequence_finish_reason(sequence, &text));
  return serving::take(text);
}

void Generations::read_text(const LoadedGenerator& generator, Completion& completion, size_t index,
                            poprt_sequence* sequence) {
  std::optional<Error> error;
  std::string reason = "error", rest;
  try {
    std::optional<cli::TextStream> stream;
    const CompletionRequest& request = completion.request;
    if (generator.tokenizer)
      stream.emplace(*generator.tokenizer,
                     request.prompts[index / static_cast<size_t>(request.n)].tokens,
                     request.stop_texts, request.min_tokens);
    reason = read_tokens(generator, completion, index, sequence, stream ? &*stream : nullptr);
    if (reason == "error") throw Error(POPRT_INTERNAL, "the generator failed");
    if (reason == "cancelled") throw Error(POPRT_UNAVAILABLE, "the text was cancelled");
    if (stream) rest = stream->finish();
    if (stream && stream->stopped()) reason = "stop";
  } catch (const std::exception& e) {
    error = error_of(e, POPRT_INTERNAL);
    reason = "error";
  }
  (reason == "error" ? generator.counters->failed : generator.counters->succeeded)++;
  completion.end_choice(index, std::move(reason), rest, std::move(error));
}

namespace {

Json generator_json(const LoadedGenerator& generator) {
  return {{"id", generator.name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "poprt"},
          {"max_model_len", poprt_generator_max_length(generator.generator.get())}};
}

}  // namespace

std::string format_generator(const LoadedGenerator& generator) {
  return text_of(generator_json(generator));
}

std::string format_generators(
    const std::vector<std::shared_ptr<const LoadedGenerator>>& generators) {
  Json list = {{"object", "list"}, {"data", Json::array()}};
  for (const auto& generator : generators) list["data"].push_back(generator_json(*generator));
  return text_of(list);
}

std::string format_completion_error(int status, std::string_view message) {
  return text_of(error_json(status, message));
}

}  // namespace poprt::serve
