#include "runtime/runner/host_concat_runner.h"

#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/json.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {

std::map<std::string, HostConcatConfig> parse_host_concat_config(std::string_view text) {
  try {
    const auto json = parse_json(text);
    std::map<std::string, HostConcatConfig> config;
    for (const auto& [name, value] : json.items()) {
      HostConcatConfig& c = config[name];
      c.tensor_name = value.value("tensor_name", name);
      c.input_tensor_names = value.at("input_tensor_names").get<std::vector<std::string>>();
      c.shape = value.value("shape", Shape());
      c.data_size_bytes = value.value("data_size_bytes", uint64_t{0});
      c.sizes = value.value("sizes", std::vector<uint64_t>());
    }
    return config;
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::data_loss, "HostConcatRunnerConfig: {}", e.what());
  }
}

namespace {

constexpr const char* kBlob = "HostConcatRunnerConfig";

std::map<std::string, HostConcatConfig> find_config(const Model& model,
                                                    HostConcatRunnerConfig& config) {
  if (config.runner.batching_dim != std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_argument,
         "joined inputs make whole batches: leave `batching_dim` unset");
  if (!config.host_concat_config.empty()) return config.host_concat_config;
  const auto blob = model.opaque.find(kBlob);
  if (blob == model.opaque.end())
    fail(ErrorCode::not_found, "no host_concat_config was given, and the model has no blob '{}'",
         kBlob);
  return parse_host_concat_config(blob->second);
}

}  // namespace

// The joined inputs of one request, and the callback when it is done.
struct HostConcatRunner::Buffers {
  std::vector<TensorMemory> memory;  // by target
  std::vector<InputBinding> bindings;
  std::vector<bool> given;
  RequestCallback callback;
  std::shared_ptr<Shared> shared;
};

struct HostConcatRunner::Shared {
  // A forked child does not use what a thread of the parent may have been in the middle of
  // changing.
  ForkMutex mutex;
  std::vector<std::unique_ptr<Buffers>> free;

  ~Shared() {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned()) static_cast<void>(new std::vector(std::move(free)));  // never destroyed
  }

  std::unique_ptr<Buffers> take() {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned() || free.empty()) return nullptr;
    auto b = std::move(free.back());
    free.pop_back();
    return b;
  }
  void put_back(std::unique_ptr<Buffers> b) {
    const auto keep = std::move(b->shared);  // this may be the last reference
    const std::lock_guard lock(mutex);
    if (!mutex.abandoned()) free.push_back(std::move(b));
  }
};

HostConcatRunner::HostConcatRunner(std::shared_ptr<const Model> model,
                                   HostConcatRunnerConfig config)
    : shared_(std::make_shared<Shared>()), runner_(model, config.runner) {
  const auto& anchors = model->inputs();
  std::vector<bool> joined(anchors.size());
  for (const auto& [name, c] : find_config(*model, config)) {
    const size_t target = find_anchor(anchors, c.tensor_name, 0, "input");
    const program::Anchor& a = anchors[target];
    if (joined[target])
      fail(ErrorCode::invalid_argument, "input '{}' is joined twice", c.tensor_name);
    joined[target] = true;
    const uint64_t bytes = a.bytes();
    if (c.data_size_bytes && c.data_size_bytes != bytes)
      fail_wrong_size(a, c.data_size_bytes, "joined input");
    if (!c.shape.empty() && c.shape != a.shape)
      fail(ErrorCode::invalid_argument, "input '{}' has shape {}, the configuration has {}",
           c.tensor_name, shape_string(a.shape), shape_string(c.shape));
    const uint64_t n = c.input_tensor_names.size();
    if (n == 0 || (!c.sizes.empty() && c.sizes.size() != n) || (c.sizes.empty() && bytes % n != 0))
      fail(ErrorCode::invalid_argument,
           "input '{}': {} bytes do not divide among {} inputs with {} sizes", c.tensor_name, bytes,
           n, c.sizes.size());
    targets_.emplace_back(target, bytes);
    // If the inputs are stacked along a new first axis, they keep their original shape.
    const bool stacked = c.sizes.empty() && a.shape.size() > 1 && std::cmp_equal(a.shape[0], n);
    uint64_t offset = 0;
    for (size_t i = 0; i < n; i++) {
      const uint64_t size = c.sizes.empty() ? bytes / n : c.sizes[i];
      DataDesc d{{c.input_tensor_names[i], a.dtype, {}}, size, false};
      if (stacked)
        d.anchor.shape.assign(a.shape.begin() + 1, a.shape.end());
      else if (const uint64_t element = dtype_bytes(a.dtype, 1); element)
        d.anchor.shape = {static_cast<int64_t>(size / element)};
      parts_.push_back({targets_.size() - 1, offset, true});
      inputs_.push_back(std::move(d));
      offset = checked_add(offset, size);
    }
    if (offset != bytes)
      fail(ErrorCode::invalid_argument, "input '{}' has {} bytes, the inputs that it joins {}",
           c.tensor_name, bytes, offset);
  }
  for (size_t i = 0; i < anchors.size(); i++)
    if (!joined[i]) {
      parts_.push_back({i, 0, false});
      inputs_.push_back(runner_.execute_inputs()[i]);
    }
}

