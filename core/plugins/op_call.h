// Calls an operator of a plug-in: the node that the operator sees, and the result of the call.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "plugins/registry.h"
#include "plugins/report.h"

namespace poprt::plugins {

// In the order of POPRT_ATTRIBUTE_INT to POPRT_ATTRIBUTE_STRINGS. poprt_op_host has no function
// that reads the last one.
using AttributeValue = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>>;
using Attributes = std::map<std::string, AttributeValue, std::less<>>;

// Type and data of one input or output. The type is unknown if `dtype` is undefined; the shape is
// unknown if has_shape is false. `present` is false for an omitted input.
struct TensorInfo {
  bool present = true;
  DType dtype = DType::undefined;
  bool has_shape = true;
  Shape shape = {};
  const void* data = nullptr;
  uint64_t bytes = 0;
};

// One node. Its addresses do not change, so compute() may be called repeatedly with other memory.
class OpCall {
 public:
  using SetOutput = std::function<void(size_t output, DType dtype, bool has_shape, Shape shape)>;

  OpCall(OperatorRef op, std::string node, Attributes attributes, std::vector<TensorInfo> inputs,
         std::vector<TensorInfo> outputs);
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;
  ~OpCall();

  const OperatorRef& op() const { return op_; }
  const std::string& node() const { return node_; }

  // Each throws the operator's error, with the names of the function and the operator at the
  // beginning of the message. If the operator lacks the function, infer() and prepare() have no
  // effect, and cost() returns zeros.
  void infer(SetOutput set_output);
  void prepare();
  poprt_op_cost cost();
  // Set the memory of the operands, which compute() and compute_part() need.
  void set_input_data(size_t input, const void* data) {
    inputs_[input].data = const_cast<void*>(data);
  }
  void set_output_data(size_t output, void* data) { outputs_[output].data = data; }
  const poprt_op_tensor& output(size_t output) const { return outputs_[output]; }
  // An error is stored in report(), because a run does not throw.
  void compute() noexcept;
  // The number of independent parts that the operator can compute in parallel, at least 1. Call it
  // after prepare(). Throws the operator's error, and invalid_argument for a number below 1 or
  // above 2^20.
  int64_t parts();
  // Computes some of the parts; several threads may call it for different parts. The first error is
  // stored in report().
  void compute_part(int64_t begin, int64_t end) noexcept;
  Report& report() { return raw_.report; }
  // Returns a text for messages, such as "operator org.example.Twice of node 'x'".
  std::string title() const;

  // The object that the plug-in receives; it begins with the C struct.
  struct Raw {
    poprt_op_call call;
    OpCall* self;
    Report report;
  };

 private:
  friend struct OpHost;
  void fill(poprt_op_tensor& to, const TensorInfo& info, Shape& shape);

  OperatorRef op_;
  std::string node_;
  Attributes attributes_;
  std::vector<Shape> shapes_;
  std::vector<poprt_op_tensor> inputs_, outputs_;
  std::vector<const poprt_op_tensor*> input_pointers_, output_pointers_;
  // Created once, because runs must not allocate.
  std::map<const Tensor*, poprt_op_tensor> attribute_tensors_;
  SetOutput set_output_;
  void* state_ = nullptr;
  Raw raw_;
  std::mutex reporting_;  // guards report() while parts run
};

}  // namespace poprt::plugins
