#include "poprt/generator.h"

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/fork_mutex.h"
#include "codecs/npy.h"
#include "compile_generation.h"
#include "generate/folder.h"
#include "generate/generator.h"
#include "guard.h"
#include "runtime/session/popef_file.h"
#include "struct_size.h"

using namespace poprt;

struct poprt_generator {
  std::shared_ptr<generate::Generator> generator;
};

struct poprt_sequence {
  std::shared_ptr<generate::Generator> generator;
  std::vector<int64_t> prompt;
  generate::SequenceOptions options;
  std::shared_ptr<generate::Sequence> running;  // assigned while the mutex is locked
  double log_probability = 0;
  std::vector<float> logits;        // of the next token, while the sequence waits for resume
  bool changed = false;             // it has a prompt or options
  std::vector<std::byte> restored;  // a saved text; empty: none
  std::function<void()> callback;   // for poprt_sequence_start
  ForkMutex mutex;                  // guards `running`, which any thread may cancel
};

namespace {

using generate::SequenceOptions;

// An option of a sequence by name: its range, and how it is stored.
struct SequenceOption {
  std::string_view name;
  generate::SamplingRange range;
  bool whole;
  void (*store)(SequenceOptions&, double);
};

constexpr double kMostWhole = 0x1p53;  // from here on not every whole number is a double
constexpr double kMostSeconds = 9e9;   // nanoseconds in 64 bits

constexpr std::array kSequenceOptions = {
    SequenceOption{"temperature", generate::kTemperatures, false,
                   [](SequenceOptions& o, double v) { o.sampling.temperature = v; }},
    SequenceOption{
        "top_k",
        {0, kMostWhole},
        true,
        [](SequenceOptions& o, double v) { o.sampling.top_k = static_cast<int64_t>(v); }},
    SequenceOption{"top_p", generate::kTopP, false,
                   [](SequenceOptions& o, double v) { o.sampling.top_p = v; }},
    SequenceOption{"min_p", generate::kMinP, false,
                   [](SequenceOptions& o, double v) { o.sampling.min_p = v; }},
    SequenceOption{"repetition_penalty", generate::kRepetitionPenalties, false,
                   [](SequenceOptions& o, double v) { o.sampling.repetition_penalty = v; }},
    SequenceOption{
        "seed",
        {0, kMostWhole},
        true,
        [](SequenceOptions& o, double v) { o.sampling.seed = static_cast<uint64_t>(v); }},
    SequenceOption{
        "max_new_tokens",
        {0, kMostWhole},
        true,
        [](SequenceOptions& o, double v) { o.sampling.max_new_tokens = static_cast<int64_t>(v); }},
    SequenceOption{
        "min_new_tokens",
        {0, kMostWhole},
        true,
        [](SequenceOptions& o, double v) { o.sampling.min_new_tokens = static_cast<int64_t>(v); }},
    SequenceOption{"ignore_stop",
                   {0, 1},
                   true,
                   [](SequenceOptions& o, double v) { o.sampling.ignore_stop = v != 0; }},
    SequenceOption{"time_limit",
                   {0, kMostSeconds},
                   false,
                   [](SequenceOptions& o, double v) {
                     o.time_limit = std::chrono::nanoseconds(static_cast<int64_t>(v * 1e9));
                   }},
    SequenceOption{"wait_for_logits",
                   {0, 1},
                   true,
                   [](SequenceOptions& o, double v) { o.wait_for_logits = v != 0; }},
    SequenceOption{
        "num_beams",
        {1, 4096},
        true,
        [](SequenceOptions& o, double v) { o.beams.num_beams = static_cast<int64_t>(v); }},
    SequenceOption{"num_return_sequences",
                   {1, 4096},
                   true,
                   [](SequenceOptions& o, double v) {
                     o.beams.num_return_sequences = static_cast<int64_t>(v);
                   }},
    SequenceOption{"length_penalty",
                   {-100, 100},
                   false,
                   [](SequenceOptions& o, double v) { o.beams.length_penalty = v; }},
    SequenceOption{"early_stopping",
                   {0, 2},
                   true,
                   [](SequenceOptions& o, double v) {
                     o.beams.early_stopping =
                         static_cast<generate::EarlyStopping>(static_cast<int>(v));
                   }},
};

poprt_sequence& not_started(poprt_sequence* sequence) {
  poprt_sequence& s = capi::required(sequence, "sequence");
  if (s.running) fail(ErrorCode::failed_precondition, "the sequence has started");
  return s;
}

// Returns a sequence that may get a prompt or an option. Throws failed_precondition otherwise.
poprt_sequence& changeable(poprt_sequence* sequence) {
  poprt_sequence& s = not_started(sequence);
  if (!s.restored.empty())
    fail(ErrorCode::failed_precondition, "the sequence continues a saved text with its options");
  return s;
}

// Calls `apply` with a sequence that gets a prompt or an option. A sequence whose change failed can
// still continue a saved text.
template <class F>
poprt_error* change(poprt_sequence* sequence, F&& apply) {
  return capi::guard([&] {
    poprt_sequence& s = changeable(sequence);
    apply(s);
    s.changed = true;
  });
}

// Returns a sequence that may continue a saved text. Throws failed_precondition otherwise.
poprt_sequence& restorable(poprt_sequence* sequence) {
  poprt_sequence& s = not_started(sequence);
  if (s.changed || !s.restored.empty())
    fail(ErrorCode::failed_precondition,
         "the sequence has a prompt or options, which a saved text has, too");
  return s;
}

// Reads "past=present,past=present".
std::vector<std::pair<std::string, std::string>> read_states(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> states;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t sign = item.find('=');
    if (sign == std::string_view::npos || sign == 0 || sign + 1 == item.size())
      fail(ErrorCode::invalid_argument,
           "`states`: '{}' is not past=present, the names of an input and an output", item);
    states.emplace_back(item.substr(0, sign), item.substr(sign + 1));
  }
  return states;
}

