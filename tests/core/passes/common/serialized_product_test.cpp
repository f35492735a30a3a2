#include "passes/common/serialized_product.h"

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::string read(std::string_view text) {
  try {
    const passes::Serialize s = passes::parse_serialize(text, "word");
    return fmt::format("{} {} {}", s.factor, static_cast<int>(s.mode), s.keep_precision);
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Serialize, FactorModeAndPrecisionAreRead) {
  using Mode = passes::SerializeMode;
  const auto of = [](int factor, Mode mode, bool keep) {
    return fmt::format("{} {} {}", factor, static_cast<int>(mode), keep);
  };
  EXPECT_EQ(read("3"), of(3, Mode::output_channels, false));
  EXPECT_EQ(read("1"), of(1, Mode::output_channels, false));
  EXPECT_EQ(read("2/none"), of(2, Mode::none, false));
  EXPECT_EQ(read("2/input_channels"), of(2, Mode::input_channels, false));
  EXPECT_EQ(read("2/output_channels/False"), of(2, Mode::output_channels, false));
  EXPECT_EQ(read("12 / reducing_dim / True"), of(12, Mode::reducing_dim, true));
  const std::string expected = "expected OP=FACTOR[/MODE[/KEEP]], found 'word': ";
  const std::string factor = expected + "the factor is not a whole number of at least 1";
  for (const char* text : {"", "0", "-1", "x", "2x", "2/none/True/more", "99999999999999999999"})
    EXPECT_EQ(read(text), factor) << text;
  EXPECT_EQ(read("2/rows"), expected + "the mode is unknown");
  EXPECT_EQ(read("2/none/true"), expected + "KEEP must be True or False");
}

}  // namespace
}  // namespace poprt::test
