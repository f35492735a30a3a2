// Valid models, so that a program that refuses every model does not pass.
#include "case.h"

namespace poprt::hostile {
namespace {

pb::ModelProto long_chain(int nodes, bool reversed) {
  pb::ModelProto m = empty_model();
  auto& g = *m.mutable_graph();
  add_input(g, "v0");
  for (int i = 0; i < nodes; i++) {
    const int k = reversed ? nodes - 1 - i : i;
    add_node(g, "Relu", {"v" + std::to_string(k)}, {"v" + std::to_string(k + 1)});
  }
  add_output(g, "v" + std::to_string(nodes));
  return m;
}

}  // namespace

Cases control_cases() {
  const Operand image = in({1, 4, 8, 8});
  return {
      accept("relu", relu_model()),
      accept("nodes_in_reverse_order", long_chain(1000, true)),
      from_build(
          "chain_of_60000_nodes", "", [] { return bytes_of(long_chain(60000, false)); },
          Outcome::accepted),
      accept("conv", Op{"Conv", {image, in({4, 4, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}}}),
      accept("max_pool", Op{"MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}}}),
      accept("reshape", Op{"Reshape", {in({2, 3}), ints({3, -1})}}),
      accept("slice", Op{"Slice", {in({4, 4}), ints({1}), ints({3}), ints({-1})}}),
      accept("gather_negative_index", Op{"Gather", {in({2, 3}), ints({-2})}}),
      accept("nothing", Op{"Relu", {in({0, 3})}}),
      accept("scalar", Op{"Relu", {in({})}}),
      accept("constant_output", Op{"Identity", {ints({1, 2})}}),
      accept("name_with_spaces_and_quotes", changed(relu_model(),
                                                    [](auto& m) {
                                                      m.mutable_graph()->mutable_node(0)->set_name(
                                                          "a 'b' \"c\" {d} %s \xc3\xa9");
                                                    })),
      accept("node_names_may_repeat", changed(long_chain(3, false),
                                              [](auto& m) {
                                                for (auto& n : *m.mutable_graph()->mutable_node())
                                                  n.set_name("same");
                                              })),
      accept("unknown_metadata", changed(relu_model(),
                                         [](auto& m) {
                                           m.add_metadata_props()->set_key("k");
                                           m.set_doc_string(std::string(1000, '\n'));
                                         })),
      accept("ir_version_3_with_initializers_as_inputs",
             [] {
               pb::ModelProto m = empty_model(9);
               m.set_ir_version(3);
               add_input(*m.mutable_graph(), "x");
               add_input(*m.mutable_graph(), "w", {3});
               *m.mutable_graph()->add_initializer() = tensor(kFloat, {3}, "w");
               m.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(12, '\0'));
               add_output(*m.mutable_graph(), "y");
               add_node(*m.mutable_graph(), "Add", {"x", "w"}, {"y"});
               return m;
             }()),
  };
}

}  // namespace poprt::hostile
