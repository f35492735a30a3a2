// Models that contradict themselves: declared types that differ from inferred ones, branches and
// bodies whose types differ, operators that their opset no longer has.
#include "case.h"

namespace poprt::hostile {
namespace {

using GraphRef = pb::GraphProto&;

// x f32[2,3] -> Relu -> m -> Relu -> y; `declare_more` declares the types of m and y.
pb::ModelProto two_relus(const std::function<void(GraphRef)>& declare_more,
                         const Dims& x = {2, 3}) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  add_input(g, "x", x);
  add_node(g, "Relu", {"x"}, {"m"});
  add_node(g, "Relu", {"m"}, {"y"});
  declare_more(g);
  if (g.output_size() == 0) add_output(g, "y");
  return m;
}
pb::ModelProto with_output(const Dims& dims, int type = kFloat, const Dims& x = {2, 3}) {
  return two_relus([&](GraphRef g) { declare(g.add_output(), "y", dims, type); }, x);
}
pb::ModelProto with_info(const Dims& dims, int type = kFloat) {
  return two_relus([&](GraphRef g) { declare(g.add_value_info(), "m", dims, type); });
}
void name_dimension(pb::ValueInfoProto& v, int axis, const std::string& name) {
  v.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(name);
}

// The first axis of x is a variable that an option fixes.
Case fixed_by_option(std::string name, std::string error, const Dims& y) {
  pb::ModelProto m = with_output(y);
  name_dimension(*m.mutable_graph()->mutable_input(0), 0, "N");
  Case c = reject(std::move(name), std::move(error), m);
  c.arguments = {"model.onnx", "--random", "--input_shape", "x=2,3", "--strict"};
  return c;
}

// A chain of operators; the result is declared f32 `declared`.
pb::ModelProto computed_shape(const Dims& declared) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  add_input(g, "x", {2, 3});
  *g.add_initializer() = ints_tensor({1, 0}, "turned");
  add_node(g, "Shape", {"x"}, {"shape"});
  add_node(g, "Gather", {"shape", "turned"}, {"to"});
  add_node(g, "Reshape", {"x", "to"}, {"y"});
  declare(g.add_output(), "y", declared);
  return m;
}

pb::TensorProto truth(bool value, const std::string& name) {
  auto t = tensor(kBool, {}, name);
  t.set_raw_data(std::string(1, value ? '\1' : '\0'));
  return t;
}

// y = If(c): `then` and `otherwise` fill the branches. The condition is an input, or constant.
enum class Condition { input, yes, no };
using Fill = std::function<void(GraphRef)>;
pb::ModelProto branches(Condition condition, const Fill& then, const Fill& otherwise) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  add_input(g, "x");
  if (condition == Condition::input)
    add_input(g, "c", {}, kBool);
  else
    *g.add_initializer() = truth(condition == Condition::yes, "c");
  auto& n = add_node(g, "If", {"c"}, {"y"});
  then(add_subgraph(n, "then_branch"));
  otherwise(add_subgraph(n, "else_branch"));
  add_output(g, "y");
  return m;
}
Fill relu_of_x(const std::string& to) {
  return [to](GraphRef g) {
    add_node(g, "Relu", {"x"}, {to});
    add_output(g, to);
  };
}
// Fills a branch with a Cast of x to another type.
Fill cast_of_x(const std::string& to, int64_t type) {
  return [to, type](GraphRef g) {
    add_attribute(add_node(g, "Cast", {"x"}, {to}), {"to", type});
    add_output(g, to);
  };
}

// y = Loop of `rounds` over the state x f32[2,3]; `fill` makes the body.
struct Body {
  Dims state = {2, 3};
  int state_type = kFloat, index_type = kS64;
  std::string op = "Relu";
  Attribute attribute = {"", int64_t{0}};
};
pb::ModelProto looping(const Body& body, int64_t rounds = 3) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  *g.add_initializer() = changed(ints_tensor({rounds}, "rounds"), [](auto& t) { t.clear_dims(); });
  add_input(g, "x");
  add_output(g, "y");
  GraphRef b = add_subgraph(add_node(g, "Loop", {"rounds", "", "x"}, {"y"}), "body");
  add_input(b, "i", {}, body.index_type);
  add_input(b, "go", {}, kBool);
  add_input(b, "s", body.state, body.state_type);
  add_node(b, "Identity", {"go"}, {"go_on"});
  auto& n = add_node(b, body.op, {"s"}, {"t"});
  if (!body.attribute.name.empty()) add_attribute(n, body.attribute);
  add_output(b, "go_on");
  add_output(b, "t");
  return m;
}

