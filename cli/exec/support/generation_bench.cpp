#include "exec/support/generation_bench.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>

#include "common/json.h"

namespace poprt::cli {
namespace {

using GenerationClock = std::chrono::steady_clock;

double generation_ms_since(GenerationClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(GenerationClock::now() - begin).count();
}

struct Spread {
  double min = 0, median = 0, max = 0;
};

// `values` has at least one element. The median of an even number of values is the greater of the
// two in the middle, as for the latencies of requests.
Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

nlohmann::json spread_json(const std::vector<double>& values) {
  const Spread s = spread_of(values);
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}};
}

std::string spread_text(const std::vector<double>& values) {
  const Spread s = spread_of(values);
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", s.min, s.median, s.max);
}

double per_second(double tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

constexpr const char* kRow = "{:>9}  {:>11}  {:>27}  {:>27}  {:>27}  {:>9}  {:>10}\n";

}  // namespace

nlohmann::json GenerationTimes::json() const {
  return {{"sequences", sequences},
          {"repetitions", repetitions},
          {"load_ms", load_ms},
          {"private_bytes", private_bytes},
          {"prefill_tokens_per_second", spread_json(prefill)},
          {"decode_tokens_per_second", spread_json(decode)},
          {"decode_tokens_per_step", spread_json(tokens_per_step)},
          {"first_token_ms", spread_json(first_token_ms)}};
}

std::string GenerationTimes::header() {
  return fmt::format(kRow, "sequences", "repetitions", "prefill tokens/s", "decode tokens/s",
                     "first token ms", "load ms", "private MB");
}

std::string GenerationTimes::row() const {
  return fmt::format(kRow, sequences, repetitions, spread_text(prefill), spread_text(decode),
                     spread_text(first_token_ms), fmt::format("{:.1f}", load_ms),
                     fmt::format("{:.1f}", static_cast<double>(private_bytes) / 1e6));
}

uint64_t private_memory() {
  ::malloc_trim(0);  // returns memory that the compiler used, which would count for the generator
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  uint64_t kilobytes = 0;
  while (file >> word)
    if (word == "Anonymous:" && file >> kilobytes) return kilobytes * 1024;
  return 0;
}

GenerationBench::GenerationBench(const GenerationSettings& settings, int64_t sequences)
    : settings_(settings), sequences_(sequences) {
  poprt_generator_options options{};
  options.struct_size = sizeof options;
  options.max_length = settings_.max_length;
  // A PopEF file determines the number of slots.
  options.slots = settings_.model.ends_with(".popef") ? 0 : sequences;
  options.prefill = settings_.prefill;
  options.threads = settings_.threads;
  if (!settings_.cache_precision.empty())
    options.cache_precision = settings_.cache_precision.c_str();
  const auto begin = GenerationClock::now();
  poprt_generator* made = nullptr;
  check(poprt_generator_create(settings_.model.c_str(), &options, &made));
  generator_.reset(made);
  load_ms_ = generation_ms_since(begin);
  check_sizes();
}

void GenerationBench::check_sizes() const {
  const int64_t room = poprt_generator_max_length(generator_.get());
  const int64_t tokens = settings_.prompt_tokens + settings_.new_tokens;
  if (tokens > room)
    throw Failure(
        fmt::format("--prompt_tokens {} and --new_tokens {} are {} tokens, and a text has room for "
                    "{}; give fewer tokens, or a greater --max_length if the model has it",
                    settings_.prompt_tokens, settings_.new_tokens, tokens, room));
  const int64_t slots = poprt_generator_slots(generator_.get());
  if (settings_.model.ends_with(".popef") && settings_.most_sequences > slots)
    throw Failure(fmt::format(
        "--sequences {}: '{}' was compiled for {} at once; save it again with --slots {}",
        settings_.most_sequences, settings_.model, slots, settings_.most_sequences));
}

GenerationBench::Counts GenerationBench::counts() const {
  poprt_string* text = nullptr;
  check(poprt_generator_statistics(generator_.get(), &text));
  const nlohmann::json j = parse_json(take(text));
  return {j["prompt_tokens"], j["prompt_seconds"], j["decode_tokens"], j["decode_seconds"],
          j["decode_steps"]};
}

