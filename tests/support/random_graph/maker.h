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
  int64_t dim = 6;          // most of one dimension, with a larger one now and then
  // The types are those of the computed values.
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
  // One that fits, recent ones first; null when there is none.
  Value* find(const std::function<bool(const Value*)>& fits);
  // One of these types, made when there is none.
  Value* any(const Types& types);
  // One of at least `rank` dimensions.
  Value* ranked(const Types& types, size_t rank);
  // One of exactly this type: a value that there is, a constant, or an input.
  Value* of(DType dtype, const Shape& shape);
  // One of v's type that broadcasts with it: fewer dimensions, ones, more leading ones, scalars.
  Value* beside(const Value* v);
  Value* beside(const Value* v, DType dtype);
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
  // A different spelling of an axis.
  int64_t axis(int64_t at, size_t rank) {
    return c.chance(30) ? at - static_cast<int64_t>(rank) : at;
  }

  // -- Nodes --------------------------------------------------------------------------------------
  // The first result, or null when the node is not possible.
  Value* add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes = {},
             size_t outputs = 1, std::string_view domain = "");
  Node* add_node(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes,
                 size_t outputs, std::string_view domain);
  // The value that v had when the graph was made.
  const Tensor& value_of(const Value* v) const { return known.at(v); }

  std::vector<Value*> pool;
  Values known;
  // Set in a subgraph: what can be read from outside.
  const Maker* outer = nullptr;
  // How often each operator was tried and could not be added, and why not the last time.
  static std::map<std::string, std::pair<int, std::string>>& rejected();
  static std::map<std::string, int>& added();

 private:
  bool acceptable(const Node& n, const std::vector<Tensor>& results);
};

// Random elements: floats in [-2, 2], small integers.
Tensor random_tensor(DType dtype, const Shape& shape, Choices& c);

}  // namespace poprt::test