// y = Scan of x f32[2,3] by rows, one state.
pb::ModelProto scanning(int state_type, int row_type, const std::string& op) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  add_input(g, "x");
  add_input(g, "first", {3});
  add_output(g, "y");
  auto& n = add_node(g, "Scan", {"first", "x"}, {"last", "y"});
  add_attribute(n, {"num_scan_inputs", int64_t{1}});
  GraphRef b = add_subgraph(n, "body");
  add_input(b, "s", {3}, state_type);
  add_input(b, "row", {3}, row_type);
  auto& step = add_node(b, op, {"s"}, {"t"});
  if (op == "Cast") add_attribute(step, {"to", int64_t{kS64}});
  add_node(b, "Identity", {"row"}, {"out"});
  add_output(b, "t");
  add_output(b, "out");
  return m;
}

// y = F(x), where F applies Relu twice. F declares its inner value with shape `inner`, and the
// model declares y with shape `result`.
pb::ModelProto in_function(const Dims& inner, const Dims& result) {
  pb::ModelProto m = empty_model();
  auto* import = m.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  GraphRef g = *m.mutable_graph();
  add_input(g, "x");
  declare(g.add_output(), "y", result);
  add_node(g, "F", {"x"}, {"y"}, "local");
  auto& f = *m.add_functions();
  f.set_name("F");
  f.set_domain("local");
  f.add_input("a");
  f.add_output("b");
  f.add_opset_import()->set_version(17);
  add_node(f, "Relu", {"a"}, {"inner"});
  add_node(f, "Relu", {"inner"}, {"b"});
  // FunctionProto.value_info (field 12), which older versions of onnx.proto do not have.
  pb::ValueInfoProto info;
  declare(&info, "inner", inner);
  f.mutable_unknown_fields()->AddLengthDelimited(12, info.SerializeAsString());
  return m;
}

// y = `op`(x, ...), with the type of `declare_y`.
pb::ModelProto container(const std::string& op, size_t inputs,
                         const std::function<void(pb::ValueInfoProto*)>& declare_y) {
  pb::ModelProto m = empty_model();
  GraphRef g = *m.mutable_graph();
  add_input(g, "x");
  add_node(g, op, std::vector<std::string>(inputs, "x"), {"y"});
  declare_y(g.add_output());
  return m;
}
// Declares y as a sequence or an optional of tensors of a type and shape.
std::function<void(pb::ValueInfoProto*)> holding(bool sequence, const Dims& dims, int type) {
  return [=](pb::ValueInfoProto* v) {
    pb::ValueInfoProto element;
    declare(&element, "y", dims, type);
    v->set_name("y");
    *(sequence ? v->mutable_type()->mutable_sequence_type()->mutable_elem_type()
               : v->mutable_type()->mutable_optional_type()->mutable_elem_type()) = element.type();
  };
}

pb::ModelProto non_zero(const Dims& declared) {
  pb::ModelProto m = empty_model();
  add_input(*m.mutable_graph(), "x");
  add_node(*m.mutable_graph(), "NonZero", {"x"}, {"y"});
  declare(m.mutable_graph()->add_output(), "y", declared, kS64);
  return m;
}

