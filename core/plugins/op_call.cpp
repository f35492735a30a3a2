#include "plugins/op_call.h"

#include <utility>

#include "plugins/registration.h"

namespace poprt::plugins {

// The functions of poprt_op_host. No exception passes through a plug-in.
struct OpHost {
  static OpCall& self(const poprt_op_call* call) {
    return *reinterpret_cast<const OpCall::Raw*>(call)->self;
  }
  // The report of this call; parts have separate ones.
  static Report& report(const poprt_op_call* call) {
    return const_cast<OpCall::Raw*>(reinterpret_cast<const OpCall::Raw*>(call))->report;
  }

  // Passes the attribute to `take` if it is of kind T.
  template <class T, class Take>
  static int32_t get(const poprt_op_call* call, const char* name, Take&& take) noexcept {
    OpCall& op = self(call);
    const auto found = op.attributes_.find(std::string_view(name ? name : ""));
    if (found == op.attributes_.end()) return POPRT_NOT_FOUND;
    const T* value = std::get_if<T>(&found->second);
    try {
      if (value) {
        take(op, *value);
        return POPRT_OK;
      }
      constexpr const char* kKinds[] = {"an integer", "a float", "text", "a tensor",
                                        "integers",   "floats",  "texts"};
      return report(call).set(
          ErrorCode::invalid_argument,
          fmt::format("attribute '{}' is {}, the operator expects {}", name,
                      kKinds[found->second.index()], kKinds[AttributeValue(T()).index()]));
    } catch (const std::exception& e) {
      return report(call).set(ErrorCode::internal, e.what());
    }
  }

  static int32_t get_int(const poprt_op_call* call, const char* name, int64_t* out) {
    return get<int64_t>(call, name, [&](OpCall&, int64_t v) { *out = v; });
  }
  static int32_t get_float(const poprt_op_call* call, const char* name, float* out) {
    return get<float>(call, name, [&](OpCall&, float v) { *out = v; });
  }
  static int32_t get_string(const poprt_op_call* call, const char* name, const char** out,
                            size_t* out_size) {
    return get<std::string>(call, name, [&](OpCall&, const std::string& v) {
      *out = v.c_str();
      if (out_size) *out_size = v.size();
    });
  }
  static int32_t get_ints(const poprt_op_call* call, const char* name, const int64_t** out,
                          size_t* out_count) {
    return get<std::vector<int64_t>>(call, name, [&](OpCall&, const std::vector<int64_t>& v) {
      *out = v.data();
      *out_count = v.size();
    });
  }
  static int32_t get_floats(const poprt_op_call* call, const char* name, const float** out,
                            size_t* out_count) {
    return get<std::vector<float>>(call, name, [&](OpCall&, const std::vector<float>& v) {
      *out = v.data();
      *out_count = v.size();
    });
  }
  static int32_t get_tensor(const poprt_op_call* call, const char* name,
                            const poprt_op_tensor** out) {
    return get<Tensor>(call, name,
                       [&](OpCall& op, const Tensor& t) { *out = &op.attribute_tensors_.at(&t); });
  }

  static int32_t set_output(const poprt_op_call* call, size_t output, poprt_dtype dtype,
                            int32_t rank, const int64_t* shape) {
    OpCall& op = self(call);
    try {
      if (!op.set_output_)
        fail(ErrorCode::failed_precondition, "set_output() is for infer() alone");
      if (output >= op.outputs_.size())
        fail(ErrorCode::invalid_argument, "the node has {} outputs, infer() returned number {}",
             op.outputs_.size(), output);
      if (dtype < 0 || dtype >= kDTypeCount || dtype == POPRT_DTYPE_STRING)
        fail(ErrorCode::invalid_argument, "infer() gives output {} the element type {}", output,
             dtype);
      if (rank < -1 || rank > 64 || (rank > 0 && !shape))
        fail(ErrorCode::invalid_argument, "infer() gives output {} the rank {}", output, rank);
      Shape dims;
      for (int32_t i = 0; i < rank; i++) {
        if (shape[i] < -1)
          fail(ErrorCode::invalid_argument, "infer() gives output {} a dimension of {}", output,
               shape[i]);
        dims.push_back(shape[i]);
      }
      op.set_output_(output, static_cast<DType>(dtype), rank >= 0, std::move(dims));
      return POPRT_OK;
    } catch (const Error& e) {
      return op.report().set(e.code(), e.message());
    } catch (const std::exception& e) {
      return op.report().set(ErrorCode::internal, e.what());
    }
  }

  static int32_t fail_call(const poprt_op_call* call, poprt_error_code code, const char* format,
                           ...) {
    std::va_list arguments;
    va_start(arguments, format);
    report(call).set(code, format, arguments);
    va_end(arguments);
    return code;
  }

