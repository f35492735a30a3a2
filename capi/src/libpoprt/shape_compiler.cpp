#include "shape_compiler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "codecs/sha256.h"
#include "compile_cache.h"
#include "named_options.h"
#include "option_lists.h"
#include "program/shared_weights.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"

namespace poprt::capi {
namespace {

// Part of the keys of executables whose shapes are compiled on demand.
constexpr const char* kOnDemandKey = " on demand";

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<Shape> input_shapes(const runtime::Model& model, const program::OpenShapes& open) {
  std::vector<Shape> shapes;
  for (const program::OpenAnchor& a : open.inputs) {
    const auto found = std::ranges::find(model.inputs(), a.name, &program::Anchor::name);
    shapes.push_back(found == model.inputs().end() ? a.shape : found->shape);
  }
  return shapes;
}

}  // namespace

// The options with the shape of every input and without callbacks, whose receiver may not exist any
// more. `quiet`: the first executable has given the warnings.
struct ShapeCompiler::ShapedOptions {
  ShapedOptions(const poprt_compile_options& from, const program::OpenShapes& open,
                const std::vector<Shape>& shapes, bool quiet)
      : options(from), named(from.options, from.options + from.option_count) {
    for (size_t i = 0; i < open.inputs.size(); i++)
      inputs.push_back({open.inputs[i].name.c_str(), shapes[i].data(), shapes[i].size()});
    if (quiet) named.push_back({kQuiet, "1"});
    options.input_shapes = inputs.data();
    options.input_shape_count = inputs.size();
    options.batch_size = options.batch_axis = 0;
    options.options = named.data();
    options.option_count = named.size();
    options.progress = nullptr;
    options.after_pass = nullptr;
    options.stop = nullptr;
  }
  poprt_compile_options options;
  std::vector<poprt_option> named;
  std::vector<poprt_input_shape> inputs;
};

ShapeCompiler::ShapeCompiler(std::unique_ptr<poprt_compiler> options, Source source,
                             std::optional<runtime::ExecutableCache> cache)
    : options_(std::move(options)), source_(std::move(source)), cache_(std::move(cache)) {}

ShapeCompiler::~ShapeCompiler() = default;

std::unique_lock<ForkMutex> ShapeCompiler::locked() {
  std::unique_lock lock(mutex_);
  if (mutex_.abandoned())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while another thread of its parent compiled '{}': load the model "
         "again",
         this_process(), source_.name);
  return lock;
}

poprt_library_source ShapeCompiler::source() const {
  if (!source_.path.empty()) return {source_.path.c_str(), nullptr, 0, nullptr};
  const std::span<const std::byte> bytes =
      source_.view.empty() ? std::as_bytes(std::span(source_.bytes)) : source_.view;
  return {nullptr, bytes.data(), bytes.size(), source_.folder ? source_.folder->c_str() : nullptr};
}

std::string ShapeCompiler::hash() const {
  std::string text;
  const poprt_library_source from = source();
  call_with_sink([&](std::span<const std::byte> bytes) { text += text_of(bytes); },
                 [&](const poprt_library_sink* sink, poprt_library_error* error) {
                   compiler_library().hash(&from, &options_->options, sink, error);
                 });
  return text;
}

std::shared_ptr<ShapeCompiler> ShapeCompiler::with_execution_precision(
    const char* precision) const {
  constexpr const char* kName = "execution_precision";
  poprt_compile_options o = options_->options;
  const auto given = [&](const char* name) -> std::string_view {
    const char* const value = named_option(o, name);
    return value ? value : std::string_view();
  };
  check_precisions(given("precision"), precision, !given("reproducible").empty());
  std::vector<poprt_option> named(o.options, o.options + o.option_count);
  std::erase_if(named,
                [](const poprt_option& option) { return std::string_view(option.name) == kName; });
  named.push_back({kName, precision});
  o.options = named.data();
  o.option_count = named.size();
  o.progress = nullptr;
  o.after_pass = nullptr;
  o.stop = nullptr;
  return std::make_shared<ShapeCompiler>(std::make_unique<poprt_compiler>(o), source_, cache_);
}

