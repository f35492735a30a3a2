#include "passes/common/number_ranges.h"

#include <string>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// "[least, most]" of value y, with "size" after that of sizes.
std::string range(const std::string& text) {
  const auto graph = parsed("input %i : s64[4]\ninput %x : f32[4]\ninput %d : s64[N]\n" + text, 18);
  const passes::NumberRange r = passes::NumberRanges(*graph).of(graph->find("y"));
  return fmt::format("[{}, {}]{}", r.least, r.most, r.is_size ? " size" : "");
}

const std::string k32 = "[-2147483648, 2147483647]";

TEST(NumberRanges, ProductsHaveTheirRealRange) {
  EXPECT_EQ(range("const %c : s64[] = 1000003\n%y = Mul(%i, %c)"),
            "[-2147490090450944, 2147490089450941]");
  EXPECT_EQ(range("const %c : s64[] = 3\n%b = Cast(%x) {to = 9}\n%e = Cast(%b) {to = 7}\n"
                  "%y = Mul(%e, %c)"),
            "[0, 3]");
  EXPECT_EQ(range("const %c : s64[2] = [-3, 5]\n%a = ArgMax(%i) {axis = 0, keepdims = 0}\n"
                  "%y = Mul(%a, %c)"),
            "[-9, 15]");
  EXPECT_EQ(range("const %c : s64[] = 3\n%y = Pow(%i, %c)"),
            "[-9.903520314283042e+27, 9.903520314283042e+27]");
  EXPECT_EQ(range("const %a : s64[2,2] = fill 2\nconst %b : s64[2,2] = fill 5\n"
                  "%e = Identity(%a)\n%y = MatMul(%e, %b)"),
            "[0, 20]");
}

TEST(NumberRanges, SumsOfUsualNumbersAreUsual) {
  EXPECT_EQ(range("%y = Add(%i, %i)"), k32);
  EXPECT_EQ(range("%y = Neg(%i)"), "[-2147483647, 2147483647]");
  EXPECT_EQ(range("const %c : s64[] = 5000000000\n%y = Add(%i, %c)"), "[-1, 2147483647]");
  EXPECT_EQ(range("%y = ReduceSum(%i)"), k32);
  EXPECT_EQ(range("const %c : s64[] = 1000\n%m = Mul(%i, %c)\n%y = Add(%m, %i)"),
            "[-2149631131648, 2149631130647]");
}

TEST(NumberRanges, OperatorsThatLimitNumbersEndALargeRange) {
  const std::string large =
      "const %c : s64[] = 1000003\nconst %n : s64[] = 5000\n"
      "const %z : s64[] = 0\n%m = Mul(%i, %c)\n";
  EXPECT_EQ(range(large + "%y = Mod(%m, %n)"), "[0, 4999]");
  EXPECT_EQ(range(large + "%y = Mod(%m, %n) {fmod = 1}"), "[-4999, 4999]");
  EXPECT_EQ(range(large + "%y = Clip(%m, %z, %n)"), "[0, 5000]");
  EXPECT_EQ(range(large + "%a = Max(%m, %z)\n%y = Min(%a, %n)"), "[0, 5000]");
  EXPECT_EQ(range(large + "%y = Sign(%m)"), "[-1, 1]");
  EXPECT_EQ(range(large + "%y = Div(%m, %c)"), k32);
  EXPECT_EQ(range(large + "%b = Cast(%x) {to = 9}\n%w = Where(%b, %m, %n)\n%y = Mod(%w, %n)"),
            "[0, 4999]");
}

TEST(NumberRanges, NumbersOfFloatsAreSmallUnlessAConstantScalesThem) {
  EXPECT_EQ(range("%m = Mul(%x, %x)\n%y = Cast(%m) {to = 7}"), "[-1048576, 1048576]");
  EXPECT_EQ(range("const %c : f32[] = 1000000000.0\n%m = Mul(%x, %c)\n%f = Floor(%m)\n"
                  "%y = Cast(%f) {to = 7}"),
            "[-1048576000000000, 1048576000000000]");
  EXPECT_EQ(range("const %c : f32[] = 640.0\n%m = Mul(%x, %c)\n%y = Cast(%m) {to = 7}"),
            "[-671088640, 671088640]");
}

TEST(NumberRanges, ProductsOfUnknownSizesAreSizes) {
  EXPECT_EQ(range("%s = Shape(%d)\n%y = Mul(%s, %s)"), "[0, 2147483647] size");
  EXPECT_EQ(range("%s = Shape(%i)\n%y = Mul(%s, %s)"), "[16, 16]");
  EXPECT_EQ(range("%s = Shape(%d)\n%y = Mul(%s, %i)"),
            "[-4.611686016279904e+18, 4.6116860141324206e+18]");
}

TEST(NumberRanges, MovedElementsKeepTheirRange) {
  EXPECT_EQ(range("const %t : s64[3] = [7, -2, 9]\n%y = Gather(%t, %i)"), "[-2, 9]");
  EXPECT_EQ(range("const %t : s64[1] = [4]\n%z = ConstantOfShape(%t) {value = s64[1] [7]}\n"
                  "%y = Concat(%z, %t) {axis = 0}"),
            "[0, 7]");
}

}  // namespace
}  // namespace poprt::test
