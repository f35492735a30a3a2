#include "faithful_device.h"

#include <charconv>
#include <string>
#include <vector>

#include "compiler_loader.h"
#include "library_calls.h"
#include "option_lists.h"

namespace poprt::capi {
namespace {

// The anchors of a program in the form of the interface of the compiler library. Their memory
// changes with each run.
class Tensors {
 public:
  explicit Tensors(const std::vector<program::Anchor>& anchors) {
    for (const program::Anchor& a : anchors)
      list_.push_back({a.name.c_str(), static_cast<int32_t>(a.dtype),
                       static_cast<int32_t>(a.shape.size()), a.shape.data(), nullptr, a.bytes()});
  }
  const std::vector<poprt_library_tensor>& at(void* const* memory) {
    for (size_t i = 0; i < list_.size(); i++) list_[i].data = memory[i];
    return list_;
  }
  const std::vector<poprt_library_tensor>& list() const { return list_; }

 private:
  std::vector<poprt_library_tensor> list_;
};

class FaithfulEngine final : public device::Engine {
 public:
  FaithfulEngine(std::shared_ptr<const program::Program> program, const std::string& onnx,
                 const Numerics& numerics, bool float_partials)
      : program_(std::move(program)),
        inputs_(program_->inputs),
        outputs_(program_->outputs),
        compiler_(compiler_library()) {
    const poprt_library_faithful wanted{onnx.data(),
                                        onnx.size(),
                                        numerics.saturate,
                                        float_partials,
                                        numerics.seed.has_value(),
                                        numerics.seed.value_or(0),
                                        inputs_.list().data(),
                                        inputs_.list().size(),
                                        outputs_.list().data(),
                                        outputs_.list().size()};
    call([&](poprt_library_error* error) { model_ = compiler_.faithful_open(&wanted, error); });
  }
  ~FaithfulEngine() override { compiler_.faithful_close(model_); }
  FaithfulEngine(const FaithfulEngine&) = delete;
  FaithfulEngine& operator=(const FaithfulEngine&) = delete;

  void run(device::Flow flow, const void* const* inputs, void* const* outputs) noexcept override {
    if (flow != device::Flow::main || interrupted()) return;
    try {
      const auto& from = inputs_.at(const_cast<void* const*>(inputs));  // inputs are only read
      const auto& to = outputs_.at(outputs);
      call([&](poprt_library_error* error) {
        compiler_.faithful_run(model_, from.data(), from.size(), to.data(), to.size(), error);
      });
    } catch (const Error& e) {
      if (!failure_) failure_ = e;
    } catch (const std::exception& e) {
      if (!failure_) failure_ = Error(ErrorCode::resource_exhausted, e.what());
    }
  }

  std::optional<Error> take_failure() override { return std::exchange(failure_, std::nullopt); }

 private:
  const std::shared_ptr<const program::Program> program_;
  Tensors inputs_, outputs_;
  const poprt_compiler_library& compiler_;
  void* model_ = nullptr;
  std::optional<Error> failure_;
};

class FaithfulDevice final : public device::Device {
 public:
  FaithfulDevice(const runtime::Model& model, std::string onnx, const Numerics& numerics,
                 bool float_partials)
      : Device(std::vector<int64_t>(model.ipus, -1), device::Properties{.ipu_model = true}),
        onnx_(std::move(onnx)),
        numerics_(numerics),
        float_partials_(float_partials) {}

  std::unique_ptr<device::Engine> load(const device::Image& image,
                                       const device::LoadOptions&) override {
    return std::make_unique<FaithfulEngine>(image.program, onnx_, numerics_, float_partials_);
  }

 private:
  const std::string onnx_;
  const Numerics numerics_;
  const bool float_partials_;
};

}  // namespace

Numerics numerics_named(std::string_view word) {
  if (word.empty() || word == "fast") return {};
  const size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  Numerics numerics{true, name == "saturating", std::nullopt};
  bool valid = name == "faithful" || name == "saturating";
  if (colon != word.npos) {
    const std::string_view digits = word.substr(colon + 1);
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    valid = valid && error == std::errc() && end == digits.data() + digits.size();
    numerics.seed = seed;
  }
  if (!valid)
    fail(ErrorCode::invalid_argument,
         "numerics: expected fast, faithful or saturating, or faithful:SEED or saturating:SEED for "
         "stochastic rounding, found '{}'",
         word);
  return numerics;
}

std::shared_ptr<device::Device> faithful_device(const runtime::Model& model,
                                                const Numerics& numerics) {
  const auto kept = model.opaque.find(kFaithfulModel);
  if (kept == model.opaque.end())
    fail(ErrorCode::failed_precondition,
         "numerics: executable '{}' contains no model for faithful numerics; compile it "
         "with option numerics=faithful (poprt `numerics` faithful)",
         model.name);
  bool float_partials = false;
  for (const popef::Option& option : model.metadata.engineOptions())
    float_partials |= option.name() == "partials_type" && option.value() == "float";
  return std::make_shared<FaithfulDevice>(model, kept->second, numerics, float_partials);
}

}  // namespace poprt::capi
