#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kNegated = R"(
  input %x : f32[2,3]
  %y = Neg(%x)
  output %y
)";

std::string message_of_check(std::string_view before, std::string_view after) {
  const auto original = parsed(before), graph = parsed(after);
  passes::PassManagerOptions options;
  options.origin = original.get();
  std::string text;
  options.print = [&](std::string_view error_text) { text += error_text; };
  const std::vector<passes::PassCall> calls{{&passes::pass_of("check_with_fake_data")}};
  try {
    passes::run_passes(*graph, calls, options);
  } catch (const Error& e) {
    return e.what();
  }
  return text;
}

TEST(CheckWithFakeData, ReportsEqualModels) {
  EXPECT_EQ(message_of_check(kNegated, R"(
    input %x : f32[2,3]
    const %minus : f32[] = -1.0
    %y = Mul(%x, %minus)
    output %y
  )"),
            "output y: differs by 0 at most\n");
}

TEST(CheckWithFakeData, AnOutputThatDiffersIsRefused) {
  const std::string error_text = message_of_check(kNegated, R"(
    input %x : f32[2,3]
    const %minus : f32[] = -1.01
    %y = Mul(%x, %minus)
    output %y
  )");
  EXPECT_NE(error_text.find("output 'y' differs by 0.00"), std::string::npos) << error_text;
}

// The beginning of the message for y = body(x), before and after.
struct Comparison {
  const char *before, *after, *error_part;
};

TEST(CheckWithFakeData, RoundingIsOfTheLargestValueAndOfTheType) {
  const Comparison all[] = {
      {"%y = Neg(%x)", "const %c : f32[] = -1.0005\n%y = Mul(%x, %c)", "output y: differs by 0.00"},
      {"%y = Neg(%x)", "const %c : f32[] = -1.004\n%y = Mul(%x, %c)", "output 'y' differs by 0.00"},
      {"const %c : f32[] = 1000.0\n%y = Mul(%x, %c)", "const %c : f32[] = 1000.5\n%y = Mul(%x, %c)",
       "output y: differs by 0."},
      {"const %c : f32[] = 1000.0\n%y = Mul(%x, %c)", "const %c : f32[] = 1004.0\n%y = Mul(%x, %c)",
       "output 'y' differs by "},
      {"const %c : f32[] = 0.1\n%y = Mul(%x, %c)", "const %c : f32[] = 0.1005\n%y = Mul(%x, %c)",
       "output y: differs by 0.000"},
      // One of the two is of halves.
      {"%y = Neg(%x)", "const %c : f32[] = -1.01\n%m = Mul(%x, %c)\n%y = Cast(%m) {to = 10}",
       "output y: differs by 0.0"},
      {"%m = Neg(%x)\n%y = Cast(%m) {to = 16}", "const %c : f32[] = -1.01\n%y = Mul(%x, %c)",
       "output y: differs by 0.0"},
      {"%y = Neg(%x)", "const %c : f32[] = -1.06\n%m = Mul(%x, %c)\n%y = Cast(%m) {to = 10}",
       "output 'y' differs by 0.0"},
      // NaN and infinite values are the same in both.
      {"%y = Sqrt(%x)", "%y = Sqrt(%x)", "output y: differs by 0 at most"},
      {"%y = Sqrt(%x)", "%a = Abs(%x)\n%y = Sqrt(%a)", "output 'y' differs by inf"},
      {"%a = Abs(%x)\n%y = Sqrt(%a)", "%y = Sqrt(%x)", "output 'y' differs by inf"},
      {"const %c : f32[] = inf\n%y = Mul(%x, %c)", "const %c : f32[] = inf\n%y = Mul(%x, %c)",
       "output y: differs by 0 at most"},
      {"const %c : f32[] = inf\n%y = Mul(%x, %c)", "const %c : f32[] = -inf\n%y = Mul(%x, %c)",
       "output 'y' differs by inf"},
      {"%y = Neg(%x)", "%y = Transpose(%x)", "output 'y' was [2,3] and is [3,2]"},
      {"%y = Neg(%x)", "%y = Neg(%x)\n%z = Exp(%y)\noutput %z", "output y: differs by 0 at most\n"},
  };
  for (const Comparison& c : all) {
    const auto text = [](const char* body) {
      return fmt::format("input %x : f32[2,3]\n{}\noutput %y", body);
    };
    const std::string error_text = message_of_check(text(c.before), text(c.after));
    EXPECT_TRUE(error_text.find(c.error_part) != std::string::npos) << c.after << "\n"
                                                                    << error_text;
  }
}

// Unchanged models, before and after.
TEST(CheckWithFakeData, RefusesModelsThatItCannotFeedOrCompute) {
  constexpr const char* kIf = R"(
    input %c : bool[]
    %y : f32[2] = If(%c) {
      then_branch = graph "t" { const %t : f32[2] = [1.0, 2.0] output %t },
      else_branch = graph "e" { const %e : f32[2] = [3.0, 4.0] output %e }}
    output %y)";
  constexpr const char* kOpen = "input %x : f32[N,3]\n%y = Neg(%x)\noutput %y";
  const Comparison all[] = {
      {kNegated, "input %z : f32[2,3]\n%y = Neg(%z)\noutput %y",
       "input 'z' is not one of the original"},
      {kNegated, "input %x : f32[3,2]\n%y = Neg(%x)\noutput %y",
       "input 'x' is not one of the original"},
      {kOpen, kOpen,
       "input 'x' is f32[N,3], which is not static; give it a shape first (const_input_shape)"},
      {kIf, kIf, "models with subgraphs are compared by `check`"},
      // Integers are indices that every table has, and may have got another type.
      {"input %i : s64[9]\nconst %t : f32[2] = [5.0, 7.0]\n%y = Gather(%t, %i)\noutput %y",
       "input %i : s32[9]\nconst %t : f32[2] = [5.0, 7.0]\n%y = Gather(%t, %i)\noutput %y",
       "output y: differs by 0 at most\n"},
  };
  for (const Comparison& c : all) {
    const std::string error_text = message_of_check(c.before, c.after);
    EXPECT_NE(error_text.find(c.error_part), std::string::npos) << error_text;
  }
  const auto graph = parsed(kNegated);
  passes::PassContext context;
  try {
    passes::pass_of("check_with_fake_data").run(*graph, context);
    ADD_FAILURE() << "there is nothing to compare with";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  }
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
  options.print = [&](std::string_view error_text) { text += error_text; };
  const std::vector<passes::PassCall> calls{{&passes::pass_of("replace_pow")},
                                            {&passes::pass_of("check_with_fake_data")}};
  passes::run_passes(*graph, calls, options);
  EXPECT_EQ(ops_of(*graph), "Mul");
  EXPECT_TRUE(text.starts_with("output y: differs by ")) << text;
}

}  // namespace
}  // namespace poprt::test
