// Model-local functions.
#include "case.h"

namespace poprt::hostile {
namespace {

pb::FunctionProto& add_function(pb::ModelProto& m, const std::string& name) {
  auto& f = *m.add_functions();
  f.set_name(name);
  f.set_domain("local");
  f.add_input("a");
  f.add_output("b");
  f.add_opset_import()->set_version(17);
  auto* own = f.add_opset_import();
  own->set_domain("local");
  own->set_version(1);
  return f;
}

// y = F(x)
pb::ModelProto calling() {
  pb::ModelProto m = empty_model();
  auto* import = m.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_input(*m.mutable_graph(), "x");
  add_output(*m.mutable_graph(), "y");
  add_node(*m.mutable_graph(), "F", {"x"}, {"y"}, "local");
  return m;
}

// Each function calls the next one twice, so that inlining doubles the nodes at each level.
pb::ModelProto doubling(int levels) {
  pb::ModelProto m = calling();
  for (int i = 0; i < levels; i++) {
    auto& f = add_function(m, i == 0 ? "F" : "F" + std::to_string(i));
    const std::string next = "F" + std::to_string(i + 1);
    if (i + 1 == levels) {
      add_node(f, "Relu", {"a"}, {"b"});
    } else {
      add_node(f, next, {"a"}, {"c"}, "local");
      add_node(f, next, {"c"}, {"b"}, "local");
    }
  }
  return m;
}

template <class Build>
pb::ModelProto with_function(Build&& build) {
  pb::ModelProto m = calling();
  build(m, add_function(m, "F"));
  return m;
}

}  // namespace

Cases function_cases() {
  using M = pb::ModelProto&;
  using F = pb::FunctionProto&;
  return {
      reject("function_is_missing", "operator F of domain 'local' is not supported", calling()),
      reject("function_calls_itself",
             "in function 'F': local.F node that makes 'b': function 'F' calls",
             with_function([](M, F f) { add_node(f, "F", {"a"}, {"b"}, "local"); })),
      reject("functions_call_each_other",
             "in function 'F': local.G node that makes 'b': in function 'G':",
             with_function([](M m, F f) {
               add_node(f, "G", {"a"}, {"b"}, "local");
               add_node(add_function(m, "G"), "F", {"a"}, {"b"}, "local");
             })),
      reject("functions_double_40_times", "nodes", doubling(40)),
      reject("functions_nest_1000_deep", "nested deeper",
             [] {
               pb::ModelProto m = calling();
               for (int i = 0; i < 1000; i++)
                 add_node(add_function(m, i == 0 ? "F" : "F" + std::to_string(i)),
                          "F" + std::to_string(i + 1), {"a"}, {"b"}, "local");
               add_node(add_function(m, "F1000"), "Relu", {"a"}, {"b"});
               return m;
             }()),
      reject("function_twice", "function 'F' of domain 'local' is defined twice",
             with_function([](M m, F f) {
               add_node(f, "Relu", {"a"}, {"b"});
               add_node(add_function(m, "F"), "Abs", {"a"}, {"b"});
             })),
      reject("function_without_name", "function '': it has no name", with_function([](M m, F f) {
               add_node(f, "Relu", {"a"}, {"b"});
               add_node(add_function(m, ""), "Abs", {"a"}, {"b"});
             })),
      reject("function_with_too_many_arguments",
             "function 'F' has 1 inputs and 1 outputs, the call 2 and 1",
             with_function([](M m, F f) {
               add_node(f, "Relu", {"a"}, {"b"});
               m.mutable_graph()->mutable_node(0)->add_input("x");
             })),
      reject("function_with_too_many_results",
             "function 'F' has 1 inputs and 1 outputs, the call 1 and 2",
             with_function([](M m, F f) {
               add_node(f, "Relu", {"a"}, {"b"});
               m.mutable_graph()->mutable_node(0)->add_output("z");
             })),
      reject("function_parameter_twice", "value 'a' is defined twice: a name may be assigned once",
             with_function([](M, F f) {
               f.add_input("a");
               add_node(f, "Relu", {"a"}, {"b"});
             })),
      reject("function_result_that_nothing_makes",
             "output of function 'F': it reads 'b', which nothing defines",
             with_function([](M, F f) { add_node(f, "Relu", {"a"}, {"c"}); })),
      reject("function_sees_nothing_outside",
             "in function 'F': Relu node that makes 'b': it reads 'x', which",
             with_function([](M, F f) { add_node(f, "Relu", {"x"}, {"b"}); })),
      reject("function_has_a_cycle", "function 'F': the graph has a cycle of 2 nodes: 'b' <- 'c'",
             with_function([](M, F f) {
               add_node(f, "Relu", {"b"}, {"c"});
               add_node(f, "Relu", {"c"}, {"b"});
             })),
      reject("function_without_opset",
             "in function 'F': Relu node that makes 'b': the function imports no",
             with_function([](M, F f) {
               f.clear_opset_import();
               add_node(f, "Relu", {"a"}, {"b"});
             })),
      warn("function_with_another_opset", "the function imports opset 11",
           with_function([](M, F f) {
             f.mutable_opset_import(0)->set_version(11);
             add_node(f, "Relu", {"a"}, {"b"});
           })),
      reject("attribute_reference_outside_of_a_function",
             "attribute 'alpha': it refers to function attribute 'slope' outside of",
             changed(relu_model(),
                     [](auto& m) {
                       auto& n = *m.mutable_graph()->mutable_node(0);
                       n.set_op_type("LeakyRelu");
                       add_attribute(n, {"alpha", 0.1f}).set_ref_attr_name("slope");
                     })),
      reject("attribute_reference_without_default", "attribute 'axis' is missing",
             with_function([](M, F f) {
               f.add_attribute("axis");
               auto& n = add_node(f, "Concat", {"a"}, {"b"});
               auto& a = *n.add_attribute();
               a.set_name("axis");
               a.set_type(pb::AttributeProto::INT);
               a.set_ref_attr_name("axis");
             })),
      reject("attribute_reference_of_another_type", "attribute 'axis' should be an integer",
             with_function([](M m, F f) {
               f.add_attribute("axis");
               auto& a = *add_node(f, "Softmax", {"a"}, {"b"}).add_attribute();
               a.set_name("axis");
               a.set_type(pb::AttributeProto::INT);
               a.set_ref_attr_name("axis");
               add_attribute(*m.mutable_graph()->mutable_node(0), {"axis", std::string("one")});
             })),
      reject("control_characters_in_function_name", "F\\x0a\\x1b[1m", with_function([](M m, F f) {
               f.set_name("F\n\x1b[1m");
               m.mutable_graph()->mutable_node(0)->set_op_type("F\n\x1b[1m");
               add_node(f, "Frobnicate", {"a"}, {"b"});
             })),
      accept("function_is_fine", with_function([](M, F f) { add_node(f, "Relu", {"a"}, {"b"}); })),
      accept("functions_double_5_times", doubling(5)),
  };
}

}  // namespace poprt::hostile
