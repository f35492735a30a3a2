// Versions, opsets and metadata of a model.
#include "case.h"

namespace poprt::hostile {
namespace {

pb::ModelProto with_ir(int64_t version) {
  return changed(relu_model(), [&](auto& m) { m.set_ir_version(version); });
}
pb::ModelProto with_opset(int64_t version) {
  return changed(relu_model(), [&](auto& m) { m.mutable_opset_import(0)->set_version(version); });
}
pb::ModelProto importing(const std::string& domain, int64_t version) {
  return changed(relu_model(), [&](auto& m) {
    auto* import = m.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  });
}

}  // namespace

Cases header_cases() {
  return {
      reject("no_graph", "the model has no graph",
             changed(relu_model(), [](auto& m) { m.clear_graph(); })),
      reject("no_ir_version", "the model has no ir_version",
             changed(relu_model(), [](auto& m) { m.clear_ir_version(); })),
      reject("ir_version_0", "IR version 0 is not supported, expected 3 to 14", with_ir(0)),
      reject("ir_version_1", "IR version 1 is not supported, expected 3 to 14", with_ir(1)),
      reject("ir_version_negative", "IR version -1 is not supported, expected 3 to 14",
             with_ir(-1)),
      reject("ir_version_1000", "IR version 1000 is not supported, expected 3 to 14",
             with_ir(1000)),
      reject("ir_version_largest",
             "IR version 9223372036854775807 is not supported, expected 3 to 14", with_ir(kMax)),
      reject("no_opset", "the model has no opset_import",
             changed(relu_model(), [](auto& m) { m.clear_opset_import(); })),
      reject("opset_0", "opset_import of domain '' has version 0, at least 1 is expected",
             with_opset(0)),
      reject("opset_negative", "opset_import of domain '' has version -1, at least 1 is expected",
             with_opset(-1)),
      reject("opset_smallest",
             "opset_import of domain '' has version -9223372036854775808, at least",
             with_opset(kMin)),
      reject("opset_1000", "opset 1000 is not supported", with_opset(1000)),
      reject("opset_past_32_bits", "opset 4294967313 is not supported",
             with_opset((int64_t{1} << 32) + 17)),
      reject("opset_largest", "opset 9223372036854775807 is not supported", with_opset(kMax)),
      reject("opset_without_version",
             "opset_import of domain '' has version 0, at least 1 is expected",
             changed(relu_model(), [](auto& m) { m.mutable_opset_import(0)->clear_version(); })),
      warn("opsets_in_conflict", "both version 17 and 7", importing("", 7)),
      warn("opsets_in_conflict_by_alias", "both version 17 and 7", importing("ai.onnx", 7)),
      reject("opset_0_last", "opset_import of domain '' has version 0, at least 1 is expected",
             importing("", 0)),
      accept("opset_0_of_an_unused_domain", importing("com.microsoft", 0)),
      reject(
          "domain_not_imported", "the model imports no opset of domain 'org.example'",
          changed(relu_model(),
                  [](auto& m) { m.mutable_graph()->mutable_node(0)->set_domain("org.example"); })),
      reject_if_strict("domain_not_imported_strict",
                       "the model imports no opset of domain 'com.microsoft'",
                       changed(relu_model(),
                               [](auto& m) {
                                 auto& n = *m.mutable_graph()->mutable_node(0);
                                 n.set_domain("com.microsoft");
                                 n.set_op_type("Gelu");
                               })),
      reject(
          "unknown_domain",
          "operator Relu of domain 'org.example' is not supported; a custom operator is defined",
          changed(importing("org.example", 1),
                  [](auto& m) { m.mutable_graph()->mutable_node(0)->set_domain("org.example"); })),
      reject("hardware_layout_domain", "save it again with ORT_ENABLE_EXTENDED",
             changed(importing("com.microsoft.nchwc", 1),
                     [](auto& m) {
                       m.mutable_graph()->mutable_node(0)->set_domain("com.microsoft.nchwc");
                     })),
      reject("no_outputs", "the graph has no output",
             changed(relu_model(), [](auto& m) { m.mutable_graph()->clear_output(); })),
      reject("empty_graph", "the graph has no output",
             changed(relu_model(), [](auto& m) { m.mutable_graph()->Clear(); })),
      reject(
          "domain_with_control_characters", "a\\x0ab\\x1b[31m.Relu node",
          changed(importing("a\nb\x1b[31m", 1),
                  [](auto& m) { m.mutable_graph()->mutable_node(0)->set_domain("a\nb\x1b[31m"); })),
      accept("unused_domain_is_no_error", importing("com.microsoft.nchwc", 1)),
      accept("same_opset_twice", importing("", 17)),
  };
}

}  // namespace poprt::hostile
