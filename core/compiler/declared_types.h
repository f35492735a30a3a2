// What a model says of its values (value_info, graph outputs, inputs of subgraphs) against what
// follows from its inputs. Where both name a number, a rank or an element type, it must be the same
// one: a program for a model that contradicts itself would be for a model that nobody meant. Only
// where the shapes of inputs were chosen by whoever compiles, shapes behind them may be those of
// another choice: converters leave those of the batch that they have seen (LightGBM's declares one
// label whatever the batch is). What follows from the inputs counts then, and a warning says so.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "ir/graph.h"

namespace poprt::compiler {

class DeclaredTypes {
 public:
  DeclaredTypes() = default;
  // Takes the types of what nodes make, subgraphs included: those values know none afterwards, so
  // that they are inferred from the inputs alone. With `strict`, shapes must agree, too.
  explicit DeclaredTypes(ir::Graph& graph, bool strict = false);

  // Throws invalid_argument naming node, value and both types when `value`, which a node makes, is
  // declared otherwise than it was `found`; warns of it, once for all values, where only shapes
  // differ. Along `bounded` that is an upper bound only.
  void check(const ir::Value& value, const ir::ValueType& found,
             std::optional<size_t> bounded = std::nullopt) const;
  // Same for a value that turned out to be a sequence of tensors.
  void check_sequence(const ir::Value& value, std::span<ir::Value* const> elements) const;

  // Checks all that can be inferred before any value is computed, and that inputs of nodes which
  // must be of one type are: branches that will not be taken and bodies that will not run are part
  // of it. What cannot be inferred is left to later steps.
  // Forgets the inferred types.
  void check_all(ir::Graph& graph) const;

  // Checks the values of a graph that has other nodes by now, by name.
  void check_names(const ir::Graph& graph) const;

 private:
  // A sequence, or an optional, of tensors.
  struct Container {
    std::string kind;
    DType element;
    std::string text;
  };

  static bool holds(const Container& c, const ir::ValueType& found);
  void take_containers(ir::Graph& graph);
  void infer_and_check(ir::Graph& graph) const;
  void complain(const ir::Value& value, const ir::ValueType& declared,
                const ir::ValueType& found) const;

  std::unordered_map<const ir::Value*, Container> containers_;
  std::unordered_map<const ir::Value*, ir::ValueType> types_;
  std::unordered_map<std::string, ir::ValueType> of_names_;  // of the outermost graph
  bool strict_ = false;
  mutable bool warned_ = false;
};

// What a subgraph says of its input against what it is given.
void check_subgraph_input(const ir::Graph& body, size_t input, const ir::ValueType& given);

}  // namespace poprt::compiler
