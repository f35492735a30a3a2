#include "passes/pass.h"

#include "pass_case.h"

namespace poprt::passes {
namespace {

constexpr const char* kTwoIdentities = R"(
  input %x : f32[2]
  %a = Identity(%x)
  %b = Identity(%a)
  %c = Identity(%b)
  output %c
)";

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing was thrown";
}

TEST(PassManager, EveryPassHasANameASummaryAndKnownNeighbours) {
  for (const PassDef* p : all_passes()) {
    EXPECT_FALSE(p->name.empty());
    EXPECT_FALSE(p->summary.empty()) << p->name;
    ASSERT_NE(p->run, nullptr) << p->name;
    EXPECT_EQ(find_pass(p->name), p) << "two passes are called " << p->name;
    for (const auto& list : {p->depend, p->before, p->against})
      for (const std::string_view other : list) EXPECT_NE(find_pass(other), nullptr) << other;
  }
}

TEST(PassManager, MisspeltNamesGetSuggestions) {
  const std::string m = message_of([] { pass_of("eliminate_identety"); });
  EXPECT_NE(m.find("did you mean"), std::string::npos) << m;
  EXPECT_NE(m.find("eliminate_identity"), std::string::npos) << m;
  EXPECT_NE(message_of([] { pass_of("zzzzzzzzzzzzz"); }).find("lists them"), std::string::npos);
}

TEST(PassManager, ReportsRewritesAndNodes) {
  const auto graph = test::parsed(kTwoIdentities);
  const auto reports = test::run(*graph, {"eliminate_identity", "sort_graph"});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].name, "eliminate_identity");
  EXPECT_EQ(reports[0].rewrites, 2);
  EXPECT_EQ(reports[0].nodes_before, 3u);
  EXPECT_EQ(reports[0].nodes_after, 1u);
  EXPECT_EQ(reports[1].rewrites, 0);
}

TEST(PassManager, RewriteLimitStopsInTheMiddle) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("eliminate_identity")};
  const auto reports = run_passes(*graph, list, {.rewrite_limit = 1});
  EXPECT_EQ(reports[0].rewrites, 1);
  EXPECT_EQ(graph->node_count(), 2u);
}

TEST(PassManager, StopsAfterTheNamedPassAndCallsBack) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("sort_graph"), &pass_of("eliminate_identity")};
  int calls = 0;
  PassManagerOptions options;
  options.stop_after = "sort_graph";
  options.after_each = [&](const PassReport&, const ir::Graph&) { calls++; };
  EXPECT_EQ(run_passes(*graph, list, options).size(), 1u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(graph->node_count(), 3u);
}

TEST(PassManager, ErrorsNameThePass) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    %a = NoSuchOperator(%x)
    output %a
  })");
  const PassDef* list[] = {&pass_of("shape_inference")};
  const std::string m = message_of([&] { run_passes(*graph, list); });
  EXPECT_EQ(m.rfind("pass shape_inference: ", 0), 0u) << m;
}

void nothing(ir::Graph&, PassContext&) {}
const PassDef kFirst{.name = "first", .summary = "s", .run = nothing, .before = {"second"}};
const PassDef kSecond{.name = "second", .summary = "s", .run = nothing};
const PassDef kNeedsFirst{.name = "third", .summary = "s", .run = nothing, .depend = {"first"}};
const PassDef kHatesFirst{.name = "fourth", .summary = "s", .run = nothing, .against = {"first"}};

void check(std::vector<const PassDef*> list) { check_order(list); }

TEST(CheckOrder, AcceptsAndRefuses) {
  EXPECT_NO_THROW(check({&kFirst, &kSecond, &kNeedsFirst}));
  EXPECT_THROW(check({&kSecond, &kFirst}), Error);
  EXPECT_THROW(check({&kNeedsFirst, &kFirst}), Error);
  EXPECT_THROW(check({&kFirst, &kHatesFirst}), Error);
}

TEST(SortPasses, KeepsTheOrderThatTheUserGave) {
  const std::vector<std::string> names{"sort_graph", "eliminate_identity", "eliminate_deadend"};
  const auto sorted = sort_passes(names);
  ASSERT_EQ(sorted.size(), 3u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(sorted[i]->name, names[i]);
  const std::vector<std::string> wrong{"no_such_pass"};
  EXPECT_THROW(sort_passes(wrong), Error);
}

}  // namespace
}  // namespace poprt::passes
