// Makes a graph with data-dependent sizes node by node, and its values for several inputs at once.
//
// Each value has a type whose dimensions are numbers or unknown sizes. Two dimensions with one
// identity are equal for all data, so that a node that needs equal dimensions is valid for
// every input. A recipe states the types of its results; the interpreter computes the values, and
// the builder checks them against the types.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/random_graph/choices.h"
#include "support/sized_graph/value.h"

namespace poprt::test::sized {

using ir::Graph;
using ir::Node;
using ir::Value;
using Attributes = std::map<std::string, ir::Attribute, std::less<>>;

// A dimension, or a number that was computed from dimensions.
struct Dim {
  int64_t low = 0, high = 0;
  int id = 0;  // equal for dimensions that are equal for all data; 0 if low == high
  bool is_static() const { return low == high; }
  bool operator==(const Dim& o) const {
    return is_static() ? o.is_static() && low == o.low : id == o.id && !o.is_static();
  }
};
using Dims = std::vector<Dim>;
inline Dim fixed(int64_t n) { return {n, n, 0}; }

struct Type {
  DType dtype = DType::undefined;
  Dims dims;
  std::optional<Dims> numbers = {};  // the elements of an s64 scalar or vector, if known as sizes
  bool is_sequence = false;

  bool sized() const {
    for (const Dim& d : dims)
      if (!d.is_static()) return true;
    return false;
  }
};

constexpr size_t kFeeds = 2;

// How many elements (boxes, rounds of a loop) the values of an input select.
enum class Fill { none, some, all };

struct Counts {
  int roots = 0, shapes = 0;  // sizes that depend on data; numbers of data that decide a shape
  int zero = 0, below = 0, at_bound = 0;  // sizes of all inputs: 0, less than the bound, equal
};

class Builder {
 public:
  Builder(Choices& choices, Graph& graph, const Rounding& by)
      : c(choices), g(graph), rounding(by) {}

  Choices& c;
  Graph& g;
  const Rounding rounding;
  Counts counts;
  std::vector<std::map<std::string, Val>> feeds{kFeeds};

  int64_t opset() const { return g.opsets.at(""); }
  const Type& type(const Value* v) const { return types_.at(v); }
  const Val& val(const Value* v, size_t feed) const { return *scopes_[feed].find(v); }
  const Scope& scope(size_t feed) const { return scopes_[feed]; }
  bool exact(const Value* v) const;
  bool positive(const Value* v) const;  // every element, for every input
  const std::vector<Value*>& pool() const { return pool_; }

  // Returns a value that fits, preferably a recent one, or null if there is none.
  Value* find(const std::function<bool(const Value*, const Type&)>& fits);
  // Returns a float tensor of at least this rank, preferably one whose size depends on data.
  Value* tensor(size_t rank = 1);
  // Returns a float input of exact numbers or, sometimes, a constant.
  Value* floats(const Shape& shape);
  Value* input(DType dtype, const Shape& shape, const std::function<double(size_t)>& number);
  // A run-time condition of n elements; the number of true ones is drawn for each input of the
  // graph.
  Value* condition(int64_t n);
  Value* constant(const Tensor& t);
  Value* ints(const std::vector<int64_t>& values);  // s64 [n]
  Value* integer(int64_t value);                    // s64 scalar
  Value* real(double value);                        // f32 scalar

  // A size between low and high that no other dimension has.
  Dim unknown(int64_t low, int64_t high);
  // Adds a node with outputs of these types. Returns null if the node is not valid for some input,
  // is too large, or makes a decision by a number that is not exact.
  Value* node(const std::string& op, const std::vector<Value*>& inputs, Attributes attributes,
              std::vector<Type> outputs, std::vector<Value*>* all = nullptr);
  Value* node(const std::string& op, const std::vector<Value*>& inputs, Attributes attributes,
              Type output) {
    return node(op, inputs, std::move(attributes), std::vector<Type>{std::move(output)});
  }
  // Whether to add a form that the compiler is documented to refuse. True in a quarter of the
  // calls.
  bool may_be_refused() { return c.chance(25); }
  // Counts dimension d of the value as a size that depends on data.
  Value* root(Value* v, size_t d);
  // Counts the number if it depends on data. The caller uses it for a shape.
  void feeds_shape(const Value* number) {
    if (number && types_.at(number).numbers)
      for (const Dim& d : *types_.at(number).numbers)
        if (!d.is_static()) {
          counts.shapes++;
          return;
        }
  }

  // -- Numbers: s64, of shape [] or [1] ---------------------------------------------------------
  Value* vector_of(Value* number);  // [1]
  Value* scalar_of(Value* number);  // []
  // Returns a number that was computed from sizes, also by arithmetic, or null if there is none.
  Value* number();
  // Returns a number from low to high, computed from sizes if possible.
  Value* number_in(int64_t low, int64_t high);
  // Joins n numbers to a vector [n].
  Value* joined(const std::vector<Value*>& numbers);
  Value* size_of(Value* v, size_t d);
  Dim dim_of(const Value* number) const { return types_.at(number).numbers->at(0); }

 private:
  bool fits(const Type& type, const Val& v) const;
  Value* arithmetic(Value* n);

  std::unordered_map<const Value*, Type> types_;
  std::vector<Scope> scopes_{kFeeds};
  std::vector<Value*> pool_;
  int next_id_ = 1, next_name_ = 0;
};

// A recipe adds some nodes, or none.
struct Recipe {
  const char* name;
  void (*make)(Builder& b);
  int weight;
};
std::span<const Recipe> root_recipes();
std::span<const Recipe> shape_recipes();
std::span<const Recipe> tensor_recipes();
std::span<const Recipe> control_recipes();

}  // namespace poprt::test::sized