// The same seed gives the same prompts; each one is different.
std::vector<int64_t> GenerationBench::random_prompt() {
  std::seed_seq seed{settings_.seed, prompts_++};
  std::mt19937_64 random(seed);
  const auto vocabulary = static_cast<uint64_t>(poprt_generator_vocabulary(generator_.get()));
  std::vector<int64_t> prompt(static_cast<size_t>(settings_.prompt_tokens));
  for (int64_t& token : prompt) token = static_cast<int64_t>(random() % vocabulary);
  return prompt;
}

Sequence GenerationBench::new_sequence(int64_t new_tokens) {
  poprt_sequence* made = nullptr;
  check(poprt_generator_new_sequence(generator_.get(), &made));
  Sequence sequence(made);
  for (const int64_t token : random_prompt()) check(poprt_sequence_append(made, token));
  check(poprt_sequence_set_option(made, "max_new_tokens", static_cast<double>(new_tokens)));
  check(poprt_sequence_set_option(made, "ignore_stop", 1));
  return sequence;
}

bool GenerationBench::read(poprt_sequence* sequence, bool first_only, const Stopped& stopped) {
  constexpr int64_t kCheckNs = 50'000'000;
  while (!stopped()) {
    int64_t token = 0;
    if (poprt_error* const error = poprt_sequence_next(sequence, kCheckNs, &token)) {
      if (poprt_error_get_code(error) != POPRT_DEADLINE_EXCEEDED) check(error);
      poprt_error_free(error);
      continue;
    }
    if (token < 0 || first_only) return true;
  }
  return false;
}

// Decoding is measured while all sequences decode: from the first token of the last sequence to the
// end of the first one. If there is no step between, it is measured over the whole repetition.
void GenerationBench::repeat(GenerationTimes& times, const Stopped& stopped) {
  std::vector<Sequence> sequences;
  for (int64_t i = 0; i < sequences_; i++) sequences.push_back(new_sequence(settings_.new_tokens));
  const Counts before = counts();
  const auto begin = GenerationClock::now();
  for (const Sequence& s : sequences) check(poprt_sequence_start(s.get()));
  std::vector<double> first;
  bool complete = true;
  for (const Sequence& s : sequences) {
    if (!(complete = read(s.get(), true, stopped))) break;
    first.push_back(generation_ms_since(begin));
  }
  Counts from = counts();
  if (complete) complete = read(sequences[0].get(), false, stopped);
  Counts to = counts();
  for (const Sequence& s : sequences)
    if (complete) complete = read(s.get(), false, stopped);
  const Counts after = counts();
  if (to.steps == from.steps) {
    from = before;
    to = after;
  }
  // An interrupted repetition counts if each sequence has a token and a step was computed.
  if (first.size() < sequences.size() || to.steps == from.steps) return;
  times.prefill.push_back(per_second(after.prompt_tokens - before.prompt_tokens,
                                     after.prompt_seconds - before.prompt_seconds));
  times.decode.push_back(
      per_second(to.decode_tokens - from.decode_tokens, to.decode_seconds - from.decode_seconds));
  times.tokens_per_step.push_back((to.decode_tokens - from.decode_tokens) /
                                  (to.steps - from.steps));
  times.first_token_ms.insert(times.first_token_ms.end(), first.begin(), first.end());
  times.repetitions++;
}

GenerationTimes GenerationBench::measure(const std::function<bool(int64_t)>& more,
                                         const Stopped& stopped) {
  for (int i = 0; i < settings_.warmup && !stopped(); i++) {
    constexpr int64_t kPromptAndStep = 2;
    std::vector<Sequence> sequences;
    for (int64_t n = 0; n < sequences_; n++) sequences.push_back(new_sequence(kPromptAndStep));
    for (const Sequence& s : sequences) check(poprt_sequence_start(s.get()));
    for (const Sequence& s : sequences) read(s.get(), false, stopped);
  }
  GenerationTimes times;
  times.sequences = sequences_;
  times.load_ms = load_ms_;
  while (!stopped() && more(times.repetitions)) repeat(times, stopped);
  times.private_bytes = private_memory();
  return times;
}

}  // namespace poprt::cli