generate::Sequence& started(poprt_sequence* sequence) {
  poprt_sequence& s = capi::required(sequence, "sequence");
  if (!s.running) fail(ErrorCode::failed_precondition, "the sequence has not started");
  return *s.running;
}

void check_token(const poprt_sequence& s, int64_t token) {
  const int64_t vocabulary = s.generator->description().vocabulary;
  if (token < 0 || token >= vocabulary)
    fail(ErrorCode::invalid_argument, "token {} is outside of the vocabulary of {}", token,
         vocabulary);
}

// The number of features of the encoder.
size_t features_of(const poprt_sequence& s) {
  const auto& encoder = s.generator->description().encoder;
  if (!encoder || !encoder->features)
    fail(ErrorCode::invalid_argument, "the model has no encoder that takes features");
  return static_cast<size_t>(element_count(encoder->features_shape));
}

// Names the model of a folder by the folder, because exporters give all models one file name. Tools
// show the name for each generator of a process.
std::shared_ptr<const runtime::Model> named_by_folder(
    const std::shared_ptr<const runtime::Model>& model, const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return model;
  const std::string name = std::filesystem::canonical(path).filename().string();
  const auto named = std::make_shared<runtime::Model>(*model);
  if (!name.empty()) named->name = name;
  return named;
}

std::shared_ptr<const runtime::Model> model_of(const char* path, const poprt_generator_options& o) {
  const generate::ModelFolder folder = generate::open_folder(path);
  if (!folder.is_popef) {
    generate::GenerationSizes sizes{o.max_length, o.slots, {}, o.encoder_length};
    if (o.prefill) sizes.prefill = {o.prefill};
    if (o.states) sizes.states = read_states(o.states);
    if (o.cache_precision) sizes.cache_precision = o.cache_precision;
    std::vector<std::filesystem::path> parts;
    if (folder.encoder) parts = {folder.encoder->model};
    if (folder.encoder && !folder.encoder->first.empty()) parts.push_back(folder.encoder->first);
    return named_by_folder(
        capi::compile_generation(o.compiler, folder.model, generate::generation_text(folder, sizes),
                                 parts),
        path);
  }
  auto model = runtime::open_popef(folder.model);
  const generate::Description d = generate::read_description(*model);
  const auto same = [](int64_t given, int64_t has, const char* name) {
    if (given && given != has)
      fail(ErrorCode::invalid_argument,
           "`{}` is {}, and the PopEF file was compiled with {}; compile the model again", name,
           given, has);
  };
  same(o.max_length, d.max_length, "max_length");
  same(o.slots, d.slots, "slots");
  if (o.prefill) same(o.prefill, d.shapes.back().tokens, "prefill");
  if (o.encoder_length) same(o.encoder_length, d.encoder ? d.encoder->places : 0, "encoder_length");
  if (o.cache_precision && *o.cache_precision && o.cache_precision != d.cache_precision)
    fail(ErrorCode::invalid_argument,
         "`cache_precision` is '{}', and the PopEF file was compiled {}; compile the model again",
         o.cache_precision,
         d.cache_precision.empty() ? "without it" : fmt::format("with '{}'", d.cache_precision));
  if (o.compiler) fail(ErrorCode::invalid_argument, "`compiler` has no effect on a PopEF file");
  if (o.states && *o.states)
    fail(ErrorCode::invalid_argument, "`states` has no effect on a PopEF file");
  return model;
}

}  // namespace

