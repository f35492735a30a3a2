#include "core/ops/recurrent_reference.h"

namespace poprt::test {
namespace {

TEST(GRU, EveryDirectionLayoutAndOptionalInput) {
  RecurrentCase c;
  c.op = "GRU";
  check_recurrent_forms(c);
}

TEST(GRU, LinearBeforeReset) {
  RecurrentCase c;
  c.op = "GRU";
  c.linear_before_reset = true;
  c.attributes = {{"linear_before_reset", int64_t{1}}};
  check_recurrent_forms(c);
}

TEST(GRU, ComputesInDouble) {
  RecurrentCase c;
  c.op = "GRU";
  c.in_double = true;
  check_recurrent_forms(c);
  c.linear_before_reset = true;
  c.attributes = {{"linear_before_reset", int64_t{1}}};
  check_recurrent_forms(c);
}

TEST(GRU, ClipsAndTakesOtherActivations) {
  RecurrentCase c;
  c.op = "GRU";
  c.clip = 0.4;
  c.attributes = {{"clip", 0.4f},
                  {"activations", std::vector<std::string>{"Sigmoid", "LeakyRelu"}},
                  {"activation_alpha", std::vector<float>{0.2f}}};
  c.g = [](double x) { return x < 0 ? 0.2 * x : x; };
  check_recurrent(c);
}

TEST(GRU, GivesTheSameBitsForAnyNumberOfThreads) {
  RecurrentCase c;
  c.op = "GRU";
  for (const int64_t linear : {0, 1}) {
    c.attributes = {{"linear_before_reset", linear}};
    check_recurrent_splits(c);
  }
}

}  // namespace
}  // namespace poprt::test
