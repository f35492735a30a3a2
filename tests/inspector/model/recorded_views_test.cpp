// Compares the output of the inspector's models for a few files with records: pictures, tables,
// search, history and differences. If a place, a row or a number changes, a line of the record is
// lost or new.
//
//   POPRT_WRITE_RECORDS=1 test_inspector_model --gtest_filter='RecordedViews.*'   # read the diff
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "inspector/sample_files.h"
#include "model/diff.h"
#include "model/document.h"
#include "model/graph_layout.h"
#include "model/graph_query.h"
#include "model/graph_svg.h"
#include "model/report.h"
#include "support/recorded_lines.h"

namespace poprt::inspector {
namespace {

// Groups in groups, weights that are computed, an edge over several layers, a value with many
// readers, branches, a long name, omitted inputs and unused outputs.
constexpr const char* kNested = R"(graph "nested" opset {"": 17} {
  input %x : f32[2,3,8,8]
  input %c : bool[]
  const %k : f32[4,3,3,3] = fill 0.5
  const %k2 : f32[4,4,1,1] = fill 0.25
  const %bias : f32[4] = [0.5, -1.0, 2.0, 4.0]
  const %low : f32[] = -1.0
  const %rows : s64[2] = [8, -1]
  const %three : s64[1] = [3]
  %scaled : f32[4] = Mul(%bias, %bias) "/head/scale/Mul"
  %a : f32[2,4,8,8] = Conv(%x, %k, %scaled) {pads = [1, 1, 1, 1]} "/stage.0/block/conv"
  %b : f32[2,4,8,8] = Clip(%a, %low, _) "/stage.0/block/clip"
  %d : f32[2,4,8,8] = Conv(%b, %k2) "/stage.0/project"
  %e : f32[2,4,8,8] = Add(%b, %d) "/stage.0/sum"
  %f : f32[2,4,8,8] = Sigmoid(%e) "/stage.1/gate"
  %g : f32[2,4,8,8] = Mul(%e, %f) "/stage.1/a name that is much longer than what fits on a card of the window"
  %h : f32[2,4,8,8] = If(%c) {else_branch = graph "e" { %n : f32[2,4,8,8] = Neg(%g) output %n }, then_branch = graph "t" { %m : f32[2,4,8,8] = Abs(%a) %o : f32[2,4,8,8] = Exp(%m) output %o }} "choose"
  %i : f32[8,64] = Reshape(%h, %rows) "/head/flat"
  %p : f32[8,3], %q : s64[8,3] = TopK(%i, %three) "/head/best"
  %unread : f32[8,64] = Neg(%i) "/head/unread"
  output %p
  output %q
  output %e
}
)";

