// Helpers shared by the optimizers of ai.onnx.preview.training. Inputs: the learning rate R, the
// number T of updates so far, the parameters X1 .. Xn, their gradients, and each kind of state.
// Outputs: the new parameters, followed by the new states.
#pragma once

#include <string_view>
#include <vector>

#include "ops/common/expansion.h"

namespace poprt::ops {

class Optimizer {
 public:
  using Value = ir::Value;

  // `states` is the number of tensors of a parameter in addition to itself and its gradient.
  Optimizer(Expansion& expansion, size_t states) : e(expansion) {
    const size_t given = e.node.inputs().size(), each = 2 + states;
    e.check(given > 2 && (given - 2) % each == 0,
            "the inputs after R and T do not form groups of equal size");
    count_ = (given - 2) / each;
    e.check(e.node.outputs().size() == count_ * (1 + states),
            "the outputs are not the parameters and their states");
    for (size_t i = 0; i < 2; i++)
      e.check(element_count(e.shape(i)) == 1, "R or T is not one number");
  }

  Expansion& e;
  size_t count() const { return count_; }

  // Parameter i, its gradient, and its states.
  Value* x(size_t i) const { return e.in(2 + i); }
  Value* state(size_t kind, size_t i) const { return e.in(2 + (2 + kind) * count_ + i); }
  // The gradient with L2 regularisation.
  Value* gradient(size_t i) const {
    return sum(e.in(2 + count_ + i), scaled(x(i), attr("norm_coefficient", 0)));
  }
  // R and T as numbers of the type of parameter i.
  Value* rate(size_t i) const { return e.cast(e.reshape(e.in(0), {}), x(i)->dtype()); }
  Value* updates(size_t i) const { return e.cast(e.reshape(e.in(1), {}), x(i)->dtype()); }

  double attr(std::string_view key, float otherwise) const {
    return static_cast<double>(e.node.float_attr(key, otherwise));
  }
  Value* sum(Value* a, Value* b) const { return e.newest("Add", {a, b}); }
  Value* difference(Value* a, Value* b) const { return e.newest("Sub", {a, b}); }
  Value* product(Value* a, Value* b) const { return e.newest("Mul", {a, b}); }
  Value* quotient(Value* a, Value* b) const { return e.newest("Div", {a, b}); }
  Value* root(Value* a) const { return e.newest("Sqrt", {a}); }
  Value* scaled(Value* v, double factor) const { return e.scaled(v, factor); }
  Value* plus(Value* v, double addend) const { return e.plus(v, addend); }

  void result(size_t i, Value* x, std::initializer_list<Value*> states) const {
    set_output(i, x);
    size_t at = i;
    for (Value* s : states) set_output(at += count_, s);
  }

 private:
  void set_output(size_t at, Value* v) const {
    if (e.wants(at)) e.out(at, v);
  }
  size_t count_ = 0;
};

}  // namespace poprt::ops
