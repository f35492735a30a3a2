#include "kernels/common/describe_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/calls/attention.h"
#include "kernels/calls/conv.h"
#include "kernels/calls/conv_vnni.h"
#include "kernels/calls/einsum.h"

namespace poprt::kernels {
namespace {

template <class C>
std::string described(const C& call) {
  const calls::Encoded numbers = calls::encode(call);
  return describe_call(C::kKernel, numbers.ints, numbers.floats);
}

TEST(DescribeCall, PrintsIntegersAndFloatsWithTheirNames) {
  EXPECT_EQ(described(calls::Attention{.heads = 2, .size = 4, .causal = true, .scale = 0.5f}),
            " heads=2 size=4 q_offset=0 k_offset=0 v_offset=0 causal=1 scale=0.5 mask_value=0");
}

TEST(DescribeCall, PrintsOptionalFieldsOnlyIfTheyAreThere) {
  calls::Conv conv;
  EXPECT_EQ(described(conv).find(" od="), std::string::npos);
  conv.depth = calls::ConvDepth{.d = 3, .od = 2};
  EXPECT_NE(described(conv).find(" d=3 od=2 kd=1"), std::string::npos) << described(conv);
}

TEST(DescribeCall, PrintsFieldsOfOneNameAsAList) {
  calls::Einsum einsum;
  einsum.rank = 1;
  einsum.sizes = {2, 3};
  einsum.strides = {{3, 1}, {0, 1}};
  EXPECT_EQ(described(einsum), " inputs=2 rank=1 labels=2 size=[2,3] stride=[3,1,0,1]");
}

TEST(DescribeCall, PrintsPlainListsForCallsThatItCannotDecode) {
  const std::vector<int64_t> ints = {1, -2};
  const std::vector<float> floats = {0.5f, NAN};
  EXPECT_EQ(describe_call("no_such_kernel", ints, floats), " ints [1,-2] floats [0.5,nan]");
  EXPECT_EQ(describe_call("attention", ints, {}), " ints [1,-2]");
  EXPECT_EQ(describe_call("no_such_kernel", {}, {}), "");
}

TEST(DescribeCall, KnowsTheEarlierNameOfAKernel) {
  const calls::ConvVnni call{.n = 2, .axes = {{.padded = 4, .out = 3, .kernel = 2}}};
  const calls::Encoded numbers = calls::encode(call);
  const std::string text = describe_call("conv_quads", numbers.ints, numbers.floats);
  EXPECT_EQ(text, described(call));
  EXPECT_EQ(text,
            " n=2 groups=1 c=1 m=1 x_signed=0 w_signed=0 w_filters=0 rank=1 padded=4 out=3 "
            "kernel=2 stride=1 dilation=1");
}

}  // namespace
}  // namespace poprt::kernels