class RecordedViews : public testing::Test {
 protected:
  Document load(const std::string& name, const std::string& bytes) {
    Progress progress;
    return load_document(folder.write(name, bytes), progress);
  }
  // Numbers the lines, so that the set keeps their order.
  static void put(std::set<std::string>& lines, const std::string& line) {
    lines.insert(fmt::format("{:03} {}", lines.size(), line));
  }
  static void put_text(std::set<std::string>& lines, std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      put(lines, std::string(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  static void expect(const test::RecordedLines& found, const std::string& name) {
    test::expect_recorded(found, POPRT_TEST_DATA "/inspector_" + name + ".txt",
                          "What the inspector's models show: recorded_views_test.cpp.");
  }
  SampleFolder folder{"recorded"};
};

std::string name_of(const GraphModel& g, int node, int group) {
  return node != kNone ? g.node(node).name : "[" + g.group(group).path + "]";
}

void put_scene(const GraphModel& g, const Scene& s, const std::function<void(std::string)>& put) {
  put(fmt::format("size {:.1f} {:.1f}", s.width, s.height));
  for (const SceneBox& b : s.boxes)
    put(fmt::format("box {}{} at {:.1f} {:.1f}, {:.1f} x {:.1f}", name_of(g, b.node, b.group),
                    b.open ? " open" : "", b.area.x, b.area.y, b.area.width, b.area.height));
  for (const SceneRoute& r : s.routes) {
    std::string points;
    for (const Point& p : r.points) points += fmt::format(" {:.1f},{:.1f}", p.x, p.y);
    put(fmt::format("route {} from {} to {}{}{} area {:.1f} {:.1f} {:.1f} {:.1f}:{}",
                    g.value(r.value).name, g.node(r.from).name, g.node(r.to).name,
                    r.arrow ? " arrow" : "", r.enters ? " enters" : "", r.area.x, r.area.y,
                    r.area.width, r.area.height, points));
  }
}

// Every set of groups that a user may open: none, each depth, each group with those around it.
TEST_F(RecordedViews, ScenesAndPictures) {
  const Document d = load("nested.ir", kNested);
  ASSERT_EQ(d.error, "");
  const GraphModel& g = *d.graph;
  GraphLayout layout(d.graph);
  std::map<std::string, std::set<int>> opened = {{"nothing open", {}},
                                                 {"all open", layout.all_groups()}};
  for (const size_t most : {size_t{10}, size_t{14}, size_t{17}, size_t{22}, size_t{40}})
    opened[fmt::format("at most {} boxes", most)] = layout.groups_within(most);
  for (size_t i = 1; i < g.groups().size(); i++) {
    auto& open = opened["open: " + g.groups()[i].path];
    for (int at = static_cast<int>(i); at != kRoot; at = g.group(at).parent) open.insert(at);
  }
  test::RecordedLines found;
  for (const auto& [name, open] : opened) {
    const auto scene = layout.scene(open);
    put_scene(g, *scene, [&, &lines = found[name]](const std::string& line) { put(lines, line); });
    EXPECT_EQ(layout.scene(open)->boxes.size(), scene->boxes.size()) << "the same from the cache";
  }
  put_text(found["picture, all open"], graph_svg(g, *layout.scene(layout.all_groups())));
  put_text(found["picture, coloured"], graph_svg(g, *layout.scene({}), [](int node) {
             return 0x102030u * static_cast<uint32_t>(node % 8);
           }));
  test::expect_digests(found, POPRT_TEST_DATA "/inspector_scenes.txt",
                       "Boxes and routes of graphs: recorded_views_test.cpp.");
}

TEST_F(RecordedViews, GraphsAndQuestionsToThem) {
  const Document d = load("nested.ir", kNested);
  ASSERT_EQ(d.error, "");
  const GraphModel& g = *d.graph;
  test::RecordedLines found;
  for (const GraphNode& n : g.nodes()) {
    std::string attributes;
    for (const auto& [key, value] : n.attributes) attributes += " " + key + "=" + value;
    put(found["nodes"],
        fmt::format("{} '{}' detail '{}' in {}, reads {} makes {}, weights {}, results {}{}", n.op,
                    n.name, n.detail, g.group(n.group).path, n.inputs, n.outputs, n.weight_bytes,
                    n.output_bytes, attributes));
  }
  for (const GraphValue& v : g.values())
    put(found["values"],
        fmt::format("{} {} {} bytes by {} for {}{}", v.name, v.type, v.bytes, v.producer,
                    v.consumers, v.constant.defined() ? " constant" : ""));
  for (const GraphGroup& group : g.groups())
    put(found["groups"],
        fmt::format("'{}' path '{}'{} parent {} depth {} nodes {} groups {} all {} weights {}",
                    group.name, group.path, group.is_subgraph ? " subgraph" : "", group.parent,
                    group.depth, group.nodes, group.groups, group.all_nodes, group.weight_bytes));
  for (size_t i = 0; i < g.nodes().size(); i++) {
    const int n = static_cast<int>(i);
    put(found["neighbours"],
        fmt::format("{}: before {} after {} at most two away {}", n, g.predecessors(n),
                    g.successors(n), neighbourhood(g, n, 2)));
    for (const int to : {0, 5, static_cast<int>(g.nodes().size()) - 1})
      put(found["paths"], fmt::format("{} to {}: {}", n, to, path_between(g, n, to)));
  }
  for (const char* words :
       {"op:conv", "conv", "name:head", "in:2x4x8x8", "out:8x3", "weight:4x*", "shape:8x64",
        "attr:pads", "attr:pads=[1", "dtype:s64", "op:conv weight:*x3x3x3", "x", "?", "op:"})
    put(found["search"], fmt::format("{}: {}", words, search_nodes(g, words)));
  for (const size_t most : {size_t{0}, size_t{1}, size_t{9}})
    put(found["largest weights"], fmt::format("{}: {}", most, largest_weights(g, most)));
  for (const auto& [op, count] : g.operator_counts())
    put(found["operators"], fmt::format("{} {}", op, count));
  put(found["edges"], std::to_string(g.edge_count()));
  expect(found, "graph");
}

TEST_F(RecordedViews, TablesOfDocuments) {
  test::RecordedLines found;
  const Document graph = load("nested.ir", kNested), file = load("m.popef", sample_popef());
  for (const Document* d : {&graph, &file})
    for (const std::string& view : views_of(*d)) {
      // These views depend on passes and the compiler, which may change.
      if (view == "program" || view == "memory" || view == "passes" || view == "blobs") continue;
      for (const Table& t : report(*d, view, {}, nullptr)) {
        const bool sizes = view == "summary" && d == &file;
        if (!sizes) put_text(found[d->title() + " " + t.name], table_text(t));
        if (!sizes) put_text(found[d->title() + " " + t.name + " for spreadsheets"], table_tsv(t));
      }
    }
  ReportOptions some;
  some.filter = "stage";
  some.most = 3;
  put_text(found["three rows with a word"], tables_json(report(graph, "all", some, nullptr)));
  for (const char* node : {"/head/best", "/stage.0/block/conv", "x", "e"}) {
    ReportOptions one;
    one.node = node;
    for (const Table& t : report(graph, "graph", one, nullptr))
      put_text(found[std::string("node ") + node], table_text(t));
  }
  expect(found, "tables");
}

// A program that is built by hand, so that it does not depend on passes and plans.
TEST_F(RecordedViews, ProgramsAndTheirMemory) {
  program::Program p;
  p.kernels = {"gemm", "relu", "copy"};
  p.arena_bytes = 448;
  p.weights_bytes = 96;
  p.inputs.push_back({"x", DType::f32, {4, 4}});
  p.outputs.push_back({"y", DType::f32, {4, 4}});
  const auto buffer = [&](program::Space space, uint64_t offset, uint64_t bytes, Shape shape) {
    p.buffers.push_back({space, 0, offset, bytes, DType::f32, std::move(shape)});
    return static_cast<uint32_t>(p.buffers.size() - 1);
  };
  using enum program::Space;
  const uint32_t in = buffer(input, 0, 64, {4, 4}), w = buffer(weights, 32, 64, {4, 4}),
                 out = buffer(output, 0, 64, {4, 4}), a = buffer(arena, 0, 64, {4, 4}),
                 b = buffer(arena, 64, 128, {2, 4, 4}), half = buffer(arena, 128, 64, {4, 4}),
                 c = buffer(arena, 0, 64, {16}), state = buffer(arena, 384, 64, {16});
  p.load = {{2, {w, state}, {}, {}, "keep"}};
  p.main = {{0, {in, w, a}, {}, {}, "product"},
            {1, {a, b}, {}, {}, "wide"},
            {1, {half, c}, {}, {}, "half of it"},
            {0, {c, state, program::kNoBuffer}, {}, {}, "sum"},
            {2, {state, out}, {}, {}, "result"}};
  const ProgramModel m(p);
  test::RecordedLines found;
  for (const InstructionRow& r : m.instructions()) {
    std::string operands;
    for (const OperandRow& o : r.operands)
      operands += fmt::format(" [{} {} {}+{} {}]", o.buffer, o.space, o.offset, o.bytes, o.type);
    put(found["instructions"], fmt::format("{} {} {} '{}' depth {} weights {}:{}", r.flow, r.index,
                                           r.kernel, r.name, r.depth, r.weight_bytes, operands));
  }
  for (size_t i = 0; i < m.intervals().size(); i++) {
    const ArenaInterval& v = m.intervals()[i];
    put(found["memory"],
        fmt::format("{}+{} from {} to {} of {} by '{}', shares with {}", v.offset, v.bytes, v.first,
                    v.last, v.buffers, v.name, m.sharing_with(i)));
  }
  for (size_t i = 0; i < m.live_bytes().size(); i++)
    put(found["alive"],
        fmt::format("{}: {} bytes, {}", i, m.live_bytes()[i], m.alive_at(static_cast<int>(i))));
  put(found["peak"], std::to_string(m.peak()));
  for (const char* filter : {"", "RELU", "o", "result", "none"})
    put(found["rows"], fmt::format("'{}': {}", filter, m.rows(filter)));
  for (const auto& [kernel, count] : m.kernel_counts())
    put(found["kernels"], fmt::format("{} {}", kernel, count));
  expect(found, "program");
}

TEST_F(RecordedViews, DifferencesOfDocuments) {
  const auto replaced = [](std::string text, std::string_view what, std::string_view by) {
    const size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return text.replace(at, what.size(), by);
  };
  const std::string whole = kNested;
  const std::vector<std::pair<std::string, std::string>> others = {
      {"the same", whole},
      {"a weight", replaced(whole, "fill 0.25", "fill 0.5")},
      {"an attribute",
       replaced(whole, "[1, 1, 1, 1]} \"/stage.0", "[1, 1, 1, 1], group = 1} \"/stage.0")},
      {"an operator", replaced(whole, "Sigmoid(%e)", "Tanh(%e)")},
      {"a name", replaced(whole, "/stage.0/sum", "/stage.0/plus")},
      {"an input of a node", replaced(whole, "Add(%b, %d)", "Add(%a, %d)")},
      {"an output less", replaced(whole, "  output %e\n", "")},
      {"a node less", replaced(whole, "  %unread : f32[8,64] = Neg(%i) \"/head/unread\"\n", "")},
      {"an opset", replaced(whole, "{\"\": 17}", "{\"\": 18}")}};
  const Document left = load("nested.ir", whole);
  test::RecordedLines found;
  for (const auto& [name, text] : others) {
    const Document right = load("other.ir", text);
    ASSERT_EQ(right.error, "") << name;
    Progress progress;
    const DocumentDiff diff = diff_documents(left, right, progress);
    auto& lines = found[name];
    put_text(lines, table_text(diff_table(diff)));
    put(lines, fmt::format("{} added, {} changed, {} removed", diff.graph.added, diff.graph.changed,
                           diff.graph.removed.size()));
    for (const DiffRow& r : diff.rows)
      put(lines, fmt::format("nodes {} and {}", r.left_node, r.right_node));
  }
  expect(found, "differences");
}

// Boxes are inside their group and do not overlap, and routes begin and end at borders, for any
// open groups.
TEST_F(RecordedViews, PartsOfAnyOpenSetFitTogether) {
  const Document d = load("nested.ir", kNested);
  ASSERT_EQ(d.error, "");
  const GraphModel& g = *d.graph;
  GraphLayout layout(d.graph);
  const int groups = static_cast<int>(g.groups().size());
  for (int bits = 0; bits < 1 << (groups - 1); bits++) {
    std::set<int> open;
    for (int i = 1; i < groups; i++)
      if (bits >> (i - 1) & 1) open.insert(i);
    const auto scene = layout.scene(open);
    const auto parent_of = [&](const SceneBox& b) {
      return b.node != kNone ? g.node(b.node).group : g.group(b.group).parent;
    };
    for (size_t i = 0; i < scene->boxes.size(); i++) {
      const SceneBox& a = scene->boxes[i];
      Rect around{0, 0, scene->width, scene->height};
      if (parent_of(a) != kRoot) around = scene->boxes[scene->box_of_group.at(parent_of(a))].area;
      ASSERT_TRUE(a.area.x > around.x && a.area.right() < around.right() && a.area.y > around.y &&
                  a.area.bottom() < around.bottom())
          << name_of(g, a.node, a.group);
      for (size_t k = 0; k < i; k++) {
        const SceneBox& b = scene->boxes[k];
        if (parent_of(a) == parent_of(b)) {
          ASSERT_FALSE(a.area.meets(b.area))
              << name_of(g, a.node, a.group) << " on " << name_of(g, b.node, b.group);
        }
      }
    }
    for (const SceneRoute& r : scene->routes) {
      ASSERT_GE(r.points.size(), 2u);
      for (const Point& p : r.points) ASSERT_TRUE(r.area.contains(p)) << g.value(r.value).name;
      // A route that closes a cycle between closed groups begins at a top border and ends at a
      // bottom border.
      const SceneBox* last = scene->find(g, r.to);
      if (!r.arrow || !last) continue;
      const double y = r.points.back().y;
      ASSERT_TRUE(std::fabs(y - last->area.y) < 1e-6 || std::fabs(y - last->area.bottom()) < 1e-6)
          << g.value(r.value).name;
      ASSERT_TRUE(r.points.back().x >= last->area.x && r.points.back().x <= last->area.right());
    }
  }
}

}  // namespace
}  // namespace poprt::inspector
