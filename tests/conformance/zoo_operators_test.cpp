// Checks that the 84 operators which occur in 638 public models are supported.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "ops/op.h"

namespace poprt {
namespace {

constexpr std::pair<std::string_view, int> kOperators[] = {
#include "conformance/zoo_operators.inc"
};

TEST(ZooOperators, EveryOneIsSupportedInTheOpsetsThatTheModelsUse) {
  EXPECT_EQ(std::size(kOperators), 84u);
  for (const auto& [name, models] : kOperators)
    for (const int64_t opset : {16, 17, 18}) {
      EXPECT_NE(ops::find_op("", name, opset), nullptr)
          << name << " of opset " << opset << ", in " << models << " models";
    }
}

}  // namespace
}  // namespace poprt