poprt_error* poprt_generator_create(const char* path, const poprt_generator_options* options,
                                    poprt_generator** out_generator) {
  return capi::guard([&] {
    capi::required(path, "path");
    auto& out = capi::required(out_generator, "out_generator");
    const auto o = capi::read_options(options, "poprt_generator_options");
    for (const auto& [value, name] :
         {std::pair(o.max_length, "max_length"), std::pair(o.slots, "slots"),
          std::pair(o.prefill, "prefill"), std::pair(o.encoder_length, "encoder_length")})
      if (value < 0)
        fail(ErrorCode::invalid_argument, "`{}` is {}, must not be negative", name, value);
    generate::GeneratorOptions how;
    how.load.threads = o.threads;
    how.reuse_prefixes = o.reuse_prefixes != 0;
    out = new poprt_generator{std::make_shared<generate::Generator>(model_of(path, o), how)};
  });
}

void poprt_generator_free(poprt_generator* generator) { delete generator; }

poprt_error* poprt_generator_new_sequence(poprt_generator* generator,
                                          poprt_sequence** out_sequence) {
  return capi::guard([&] {
    const auto& g = capi::required(generator, "generator").generator;
    auto& out = capi::required(out_sequence, "out_sequence");
    out = new poprt_sequence{g, {}, {}, nullptr, 0, {}, false, {}, {}, {}};
  });
}

void poprt_sequence_free(poprt_sequence* sequence) {
  if (!sequence) return;
  std::shared_ptr<generate::Sequence> running;
  {
    const std::lock_guard lock(sequence->mutex);
    running = sequence->running;
  }
  if (running) {
    // It only fails in a callback, in which this function must not be called.
    poprt_error_free(capi::guard([&] { running->set_callback({}); }));
    running->cancel();
  }
  delete sequence;
}

int64_t poprt_generator_max_length(const poprt_generator* generator) {
  return generator ? generator->generator->description().max_length : 0;
}

int64_t poprt_generator_slots(const poprt_generator* generator) {
  return generator ? generator->generator->description().slots : 0;
}

int64_t poprt_generator_vocabulary(const poprt_generator* generator) {
  return generator ? generator->generator->description().vocabulary : 0;
}

poprt_error* poprt_generator_statistics(const poprt_generator* generator, poprt_string** out_json) {
  return capi::guard([&] {
    const auto& g = capi::required(generator, "generator").generator;
    auto& out = capi::required(out_json, "out_json");
    out = capi::make_string(g->statistics());
  });
}

poprt_error* poprt_generator_save(const poprt_generator* generator, const char* path) {
  return capi::guard([&] {
    const auto& g = capi::required(generator, "generator").generator;
    runtime::save_model(g->model(), &capi::required(path, "path"));
  });
}

poprt_error* poprt_sequence_append(poprt_sequence* sequence, int64_t token) {
  return change(sequence, [&](poprt_sequence& s) {
    check_token(s, token);
    const auto& encoder = s.generator->description().encoder;
    (encoder && encoder->ids ? s.options.source : s.prompt).push_back(token);
  });
}

