#include "runtime/session/anchor_lookup.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace poprt::runtime {
namespace {

std::string lookup_message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "";
}

TEST(FindAnchor, IsByNameWhateverTheHint) {
  const std::vector<program::Anchor> anchors = {
      {"a", DType::f32, {1}}, {"b", DType::f32, {1}}, {"a", DType::f32, {1}}};
  for (const size_t hint : {size_t{0}, size_t{1}, size_t{3}, SIZE_MAX})
    EXPECT_EQ(find_anchor(anchors, "a", hint, "input"), 0u) << hint;
  EXPECT_EQ(find_anchor(anchors, "a", 2, "input"), 2u) << "the hint is right";
  for (const size_t hint : {size_t{0}, size_t{1}, size_t{2}})
    EXPECT_EQ(find_anchor(anchors, "b", hint, "input"), 1u) << hint;
  EXPECT_EQ(lookup_message([&] { find_anchor(anchors, "c", 0, "input"); }),
            "not_found: there is no input 'c'; inputs are: 'a', 'b', 'a'");
  EXPECT_EQ(lookup_message([&] { find_anchor({}, "c", 0, "output"); }),
            "not_found: there is no output 'c'; outputs are: none");
}

TEST(FailWrongSize, ReportsTheExpectedSize) {
  EXPECT_EQ(lookup_message([] { fail_wrong_size({"x", DType::f16, {2, 3}}, 7, "output"); }),
            "invalid_argument: output 'x': expected 12 bytes (f16 [2,3]), given 7 bytes");
}

}  // namespace
}  // namespace poprt::runtime
