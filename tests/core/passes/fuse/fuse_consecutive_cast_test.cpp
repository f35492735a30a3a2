#include <map>

#include "base/onnx_dtype.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FuseConsecutiveCast, OnlyThroughTypesThatHoldEveryValue) {
  expect_ops({"fuse_consecutive_cast"}, R"(
    input %x : s32[4]
    %a = Cast(%x) {to = 7}
    %y = Cast(%a) {to = 1}
    output %y
  )",
             "Cast");
  expect_ops({"fuse_consecutive_cast"}, R"(
    input %x : f32[4]
    %a = Cast(%x) {to = 6}
    %y = Cast(%a) {to = 1}
    output %y
  )",
             "Cast Cast");
}

// A type represents all values of another one or not, according to the bits of integers and of
// significands, the signs and the range of exponents.
TEST(FuseConsecutiveCast, RemovesACastThroughEveryTypeThatRepresentsAllValues) {
  const std::map<std::string, std::string> holders = {
      {"f64", " f64 "},
      {"f32", " f32 f64 "},
      {"f16", " f16 f32 f64 "},
      {"bf16", " bf16 f32 f64 "},
      {"s64", " s64 "},
      {"u64", " u64 "},
      {"s32", " s32 s64 f64 "},
      {"u32", " u32 u64 s64 f64 "},
      {"s16", " s16 s32 s64 f32 f64 "},
      {"u16", " u16 u32 u64 s32 s64 f32 f64 "},
      {"s8", " s8 s16 s32 s64 f16 bf16 f32 f64 "},
      {"u8", " u8 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64 "},
      {"bool", " bool u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 "},
      {"f8e5m2", " f8e5m2 "},  // known to be a value of itself alone
  };
  for (const auto& [from, list] : holders)
    for (const auto& [to, _] : holders) {
      const auto graph = parsed(fmt::format("input %x : {}[2]\n%a = Cast(%x) {{to = {}}}\n"
                                            "%y = Cast(%a) {{to = 11}}\noutput %y",
                                            from, *onnx_from_dtype(*dtype_from_name(to))),
                                19);
      run(*graph, {"fuse_consecutive_cast"});
      const bool holds = list.find(" " + to + " ") != std::string::npos;
      EXPECT_EQ(ops_of(*graph), holds ? "Cast" : "Cast Cast") << from << " as " << to;
    }
}

}  // namespace
}  // namespace poprt::test
