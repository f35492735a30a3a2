// Calls of a plug-in's operator: the node as it sees it, and what became of the call.
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

// In the order of POPRT_ATTRIBUTE_* without those that no operator can ask for.
using AttributeValue = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>>;
using Attributes = std::map<std::string, AttributeValue, std::less<>>;

// Type and place of one input or output; `dtype` undefined or has_shape false: not known.
struct TensorInfo {
  bool present = true;
  DType dtype = DType::undefined;
  bool has_shape = true;
  Shape shape = {};
  const void* data = nullptr;
  uint64_t bytes = 0;
};

// One node. Addresses stay, so that compute() may be called again and again with other memory.
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

  // Each throws what the operator says, with its name in front. They do nothing where the operator
  // has no such function.
  void infer(SetOutput set_output);
  void prepare();
  poprt_op_cost cost();
  // To be given memory first. What goes wrong stays in report(): a run throws nothing.
  void set_input_data(size_t input, const void* data) {
    inputs_[input].data = const_cast<void*>(data);
  }
  void set_output_data(size_t output, void* data) { outputs_[output].data = data; }
  const poprt_op_tensor& output(size_t output) const { return outputs_[output]; }
  void compute() noexcept;
  // Independent parts that the operator can compute at once, at least 1. After prepare().
  int64_t parts();
  // Several threads may call it, each for other parts; what goes wrong first stays in report().
  void compute_part(int64_t begin, int64_t end) noexcept;
  Report& report() { return raw_.report; }
  // "operator org.example.Twice of node 'x'".
  std::string title() const;

  // What hosts and ours agree on: the C struct in front.
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
  std::map<const Tensor*, poprt_op_tensor> attribute_tensors_;  // made once: runs allocate nothing
  SetOutput set_output_;
  void* state_ = nullptr;
  Raw raw_;
  std::mutex reporting_;  // of parts
};

}  // namespace poprt::plugins
