#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kNegated = R"(
  input %x : f32[2,3]
  %y = Neg(%x)
  output %y
)";

std::string said_of(std::string_view before, std::string_view after) {
  const auto original = parsed(before), graph = parsed(after);
  passes::PassManagerOptions options;
  options.origin = original.get();
  std::string text;
  options.say = [&](std::string_view said) { text += said; };
  const std::vector<passes::PassCall> calls{{&passes::pass_of("check_with_fake_data")}};
  try {
    passes::run_passes(*graph, calls, options);
  } catch (const Error& e) {
    return e.what();
  }
  return text;
}

TEST(CheckWithFakeData, EqualModelsAreToldAlike) {
  EXPECT_EQ(said_of(kNegated, R"(
    input %x : f32[2,3]
    const %minus : f32[] = -1.0
    %y = Mul(%x, %minus)
    output %y
  )"),
            "output y: differs by 0 at most\n");
}

TEST(CheckWithFakeData, AnOutputThatDiffersIsRefused) {
  const std::string said = said_of(kNegated, R"(
    input %x : f32[2,3]
    const %minus : f32[] = -1.01
    %y = Mul(%x, %minus)
    output %y
  )");
  EXPECT_NE(said.find("output 'y' differs by 0.00"), std::string::npos) << said;
}

TEST(CheckWithFakeData, TheListOfPassesIsComparedWithWhereItBegan) {
  const auto graph = parsed(R"(
    input %x : f32[2,3]
    const %two : f32[] = 2.0
    %y = Pow(%x, %two)
    output %y
  )");
  passes::PassManagerOptions options;
  std::string text;
  options.say = [&](std::string_view said) { text += said; };
  const std::vector<passes::PassCall> calls{{&passes::pass_of("replace_pow")},
                                            {&passes::pass_of("check_with_fake_data")}};
  passes::run_passes(*graph, calls, options);
  EXPECT_EQ(ops_of(*graph), "Mul");
  EXPECT_TRUE(text.starts_with("output y: differs by ")) << text;
}

}  // namespace
}  // namespace poprt::test
