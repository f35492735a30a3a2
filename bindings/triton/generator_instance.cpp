#include "generator_instance.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "support.h"

namespace poprt::triton {
namespace {

using serving::Error;
using serving::TensorSpec;

constexpr int64_t kTickNs = 50'000'000;  // between two checks whether the client has cancelled
constexpr size_t kFirstOption = 2;       // index of the first input that is an option

TensorSpec spec_of(const char* name, poprt_dtype dtype, int64_t size) {
  return {name, name, dtype, {size}, {size < 0 ? int64_t{1} << 40 : size}};
}

template <class T>
std::vector<T> values_of(const Request& request, size_t input) {
  std::vector<T> values(request.bytes(input) / sizeof(T));
  request.copy_input(input, reinterpret_cast<char*>(values.data()));
  return values;
}

double option_of(const Request& request, size_t input) {
  switch (generator_inputs()[input].dtype) {
    case POPRT_DTYPE_BOOL: return values_of<uint8_t>(request, input)[0] ? 1 : 0;
    case POPRT_DTYPE_F32: return static_cast<double>(values_of<float>(request, input)[0]);
    default: return static_cast<double>(values_of<int64_t>(request, input)[0]);
  }
}

template <class T>
void add_values(Request& request, size_t output, const std::vector<T>& values) {
  const TensorSpec& spec = generator_outputs()[output];
  if (!request.wants(output)) return;
  const size_t bytes = values.size() * sizeof(T);
  char* const to = request.add_output(spec, {static_cast<int64_t>(values.size())}, bytes);
  if (bytes > 0) std::memcpy(to, values.data(), bytes);
}

bool is_cancelled(const Request& request) {
  bool cancelled = false;
  if (TRITONBACKEND_RequestIsCancelled)
    check(TRITONBACKEND_RequestIsCancelled(request.handle(), &cancelled));
  return cancelled;
}

}  // namespace

const std::vector<TensorSpec>& generator_inputs() {
  // The inputs from kFirstOption on are options of poprt_sequence_set_option.
  static const std::vector<TensorSpec> specs = {spec_of("input_ids", POPRT_DTYPE_S64, -1),
                                                spec_of("stop_token_ids", POPRT_DTYPE_S64, -1),
                                                spec_of("max_new_tokens", POPRT_DTYPE_S64, 1),
                                                spec_of("min_new_tokens", POPRT_DTYPE_S64, 1),
                                                spec_of("temperature", POPRT_DTYPE_F32, 1),
                                                spec_of("top_k", POPRT_DTYPE_S64, 1),
                                                spec_of("top_p", POPRT_DTYPE_F32, 1),
                                                spec_of("min_p", POPRT_DTYPE_F32, 1),
                                                spec_of("repetition_penalty", POPRT_DTYPE_F32, 1),
                                                spec_of("seed", POPRT_DTYPE_S64, 1),
                                                spec_of("ignore_stop", POPRT_DTYPE_BOOL, 1)};
  return specs;
}

const std::vector<TensorSpec>& generator_outputs() {
  static const std::vector<TensorSpec> specs = {spec_of("token_ids", POPRT_DTYPE_S64, -1),
                                                spec_of("log_probabilities", POPRT_DTYPE_F32, -1)};
  return specs;
}

// A request whose tokens are generated.
struct GeneratorInstance::Text {
  std::unique_ptr<Request> request;
  serving::Sequence sequence;
  uint64_t begin = 0;
  // The tokens that are not sent yet, and their log-probabilities.
  std::vector<int64_t> tokens;
  std::vector<float> log_probabilities;
};

GeneratorInstance::GeneratorInstance(const ModelState& model, TRITONBACKEND_ModelInstance* instance)
    : model_(model), decoupled_(model.decoupled()), instance_(instance) {
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  check(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_GPU)
    throw Error(POPRT_UNIMPLEMENTED, "instance_group has KIND_GPU; expected KIND_CPU");
  poprt_generator_options options = {};
  options.struct_size = sizeof options;
  options.threads = model.parameters().threads;
  poprt_generator* created = nullptr;
  serving::check(poprt_generator_create(model.generator().c_str(), &options, &created));
  generator_.reset(created);
  serving::require_tokens(created);
  most_texts_ = 4 * poprt_generator_slots(created);
}

GeneratorInstance::~GeneratorInstance() {
  stopping_ = true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return texts_ == 0; });
  lock.unlock();
  for (std::thread& thread : threads_) thread.join();  // no text is left, so the threads end soon
}

void GeneratorInstance::join_ended() {
  const std::lock_guard lock(mutex_);
  for (const std::thread::id id : ended_) {
    const auto thread = std::find_if(threads_.begin(), threads_.end(),
                                     [&](const std::thread& t) { return t.get_id() == id; });
    thread->join();
    threads_.erase(thread);
  }
  ended_.clear();
}

void GeneratorInstance::execute(std::span<TRITONBACKEND_Request*> requests) {
  for (TRITONBACKEND_Request* request : requests) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return texts_ < most_texts_; });
      texts_++;
    }
    join_ended();
    start(request);
  }
}