poprt_error* poprt_sequence_append_decoder(poprt_sequence* sequence, int64_t token) {
  return change(sequence, [&](poprt_sequence& s) {
    if (!s.generator->description().encoder)
      fail(ErrorCode::invalid_argument, "the model has no encoder; append the token to the prompt");
    check_token(s, token);
    s.prompt.push_back(token);
  });
}

poprt_error* poprt_sequence_append_feature(poprt_sequence* sequence, double value) {
  return change(sequence, [&](poprt_sequence& s) {
    const auto count = features_of(s);
    if (s.options.features.size() >= count)
      fail(ErrorCode::out_of_range, "the encoder takes {} features", count);
    s.options.features.push_back(static_cast<float>(value));
  });
}

poprt_error* poprt_sequence_read_features(poprt_sequence* sequence, const char* path) {
  return change(sequence, [&](poprt_sequence& s) {
    const auto count = features_of(s);
    const Tensor read = read_npy(&capi::required(path, "path"));
    if (!is_float(read.dtype()) || static_cast<size_t>(read.count()) != count)
      fail(ErrorCode::invalid_argument,
           "'{}' contains {}{}, the encoder takes {} floating-point numbers", path,
           dtype_name(read.dtype()), shape_string(read.shape()), count);
    s.options.features.clear();
    for (const double v : read.to_doubles()) s.options.features.push_back(static_cast<float>(v));
  });
}

poprt_error* poprt_sequence_save(poprt_sequence* sequence, const char* path) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    const std::string to = &capi::required(path, "path");
    const std::vector<std::byte> bytes = sequence->generator->save(running);
    AtomicFile file(to);
    file.write(bytes);
    file.commit();
  });
}

poprt_error* poprt_sequence_save_bytes(poprt_sequence* sequence, poprt_write_fn write,
                                       void* user_data) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    if (!write) fail(ErrorCode::invalid_argument, "argument 'write' is null");
    const std::vector<std::byte> bytes = sequence->generator->save(running);
    if (write(bytes.data(), bytes.size(), user_data) != 0)
      fail(ErrorCode::cancelled, "the receiver of a saved sequence stopped");
  });
}

poprt_error* poprt_sequence_restore_bytes(poprt_sequence* sequence, const void* data, size_t size) {
  return capi::guard([&] {
    poprt_sequence& s = restorable(sequence);
    const std::byte* first = nullptr;
    if (size) first = &capi::required(static_cast<const std::byte*>(data), "data");
    std::vector<std::byte> bytes(first, first + size);
    s.generator->check_saved(bytes);
    s.restored = std::move(bytes);
  });
}

poprt_error* poprt_sequence_restore(poprt_sequence* sequence, const char* path) {
  return capi::guard([&] {
    poprt_sequence& s = restorable(sequence);
    const auto file = MappedFile::open(&capi::required(path, "path"));
    std::vector<std::byte> bytes(file->bytes().size());
    copy_mapped(file->bytes(), bytes);
    try {
      s.generator->check_saved(bytes);
    } catch (Error& e) {
      e.add_context(fmt::format("'{}'", path));
      throw;
    }
    s.restored = std::move(bytes);
  });
}

poprt_error* poprt_sequence_next_text(poprt_sequence* sequence, int32_t* out_value) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    auto& out = capi::required(out_value, "out_value");
    sequence->log_probability = 0;
    out = running.next_text() ? 1 : 0;
  });
}

double poprt_sequence_score(const poprt_sequence* sequence) {
  return sequence && sequence->running ? sequence->running->score() : 0;
}

poprt_error* poprt_sequence_set_option(poprt_sequence* sequence, const char* name, double value) {
  return change(sequence, [&](poprt_sequence& s) {
    const std::string_view wanted = &capi::required(name, "name");
    std::string names;
    for (const SequenceOption& option : kSequenceOptions) {
      names += (names.empty() ? "" : ", ") + std::string(option.name);
      if (option.name != wanted) continue;
      if (!(value >= option.range.least && value <= option.range.most) ||
          (option.whole && value != std::floor(value)))
        fail(ErrorCode::invalid_argument, "{} is {}, expected {}{} to {}", wanted, value,
             option.whole ? "a whole number from " : "", option.range.least, option.range.most);
      return option.store(s.options, value);
    }
    fail(ErrorCode::not_found, "there is no option '{}'; options are: {}", wanted, names);
  });
}