// Reads the model. Returns whether the options fix every size.
bool ShapeCompiler::import(const poprt_compile_options& options) {
  std::string description;
  int complete = 0;
  const poprt_library_source from = source();
  call_with_sink(
      [&](std::span<const std::byte> bytes) { description += text_of(bytes); },
      [&](const poprt_library_sink* sink, poprt_library_error* error) {
        const poprt_library_sink noting = warnings_.with(*sink);
        if (void* model = compiler_library().open_model(&options, &from, &noting, &complete, error))
          imported_ = std::make_unique<Imported>(model);
      });
  if (open_ || description.empty()) return complete != 0;
  const size_t line = description.find('\n');
  open_ = program::read_open_shapes(description.substr(0, line));
  metadata_ = description.substr(line + 1);
  return complete != 0;
}

std::shared_ptr<const runtime::Model> ShapeCompiler::run_compiler(
    const poprt_compile_options& options, bool first) {
  const auto payload = std::make_shared<runtime::PayloadBuffer>();
  call_with_payload(*payload, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    const poprt_library_sink noting = warnings_.with(*sink);
    compiler_library().compile_open_model(imported_->model, &options, first, &noting, error);
  });
  return runtime::open_payload(source_.name, payload->bytes(), payload);
}

// Repeats the warnings of the compilation that this object has not given.
std::shared_ptr<const runtime::Model> ShapeCompiler::find_in_cache(
    const runtime::CacheKey& key, const poprt_compile_options& options) {
  std::vector<std::string> warnings;
  auto model = cache_->find(key, &warnings);
  if (!model || named_option(options, kQuiet)) return model;
  for (const std::string& warning : warnings)
    if (std::ranges::count(warnings_.texts(), warning) == 0) log().warn("{}", warning);
  return model;
}

std::shared_ptr<const runtime::Model> ShapeCompiler::compile_first(
    const poprt_compile_options& options, bool& from_cache) {
  runtime::CacheKey key;
  if (cache_) {
    key = cache_key(options, model_hash_ + kOnDemandKey, source_.name);
    if (auto model = find_in_cache(key, options)) {
      from_cache = true;
      take_first(model, key.hash);
      return model;
    }
  }
  if (!imported_) import(options);
  auto model = run_compiler(options, true);
  knows_weights_ = true;
  if (cache_) cache_->store(key, model->payload, warnings_.texts());
  take_first(model, key.hash);
  return model;
}

void ShapeCompiler::take_first(std::shared_ptr<const runtime::Model> model,
                               const std::string& key) {
  if (const auto note = model->opaque.find(program::kOpenShapes);
      !open_ && note != model->opaque.end())
    open_ = program::read_open_shapes(note->second);
  first_key_ = key;
  if (open_) first_shapes_ = input_shapes(*model, *open_);
  first_ = std::move(model);
  shared_ = first_;
}

std::shared_ptr<const runtime::Model> ShapeCompiler::load() {
  const auto lock = locked();
  const poprt_compile_options& o = options_->options;
  if (cache_) {
    model_hash_ = hash();
    const auto key = cache_key(o, model_hash_ + kOnDemandKey, source_.name);
    if (auto model = find_in_cache(key, o)) {
      if (o.progress) o.progress(1, "found in the cache", o.user_data);
      ahead_ = true;
      take_first(model, key.hash);
      return model;
    }
  }
  if (!import(o)) return nullptr;
  ahead_ = true;
  bool from_cache = false;
  auto model = compile_first(o, from_cache);
  if (!open_) imported_.reset();
  return model;
}

void ShapeCompiler::adopt(std::shared_ptr<const runtime::Model> model, const std::string& hash) {
  const auto lock = locked();
  model_hash_ = this->hash();
  if (!hash.empty() && hash != model_hash_)
    fail(ErrorCode::data_loss,
         "the embedded source is not the model that the executable was compiled from: its hash is "
         "{}, the file records {}",
         model_hash_, hash);
  const bool complete = import(options_->options);
  // The imported model needs memory, and a request of another shape may never arrive.
  imported_.reset();
  if (!open_) return;
  if (!complete)
    fail(ErrorCode::data_loss, "the recorded options do not fix every size of the embedded source");
  ahead_ = adopted_ = true;
  take_first(std::move(model), "");
  for (size_t i = 0; i < first_shapes_.size(); i++)
    if (!is_static(first_shapes_[i]))
      fail(ErrorCode::data_loss,
           "the executable has no input '{}' of its embedded source, so that it cannot be compiled "
           "at other shapes",
           open_->inputs[i].name);
}

