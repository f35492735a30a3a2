#include "onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include "base/error.h"
#include "base/log.h"
#include "onnx/elem_type.h"
#include "onnx/limits.h"
#include "onnx/node_order.h"

namespace poprt::onnx {
namespace {

// Field numbers that are newer than version 1.12 of onnx.proto.
constexpr int kNodeOverload = 8;
constexpr int kFunctionAttributeProto = 11;
constexpr int kFunctionValueInfo = 12;
constexpr int kFunctionOverload = 13;

std::string unknown_string(const google::protobuf::UnknownFieldSet& fields, int number) {
  std::string value;
  for (int i = 0; i < fields.field_count(); i++) {
    const auto& f = fields.field(i);
    if (f.number() == number && f.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      value = f.length_delimited();
  }
  return value;
}

template <class Message>
std::vector<Message> unknown_messages(const ::onnx::FunctionProto& proto, int number,
                                      const char* name) {
  std::vector<Message> messages;
  const auto& fields = proto.unknown_fields();
  for (int i = 0; i < fields.field_count(); i++) {
    const auto& f = fields.field(i);
    if (f.number() != number || f.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    if (!messages.emplace_back().ParseFromString(f.length_delimited()))
      fail(ErrorCode::data_loss, "its {} {} is damaged", name, messages.size());
  }
  return messages;
}

}  // namespace

std::vector<::onnx::AttributeProto> attribute_defaults(const ::onnx::FunctionProto& proto) {
  return unknown_messages<::onnx::AttributeProto>(proto, kFunctionAttributeProto,
                                                  "attribute_proto");
}

std::map<std::string, int64_t> read_opsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports) {
  std::map<std::string, int64_t> opsets;
  for (const auto& import : imports) {
    const std::string domain = normal_domain(import.domain());
    if (domain.empty() && import.version() > kMaxOpset)
      fail(ErrorCode::unimplemented, "opset {} is not supported, the newest that is known is {}",
           import.version(), kMaxOpset);
    const auto [it, fresh] = opsets.emplace(domain, import.version());
    // A version below 1 is an error if the domain is used (check_import).
    if (!fresh && it->second != import.version() && import.version() >= 1)
      log().warn("opset_import gives domain {} both version {} and {}; the last one is used",
                 quote_name(import.domain()), it->second, import.version());
    it->second = import.version();
  }
  std::erase_if(opsets, [](const auto& entry) { return entry.second < 1; });
  return opsets;
}

void check_import(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                  const std::string& domain) {
  for (const auto& import : imports)
    if (normal_domain(import.domain()) == domain && import.version() < 1)
      fail(ErrorCode::invalid_argument,
           "opset_import of domain {} has version {}, at least 1 is expected",
           quote_name(import.domain()), import.version());
}

Functions::Functions(::onnx::ModelProto& model) {
  for (::onnx::FunctionProto& proto : *model.mutable_functions()) {
    Function f;
    f.proto = &proto;
    f.name = "function " + quote_name(proto.name());
    try {
      if (proto.name().empty()) fail(ErrorCode::invalid_argument, "it has no name");
      f.opsets = read_opsets(proto.opset_import());
      f.defaults = attribute_defaults(proto);
      f.value_info =
          unknown_messages<::onnx::ValueInfoProto>(proto, kFunctionValueInfo, "value_info");
      f.order = node_order(proto.node());
    } catch (Error& e) {
      e.add_context(f.name);
      throw;
    }
    auto key = std::make_tuple(normal_domain(proto.domain()), proto.name(),
                               unknown_string(proto.unknown_fields(), kFunctionOverload));
    std::string name = f.name;
    if (!functions_.emplace(std::move(key), std::move(f)).second)
      fail(ErrorCode::invalid_argument, "{} of domain {} is defined twice", name,
           quote_name(proto.domain()));
  }
}

Function* Functions::find(const ::onnx::NodeProto& node) {
  if (functions_.empty()) return nullptr;
  const auto it =
      functions_.find(std::make_tuple(normal_domain(node.domain()), node.op_type(),
                                      unknown_string(node.unknown_fields(), kNodeOverload)));
  return it == functions_.end() ? nullptr : &it->second;
}

}  // namespace poprt::onnx
