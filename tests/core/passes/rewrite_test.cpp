#include "passes/rewrite.h"

#include <fmt/ranges.h>

#include <limits>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(Rewrite, NumbersAreNearAsTheirTypeHasThem) {
  struct Row {
    double value, expected;
    DType dtype;
    bool near;
  };
  const Row rows[] = {
      {1, 1, DType::f32, true},
      {1 + 5e-7, 1, DType::f32, true},
      {1 - 5e-7, 1, DType::f32, true},
      {1 + 2e-6, 1, DType::f32, false},
      {1 - 2e-6, 1, DType::f32, false},
      {-1, 1, DType::f32, false},
      {1 + 9e-4, 1, DType::f16, true},
      {1 + 1.0005e-3, 1, DType::f16, false},  // of what is expected, not of what is there
      {1 + 2e-3, 1, DType::f16, false},
      {100.09, 100, DType::f16, true},
      {100.2, 100, DType::f16, false},
      {1 + 7e-3, 1, DType::bf16, true},
      {1 + 9e-3, 1, DType::bf16, false},
      {0, 0, DType::f32, true},
      {1e-9, 0, DType::f32, false},
      // 0.044715 as the half next to it, 0.04470825, and as a short float, 0.04467773; 0.7071 of a
      // divisor that was one of them. In f64 nobody rounded them.
      {0.0447082519, 0.044715, DType::f32, true},
      {0.0446777344, 0.044715, DType::f32, true},
      {1 / 1.4140625, 0.70710678, DType::f32, true},
      {0.0447082519, 0.044715, DType::f64, false},
      {0.0447, 0.044715, DType::f32, false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(passes::near(row.value, row.expected, row.dtype), row.near)
        << row.value << " " << row.expected << " " << dtype_name(row.dtype);
}

TEST(Rewrite, TensorsOfDoublesSaturate) {
  const std::vector<double> values{
      -1e30, -300, -3, -0.5, 0, 1.5, 300, 1e30, std::numeric_limits<double>::quiet_NaN()};
  const auto of = [&](DType dtype) { return passes::tensor_of(dtype, {9}, values).to_doubles(); };
  using List = std::vector<double>;
  EXPECT_EQ(of(DType::s8), (List{-128, -128, -3, 0, 0, 1, 127, 127, 0}));
  EXPECT_EQ(of(DType::u8), (List{0, 0, 0, 0, 0, 1, 255, 255, 0}));
  EXPECT_EQ(of(DType::s16), (List{-32768, -300, -3, 0, 0, 1, 300, 32767, 0}));
  EXPECT_EQ(of(DType::u16), (List{0, 0, 0, 0, 0, 1, 300, 65535, 0}));
  EXPECT_EQ(of(DType::s32), (List{-2147483648., -300, -3, 0, 0, 1, 300, 2147483647., 0}));
  EXPECT_EQ(of(DType::u32), (List{0, 0, 0, 0, 0, 1, 300, 4294967295., 0}));
  EXPECT_EQ(of(DType::boolean), (List{1, 1, 1, 1, 0, 1, 1, 1, 1}));
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    EXPECT_EQ(passes::tensor_of(dtype, {2, 1}, List{-0.5, 1.5}).to_doubles(), (List{-0.5, 1.5}));
  EXPECT_EQ(passes::tensor_of(DType::s64, {1}, List{-7}).to_doubles(), List{-7});
  EXPECT_EQ(passes::tensor_of(DType::u64, {1}, List{-7}).to_doubles(), List{0});
  EXPECT_THROW(passes::tensor_of(DType::string, {1}, List{1}), Error);
}

// The factors of %y and what is constant among them.
std::string factors(const std::string& body) {
  const auto graph = parsed(
      "input %a : f32[2]\ninput %b : f32[2]\nconst %two : f32[] = 2.0\nconst %four : f32[1] "
      "= [4.0]\nconst %zero : f32[] = 0.0\nconst %list : f32[2] = [1.0, 2.0]\n" +
      body + "\noutput %y");
  std::string text;
  const passes::Product p = passes::factors_of(*graph->nodes().back());
  for (const ir::Value* v : p.factors) text += v->name() + " ";
  return text + fmt::format("{}", p.scale);
}

TEST(Rewrite, ProductsAreTakenApart) {
  const std::pair<const char*, const char*> rows[] = {
      {"%y = Mul(%a, %b)", "a b 1"},
      {"%y = Mul(%two, %a)", "a 2"},
      {"%y = Div(%a, %two)", "a 0.5"},
      {"%y = Div(%two, %a)", "y 1"},
      {"%y = Div(%a, %zero)", "y 1"},
      {"%y = Mul(%a, %list)", "a list 1"},
      {"%m = Mul(%a, %four)\n%d = Div(%m, %two)\n%y = Mul(%d, %b)", "a b 2"},
      {"%m = Mul(%a, %b)\n%n = Mul(%b, %four)\n%y = Mul(%m, %n)", "a b b 4"},
      {"%m = Neg(%a)\n%y = Mul(%m, %two)", "m 2"},
      // What others read is a factor as it is.
      {"%m = Mul(%a, %two)\noutput %m\n%y = Mul(%m, %two)", "m 2"},
      {"%m = Mul(%a, %two)\n%y = Mul(%m, %m)", "m m 1"},
  };
  for (const auto& [body, wanted] : rows) EXPECT_EQ(factors(body), wanted) << body;
}

}  // namespace
}  // namespace poprt::test