std::shared_ptr<const runtime::Model> ShapeCompiler::description() const {
  auto model = std::make_shared<runtime::Model>();
  auto program = std::make_shared<program::Program>();
  for (const program::OpenAnchor& a : open_->inputs)
    program->inputs.push_back({a.name, a.dtype, a.shape});
  for (const program::OpenAnchor& a : open_->outputs)
    program->outputs.push_back({a.name, a.dtype, a.shape});
  model->name = source_.name;
  model->input_data.resize(program->inputs.size());
  model->image.program = std::move(program);
  if (!metadata_.empty()) {
    model->opaque[runtime::kOnnxMetadata] = metadata_;
    runtime::read_onnx_metadata(*model);
  }
  return model;
}

// Sets the value of the input through which a program reads the weights of the first executable.
std::shared_ptr<const runtime::Model> ShapeCompiler::with_shared_weights(
    const std::shared_ptr<const runtime::Model>& model) const {
  const auto& inputs = model->inputs();
  const auto found = std::ranges::find(inputs, program::kSharedWeights, &program::Anchor::name);
  if (found == inputs.end()) return model;
  const uint64_t bytes = shared_->program().weights_bytes;
  if (found->bytes() != bytes || found->dtype != DType::u8)
    fail(ErrorCode::data_loss, "the program shares {} bytes of weights, the first one has {}",
         found->bytes(), bytes);
  auto made = std::make_shared<runtime::Model>(*model);
  made->input_data[static_cast<size_t>(found - inputs.begin())] =
      shared_->image.weights.first(bytes);
  made->image.owner = std::make_shared<
      std::pair<std::shared_ptr<const runtime::Model>, std::shared_ptr<const runtime::Model>>>(
      model, shared_);
  return made;
}

// Takes an executable after the first one from the cache, or returns null.
std::shared_ptr<const runtime::Model> ShapeCompiler::find_next(const poprt_compile_options& options,
                                                               runtime::CacheKey& key) {
  if (!cache_) return nullptr;
  // The executable of a file is in no cache. Its weights identify it.
  if (first_key_.empty()) first_key_ = Sha256().add(shared_->image.weights).finish();
  key = cache_key(options, model_hash_ + kOnDemandKey + first_key_, source_.name);
  return find_in_cache(key, options);
}

// Compiles the first executable again, so that later ones share its weights.
void ShapeCompiler::learn_weights() {
  const ShapedOptions first(options_->options, *open_, first_shapes_, true);
  poprt_compile_options silent = ahead_ ? options_->options : first.options;
  silent.progress = nullptr;
  silent.after_pass = nullptr;
  silent.stop = nullptr;
  silent.options = first.named.data();
  silent.option_count = first.named.size();
  if (!adopted_) {
    call([&](poprt_library_error* error) {
      compiler_library().compile_open_model(imported_->model, &silent, 1, nullptr, error);
    });
  } else {
    auto again = run_compiler(silent, true);
    const auto weights = [](const runtime::Model& m) {
      return m.image.weights.first(m.program().weights_bytes);
    };
    if (!std::ranges::equal(weights(*again), weights(*first_))) {
      log().info(
          "the weights of '{}' are not those of a compilation of its source: other shapes "
          "do not share them",
          source_.name);
      shared_ = std::move(again);
      first_key_.clear();
    }
  }
  knows_weights_ = true;
}

std::shared_ptr<const runtime::Model> ShapeCompiler::compile_next(
    const poprt_compile_options& options, bool& from_cache) {
  runtime::CacheKey key;
  auto model = find_next(options, key);
  if (!model && !imported_) import(options);
  if (!model && !knows_weights_) {
    const std::string before = first_key_;
    learn_weights();
    if (first_key_ != before) model = find_next(options, key);
  }
  from_cache = model != nullptr;
  if (!model) {
    model = run_compiler(options, false);
    if (cache_) cache_->store(key, model->payload, warnings_.texts());
  }
  return with_shared_weights(model);
}

runtime::CompiledShape ShapeCompiler::compile(const std::vector<Shape>& inputs) {
  const auto lock = locked();
  if (first_ && inputs == first_shapes_) return {first_, true};
  if (auto model = models_[inputs].lock()) return {std::move(model), true};
  const ShapedOptions shaped(options_->options, *open_, inputs, first_ != nullptr);
  runtime::CompiledShape made;
  made.model = first_ ? compile_next(shaped.options, made.from_cache)
                      : compile_first(shaped.options, made.from_cache);
  std::erase_if(models_, [](const auto& entry) { return entry.second.expired(); });
  models_[inputs] = made.model;
  return made;
}

}  // namespace poprt::capi