Cases declarations() {
  return {
      reject_if_strict(
          "output_of_another_size",
          "output 'y' is declared f32[2,4] but comes out as f32[2,3]; correct the declaration",
          with_output({2, 4})),
      reject_if_strict("output_of_another_rank",
                       "output 'y' is declared f32[2,3,1] but comes out as f32[2,3]",
                       with_output({2, 3, 1})),
      reject_if_strict("output_is_no_scalar",
                       "output 'y' is declared f32[] but comes out as f32[2,3]", with_output({})),
      reject_if_strict("scalar_declared_as_a_list",
                       "output 'y' is declared f32[1] but comes out as f32[]",
                       with_output({1}, kFloat, {})),
      reject("output_of_another_type", "output 'y' is declared s64[2,3] but comes out as f32[2,3]",
             with_output({2, 3}, kS64)),
      reject_if_strict("value_info_of_another_size",
                       "output 'm' is declared f32[2,4] but comes out as", with_info({2, 4})),
      reject_if_strict("value_info_of_another_rank",
                       "output 'm' is declared f32[6] but comes out as f32[2,3]", with_info({6})),
      reject("value_info_of_another_type", "output 'm' is declared f64[2,3] but comes out as f32",
             with_info({2, 3}, kDouble)),
      reject("value_info_twice", "it is declared both f32[2,3] and f32[3,2]",
             two_relus([](GraphRef g) {
               declare(g.add_value_info(), "m", {2, 3});
               declare(g.add_value_info(), "m", {3, 2});
             })),
      reject("value_info_against_output", "it is declared both f16[2,3] and f32[2,3]",
             two_relus([](GraphRef g) {
               declare(g.add_value_info(), "y", {2, 3}, kHalf);
               declare(g.add_output(), "y", {2, 3});
             })),
      reject("input_as_output_of_another_size", "it is declared both f32[2,3] and f32[2,4]",
             two_relus([](GraphRef g) { declare(g.add_output(), "x", {2, 4}); })),
      reject("initializer_declared_otherwise",
             "it is declared as f32[4], its initializer is s64[2]", two_relus([](GraphRef g) {
               *g.add_initializer() = ints_tensor({1, 2}, "w");
               declare(g.add_value_info(), "w", {4});
             })),
      reject("constant_node_declared_otherwise", "it is declared as f32[2], its initializer is s64",
             two_relus([](GraphRef g) {
               add_attribute(add_node(g, "Constant", {}, {"w"}), {"value", ints_tensor({1, 2})});
               declare(g.add_value_info(), "w", {2});
             })),
      reject_if_strict("output_against_a_computed_shape",
                       "output 'y' is declared f32[2,3] but comes out as f32[3,2]",
                       computed_shape({2, 3})),
      fixed_by_option("output_against_an_option",
                      "output 'y' is declared f32[1,3] but comes out as f32[2,3]", {1, 3}),
      reject("operands_of_two_types",
             "input 'in0' is f32 and 'in2' is s64; Gemm takes both of one type",
             Op{"Gemm", {in({2, 3}), in({3, 2}), in({2}, kS64)}}),
      reject("bias_of_another_type",
             "input 'in0' is f32 and 'in2' is f16; Conv takes both of one type",
             Op{"Conv", {in({1, 4, 4, 4}), in({4, 4, 1, 1}), in({4}, kHalf)}}),
      reject("microsoft_operands_of_two_types", "inputs are f32 and f16; they must have one",
             Op{"BiasGelu", {in({2, 8}), in({8}, kHalf)}, {}, 17, 1, "com.microsoft"}),
      reject("more_inputs_than_the_opset_has",
             "the node has 2 inputs, at most 1 are expected in opset 11; convert",
             Op{"Split", {in({4}), ints({2, 2})}, {}, 11, 2}),
      reject("list_with_a_hole", "input 1 of a list is missing",
             Op{"Concat", {in({2}), none(), in({2})}, {{"axis", int64_t{0}}}}),
      reject("sequence_declared_as_tensor",
             "output 'y' is declared f32[2,3] but comes out as a sequence",
             container("SequenceConstruct", 2, [](auto* y) { declare(y, "y", {2, 3}); })),
      reject("sequence_of_another_type",
             "output 'y' is declared sequence s64[2,3] but comes out as a sequence with f32[2,3]",
             container("SequenceConstruct", 2, holding(true, {2, 3}, kS64))),
      reject("tensor_declared_as_sequence",
             "output 'y' is declared sequence f32[2,3] but comes out as f32[2,3]",
             container("Relu", 1, holding(true, {2, 3}, kFloat))),
      reject("optional_of_another_type",
             "output 'y' is declared optional f64[2,3] but comes out as f32[2,3]",
             container("Optional", 1, holding(false, {2, 3}, kDouble))),
      accept("sequence_of_another_size",
             container("SequenceConstruct", 2, holding(true, {2, 4}, kFloat))),
      accept("sequence_declared_as_it_is",
             container("SequenceConstruct", 2, holding(true, {2, 3}, kFloat))),
      accept("optional_declared_as_it_is",
             container("Optional", 1, holding(false, {2, 3}, kFloat))),
      reject_if_strict("more_than_the_bound",
                       "output 'y' is declared s64[2,7] but comes out as s64[2,6]",
                       non_zero({2, 7})),
      reject_if_strict("function_value_info",
                       "output 'F/inner' is declared f32[2,4] but comes out as f32[2,3]",
                       in_function({2, 4}, {2, 3})),
      reject_if_strict("function_result",
                       "output 'y' is declared f32[3,2] but comes out as f32[2,3]",
                       in_function({2, 3}, {3, 2})),
      accept("declared_as_it_is", with_output({2, 3})),
      accept("declared_by_names", changed(with_output({7, 8}),
                                          [](auto& m) {
                                            auto& y = *m.mutable_graph()->mutable_output(0);
                                            name_dimension(y, 0, "N");
                                            name_dimension(y, 1, "M");
                                          })),
      accept("declared_within_the_bound", non_zero({2, 5})),
      accept("function_declared_as_it_is", in_function({2, 3}, {2, 3})),
  };
}

