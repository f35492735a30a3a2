// Names, edges, operators and subgraphs that do not fit together.
#include "case.h"

namespace poprt::hostile {
namespace {

using Graph = pb::GraphProto;

template <class Build>
pb::ModelProto graph(Build&& build) {
  pb::ModelProto m = empty_model();
  build(*m.mutable_graph());
  return m;
}

// A chain of `nodes` nodes. If `closed`, the first node also reads the result of the last one.
pb::ModelProto chain(int nodes, bool closed) {
  return graph([&](Graph& g) {
    add_input(g, "x");
    for (int i = 0; i < nodes; i++)
      add_node(g, i == 0 && closed ? "Add" : "Relu",
               i == 0 ? closed ? std::vector<std::string>{"x", "v" + std::to_string(nodes)}
                               : std::vector<std::string>{"x"}
                      : std::vector<std::string>{"v" + std::to_string(i)},
               {"v" + std::to_string(i + 1)});
    add_output(g, "v" + std::to_string(nodes));
  });
}

// An If whose branches are made by `fill`.
template <class Fill>
pb::ModelProto conditional(Fill&& fill) {
  return graph([&](Graph& g) {
    add_input(g, "c", {}, kBool);
    add_input(g, "x");
    add_output(g, "y");
    fill(add_node(g, "If", {"c"}, {"y"}));
  });
}
void relu_branch(pb::NodeProto& n, const std::string& name) {
  Graph& body = add_subgraph(n, name);
  add_node(body, "Relu", {"x"}, {name + "_y"});
  add_output(body, name + "_y");
}

template <class Fill>
pb::ModelProto loop(Fill&& fill, int64_t trips = 3) {
  return graph([&](Graph& g) {
    *g.add_initializer() = changed(ints_tensor({trips}, "trips"), [](auto& t) { t.clear_dims(); });
    add_input(g, "x");
    add_output(g, "y");
    fill(add_node(g, "Loop", {"trips", "", "x"}, {"y"}));
  });
}

pb::ModelProto nested_ifs(int depth) {
  return graph([&](Graph& g) {
    add_input(g, "c", {}, kBool);
    add_input(g, "x");
    add_output(g, "y0");
    Graph* at = &g;
    for (int i = 0; i < depth; i++) {
      const std::string y = "y" + std::to_string(i);
      auto& n = add_node(*at, "If", {"c"}, {y});
      if (i) add_output(*at, y);
      Graph& other = add_subgraph(n, "else_branch");
      add_node(other, "Relu", {"x"}, {y + "_else"});
      add_output(other, y + "_else");
      at = &add_subgraph(n, "then_branch");
    }
    add_node(*at, "Relu", {"x"}, {"last"});
    add_output(*at, "last");
  });
}

pb::ModelProto named(const std::string& op, const std::string& name, const std::string& input) {
  return graph([&](Graph& g) {
    add_input(g, "x");
    add_output(g, "y");
    add_node(g, op, {input}, {"y"}).set_name(name);
  });
}

}  // namespace

Cases graph_cases() {
  const std::string nasty = "a\nb\r\x1b[31mred\x07\x7f";
  return {
      reject("node_reads_itself", "the graph has a cycle of 1 nodes: 'y'", graph([](Graph& g) {
               add_output(g, "y");
               add_node(g, "Relu", {"y"}, {"y"});
             })),
      reject("cycle_of_two", "the graph has a cycle of 2 nodes: 'v2' <- 'v1'", chain(2, true)),
      reject("cycle_of_three", "the graph has a cycle of 3 nodes: 'v3' <- 'v2' <- 'v1'",
             chain(3, true)),
      from_build("cycle_of_60000", "the graph has a cycle of 60000 nodes: 'v60000' <- 'v59999' <-",
                 [] { return bytes_of(chain(60000, true)); }),
      reject("value_made_twice", "value 'y' is made twice: a name may be assigned once",
             graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
               add_node(g, "Abs", {"x"}, {"y"});
             })),
      reject("output_twice_on_one_node", "value 'y' is made twice: a name may be assigned once",
             graph([](Graph& g) {
               add_input(g, "x", {2, 4});
               add_output(g, "y");
               add_node(g, "Split", {"x"}, {"y", "y"});
             })),
      reject("node_makes_an_input", "the graph has a cycle of 1 nodes: 'x'", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "x");
               add_node(g, "Relu", {"x"}, {"x"});
             })),
      reject("node_makes_an_initializer", "value 'w' is defined twice: a name may be assigned once",
             graph([](Graph& g) {
               add_input(g, "x");
               *g.add_initializer() = ints_tensor({1}, "w");
               add_output(g, "w");
               add_node(g, "Relu", {"x"}, {"w"});
             })),
      reject("input_twice", "graph input 'x': value 'x' is defined twice: a name may be assigned",
             graph([](Graph& g) {
               add_input(g, "x");
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("initializer_twice", "initializer 'w': it is defined twice", graph([](Graph& g) {
               *g.add_initializer() = ints_tensor({1}, "w");
               *g.add_initializer() = ints_tensor({2}, "w");
               add_output(g, "y");
               add_node(g, "Abs", {"w"}, {"y"});
             })),
      reject("initializer_without_name", "initializer '': it has no name", graph([](Graph& g) {
               *g.add_initializer() = ints_tensor({1});
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_without_name", "graph input '': it has no name", graph([](Graph& g) {
               add_input(g, "");
               add_output(g, "y");
               add_node(g, "Relu", {""}, {"y"});
             })),
      reject("reads_what_nothing_defines", "it reads 'nowhere', which nothing defines",
             named("Relu", "n", "nowhere")),
      reject("output_that_nothing_makes", "graph output 'z': it reads 'z', which nothing defines",
             graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "z");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("output_without_name", "graph output '': it has no name", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("reads_a_value_of_a_subgraph", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               relu_branch(n, "else_branch");
               n.add_input("then_branch_y");
             })),
      reject("unknown_operator",
             "operator Frobnicate of domain 'ai.onnx' is not supported; `poprt_exec",
             named("Frobnicate", "n", "x")),
      reject("operator_without_type", " node 'n': it has no op_type", named("", "n", "x")),
      reject("training_operator",
             "operator Adam of domain 'ai.onnx' is not supported; `poprt_exec ops`",
             named("Adam", "n", "x")),
      reject("operator_newer_than_the_opset",
             "supported from opset 20 on, the model imports opset 17", named("Gelu", "n", "x")),
      reject("control_characters_in_node_name",
             "Frobnicate node 'a\\x0ab\\x0d\\x1b[31mred\\x07\\x7f'",
             named("Frobnicate", nasty, "x")),
      reject("control_characters_in_operator", "a\\x0ab\\x0d\\x1b[31mred\\x07\\x7f node",
             named(nasty, "", "x")),
      reject("control_characters_in_value_name",
             "it reads 'a\\x0ab\\x0d\\x1b[31mred\\x07\\x7f', which nothing defines",
             named("Relu", "n", nasty)),
      reject("zero_byte_in_value_name", "it reads 'a\\x00b', which nothing defines",
             named("Relu", "n", std::string("a\0b", 3))),
      reject("value_name_of_a_megabyte", "it reads", named("Relu", "n", std::string(1 << 20, 'a'))),
      reject("operator_name_of_a_megabyte", "is not supported",
             named(std::string(1 << 20, 'a'), "", "x")),
      reject("format_characters_in_names",
             "operator {}%s%n of domain 'ai.onnx' is not supported; `poprt_exec",
             named("{}%s%n", "{0}{1}", "x")),
      reject("too_few_inputs", "input 1 is required", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Add", {"x"}, {"y"});
             })),
      reject("required_input_left_out", "input 1 is required and was not given",
             graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "MatMul", {"x", ""}, {"y"});
             })),
      reject("too_many_inputs", "the node has 2 inputs, at most 1", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x", "x"}, {"y"});
             })),
      from_build("a_hundred_thousand_inputs", "the node has 100000 inputs",
                 [] {
                   return bytes_of(graph([](Graph& g) {
                     add_input(g, "x");
                     add_output(g, "y");
                     add_node(g, "Relu", std::vector<std::string>(100000, "x"), {"y"});
                   }));
                 }),
      reject("too_many_outputs", "the node has 2 outputs", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y", "z"});
             })),
      from_build("a_hundred_thousand_outputs", "the node has 100000 outputs",
                 [] {
                   return bytes_of(graph([](Graph& g) {
                     add_input(g, "x", {2, 100000});
                     std::vector<std::string> out;
                     for (int i = 0; i < 100000; i++) out.push_back("y" + std::to_string(i));
                     add_output(g, "y0");
                     add_node(g, "Relu", {"x"}, out);
                   }));
                 }),
      reject("no_outputs_on_the_only_node", "Relu node: it has no output", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {});
             })),
      reject("if_without_branches", "If node", conditional([](pb::NodeProto&) {})),
      reject("if_without_else", "If node",
             conditional([](pb::NodeProto& n) { relu_branch(n, "then_branch"); })),
      reject("if_branch_is_a_number", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               add_attribute(n, {"else_branch", int64_t{1}});
             })),
      reject("if_branch_without_outputs", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               add_subgraph(n, "else_branch");
             })),
      reject("if_branch_with_two_outputs", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               relu_branch(n, "else_branch");
               add_output(*n.mutable_attribute(1)->mutable_g(), "x");
             })),
      reject("if_branch_reads_nothing_defined", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               Graph& body = add_subgraph(n, "else_branch");
               add_node(body, "Relu", {"nowhere"}, {"z"});
               add_output(body, "z");
             })),
      reject("if_branch_has_a_cycle", "If node", conditional([](pb::NodeProto& n) {
               relu_branch(n, "then_branch");
               Graph& body = add_subgraph(n, "else_branch");
               add_node(body, "Relu", {"b"}, {"a"});
               add_node(body, "Relu", {"a"}, {"b"});
               add_output(body, "a");
             })),
      reject("if_condition_is_a_vector", "If node", graph([](Graph& g) {
               add_input(g, "c", {7}, kBool);
               add_input(g, "x");
               add_output(g, "y");
               auto& n = add_node(g, "If", {"c"}, {"y"});
               relu_branch(n, "then_branch");
               relu_branch(n, "else_branch");
             })),
      reject("if_condition_is_a_float", "If node", graph([](Graph& g) {
               add_input(g, "c", {});
               add_input(g, "x");
               add_output(g, "y");
               auto& n = add_node(g, "If", {"c"}, {"y"});
               relu_branch(n, "then_branch");
               relu_branch(n, "else_branch");
             })),
      reject("ifs_nested_100_deep",
             "the ONNX model is truncated or damaged: a nested message does not", nested_ifs(100)),
      reject("loop_without_body", "Loop node", loop([](pb::NodeProto&) {})),
      reject("loop_body_without_inputs", "Loop node", loop([](pb::NodeProto& n) {
               Graph& body = add_subgraph(n, "body");
               add_node(body, "Relu", {"x"}, {"z"});
               add_output(body, "z");
             })),
      reject("loop_body_with_too_few_outputs", "Loop node", loop([](pb::NodeProto& n) {
               Graph& body = add_subgraph(n, "body");
               add_input(body, "i", {}, kS64);
               add_input(body, "go", {}, kBool);
               add_input(body, "v");
               add_output(body, "go");
             })),
      reject("scan_without_number_of_inputs", "Scan node", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               auto& n = add_node(g, "Scan", {"x"}, {"y"});
               Graph& body = add_subgraph(n, "body");
               add_input(body, "v", {3});
               add_node(body, "Relu", {"v"}, {"w"});
               add_output(body, "w");
             })),
      reject("scan_with_negative_number_of_inputs", "Scan node", graph([](Graph& g) {
               add_input(g, "x");
               add_output(g, "y");
               auto& n = add_node(g, "Scan", {"x"}, {"y"});
               add_attribute(n, {"num_scan_inputs", int64_t{-1}});
               Graph& body = add_subgraph(n, "body");
               add_input(body, "v", {3});
               add_node(body, "Relu", {"v"}, {"w"});
               add_output(body, "w");
             })),
      reject_if_strict("declared_shape_is_wrong",
                       "output 'y' is declared f32[5,5] but comes out as f32[2,3]",
                       changed(relu_model(),
                               [](auto& m) {
                                 m.mutable_graph()->clear_output();
                                 declare(m.mutable_graph()->add_output(), "y", {5, 5});
                               })),
      either("declared_type_is_wrong", changed(relu_model(),
                                               [](auto& m) {
                                                 m.mutable_graph()->clear_output();
                                                 declare(m.mutable_graph()->add_output(), "y",
                                                         {2, 3}, kS64);
                                               })),
      reject("initializer_is_not_as_declared",
             "graph input 'w': it is declared as f32[3], its initializer is s64[2]",
             graph([](Graph& g) {
               add_input(g, "w", {3});
               *g.add_initializer() = ints_tensor({1, 2}, "w");
               add_output(g, "y");
               add_node(g, "Abs", {"w"}, {"y"});
             })),
      reject("input_dimension_is_negative", "input 'x' is f32[2,?]: every dimension must be known",
             graph([](Graph& g) {
               add_input(g, "x", {2, -3});
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_dimensions_overflow",
             "graph input 'x': shape: 1099511627776 * 1099511627776 overflows", graph([](Graph& g) {
               add_input(g, "x", {int64_t{1} << 40, int64_t{1} << 40});
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_has_65_dimensions",
             "graph input 'x': it has 65 dimensions, at most 64 are supported", graph([](Graph& g) {
               add_input(g, "x", Dims(65, 1));
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_without_type",
             "input 'x' is ?: every dimension must be known at compile time; give",
             graph([](Graph& g) {
               g.add_input()->set_name("x");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_of_unknown_element_type", "graph input 'x': unknown element type 99",
             graph([](Graph& g) {
               add_input(g, "x", {2}, 99);
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("input_of_unknown_size",
             "input 'x' is f32[N,3]: every dimension must be known at compile time;",
             graph([](Graph& g) {
               add_input(g, "x");
               g.mutable_input(0)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape()
                   ->mutable_dim(0)
                   ->set_dim_param("N");
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("float_operator_on_strings", "input 0 is string, which the operator does not take",
             graph([](Graph& g) {
               add_input(g, "x", {2}, kString);
               add_output(g, "y");
               add_node(g, "Relu", {"x"}, {"y"});
             })),
      reject("types_of_operands_differ", "inputs are f32 and s64; they must have one element type",
             graph([](Graph& g) {
               add_input(g, "x", {2});
               add_input(g, "z", {2}, kS64);
               add_output(g, "y");
               add_node(g, "Add", {"x", "z"}, {"y"});
             })),
      reject("shapes_do_not_broadcast", "shapes [2,3] and [4] do not broadcast: 3 against 4",
             graph([](Graph& g) {
               add_input(g, "x", {2, 3});
               add_input(g, "z", {4});
               add_output(g, "y");
               add_node(g, "Add", {"x", "z"}, {"y"});
             })),
  };
}

}  // namespace poprt::hostile