  static constexpr poprt_op_host table() {
    return {sizeof(poprt_op_host),
            get_int,
            get_float,
            get_string,
            get_ints,
            get_floats,
            get_tensor,
            set_output,
            fail_call,
            write_log};
  }
};

namespace {
constexpr poprt_op_host kHost = OpHost::table();
}

OpCall::OpCall(OperatorRef op, std::string node, Attributes attributes,
               std::vector<TensorInfo> inputs, std::vector<TensorInfo> outputs)
    : op_(op),
      node_(std::move(node)),
      attributes_(std::move(attributes)),
      shapes_(inputs.size() + outputs.size()),
      inputs_(inputs.size()),
      outputs_(outputs.size()) {
  for (size_t i = 0; i < inputs.size(); i++) {
    fill(inputs_[i], inputs[i], shapes_[i]);
    input_pointers_.push_back(inputs[i].present ? &inputs_[i] : nullptr);
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    fill(outputs_[i], outputs[i], shapes_[inputs.size() + i]);
    output_pointers_.push_back(&outputs_[i]);
  }
  for (const auto& [name, value] : attributes_)
    if (const auto* t = std::get_if<Tensor>(&value))
      attribute_tensors_[t] = {sizeof(poprt_op_tensor),
                               static_cast<poprt_dtype>(t->dtype()),
                               static_cast<int32_t>(t->shape().size()),
                               t->shape().data(),
                               const_cast<void*>(t->data()),
                               t->bytes()};
  raw_.call = {sizeof(poprt_op_call),  &kHost,
               node_.c_str(),          input_pointers_.size(),
               input_pointers_.data(), output_pointers_.size(),
               output_pointers_.data()};
  raw_.self = this;
}

OpCall::~OpCall() {
  if (!state_ || !op_.op->release) return;
  Report ignored;  // the caller has no use for it
  caught(ignored, [&] {
    op_.op->release(state_, op_.op->user_data);
    return POPRT_OK;
  });
}

void OpCall::fill(poprt_op_tensor& to, const TensorInfo& info, Shape& shape) {
  shape = info.shape;
  to = {sizeof(poprt_op_tensor),
        static_cast<poprt_dtype>(info.dtype),
        info.has_shape ? static_cast<int32_t>(shape.size()) : -1,
        shape.data(),
        const_cast<void*>(info.data),
        info.bytes};
}

std::string OpCall::title() const {
  return fmt::format("operator {}.{}{}", op_.op->domain, op_.op->name,
                     node_.empty() ? std::string() : fmt::format(" of node '{}'", node_));
}

void OpCall::infer(SetOutput set_output) {
  if (!op_.op->infer) return;
  struct Reset {
    SetOutput& function;
    ~Reset() { function = nullptr; }
  } const reset{set_output_};
  set_output_ = std::move(set_output);
  raw_.report = {};
  call(raw_.report, fmt::format("infer of {}", title()),
       [&] { return op_.op->infer(&raw_.call, op_.op->user_data); });
}

void OpCall::prepare() {
  prepare_to_catch();
  if (!op_.op->prepare) return;
  raw_.report = {};
  call(raw_.report, fmt::format("prepare of {}", title()),
       [&] { return op_.op->prepare(&raw_.call, &state_, op_.op->user_data); });
}

poprt_op_cost OpCall::cost() {
  poprt_op_cost cost{};
  cost.struct_size = sizeof cost;
  if (!op_.op->cost) return cost;
  raw_.report = {};
  call(raw_.report, fmt::format("cost of {}", title()),
       [&] { return op_.op->cost(&raw_.call, &cost, op_.op->user_data); });
  return cost;
}

namespace {

template <class F>
void run(Report& report, F&& function) noexcept {
  const int32_t code = caught(report, function);
  if (code != POPRT_OK && !report.failed)
    report.set(static_cast<ErrorCode>(code), "returned an error without a message");
}

}  // namespace

void OpCall::compute() noexcept {
  run(raw_.report, [&] { return op_.op->compute(&raw_.call, state_, op_.op->user_data); });
}

int64_t OpCall::parts() {
  if (!op_.op->parts) return 1;
  int64_t parts = 1;
  raw_.report = {};
  call(raw_.report, fmt::format("parts of {}", title()),
       [&] { return op_.op->parts(&raw_.call, state_, &parts, op_.op->user_data); });
  constexpr int64_t kMost = int64_t{1} << 20;
  if (parts < 1 || parts > kMost)
    fail(ErrorCode::invalid_argument, "{}: parts() returned {}, expected 1 to {}", title(), parts,
         kMost);
  return parts;
}

void OpCall::compute_part(int64_t begin, int64_t end) noexcept {
  Raw part{raw_.call, this, {}};
  run(part.report,
      [&] { return op_.op->compute_part(&part.call, state_, begin, end, op_.op->user_data); });
  if (!part.report.failed) return;
  const std::lock_guard lock(reporting_);
  if (!raw_.report.failed) raw_.report = std::move(part.report);
}

}  // namespace poprt::plugins