poprt_error* poprt_sequence_add_stop_token(poprt_sequence* sequence, int64_t token) {
  return change(sequence, [&](poprt_sequence& s) {
    check_token(s, token);
    s.options.sampling.stop_tokens.push_back(token);
  });
}

poprt_error* poprt_sequence_add_bad_token(poprt_sequence* sequence, int64_t token) {
  return change(sequence, [&](poprt_sequence& s) {
    check_token(s, token);
    s.options.sampling.bad_tokens.push_back(token);
  });
}

poprt_error* poprt_sequence_start(poprt_sequence* sequence) {
  return capi::guard([&] {
    poprt_sequence& s = not_started(sequence);
    std::function<void()> callback;
    if (s.callback)
      callback = [&s, call = s.callback] {
        // The first call may begin before `running` is set below, and the callback uses it.
        {
          const std::lock_guard started(s.mutex);
        }
        call();
      };
    const std::lock_guard lock(s.mutex);
    s.running = s.restored.empty() ? s.generator->submit(s.prompt, s.options, std::move(callback))
                                   : s.generator->restore(s.restored, std::move(callback));
    s.restored = {};
  });
}

poprt_error* poprt_sequence_set_callback(poprt_sequence* sequence, poprt_sequence_fn callback,
                                         void* user_data) {
  return capi::guard([&] {
    poprt_sequence& s = capi::required(sequence, "sequence");
    std::function<void()> call;
    if (callback) call = [=] { callback(user_data); };
    if (s.running)
      s.running->set_callback(std::move(call));
    else
      s.callback = std::move(call);
  });
}

poprt_error* poprt_sequence_next(poprt_sequence* sequence, int64_t timeout_ns, int64_t* out_token) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    auto& out = capi::required(out_token, "out_token");
    const auto token = running.next(std::chrono::nanoseconds(timeout_ns));
    if (token) sequence->log_probability = token->log_probability;
    out = token ? token->id : -1;
  });
}

double poprt_sequence_log_probability(const poprt_sequence* sequence) {
  return sequence ? sequence->log_probability : 0;
}

poprt_error* poprt_sequence_finish_reason(poprt_sequence* sequence, poprt_string** out_text) {
  return capi::guard([&] {
    const poprt_sequence& s = capi::required(sequence, "sequence");
    auto& out = capi::required(out_text, "out_text");
    out = capi::make_string(s.running ? std::string(generate::finish_name(s.running->finish()))
                                      : std::string());
  });
}

void poprt_sequence_cancel(poprt_sequence* sequence) {
  if (!sequence) return;
  std::shared_ptr<generate::Sequence> running;
  {
    const std::lock_guard lock(sequence->mutex);
    running = sequence->running;
  }
  if (running) running->cancel();
}

poprt_error* poprt_sequence_wait_logits(poprt_sequence* sequence, int64_t timeout_ns,
                                        int64_t* out_count) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    auto& out = capi::required(out_count, "out_count");
    sequence->logits = running.logits(std::chrono::nanoseconds(timeout_ns));
    out = static_cast<int64_t>(sequence->logits.size());
  });
}

double poprt_sequence_logit(const poprt_sequence* sequence, int64_t token) {
  if (!sequence || token < 0 || token >= static_cast<int64_t>(sequence->logits.size())) return 0;
  return static_cast<double>(sequence->logits[static_cast<size_t>(token)]);
}

poprt_error* poprt_sequence_set_logit(poprt_sequence* sequence, int64_t token, double value) {
  return capi::guard([&] {
    static_cast<void>(started(sequence));
    check_token(*sequence, token);
    if (sequence->logits.empty())
      fail(ErrorCode::failed_precondition, "the sequence does not wait for logits");
    sequence->logits[static_cast<size_t>(token)] = static_cast<float>(value);
  });
}

poprt_error* poprt_sequence_resume(poprt_sequence* sequence) {
  return capi::guard([&] {
    generate::Sequence& running = started(sequence);
    running.resume(std::exchange(sequence->logits, {}));
  });
}