HostConcatRunner::~HostConcatRunner() = default;

void HostConcatRunner::join(std::span<const InputBinding> inputs, Buffers& b) const {
  if (b.memory.empty())
    for (const auto& [target, bytes] : targets_) b.memory.emplace_back(bytes);
  b.bindings.clear();
  b.given.assign(parts_.size(), false);
  std::string names;
  for (size_t i = 0; i < inputs.size(); i++) {
    const InputBinding& in = inputs[i];
    size_t at = in.index;
    if (in.name.data()) {
      at = i < inputs_.size() && inputs_[i].anchor.name == in.name ? i : 0;
      while (at < inputs_.size() && inputs_[at].anchor.name != in.name) at++;
    }
    if (at >= inputs_.size()) {
      for (const DataDesc& d : inputs_)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", d.anchor.name);
      fail(ErrorCode::not_found, "there is no input '{}'; inputs are: {}",
           in.name.data() ? std::string(in.name) : std::to_string(in.index), names);
    }
    const DataDesc& d = inputs_[at];
    if (b.given[at]) fail(ErrorCode::invalid_argument, "input '{}' is given twice", d.anchor.name);
    b.given[at] = true;
    const Part& part = parts_[at];
    if (!part.joined) {
      b.bindings.push_back({{}, part.target, in.data, in.bytes});
      continue;
    }
    if (in.bytes != d.size_in_bytes)
      fail(ErrorCode::invalid_argument, "input '{}': expected {} bytes, given {} bytes",
           d.anchor.name, d.size_in_bytes, in.bytes);
    if (!in.data && in.bytes)
      fail(ErrorCode::invalid_argument, "input '{}': the pointer is null", d.anchor.name);
    if (in.bytes)
      std::memcpy(static_cast<std::byte*>(b.memory[part.target].data()) + part.offset, in.data,
                  in.bytes);
  }
  for (size_t i = 0; i < parts_.size(); i++)
    if (!b.given[i] && !inputs_[i].popef_contains_tensor_data)
      fail(ErrorCode::invalid_argument, "input '{}' is missing", inputs_[i].anchor.name);
  for (size_t i = 0; i < targets_.size(); i++)
    b.bindings.push_back({{}, targets_[i].first, b.memory[i].data(), targets_[i].second});
}

void HostConcatRunner::execute(std::span<const InputBinding> inputs,
                               std::span<const OutputBinding> outputs) {
  auto buffers = shared_->take();
  if (!buffers) buffers = std::make_unique<Buffers>();
  buffers->shared = shared_;
  join(inputs, *buffers);
  runner_.execute(buffers->bindings, outputs);
  shared_->put_back(std::move(buffers));
}

RequestPtr HostConcatRunner::execute_async(std::span<const InputBinding> inputs,
                                           std::span<const OutputBinding> outputs,
                                           RequestCallback callback,
                                           const RequestOptions& options) {
  auto buffers = shared_->take();
  if (!buffers) buffers = std::make_unique<Buffers>();
  buffers->shared = shared_;
  buffers->callback = callback;
  join(inputs, *buffers);
  // The memory is in use until the request is done, whether or not it succeeds.
  RequestCallback done;
  done.context = buffers.get();
  done.before = [](void* context) noexcept {
    static_cast<const Buffers*>(context)->callback.call_before();
  };
  done.full = [](void* context, const Request& request) noexcept {
    std::unique_ptr<Buffers> mine(static_cast<Buffers*>(context));
    const RequestCallback theirs = mine->callback;
    const auto shared = mine->shared;
    shared->put_back(std::move(mine));
    theirs(request.code(), request);
  };
  RequestPtr request = runner_.execute_async(buffers->bindings, outputs, done, options);
  static_cast<void>(buffers.release());  // the callback owns it now
  return request;
}

}  // namespace poprt::runtime
