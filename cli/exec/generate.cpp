// poprt_exec generate: generates texts with a language model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/text_stream.h"
#include "common/tokenizer.h"
#include "common/written_files.h"
#include "exec/commands.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct GenerateArguments {
  std::string model, save, tokenizer;
  std::vector<std::string> ids, prompts;
  std::vector<std::string> features;  // files; a text each
  std::vector<std::string> stop, stop_texts;
  std::string decoder_ids, early_stopping = "no", states, cache_precision;
  int64_t encoder_length = 0, num_beams = 1, num_return_sequences = 1;
  double length_penalty = 1;
  int64_t max_length = 0, slots = 0, prefill = 0, max_new_tokens = 128, top_k = 0, seed = 0;
  double temperature = 0, top_p = 1, min_p = 0, repetition_penalty = 1;
  int threads = 0;
  bool json = false, ignore_stop = false, stream = false, chat = false;
  const Command* command = nullptr;  // knows which options are given
};

struct GeneratedText {
  size_t index = 0;
  std::vector<int64_t> prompt, tokens;
  std::vector<double> log_probabilities;
  std::string text;  // with a tokenizer
  std::string finish_reason;
  double score = 0;  // of a beam search
  double first_token_ms = 0;
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Reads "1,15,27".
std::vector<int64_t> read_tokens(const std::string& word, const char* option) {
  std::vector<int64_t> tokens;
  const char *at = word.data(), *const end = at + word.size();
  for (;;) {
    int64_t token = 0;
    const auto [after, error] = std::from_chars(at, end, token);
    if (error != std::errc() || (after != end && *after != ','))
      throw Usage(
          fmt::format("{} '{}': expected numbers of tokens, such as 1,15,27", option, word));
    tokens.push_back(token);
    if (after == end) return tokens;
    at = after + 1;
  }
}

Generator make_generator(const GenerateArguments& a) {
  poprt_generator_options options{};
  options.struct_size = sizeof options;
  options.max_length = a.max_length;
  // By default each text has a slot, or one for each beam, so that all texts are generated
  // together. A PopEF file determines its number of slots.
  if (!a.model.ends_with(".popef"))
    options.slots = a.slots ? a.slots
                            : a.num_beams * static_cast<int64_t>(a.ids.size() + a.prompts.size() +
                                                                 a.features.size());
  else
    options.slots = a.slots;
  options.prefill = a.prefill;
  options.encoder_length = a.encoder_length;
  if (!a.states.empty()) options.states = a.states.c_str();
  if (!a.cache_precision.empty()) options.cache_precision = a.cache_precision.c_str();
  options.threads = a.threads;
  poprt_generator* made = nullptr;
  check(poprt_generator_create(a.model.c_str(), &options, &made));
  return Generator(made);
}

Sequence make_sequence(poprt_generator* generator, const GenerateArguments& a,
                       const std::vector<int64_t>& prompt, const std::string& features) {
  poprt_sequence* made = nullptr;
  check(poprt_generator_new_sequence(generator, &made));
  Sequence sequence(made);
  for (const int64_t token : prompt) check(poprt_sequence_append(made, token));
  if (!features.empty()) check(poprt_sequence_read_features(made, features.c_str()));
  if (!a.decoder_ids.empty())
    for (const int64_t token : read_tokens(a.decoder_ids, "--decoder-ids"))
      check(poprt_sequence_append_decoder(made, token));
  for (const std::string& word : a.stop)
    for (const int64_t token : read_tokens(word, "--stop"))
      check(poprt_sequence_add_stop_token(made, token));
  const std::pair<const char*, double> options[] = {
      {"temperature", a.temperature},
      {"top_k", static_cast<double>(a.top_k)},
      {"top_p", a.top_p},
      {"min_p", a.min_p},
      {"repetition_penalty", a.repetition_penalty},
      {"seed", static_cast<double>(a.seed)},
      {"max_new_tokens", static_cast<double>(a.max_new_tokens)},
      {"ignore_stop", a.ignore_stop ? 1 : 0},
      {"num_beams", static_cast<double>(a.num_beams)},
      {"num_return_sequences", static_cast<double>(a.num_return_sequences)},
      {"length_penalty", a.length_penalty},
      {"early_stopping", a.early_stopping == "never" ? 2
                         : a.early_stopping == "yes" ? 1
                                                     : 0}};
  for (const auto& [name, value] : options) check(poprt_sequence_set_option(made, name, value));
  return sequence;
}

// Opens the tokenizer, or returns null if prompts and texts are tokens.
std::unique_ptr<Tokenizer> open_tokenizer(const GenerateArguments& a) {
  if (a.prompts.empty() && a.tokenizer.empty() && a.stop_texts.empty()) return nullptr;
  std::filesystem::path file = a.tokenizer;
  if (file.empty()) {
    std::error_code failed;
    const std::filesystem::path model = a.model;
    if (!std::filesystem::exists(model, failed))
      throw Failure(fmt::format("there is no model '{}'", a.model));
    const auto folder = std::filesystem::is_directory(model, failed)
                            ? model
                            : std::filesystem::absolute(model).parent_path();
    file = find_tokenizer(folder, true);
    if (file.empty())
      throw Failure(
          fmt::format("'{}' has no tokenizer (tokenizer.model, spiece.model or tokenizer.json): "
                      "give one by --tokenizer, or tokens by --ids",
                      folder.string()));
  }
  return file.extension() == ".json" ? open_tokenizer_json(file) : open_sentencepiece(file);
}

void check_size(const Tokenizer& tokenizer, const poprt_generator* generator) {
  const int64_t vocabulary = poprt_generator_vocabulary(generator);
  if (tokenizer.size() > vocabulary)
    throw Failure(
        fmt::format("the tokenizer has {} tokens, and the model knows {}: it belongs to another "
                    "model",
                    tokenizer.size(), vocabulary));
}

// Prints what one token adds to a text: its number, or a piece if there is a tokenizer.
void print_piece(const GenerateArguments& a, const GeneratedText& text, bool has_tokenizer,
                 const std::string& piece) {
  if (a.json) {
    nlohmann::json line = {{"text", text.index}, {"token", text.tokens.back()}};
    if (has_tokenizer) line["piece"] = piece;
    fmt::print("{}\n", to_text(line, -1));
  } else if (has_tokenizer) {
    fmt::print("{}", piece);
  } else {
    fmt::print("{}{}", text.tokens.size() == 1 ? "" : " ", text.tokens.back());
  }
  std::fflush(stdout);
}

// Prints the rest of a text, or all of it without --stream.
void print_end(const GenerateArguments& a, const GeneratedText& text, bool has_tokenizer,
               const std::string& rest) {
  if (a.json) {
    if (a.stream && has_tokenizer && !rest.empty())
      fmt::print("{}\n", to_text(nlohmann::json{{"text", text.index}, {"piece", rest}}, -1));
  } else if (has_tokenizer) {
    fmt::print("{}\n", a.stream ? rest : text.text);
  } else {
    fmt::print("{}\n", a.stream ? std::string() : fmt::format("{}", fmt::join(text.tokens, " ")));
  }
}

// Models that are tuned for chats often end at once if a prompt has no template.
void warn_of_empty_text(const GeneratedText& text) {
  if (!text.text.empty() || text.finish_reason != "stop") return;
  log().warn(
      "the text of prompt {} is empty: the model ended it at once; a model for chats expects its "
      "template around a prompt (--chat)",
      text.index);
}

// Reads a text to its end and prints it.
GeneratedText read_sequence(poprt_sequence* sequence, const GenerateArguments& a, size_t index,
                            std::vector<int64_t> prompt, const Tokenizer* tokenizer,
                            Clock::time_point begin) {
  GeneratedText text{.index = index, .prompt = std::move(prompt)};
  std::optional<TextStream> pieces;
  if (tokenizer) pieces.emplace(*tokenizer, text.prompt, a.stop_texts);
  while (!(pieces && pieces->stopped())) {
    int64_t token = 0;
    check(poprt_sequence_next(sequence, -1, &token));
    if (token < 0) break;
    if (text.tokens.empty()) text.first_token_ms = ms_since(begin);
    text.tokens.push_back(token);
    text.log_probabilities.push_back(poprt_sequence_log_probability(sequence));
    const std::string piece = pieces ? pieces->add(token) : std::string();
    text.text += piece;
    if (a.stream) print_piece(a, text, tokenizer != nullptr, piece);
  }
  std::string rest;
  if (pieces) rest = pieces->finish();
  text.text += rest;
  if (pieces && pieces->stopped()) {
    poprt_sequence_cancel(sequence);
    text.finish_reason = "stop";
  } else {
    poprt_string* reason = nullptr;
    check(poprt_sequence_finish_reason(sequence, &reason));
    text.finish_reason = take(reason);
  }
  text.score = poprt_sequence_score(sequence);
  print_end(a, text, tokenizer != nullptr, rest);
  if (pieces && !pieces->stopped() && !a.chat) warn_of_empty_text(text);
  return text;
}

double rate(const nlohmann::json& statistics, const char* tokens, const char* seconds) {
  const double s = statistics[seconds];
  return s > 0 ? statistics[tokens].get<double>() / s : 0;
}

void print_report(const GenerateArguments& a, const std::vector<GeneratedText>& texts,
                  const nlohmann::json& statistics, double load_ms, bool has_tokenizer) {
  const double prefill = rate(statistics, "prompt_tokens", "prompt_seconds");
  const double decode = rate(statistics, "decode_tokens", "decode_seconds");
  if (!a.json) {
    if (!a.save.empty()) fmt::print("wrote {}\n", a.save);
    fmt::print(
        "ready after {:.0f} ms; first token after {:.1f} ms; prefill {:.1f} tokens/s, decode "
        "{:.1f} tokens/s\n",
        load_ms, texts[0].first_token_ms, prefill, decode);
    return;
  }
  nlohmann::json j;
  j["model"] = a.model;
  j["load_ms"] = load_ms;
  j["prefill_tokens_per_second"] = prefill;
  j["decode_tokens_per_second"] = decode;
  for (const GeneratedText& t : texts) {
    nlohmann::json text = {{"prompt", t.prompt},
                           {"tokens", t.tokens},
                           {"log_probabilities", t.log_probabilities},
                           {"finish_reason", t.finish_reason},
                           {"first_token_ms", t.first_token_ms}};
    if (has_tokenizer) text["text"] = t.text;
    if (a.num_beams > 1) text["score"] = t.score;
    j["texts"].push_back(text);
  }
  if (a.stream)
    fmt::print("{}\n", to_text(j, -1));
  else
    print_json(j);
}

void check_words(const GenerateArguments& a) {
  const int kinds = !a.ids.empty() + !a.prompts.empty() + !a.features.empty();
  if (kinds != 1)
    throw Usage("expected prompts as texts by --prompt, or as tokens by --ids, or --features");
  for (const std::string& text : a.stop_texts)
    if (text.empty()) throw Usage("--stop-text: the text is empty");
  if (a.num_beams > 1 && a.temperature != 0)
    throw Usage("--num-beams: a beam search needs --temperature 0");
  if (a.num_return_sequences > a.num_beams)
    throw Usage(fmt::format("--num-return-sequences: expected at most --num-beams ({}), found {}",
                            a.num_beams, a.num_return_sequences));
  if (a.chat && a.prompts.empty())
    throw Usage("--chat: expected prompts as texts by --prompt, which the template is for");
}

// Warns of options of a choice that is not made.
void warn_of_ignored_options(const GenerateArguments& a) {
  const auto warn = [&](std::initializer_list<const char*> options, const char* why) {
    for (const char* option : options)
      if (a.command->is_given(option)) log().warn("{} has no effect {}", option, why);
  };
  if (a.temperature == 0)
    warn({"--top-k", "--top-p", "--min-p", "--seed"},
         "without a --temperature above 0: the most probable token is chosen");
  if (a.num_beams == 1)
    warn({"--length-penalty", "--early-stopping"}, "without --num-beams above 1");
}

// The name that the executable of a PopEF file contains, or nothing if the file cannot be opened.
std::string name_in(const std::string& popef) {
  poprt_executable* found = nullptr;
  if (poprt_error* failure = poprt_executable_open(popef.c_str(), &found)) {
    poprt_error_free(failure);
    return {};
  }
  return poprt_executable_name(Executable(found).get());
}

// Refuses to replace the executable of another model.
void require_own_save(const GenerateArguments& a) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::path(a.save).extension() != ".popef")
    throw Usage(fmt::format("--save: expected a name that ends in .popef, found '{}'", a.save));
  const std::string other = fs::exists(a.save, error) ? name_in(a.save) : std::string();
  if (other.empty()) return;
  const fs::path model = fs::weakly_canonical(a.model, error);
  const std::string own = fs::is_directory(model, error)  ? model.filename().string()
                          : model.extension() == ".popef" ? name_in(a.model)
                                                          : model.stem().string();
  if (other != own)
    throw Failure(fmt::format("'{}' contains the model '{}', not '{}'; give --save another name",
                              a.save, other, own));
}