Cases control_flow() {
  const std::string two_types = "is f32[2,3] from then_branch and s64[2,3] from else_branch";
  const auto declared_inside = [](const Dims& dims) {
    return [dims](GraphRef g) {
      add_node(g, "Relu", {"x"}, {"inside"});
      add_node(g, "Relu", {"inside"}, {"b"});
      declare(g.add_value_info(), "inside", dims);
      add_output(g, "b");
    };
  };
  const Fill nested = [](GraphRef g) {
    auto& n = add_node(g, "If", {"c"}, {"b"});
    relu_of_x("p")(add_subgraph(n, "then_branch"));
    cast_of_x("q", kS64)(add_subgraph(n, "else_branch"));
    add_output(g, "b");
  };
  const Fill wide = [](GraphRef g) {
    add_attribute(add_node(g, "Concat", {"x", "x"}, {"b"}), {"axis", int64_t{0}});
    add_output(g, "b");
  };
  return {
      reject("branches_of_two_types", two_types,
             branches(Condition::input, relu_of_x("a"), cast_of_x("b", kS64))),
      reject("branches_of_two_types_then_taken", two_types,
             branches(Condition::yes, relu_of_x("a"), cast_of_x("b", kS64))),
      reject("branches_of_two_types_else_taken", two_types,
             branches(Condition::no, relu_of_x("a"), cast_of_x("b", kS64))),
      reject("branches_of_two_types_inside_of_one_not_taken", two_types,
             branches(Condition::yes, relu_of_x("a"), nested)),
      reject_if_strict("branch_declares_otherwise",
                       "output 'inside' is declared f32[9] but comes out as",
                       branches(Condition::input, relu_of_x("a"), declared_inside({9}))),
      reject_if_strict("branch_not_taken_declares_otherwise",
                       "output 'inside' is declared f32[9] but comes out as f32[2,3]",
                       branches(Condition::yes, relu_of_x("a"), declared_inside({9}))),
      reject_if_strict("branch_declares_its_output_otherwise",
                       "output 'b' is declared f32[2,4] but comes out",
                       branches(Condition::no, relu_of_x("a"),
                                [](GraphRef g) {
                                  add_node(g, "Relu", {"x"}, {"b"});
                                  declare(g.add_output(), "b", {2, 4});
                                })),
      reject("loop_body_takes_another_type",
             "state 0 is f32[2,3] before the loop and f64[2,3] in the body, as 's'",
             looping({.state_type = kDouble})),
      reject("loop_body_takes_another_type_in_no_round",
             "state 0 is f32[2,3] before the loop and f64[2,3] in the body, as 's'",
             looping({.state_type = kDouble}, 0)),
      reject_if_strict("loop_body_takes_another_shape",
                       "subgraph 'body': input 's' is declared f32[5] but is given f32[2,3]",
                       looping({.state = {5}})),
      reject("loop_body_makes_another_type",
             "state 0 is f32[2,3] before a round and s64[2,3] after it, as 't'",
             looping({.op = "Cast", .attribute = {"to", int64_t{kS64}}})),
      reject("loop_body_makes_another_type_in_no_round",
             "state 0 is f32[2,3] before a round and s64[2,3] after it, as 't'",
             looping({.op = "Cast", .attribute = {"to", int64_t{kS64}}}, 0)),
      reject("loop_iteration_number_of_32_bits",
             "the iteration number of the body, 'i', is s32[], expected one s64",
             looping({.index_type = kS32})),
      reject("scan_state_of_another_type",
             "input 0 is f32[3] outside of the body and f64[3] in it, as 's'",
             scanning(kDouble, kFloat, "Relu")),
      reject("scan_input_of_another_type", "outside of the body and s64[3] in it, as 'row'",
             scanning(kFloat, kS64, "Relu")),
      reject("scan_state_changes_type",
             "state 0 is f32[3] before a step and s64[3] after it, as 't'",
             scanning(kFloat, kFloat, "Cast")),
      accept("branches_of_two_shapes", branches(Condition::yes, relu_of_x("a"), wide)),
      accept("loop_of_one_type", looping({})),
      accept("scan_of_one_type", scanning(kFloat, kFloat, "Relu")),
  };
}

Cases removed_operators() {
  const auto upsample = [](int64_t opset) {
    return Op{"Upsample", {in({1, 1, 2, 2}), floats({1, 1, 2, 2})}, {}, opset};
  };
  const auto scatter = [](int64_t opset) {
    return Op{"Scatter", {in({3}), ints({1}), in({1})}, {}, opset};
  };
  return {
      reject("upsample_of_opset_10", "supported from opset 1 to 9, the model imports opset 10",
             upsample(10)),
      reject("upsample_of_opset_17", "supported from opset 1 to 9, the model imports opset 17",
             upsample(17)),
      reject("scatter_of_opset_11", "supported from opset 9 to 10, the model imports opset 11",
             scatter(11)),
      reject("scatter_of_opset_17", "supported from opset 9 to 10, the model imports opset 17",
             scatter(17)),
      accept("upsample_of_opset_9", upsample(9)),
      accept("scatter_of_opset_10", scatter(10)),
  };
}

}  // namespace

Cases declared_cases() {
  Cases all = declarations();
  for (const Cases& more : {control_flow(), removed_operators()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace poprt::hostile
