#include "passes/common/chains.h"

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// The names of the nodes that a text of chains selects, in the order of the graph, or the message.
std::string named(const std::string& chains) {
  const auto graph = parsed(R"(
    input %x : f32[2,4]
    %a = Relu(%x) "r1"
    %b = Neg(%a) "n1"
    %c = Neg(%x) "n2"
    %d = Add(%b, %c) "add"
    %e = Relu(%d) "r2"
    %f, %g = Split(%e) {axis = 1} "cut"
    %h = Abs(%g) "abs"
    output %f
    output %h
  )");
  try {
    const auto found = passes::nodes_of_chains(*graph, "head_pattern", chains);
    std::string names;
    for (const ir::Node* n : graph->nodes())
      if (found.contains(n)) names += (names.empty() ? "" : " ") + n->name;
    return names;
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Chains, SelectNodesByTheirProducers) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"Abs:0", "abs"},
      {"Relu:0", "r1 r2"},
      {"s:0->Relu:1->e:2", "r1 r2"},
      {"Relu:0->Neg:1", "r1 n1"},
      {"Relu:0->Split:1->Abs:2", "r2 cut abs"},
      {" [ 's:0 -> Relu : a -> Neg:b' ] ", "r1 n1"},
      {"\"Neg:0->Add:1\"", "n1 n2 add"},
      // Keys distinguish nodes; the same key in two chains is one node.
      {"Neg:a->Add:c,Neg:b->Add:c", "n1 n2 add"},
      {"Relu:r->Neg:a,Neg:a->Add:c", "r1 n1 add"},
      {"Neg:a->Add:c,Relu:r->Neg:a", "r1 n1 add"},
      {"Add:c->Relu:a,Relu:b->Neg:d", "r1 n1 add r2"},
      {"Relu:a->Neg:b->Add:c->Relu:d->Split:e->Abs:f", "r1 n1 add r2 cut abs"},
      {"Relu:a,Relu:b", "r1 r2"},
  };
  for (const auto& [chains, nodes] : rows) EXPECT_EQ(named(chains), nodes) << chains;
}

TEST(Chains, RefuseInvalidAndUnmatchedChains) {
  const auto bad = [](std::string_view element, std::string_view chain) {
    return fmt::format(
        "head_pattern: expected OpType:key joined by ->, s:key at the start and e:key at the end, "
        "found '{}' in '{}'",
        element, chain);
  };
  const auto missing = [](std::string_view chains) {
    return fmt::format("head_pattern: no nodes of the model match '{}'", chains);
  };
  for (const char* chains : {"Conv:0", "Neg:0->Relu:1", "Relu:a->Add:b", "Relu:a,Relu:b,Relu:c",
                             "Neg:a->Add:c,Relu:r->Neg:a,Relu:r->Add:c", "Add:a->Relu:b->Neg:c",
                             "Relu:a->Neg:b,Add:c->Neg:b"})
    EXPECT_EQ(named(chains), missing(chains));
  EXPECT_EQ(named("Relu"), bad("Relu", "Relu"));
  EXPECT_EQ(named(":a"), bad(":a", ":a"));
  EXPECT_EQ(named("Relu:"), bad("Relu:", "Relu:"));
  EXPECT_EQ(named("Relu:a->"), bad("Relu:a", "Relu:a->"));
  EXPECT_EQ(named("Relu:a->->Neg:b"), bad("", "Relu:a->->Neg:b"));
  EXPECT_EQ(named("Relu:a->s:b"), bad("s:b", "Relu:a->s:b"));
  EXPECT_EQ(named("e:a->Relu:b"), bad("e:a", "e:a->Relu:b"));
  EXPECT_EQ(named("Relu:a,Neg:a"), bad("Neg:a", "Neg:a"));
  EXPECT_EQ(named("Relu:a,,Neg:b"), "head_pattern: a chain of 'Relu:a,,Neg:b' is empty");
  EXPECT_EQ(named("['']"), "head_pattern: a chain of '['']' is empty");
  EXPECT_EQ(named("s:0->e:1"), "head_pattern: 's:0->e:1' contains no operator");
}

}  // namespace
}  // namespace poprt::test
