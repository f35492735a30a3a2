// Builds a random graph node by node. Every node is inferred and evaluated when it is added; a node
// that is not valid on its inputs, or is too large, is removed again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/random_graph/choices.h"
#include "support/random_graph/reference.h"

namespace poprt::test {

using ir::Graph;
using ir::Node;
using ir::Value;
using Attributes = std::map<std::string, ir::Attribute, std::less<>>;
using Types = std::vector<DType>;

extern const Types kFloats, kReals, kIntegers, kNumbers, kEvery;

struct Limits {
  int64_t nodes = 12;
  int64_t elements = 2048;  // of one value
  int64_t dim = 6;          // of one dimension; a few are larger
  // Whether sizes may depend on data. The types of results are then those of the computed values.
  bool sizes_of_data = false;
};

class Maker {
 public:
  Maker(Choices& choices, Graph& graph, const Limits& limits)
      : c(choices), g(graph), limits(limits) {}

  Choices& c;
  Graph& g;
  const Limits limits;
  Feeds feeds;

  int64_t opset() const;

  // -- Values that a node may read ----------------------------------------------------------------
  // Returns a value that fits, preferably a recent one, or null if there is none.
  Value* find(const std::function<bool(const Value*)>& fits);
  // Returns a value of one of these types, and creates one if there is none.
  Value* any(const Types& types);
  // Returns a value of at least `rank` dimensions.
  Value* ranked(const Types& types, size_t rank);
  // Returns a value of exactly this type: an existing value, a constant, or an input.
  Value* of(DType dtype, const Shape& shape);
  // Returns a value of the type of v that broadcasts with it: with fewer dimensions, dimensions of
  // 1, more leading ones, or a scalar.
  Value* operand_for(const Value* v);
  Value* operand_for(const Value* v, DType dtype);
  Value* constant(Tensor t);
  Value* random_constant(DType dtype, const Shape& shape);
  Value* scalar(DType dtype, double value);
  // s64 numbers, constant.
  Value* ints(const std::vector<int64_t>& values);
  Value* input(DType dtype, const Shape& shape);
  DType type_of(const Types& types);
  Shape random_shape();
  int64_t dim();
  int64_t axis_of(const Value* v);  // in [-rank, rank); rank is at least 1
  // Returns the axis, sometimes as a negative number.
  int64_t axis(int64_t at, size_t rank) {
    return c.chance(30) ? at - static_cast<int64_t>(rank) : at;
  }

  // -- Nodes --------------------------------------------------------------------------------------
  // Returns the first result, or null if the node is not valid.
  Value* add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes = {},
             size_t outputs = 1, std::string_view domain = "");
  Node* add_node(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes,
                 size_t outputs, std::string_view domain);
  // The value that was computed for v when its node was added.
  const Tensor& value_of(const Value* v) const { return known.at(v); }

  std::vector<Value*> pool;
  Values known;
  // In a subgraph, the maker of the enclosing graph, whose values can be read; otherwise null.
  const Maker* outer = nullptr;
  // How often each operator was tried and could not be added, with the last reason.
  static std::map<std::string, std::pair<int, std::string>>& rejected();
  static std::map<std::string, int>& added();

 private:
  bool acceptable(const Node& n, const std::vector<Tensor>& results);
};

// Random elements: floats in [-3, 3], bytes of any value, other integers from -4 (0 if they have no
// sign) to 9.
Tensor random_tensor(DType dtype, const Shape& shape, Choices& c);

}  // namespace poprt::test