serving::Sequence GeneratorInstance::new_sequence(const Request& request) const {
  poprt_sequence* made = nullptr;
  serving::check(poprt_generator_new_sequence(generator_.get(), &made));
  serving::Sequence sequence(made);
  const int64_t length = poprt_generator_max_length(generator_.get());
  if (request.shape(0)[0] >= length)
    throw Error(POPRT_INVALID_ARGUMENT,
                "input 'input_ids' has " + std::to_string(request.shape(0)[0]) +
                    " tokens; prompt and text have at most " + std::to_string(length));
  for (const int64_t token : values_of<int64_t>(request, 0))
    serving::check(poprt_sequence_append(made, token));
  if (request.has_input(1))
    for (const int64_t token : values_of<int64_t>(request, 1))
      serving::check(poprt_sequence_add_stop_token(made, token));
  for (size_t i = kFirstOption; i < generator_inputs().size(); i++)
    if (request.has_input(i))
      serving::check(poprt_sequence_set_option(made, generator_inputs()[i].name.c_str(),
                                               option_of(request, i)));
  set_parameters(request, made);
  return sequence;
}

// Sets the options that the client gave as parameters of the request. For example, the generate
// endpoint of the server passes fields that are no inputs as parameters.
void GeneratorInstance::set_parameters(const Request& request, poprt_sequence* sequence) const {
  const std::vector<TensorSpec>& inputs = generator_inputs();
  for (const Request::Parameter& parameter : request.parameters()) {
    const auto option =
        std::find_if(inputs.begin() + kFirstOption, inputs.end(),
                     [&](const TensorSpec& input) { return input.name == parameter.name; });
    if (option == inputs.end()) {
      model_.warn_of_parameter(parameter.name);
      continue;
    }
    if (request.has_input(static_cast<size_t>(option - inputs.begin())))
      throw Error(POPRT_INVALID_ARGUMENT,
                  "'" + parameter.name + "' is given as an input and as a parameter");
    if (!parameter.number)
      throw Error(POPRT_INVALID_ARGUMENT,
                  "parameter '" + parameter.name + "' is a text; expected a number");
    serving::check(poprt_sequence_set_option(sequence, parameter.name.c_str(), *parameter.number));
  }
}

// Starts a text and its thread. The thread, or this function after an error, gives back the place
// of the text in texts_.
void GeneratorInstance::start(TRITONBACKEND_Request* handle) {
  auto text = std::make_unique<Text>();
  text->begin = now_ns();
  if (const auto error = attempt([&] { text->request = std::make_unique<Request>(handle); })) {
    log(TRITONSERVER_LOG_WARN, std::string("a request has no response: ") + error->what());
    log_error(TRITONBACKEND_RequestRelease(handle, TRITONSERVER_REQUEST_RELEASE_ALL));
    return end(*text, nullptr, false);
  }
  const auto error = attempt([&] {
    text->request->read(generator_inputs(), generator_outputs(), 1, false);
    text->sequence = new_sequence(*text->request);
    serving::check(poprt_sequence_start(text->sequence.get()));
    const std::lock_guard lock(mutex_);
    ended_.reserve(static_cast<size_t>(most_texts_));  // so that end() never allocates
    threads_.emplace_back([this, owned = text.get()] { read(std::unique_ptr<Text>(owned)); });
    static_cast<void>(text.release());  // read() owns it
  });
  if (error) end(*text, &*error, false);
}

void GeneratorInstance::read(std::unique_ptr<Text> owned) {
  Text& text = *owned;
  const auto error = attempt([&] {
    read_tokens(text);
    poprt_string* name = nullptr;
    serving::check(poprt_sequence_finish_reason(text.sequence.get(), &name));
    const std::string reason = serving::take(name);
    if (reason == "error") throw Error(POPRT_INTERNAL, "the generator failed");
  });
  end(text, error ? &*error : nullptr, true);
}

void GeneratorInstance::read_tokens(Text& text) {
  const auto add_outputs = [&] {
    add_values(*text.request, 0, text.tokens);
    add_values(*text.request, 1, text.log_probabilities);
  };
  for (bool first = true;; first = false) {
    if (stopping_) throw Error(POPRT_CANCELLED, "the model is unloaded");
    int64_t token = 0;
    poprt_error* failed = nullptr;
    for (;;) {
      if (is_cancelled(*text.request))
        throw Error(POPRT_CANCELLED, "the client cancelled the request");
      if (first && text.request->is_late()) throw too_late("its first token");
      failed = poprt_sequence_next(text.sequence.get(), kTickNs, &token);
      if (!failed || poprt_error_get_code(failed) != POPRT_DEADLINE_EXCEEDED) break;
      poprt_error_free(failed);
      if (stopping_) throw Error(POPRT_CANCELLED, "the model is unloaded");
    }
    serving::check(failed);
    if (token < 0) break;
    text.tokens.push_back(token);
    text.log_probabilities.push_back(
        static_cast<float>(poprt_sequence_log_probability(text.sequence.get())));
    if (!decoupled_) continue;
    add_outputs();
    text.request->send_part();
    text.tokens.clear();
    text.log_probabilities.clear();
  }
  if (!decoupled_) add_outputs();
}

// Sends the end of the text, releases its request, and gives back its place in texts_.
void GeneratorInstance::end(Text& text, const Error* error, bool started) noexcept {
  if (text.request) {
    const bool success = text.request->send(error);
    const uint64_t now = now_ns();
    if (success)
      log_error(TRITONBACKEND_ModelInstanceReportBatchStatistics(instance_, 1, text.begin,
                                                                 text.begin, now, now));
    log_error(TRITONBACKEND_ModelInstanceReportStatistics(
        instance_, text.request->handle(), success, text.begin, text.begin, now, now));
    text.sequence.reset();
    text.request->release();
  }
  const std::lock_guard lock(mutex_);
  if (started) ended_.push_back(std::this_thread::get_id());
  texts_--;
  changed_.notify_all();
}

}  // namespace poprt::triton
