// Compares the declared types of values (value_info, graph outputs, inputs of subgraphs) with the
// types that follow from the model's inputs. Different element types are an error, as in ONNX
// Runtime. A different dimension or rank is a warning, and the inferred shape is used, because
// converters store the shapes of the batch that they used (the converter of LightGBM declares one
// label for any batch).
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
  // Removes the declared types of the values that nodes compute, including those in subgraphs, so
  // that they are inferred from the inputs only. The results of operators without type inference
  // keep theirs. With `strict`, different shapes are errors.
  explicit DeclaredTypes(ir::Graph& graph, bool strict = false);

  // Throws invalid_argument with the node, the value and both types if the declared type of
  // `value`, a result of a node, contradicts `found`. If only shapes differ and `strict` is not
  // set, prints one warning for all values. Along the axis `bounded`, the size in `found` is only
  // an upper bound.
  void check(const ir::Value& value, const ir::ValueType& found,
             std::optional<size_t> bounded = std::nullopt) const;
  // The same for a value that is a sequence of tensors.
  void check_sequence(const ir::Value& value, std::span<ir::Value* const> elements) const;

  // Compares the declared type of a subgraph's input with the given value.
  void check_input(const ir::Graph& body, size_t input, const ir::ValueType& given) const;

  // Checks all types that can be inferred before values are computed, and that inputs of a node
  // which share a type parameter have equal types. This includes branches that will not be taken
  // and bodies that will not run. Other types are checked in later steps. The inferred types are
  // removed again.
  void check_all(ir::Graph& graph) const;

  // Checks the values of a graph whose nodes have changed since, by name.
  void check_names(const ir::Graph& graph) const;

 private:
  // A sequence or an optional of tensors.
  struct Container {
    std::string kind;
    DType element;
    std::string text;
  };

  static bool element_type_matches(const Container& c, const ir::ValueType& found);
  void take_containers(ir::Graph& graph);
  void infer_and_check(ir::Graph& graph) const;
  // Throws `text`, or prints it as a warning if only shapes differ and `strict` is not set.
  void report(const std::string& text, const ir::ValueType& declared,
              const ir::ValueType& found) const;

  std::unordered_map<const ir::Value*, Container> containers_;
  std::unordered_map<const ir::Value*, ir::ValueType> types_;
  std::unordered_map<std::string, ir::ValueType> of_names_;  // in the outermost graph
  bool strict_ = false;
  mutable bool warned_ = false;
};

}  // namespace poprt::compiler