void require_separate_save(const GenerateArguments& a) {
  if (a.save.empty()) return;
  CommandFiles files;
  std::error_code error;
  if (std::filesystem::is_directory(a.model, error))
    files.reads_folder(a.model);
  else
    files.reads_model(a.model);
  files.reads(a.tokenizer);
  for (const std::string& features : a.features) files.reads(features);
  files.writes(a.save, Contents::popef, "--save");
  require_own_save(a);
}

int generate(const GenerateArguments& a) {
  check_words(a);
  std::vector<std::vector<int64_t>> prompts;
  for (const std::string& word : a.ids) prompts.push_back(read_tokens(word, "--ids"));
  require_separate_save(a);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(a);
  for (const std::string& text : a.prompts)
    prompts.push_back(a.chat ? tokenizer->encode(tokenizer->chat(text), false)
                             : tokenizer->encode(text, true));
  prompts.resize(prompts.size() + a.features.size());
  const auto start = Clock::now();
  const Generator generator = make_generator(a);
  const double load_ms = ms_since(start);
  if (tokenizer) check_size(*tokenizer, generator.get());
  if (!a.save.empty()) check(poprt_generator_save(generator.get(), a.save.c_str()));
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < prompts.size(); i++)
    sequences.push_back(make_sequence(generator.get(), a, prompts[i],
                                      a.features.empty() ? std::string() : a.features[i]));
  warn_of_ignored_options(a);
  const auto begin = Clock::now();
  for (const Sequence& s : sequences) check(poprt_sequence_start(s.get()));
  std::vector<GeneratedText> texts;
  for (size_t i = 0; i < prompts.size(); i++)
    for (int32_t more = 1; more;) {
      poprt_sequence* const s = sequences[i].get();
      texts.push_back(read_sequence(s, a, i, prompts[i], tokenizer.get(), begin));
      check(poprt_sequence_next_text(s, &more));
    }
  poprt_string* statistics = nullptr;
  check(poprt_generator_statistics(generator.get(), &statistics));
  print_report(a, texts, parse_json(take(statistics)), load_ms, tokenizer != nullptr);
  return 0;
}

}  // namespace

