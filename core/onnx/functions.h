// Model-local functions. Sees protobuf: for the inside of this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace poprt::onnx {

// "ai.onnx" is another spelling of the default domain.
inline std::string normal_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

// Domain -> version. Throws invalid_argument for a version below 1 or two versions of one domain.
std::map<std::string, int64_t> read_opsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports);

struct Function {
  ::onnx::FunctionProto* proto = nullptr;
  std::string name;  // for messages
  std::map<std::string, int64_t> opsets;
  std::vector<::onnx::AttributeProto> defaults;  // of attributes that have one
  std::vector<::onnx::ValueInfoProto> value_info;
  std::vector<int> order;  // of proto->node()
  bool active = false;     // being inlined
};

// By domain, name and overload. IR 10's overload and value_info and IR 9's attribute defaults are
// newer than Debian's proto classes: they are read from the unknown fields.
class Functions {
 public:
  // `model` must outlive this. Throws invalid_argument for duplicates and malformed functions.
  explicit Functions(::onnx::ModelProto& model);

  // The function that a node calls, or null.
  Function* find(const ::onnx::NodeProto& node);

 private:
  std::map<std::tuple<std::string, std::string, std::string>, Function> functions_;
};

}  // namespace poprt::onnx
