// Makes valid random graphs, equal for equal seeds, and checks that the compiler preserves their
// results.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/random_graph/choices.h"
#include "support/random_graph/reference.h"

namespace poprt::test {

struct RandomGraph {
  std::unique_ptr<ir::Graph> graph;
  Feeds feeds;
};

// The kinds of graphs: "mixed", "elementwise", "movement", "reduction", "convolution",
// "transformer", "quantized", "control" and "sizes" (sizes that depend on data).
std::span<const std::string_view> profiles();
RandomGraph random_graph(std::string_view profile, Choices& choices);

// Converts, compiles and runs the graph with every default pass and compares with its nodes alone.
// Returns an empty string, or one line that describes the failure. Exceptions other than
// poprt::Error pass.
std::string check_graph(const RandomGraph& g);

// Checks that the results of the graph have the same bits in all forms as when it is compiled
// alone: written to a file and read; as one of two fused models, or one of two shapes; on two and
// three IPUs, one after the other and as a pipeline. `halves`: it is first converted to fp16.
// Returns an empty string, or one line that describes the difference. Counts the compared forms: a
// graph that cannot be cut has fewer.
struct ComparedForms {
  int files = 0, linked = 0, on_several_ipus = 0;
};
std::string check_forms(const RandomGraph& g, bool halves, ComparedForms& compared);

// A smaller graph for which `fails` holds, too.
RandomGraph reduced(const RandomGraph& g, const std::function<bool(const RandomGraph&)>& fails);

RandomGraph copy_of(const RandomGraph& g);
// The graph as text, with the feeds as comments.
std::string describe(const RandomGraph& g);

}  // namespace poprt::test