void add_generate(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<GenerateArguments>();
  Command* c = app.add_command("generate", "Generate texts with a language model");
  c->add_option("MODEL", a->model,
                "A folder of onnxruntime-genai or optimum, an .onnx with past and present keys and "
                "values, or a .popef of --save")
      ->required();
  c->add_option("--prompt", a->prompts, "Text of a prompt; several prompts run together")->many();
  c->add_flag("--chat", a->chat,
              "A prompt is the text of a user in a chat: put the model's template around it, by "
              "Python's package jinja2");
  c->add_option("--ids", a->ids, "1,15,27: the tokens of a prompt, instead of texts")->many();
  c->add_option("--features", a->features,
                "FILE.npy: the features of an encoder, such as Whisper's spectrogram")
      ->many();
  c->add_option("--tokenizer", a->tokenizer,
                "Model of sentencepiece, or a tokenizer.json, which Python's package tokenizers "
                "reads [tokenizer.model, spiece.model or tokenizer.json next to the model]");
  c->add_option("--max-new-tokens", a->max_new_tokens, "Tokens of a text; 0: until --max-length")
      ->check(between(int64_t{0}, int64_t{1} << 24))
      ->capture_default_str();
  c->add_option("--temperature", a->temperature, "0: the most probable token")
      ->check(between(0.0, 1e6))
      ->capture_default_str();
  c->add_option("--top-k", a->top_k, "Most probable tokens to choose from; 0: all")
      ->check(at_least(int64_t{0}))
      ->capture_default_str();
  c->add_option("--top-p", a->top_p, "Sum of the probabilities of the tokens to choose from")
      ->check(between(1e-9, 1.0))
      ->capture_default_str();
  c->add_option("--min-p", a->min_p, "Least part of the greatest probability")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  c->add_option("--repetition-penalty", a->repetition_penalty, "1: none")
      ->check(between(1e-3, 1e3))
      ->capture_default_str();
  c->add_option("--seed", a->seed, "Seed of the choices")->capture_default_str();
  c->add_option("--stop", a->stop, "2,7: further tokens that end a text")->many();
  c->add_option("--stop-text", a->stop_texts, "A text ends before this text")->many();
  c->add_flag("--ignore-stop", a->ignore_stop, "Continue after the stop tokens of the model");
  c->add_option("--decoder-ids", a->decoder_ids,
                "1,15,27: the prompt of a decoder with an encoder [the start tokens of the model]");
  c->add_option("--num-beams", a->num_beams, "Beams of a beam search; 1: none")
      ->check(between(int64_t{1}, int64_t{4096}))
      ->capture_default_str();
  c->add_option("--num-return-sequences", a->num_return_sequences, "Texts of a beam search")
      ->check(between(int64_t{1}, int64_t{4096}))
      ->capture_default_str();
  c->add_option("--length-penalty", a->length_penalty,
                "A score is divided by the length to this power")
      ->check(between(-100.0, 100.0))
      ->capture_default_str();
  c->add_option(
       "--early-stopping", a->early_stopping,
       "When a beam search ends: no (no better text is likely), yes (all beams have ended), "
       "never (no better text is possible)")
      ->check(one_of({"no", "yes", "never"}))
      ->capture_default_str();
  c->add_option("--encoder-length", a->encoder_length,
                "Tokens of the input of an encoder [the context of the model, at most 512]");
  c->add_option("--states", a->states,
                "past=present,...: inputs and outputs with recurrent states that are not found by "
                "their names; %d is a number");
  c->add_option("--cache-precision", a->cache_precision,
                "int8: caches of keys and values have 8 bits [the precision of the model]")
      ->check(one_of({"int8"}));
  c->add_option("--max-length", a->max_length,
                "Tokens of prompt and text [the context of the model, at most 2048]")
      ->check(between(int64_t{2}, int64_t{1} << 24));
  c->add_option("--slots", a->slots, "Texts that one step computes together [the prompts]")
      ->check(between(int64_t{1}, int64_t{4096}));
  c->add_option("--prefill", a->prefill, "Tokens of a prompt that one run computes [32 and 128]");
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_option("--save", a->save, "FILE.popef: write the compiled model");
  c->add_flag("--stream", a->stream,
              "Print each text as it comes; with --json, a line for each token and the report as "
              "the last line");
  c->add_flag("--json", a->json, "Report as one JSON document");
  a->command = c;
  c->callback([a, &action] { action = [a] { return generate(*a); }; });
}

}  // namespace poprt::cli
