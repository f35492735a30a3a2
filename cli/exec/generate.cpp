// poprt_exec generate: generates texts of tokens with a language model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;
using GeneratorHandle = std::unique_ptr<poprt_generator, Free<poprt_generator_free>>;
using SequenceHandle = std::unique_ptr<poprt_sequence, Free<poprt_sequence_free>>;

struct GenerateArguments {
  std::string model, save;
  std::vector<std::string> ids;
  std::vector<std::string> stop;
  int64_t max_length = 0, slots = 0, prefill = 0, max_new_tokens = 128, top_k = 0, seed = 0;
  double temperature = 0, top_p = 1, min_p = 0, repetition_penalty = 1;
  int threads = 0;
  bool json = false, ignore_stop = false;
};

struct GeneratedText {
  std::vector<int64_t> prompt, tokens;
  std::vector<double> log_probabilities;
  std::string finish_reason;
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

GeneratorHandle make_generator(const GenerateArguments& a) {
  poprt_generator_options options{};
  options.struct_size = sizeof options;
  options.max_length = a.max_length;
  // All texts together, unless the user wants fewer. A PopEF file has its own number.
  if (!a.model.ends_with(".popef"))
    options.slots = a.slots ? a.slots : static_cast<int64_t>(a.ids.size());
  else
    options.slots = a.slots;
  options.prefill = a.prefill;
  options.threads = a.threads;
  poprt_generator* made = nullptr;
  check(poprt_generator_create(a.model.c_str(), &options, &made));
  return GeneratorHandle(made);
}

SequenceHandle make_sequence(poprt_generator* generator, const GenerateArguments& a,
                             const std::vector<int64_t>& prompt) {
  poprt_sequence* made = nullptr;
  check(poprt_generator_new_sequence(generator, &made));
  SequenceHandle sequence(made);
  for (const int64_t token : prompt) check(poprt_sequence_append(made, token));
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
      {"ignore_stop", a.ignore_stop ? 1 : 0}};
  for (const auto& [name, value] : options) check(poprt_sequence_set_option(made, name, value));
  return sequence;
}

// Reads a text to its end, and prints its tokens as they come.
GeneratedText read_sequence(poprt_sequence* sequence, std::vector<int64_t> prompt, bool print,
                            Clock::time_point begin) {
  GeneratedText text{.prompt = std::move(prompt)};
  for (;;) {
    int64_t token = 0;
    check(poprt_sequence_next(sequence, -1, &token));
    if (token < 0) break;
    if (text.tokens.empty()) text.first_token_ms = ms_since(begin);
    text.tokens.push_back(token);
    text.log_probabilities.push_back(poprt_sequence_log_probability(sequence));
    if (!print) continue;
    fmt::print("{}{}", text.tokens.size() == 1 ? "" : " ", token);
    std::fflush(stdout);
  }
  poprt_string* reason = nullptr;
  check(poprt_sequence_finish_reason(sequence, &reason));
  text.finish_reason = take(reason);
  if (print) fmt::print("\n");
  return text;
}

double rate(const nlohmann::json& statistics, const char* tokens, const char* seconds) {
  const double s = statistics[seconds];
  return s > 0 ? statistics[tokens].get<double>() / s : 0;
}

int generate(const GenerateArguments& a) {
  std::vector<std::vector<int64_t>> prompts;
  for (const std::string& word : a.ids) prompts.push_back(read_tokens(word, "--ids"));
  const auto start = Clock::now();
  const GeneratorHandle generator = make_generator(a);
  const double load_ms = ms_since(start);
  if (!a.save.empty()) check(poprt_generator_save(generator.get(), a.save.c_str()));
  std::vector<SequenceHandle> sequences;
  for (const auto& prompt : prompts) sequences.push_back(make_sequence(generator.get(), a, prompt));
  const auto begin = Clock::now();
  for (const SequenceHandle& s : sequences) check(poprt_sequence_start(s.get()));
  std::vector<GeneratedText> texts;
  for (size_t i = 0; i < prompts.size(); i++)
    texts.push_back(read_sequence(sequences[i].get(), prompts[i], !a.json, begin));
  poprt_string* statistics_text = nullptr;
  check(poprt_generator_statistics(generator.get(), &statistics_text));
  const nlohmann::json statistics = parse_json(take(statistics_text));
  const double prefill = rate(statistics, "prompt_tokens", "prompt_seconds");
  const double decode = rate(statistics, "decode_tokens", "decode_seconds");
  if (a.json) {
    nlohmann::json j;
    j["model"] = a.model;
    j["load_ms"] = load_ms;
    j["prefill_tokens_per_second"] = prefill;
    j["decode_tokens_per_second"] = decode;
    for (const GeneratedText& t : texts)
      j["texts"].push_back({{"prompt", t.prompt},
                            {"tokens", t.tokens},
                            {"log_probabilities", t.log_probabilities},
                            {"finish_reason", t.finish_reason},
                            {"first_token_ms", t.first_token_ms}});
    print_json(j);
    return 0;
  }
  if (!a.save.empty()) fmt::print("wrote {}\n", a.save);
  fmt::print(
      "ready after {:.0f} ms; first token after {:.1f} ms; prefill {:.1f} tokens/s, decode {:.1f} "
      "tokens/s\n",
      load_ms, texts[0].first_token_ms, prefill, decode);
  return 0;
}

}  // namespace

void add_generate(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<GenerateArguments>();
  Command* c = app.add_command("generate", "Generate tokens with a language model");
  c->add_option("MODEL", a->model,
                "A folder of onnxruntime-genai or optimum, an .onnx with past and present keys and "
                "values, or a .popef of --save")
      ->required();
  c->add_option("--ids", a->ids, "1,15,27: the tokens of a prompt; several prompts run together")
      ->many()
      ->required();
  c->add_option("--max-new-tokens", a->max_new_tokens, "Tokens of a text; 0: until --max-length")
      ->check(between(int64_t{0}, int64_t{1} << 24))
      ->capture_default_str();
  c->add_option("--temperature", a->temperature, "0: the most probable token")
      ->capture_default_str();
  c->add_option("--top-k", a->top_k, "Most probable tokens to choose from; 0: all")
      ->capture_default_str();
  c->add_option("--top-p", a->top_p, "Sum of the probabilities of the tokens to choose from")
      ->capture_default_str();
  c->add_option("--min-p", a->min_p, "Least part of the greatest probability")
      ->capture_default_str();
  c->add_option("--repetition-penalty", a->repetition_penalty, "1: none")->capture_default_str();
  c->add_option("--seed", a->seed, "Seed of the choices")->capture_default_str();
  c->add_option("--stop", a->stop, "2,7: further tokens that end a text")->many();
  c->add_flag("--ignore-stop", a->ignore_stop, "Continue after the stop tokens of the model");
  c->add_option("--max-length", a->max_length,
                "Tokens of prompt and text [the context of the model, at most 2048]");
  c->add_option("--slots", a->slots, "Texts that one step computes together [the prompts]");
  c->add_option("--prefill", a->prefill, "Tokens of a prompt that one run computes [64]");
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_option("--save", a->save, "FILE.popef: write the compiled model");
  c->add_flag("--json", a->json, "Report as one JSON document");
  c->callback([a, &action] { action = [a] { return generate(*a); }; });
}

}  // namespace poprt::cli
