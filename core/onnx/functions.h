// Model-local functions. Uses protobuf: only for files of this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace poprt::onnx {

// "ai.onnx" is another name of the default domain.
inline std::string normal_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

// The versions by domain. As in ONNX Runtime, the last of several different versions of one domain
// counts, with a warning. A domain whose version is below 1 is left out, which is an error only if
// the domain is used: check_import(). Throws unimplemented if a version of the default domain is
// above kMaxOpset.
std::map<std::string, int64_t> read_opsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports);

// Throws invalid_argument if an import of the domain has a version below 1.
void check_import(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                  const std::string& domain);

// The default values of a function's attributes. Throws data_loss if one is damaged.
std::vector<::onnx::AttributeProto> attribute_defaults(const ::onnx::FunctionProto& proto);

struct Function {
  ::onnx::FunctionProto* proto = nullptr;
  std::string name;  // for messages
  std::map<std::string, int64_t> opsets;
  std::vector<::onnx::AttributeProto> defaults;  // default values of attributes
  std::vector<::onnx::ValueInfoProto> value_info;
  std::vector<int> order;  // topological order of proto->node()
  bool active = false;     // true while it is being inlined
};

// The functions by domain, name and overload. The overload and value_info of IR 10 and the
// attribute defaults of IR 9 are newer than the proto classes of Debian's version, so they are read
// from the unknown fields.
class Functions {
 public:
  // `model` must outlive this object. Throws invalid_argument for duplicates and malformed
  // functions, data_loss for damaged fields, and like read_opsets().
  explicit Functions(::onnx::ModelProto& model);

  // The function that a node calls, or null.
  Function* find(const ::onnx::NodeProto& node);

 private:
  std::map<std::tuple<std::string, std::string, std::string>, Function> functions_;
};

}  // namespace poprt::onnx
