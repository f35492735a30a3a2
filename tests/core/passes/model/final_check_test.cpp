#include <algorithm>

#include "base/log.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::vector<std::string> logged_warnings;

TEST(FinalCheck, WarnsOfValuesThatAreReadAndHaveNoShapeAlsoInBranches) {
  const auto graph = parsed(R"(
    input %x : f32[2,3]
    input %s : s64[?]
    input %c : bool[]
    %open = Reshape(%x, %s)
    %unread = Reshape(%x, %s)
    %y = Shape(%open)
    %z : s64[?] = If(%c) {
      then_branch = graph "t" { %inner = Reshape(%x, %s) %t : s64[?] = Shape(%inner) output %t },
      else_branch = graph "e" { %e : s64[?] = Shape(%s) output %e }}
    output %y
    output %z
  )");
  logged_warnings.clear();
  set_log_receiver([](int32_t, const char* message) { logged_warnings.emplace_back(message); });
  run(*graph, {"final_check"});
  set_log_receiver(nullptr);
  const auto warned_of = [](std::string_view name) {
    return std::ranges::count_if(logged_warnings, [&](const std::string& message) {
      return message.starts_with(fmt::format("final_check: '{}' of Reshape node", name)) &&
             message.ends_with("has no known shape");
    });
  };
  EXPECT_EQ(warned_of("open"), 1);
  EXPECT_EQ(warned_of("inner"), 1);
  EXPECT_EQ(warned_of("unread"), 0);
}

}  // namespace
}  // namespace poprt::test
