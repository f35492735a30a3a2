#include "core/ops/recurrent_reference.h"

namespace poprt::test {
namespace {

TEST(RNN, EveryDirectionLayoutAndOptionalInput) {
  RecurrentCase c;
  c.op = "RNN";
  c.f = [](double x) { return std::tanh(x); };
  check_recurrent_forms(c);
}

TEST(RNN, ComputesInDouble) {
  RecurrentCase c;
  c.op = "RNN";
  c.in_double = true;
  c.f = [](double x) { return std::tanh(x); };
  check_recurrent_forms(c);
}

TEST(RNN, TakesOneActivationForEachDirection) {
  RecurrentCase c;
  c.op = "RNN";
  c.direction = "bidirectional";
  c.attributes = {{"activations", std::vector<std::string>{"Softplus", "Softplus"}}};
  c.f = [](double x) { return std::log1p(std::exp(x)); };
  check_recurrent(c);
}

}  // namespace
}  // namespace poprt::test
