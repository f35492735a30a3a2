// Indices into an axis whose size depends on data are valid up to that size, not up to its bound.
//
// Each random case compiles one operator twice: on tensors that Compress makes, whose sizes depend
// on data, and on tensors of exactly these sizes. Both must have the same results, and both must
// fail with the same message if an index is outside.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <random>

#include "core/compiler/flow/sized_support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// The shape and the values of output y, or the message of the run's failure.
std::string indexed_outcome(const Executable& e, const Values& feeds) {
  try {
    Shape shape;
    const std::vector<double> y = real_part(run(e, feeds), &shape);
    return fmt::format("{} {}", shape_string(shape), fmt::join(y, " "));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_range) << error.what();
    return error.what();
  }
}

Tensor indexed_tensor(DType type, const Shape& shape, const std::vector<double>& values) {
  Tensor t = Tensor::zeros(type, shape);
  for (size_t i = 0; i < values.size(); i++) {
    if (type == DType::f32) t.mutable_values<float>()[i] = static_cast<float>(values[i]);
    if (type == DType::s64) t.mutable_values<int64_t>()[i] = static_cast<int64_t>(values[i]);
    if (type == DType::s32) t.mutable_values<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return t;
}

// The places of t along the axis at which `kept` is true.
Tensor compressed_along(const Tensor& t, size_t axis, const std::vector<bool>& kept) {
  Shape shape = t.shape();
  const int64_t room = shape[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); d++) inner *= shape[d];
  shape[axis] = std::count(kept.begin(), kept.end(), true);
  std::vector<double> out;
  const std::vector<double> all = t.to_doubles();
  for (size_t i = 0; i < all.size(); i++)
    if (kept[static_cast<size_t>(static_cast<int64_t>(i) / inner % room)]) out.push_back(all[i]);
  return indexed_tensor(t.dtype(), shape, out);
}

Tensor kept_condition(const std::vector<bool>& kept) {
  Tensor t = Tensor::zeros(DType::boolean, {static_cast<int64_t>(kept.size())});
  for (size_t i = 0; i < kept.size(); i++) t.mutable_values<bool>()[i] = kept[i];
  return t;
}

// One operator on data x, indices and perhaps updates, of which Compress keeps some places.
struct IndexedCase {
  std::string op, attributes;
  Tensor x, at, updates;  // updates are undefined if the operator has none
  size_t x_axis = 0, at_axis = 0;
  std::vector<bool> x_kept, at_kept;  // empty: all places

  std::string node() const {
    return "%y : ? = " + op + "(%z, %i" + (updates.defined() ? ", %w" : "") + ") {" + attributes +
           "} \"picks\"\n";
  }

  std::string input(const char* name, const Tensor& t) const {
    return fmt::format("input %{} : {}[{}]\n", name, dtype_name(t.dtype()),
                       fmt::join(t.shape(), ","));
  }

  std::string sized_text() const {
    std::string text = input("x", x) + input("at", at);
    const auto keep = [&](const char* to, const char* from, const char* by, size_t axis,
                          bool some) {
      text += some ? fmt::format("%{} : ? = Compress(%{}, %{}) {{axis = {}}}\n", to, from, by, axis)
                   : fmt::format("%{} : ? = Identity(%{})\n", to, from);
    };
    if (!x_kept.empty()) text += fmt::format("input %c : bool[{}]\n", x_kept.size());
    if (!at_kept.empty()) text += fmt::format("input %d : bool[{}]\n", at_kept.size());
    if (updates.defined()) text += input("u", updates);
    keep("z", "x", "c", x_axis, !x_kept.empty());
    keep("i", "at", "d", at_axis, !at_kept.empty());
    if (updates.defined()) keep("w", "u", "d", at_axis, !at_kept.empty());
    return text + node() + "output %y\n";
  }
  Values sized_feeds() const {
    Values feeds = {{"x", x}, {"at", at}};
    if (!x_kept.empty()) feeds["c"] = kept_condition(x_kept);
    if (!at_kept.empty()) feeds["d"] = kept_condition(at_kept);
    if (updates.defined()) feeds["u"] = updates;
    return feeds;
  }
  Values exact_feeds() const {
    Values feeds = {{"z", x_kept.empty() ? x : compressed_along(x, x_axis, x_kept)},
                    {"i", at_kept.empty() ? at : compressed_along(at, at_axis, at_kept)}};
    if (updates.defined())
      feeds["w"] = at_kept.empty() ? updates : compressed_along(updates, at_axis, at_kept);
    return feeds;
  }
  std::string exact_text() const {
    std::string text;
    for (const auto& [name, t] : exact_feeds()) text += input(name.c_str(), t);
    return text + node() + "output %y\n";
  }
};

class IndexedDraw {
 public:
  explicit IndexedDraw(uint32_t seed) : rng_(seed) {}

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  std::vector<bool> kept(int64_t room) {
    std::vector<bool> out(static_cast<size_t>(room));
    const int64_t chance = between(0, 4);
    for (size_t i = 0; i < out.size(); i++) out[i] = between(0, 3) < chance;
    return out;
  }
  Shape shape(size_t rank) {
    Shape out;
    for (size_t d = 0; d < rank; d++) out.push_back(between(2, 4));
    return out;
  }

  // A case whose indices are inside, or of which one is outside the size that depends on data.
  IndexedCase next(const std::string& op) {
    IndexedCase c;
    c.op = op;
    const bool elements = op.ends_with("Elements"), tuples = op.ends_with("ND");
    const bool scatters = op.starts_with("Scatter");
    const auto rank = static_cast<size_t>(between(1, 3));
    const Shape x = shape(rank);
    c.x = floats(x, static_cast<uint32_t>(between(1, 1000)));
    const auto axis = static_cast<size_t>(between(0, static_cast<int64_t>(rank) - 1));
    const auto depth = static_cast<size_t>(between(1, static_cast<int64_t>(rank)));
    // Updates of ScatterND have the dimensions of x that the tuples do not address.
    const size_t axes = scatters ? depth : rank;
    c.x_axis = tuples ? static_cast<size_t>(between(0, static_cast<int64_t>(axes) - 1)) : axis;
    c.x_kept = kept(x[c.x_axis]);
    // An index is not read if the result is empty.
    if (tuples && c.x_axis >= depth) c.x_kept[0] = true;
    if (!tuples) c.attributes = fmt::format("axis = {}", axis);
    Shape at;
    if (elements) {
      for (const int64_t n : x) at.push_back(between(1, n));
    } else {
      at = shape(tuples ? 1 : static_cast<size_t>(between(0, 2)));
      if (tuples) at.push_back(static_cast<int64_t>(depth));
    }
    const size_t heads = tuples ? 1 : at.size();
    if (heads > 0 && between(0, 1) == 0 && !(tuples && c.x_axis >= depth)) {
      c.at_axis = static_cast<size_t>(between(0, static_cast<int64_t>(heads) - 1));
      c.at_kept = kept(at[c.at_axis]);
    }
    const auto size = std::count(c.x_kept.begin(), c.x_kept.end(), true);
    const bool addressed = !tuples || c.x_axis < depth;
    const size_t part = tuples ? std::min(c.x_axis, depth - 1) : 0;
    fill_indices(c, at, tuples ? depth : 1, part, addressed ? size : x[part]);
    if (!scatters) return c;
    Shape updates = at;
    if (tuples) {
      updates.pop_back();
      updates.insert(updates.end(), x.begin() + static_cast<std::ptrdiff_t>(depth), x.end());
    }
    c.updates = floats(updates, 5);
    c.attributes += std::string(c.attributes.empty() ? "" : ", ") + "reduction = \"add\"";
    return c;
  }

 private:
  // Fills tuples of `depth` numbers. Number `part` of each addresses `size` places.
  void fill_indices(IndexedCase& c, const Shape& at, size_t depth, size_t part, int64_t size) {
    const int64_t count = element_count(at), room = std::max(size, c.x.shape()[c.x_axis]);
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; i++) {
      const auto number = static_cast<size_t>(i) % depth;
      const int64_t n = number == part ? size : c.x.shape()[number];
      numbers.push_back(n == 0 ? 0 : static_cast<double>(between(-n, n - 1)));
    }
    if (between(0, 1) == 0 && count > 0) {
      auto where = static_cast<size_t>(between(0, count - 1));
      where += part - where % depth;
      const int64_t past = between(0, room - size + 1);
      numbers[where] = static_cast<double>(between(0, 1) == 0 ? size + past : -size - 1 - past);
    }
    c.at = indexed_tensor(between(0, 3) == 0 ? DType::s32 : DType::s64, at, numbers);
  }

  std::mt19937 rng_;
};

struct IndexedCounts {
  int inside = 0, outside = 0, empty = 0;
};

void expect_as_of_exact_sizes(const IndexedCase& c, IndexedCounts& counts, uint32_t seed) {
  Options zero;
  zero.zero_out_of_range = true;
  const std::string wanted = indexed_outcome(compile_body(c.exact_text()), c.exact_feeds());
  EXPECT_EQ(indexed_outcome(compile_body(c.sized_text()), c.sized_feeds()), wanted)
      << "seed " << seed << "\n"
      << c.sized_text();
  const std::string zeros = indexed_outcome(compile_body(c.exact_text(), zero), c.exact_feeds());
  EXPECT_EQ(indexed_outcome(compile_body(c.sized_text(), zero), c.sized_feeds()), zeros)
      << "with zeros, seed " << seed << "\n"
      << c.sized_text();
  const bool fails = wanted.find("is outside") != std::string::npos;
  if (fails) EXPECT_EQ(wanted.find("node 'picks': index "), 0u) << wanted;
  (fails ? counts.outside : counts.inside)++;
  counts.empty += std::count(c.x_kept.begin(), c.x_kept.end(), true) == 0;
}

class SizedIndices : public testing::TestWithParam<const char*> {};

TEST_P(SizedIndices, AreInsideTheSizeAndNotTheBound) {
  IndexedCounts counts;
  for (uint32_t seed = 1; seed <= 200; seed++)
    expect_as_of_exact_sizes(IndexedDraw(seed).next(GetParam()), counts, seed);
  EXPECT_GE(counts.inside, 60);
  EXPECT_GE(counts.outside, 40);
  EXPECT_GE(counts.empty, 20);
}

INSTANTIATE_TEST_SUITE_P(Operators, SizedIndices,
                         testing::Values("Gather", "GatherElements", "GatherND", "ScatterElements",
                                         "ScatterND"));

TEST(SizedIndices, ConstantsAreCheckedToo) {
  const Executable e = compile_body(R"(
    input %x : f32[5]
    input %c : bool[5]
    %z : ? = Compress(%x, %c) {axis = 0}
    const %at : s64[2] = [1, -1]
    %y : ? = Gather(%z, %at) "picks"
    output %y
  )");
  const auto of = [&](std::vector<bool> kept) {
    return indexed_outcome(
        e, {{"x", Tensor::of<float>({5}, {1, 2, 3, 4, 5})}, {"c", kept_condition(kept)}});
  };
  EXPECT_EQ(of({true, false, true, true, false}), "[2] 3 4");
  EXPECT_EQ(of({true, false, true, false, false}), "[2] 3 3");
  EXPECT_EQ(of({true, false, false, false, false}),
            "node 'picks': index 1 at place 0 is outside [-1, 0]");
  EXPECT_EQ(of({false, false, false, false, false}),
            "node 'picks': index 1 at place 0 is outside [0, -1]");
}

// Padding of the indices has no numbers that may be outside, even if there is no row.
TEST(SizedIndices, NoIndicesOfNoRowsAreValid) {
  for (const char* op :
       {"Gather(%z, %i)", "GatherElements(%z, %i)", "ScatterElements(%z, %i, %w)"}) {
    const Executable e = compile_body(std::string(R"(
      input %x : f32[3]
      input %k : s64[3]
      input %c : bool[3]
      input %t : s64[]
      %z : ? = Compress(%x, %c) {axis = 0}
      %j : ? = Compress(%k, %c) {axis = 0}
      %i : ? = Add(%j, %t)
      %w : ? = Neg(%z)
      %y : ? = )") + op + " \"picks\"\noutput %y\n");
    Values feeds = {{"x", Tensor::of<float>({3}, {1, 2, 3})},
                    {"k", Tensor::of<int64_t>({3}, {0, 0, 1})},
                    {"c", kept_condition({false, false, false})},
                    {"t", Tensor::scalar(int64_t{100})}};
    EXPECT_EQ(indexed_outcome(e, feeds), "[0] ") << op;
    feeds["c"] = kept_condition({true, false, true});
    EXPECT_EQ(indexed_outcome(e, feeds), "node 'picks': index 100 at place 0 is outside [-2, 1]")
        << op;
    feeds["t"] = Tensor::scalar(int64_t{0});
    EXPECT_EQ(indexed_outcome(e, feeds).substr(0, 4), "[2] ") << op;
  }
}

// A tensor without elements has no place for an index, also if its shape is static and the result
// does not depend on the indices.
TEST(SizedIndices, ScatterIntoAnEmptyTensorIsChecked) {
  const auto outcome = [](const std::string& op, const std::string& x, const std::string& w,
                          std::vector<bool> kept) {
    const Executable e = compile_body("input %x : f32" + x + "\ninput %v : f32" + w + R"(
      input %c : bool[4]
      const %k : s64[4] = [0, 1, 2, 3]
      const %down : s64[2] = [-1, 1]
      %i : ? = Compress(%k, %c) {axis = 0}
      %w : ? = Compress(%v, %c) {axis = 0}
      %p : ? = Reshape(%i, %down)
      %y : ? = )" + op + " \"puts\"\noutput %y\n");
    const auto floats = [](Shape shape) { return Tensor::zeros(DType::f32, std::move(shape)); };
    const auto shape = [](const std::string& text) {
      return text == "[0]" ? Shape{0} : text == "[4]" ? Shape{4} : Shape{text[1] - '0', 0};
    };
    return indexed_outcome(
        e, {{"x", floats(shape(x))}, {"v", floats(shape(w))}, {"c", kept_condition(kept)}});
  };
  const std::string at_first = "node 'puts': index 0 at place 0 is outside [0, -1]",
                    at_later = "node 'puts': index 3 at place 1 is outside [-3, 2]";
  const std::vector<bool> none(4, false), first = {true, false, false, false},
                                          two = {true, false, false, true},
                                          later = {false, true, true, false};
  for (const char* op : {"ScatterElements(%x, %i, %w)", "ScatterND(%x, %p, %w)",
                         "ScatterElements(%x, %i, %w) {reduction = \"add\"}",
                         "ScatterND(%x, %p, %w) {reduction = \"max\"}"}) {
    EXPECT_EQ(outcome(op, "[0]", "[4]", none), "[0] ") << op;
    EXPECT_EQ(outcome(op, "[0]", "[4]", first), at_first) << op;
    EXPECT_EQ(outcome(op, "[0]", "[4]", two), at_first) << op;
  }
  // Rows without elements have places.
  const char* rows = "ScatterND(%x, %p, %w)";
  EXPECT_EQ(outcome(rows, "[3,0]", "[4,0]", none), "[3,0] ");
  EXPECT_EQ(outcome(rows, "[3,0]", "[4,0]", later), "[3,0] ");
  EXPECT_EQ(outcome(rows, "[3,0]", "[4,0]", two), at_later);
}

TEST(SizedIndices, AreCheckedInTheBranchThatRunsAndInEachRound) {
  const std::string rows = R"(
    input %x : f32[4]
    input %c : bool[4]
    %z : ? = Compress(%x, %c) {axis = 0}
  )";
  const Executable branch = compile_body(rows + R"(
    input %p : bool[]
    input %at : s64[1]
    %y : ? = If(%p) {then_branch = graph "t" {
      %a : ? = Gather(%z, %at) "picks"
      output %a
    }, else_branch = graph "e" {
      %b : ? = Neg(%at)
      %f : ? = Cast(%b) {to = 1}
      output %f
    }}
    output %y
  )");
  Values feeds = {{"x", Tensor::of<float>({4}, {1, 2, 3, 4})},
                  {"c", kept_condition({false, true, true, false})},
                  {"p", Tensor::scalar(true)},
                  {"at", Tensor::of<int64_t>({1}, {2})}};
  const std::string failure = indexed_outcome(branch, feeds);
  EXPECT_NE(failure.find("picks': index 2 at place 0 is outside [-2, 1]"), std::string::npos)
      << failure;
  feeds["p"] = Tensor::scalar(false);
  EXPECT_EQ(indexed_outcome(branch, feeds), "[1] -2");
  const Executable loop = compile_body(rows + R"(
    input %m : s64[]
    input %s : f32[1]
    %y : ? = Loop(%m, _, %s) {body = graph "b" {
      input %i : s64[]
      input %k : bool[]
      input %v : f32[1]
      const %shape : s64[1] = [1]
      %at : ? = Reshape(%i, %shape)
      %p : ? = Gather(%z, %at) "picks"
      %n : ? = Add(%v, %p)
      output %k
      output %n
    }}
    output %y
  )");
  feeds.erase("p");
  feeds.erase("at");
  feeds["s"] = Tensor::of<float>({1}, {0});
  feeds["m"] = Tensor::scalar(int64_t{2});
  EXPECT_EQ(indexed_outcome(loop, feeds), "[1] 5");
  feeds["m"] = Tensor::scalar(int64_t{3});
  EXPECT_NE(indexed_outcome(loop, feeds).find("picks': index 2 at place 0 is outside [-2, 1]"),
            std::string::npos);
}

// GatherElements needs as many rows of the data as the indices have.
TEST(SizedIndices, GatherElementsNeedsTheRowsOfItsIndices) {
  const Executable e = compile_body(R"(
    input %x : f32[4,2]
    input %c : bool[4]
    input %at : s64[2,2]
    %z : ? = Compress(%x, %c) {axis = 0}
    %y : ? = GatherElements(%z, %at) {axis = 1} "picks"
    output %y
  )");
  Values feeds = {{"x", Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                  {"c", kept_condition({false, true, true, false})},
                  {"at", Tensor::of<int64_t>({2, 2}, {1, 0, -1, -1})}};
  EXPECT_EQ(indexed_outcome(e, feeds), "[2,2] 4 3 6 6");
  feeds["c"] = kept_condition({false, true, false, false});
  EXPECT_EQ(indexed_outcome(e, feeds),
            "node 'picks': number of rows 2 at place 0 is outside [0, 1]");
}

std::string top_of_kept(const std::string& k, const std::vector<bool>& kept, int64_t number = 0) {
  const Executable e = compile_body(R"(
    input %x : f32[4]
    input %c : bool[4]
    %z : ? = Compress(%x, %c) {axis = 0}
  )" + k + "%y : ?, %at : ? = TopK(%z, %k) \"best\"\noutput %y\n");
  Values feeds = {{"x", Tensor::of<float>({4}, {1, 7, 3, 5})}, {"c", kept_condition(kept)}};
  for (const program::Anchor& a : e.program.inputs)
    if (a.name == "n") feeds["n"] = Tensor::of<int64_t>({1}, {number});
  return indexed_outcome(e, feeds);
}

TEST(SizedIndices, TopKNeedsAsManyElementsAsItReturns) {
  const std::string constant = "const %k : s64[1] = [2]\n";
  EXPECT_EQ(top_of_kept(constant, {true, false, true, true}), "[2] 5 3");
  EXPECT_EQ(top_of_kept(constant, {true, false, true, false}), "[2] 3 1");
  EXPECT_EQ(top_of_kept(constant, {true, false, false, false}),
            "node 'best': k 2 at place 0 is outside [0, 1]");
}

TEST(SizedIndices, TopKTakesItsNumberAndItsElementsFromData) {
  const std::string given = "input %n : s64[1]\n%k : ? = Identity(%n)\n";
  const std::vector<bool> three = {true, false, true, true};
  EXPECT_EQ(top_of_kept(given, three, 0), "[0] ");
  EXPECT_EQ(top_of_kept(given, three, 2), "[2] 5 3");
  EXPECT_EQ(top_of_kept(given, three, 3), "[3] 5 3 1");
  EXPECT_EQ(top_of_kept(given, three, 4), "node 'best': k 4 at place 0 is outside [0, 3]");
  EXPECT_NE(top_of_kept(given, three, 5).find("node 'best': size 5 at place 0 is outside [0, 4]"),
            std::string::npos);
  const std::string least = kRows + ints("two", "2") + "%k : ? = Min(%n, %two)\n";
  EXPECT_EQ(top_of_kept(least, three), "[2] 5 3");
  EXPECT_EQ(top_of_kept(least, {false, true, false, false}), "[1] 7");
  EXPECT_EQ(top_of_kept(least, {false, false, false, false}), "[0] ");
  const std::string more = kRows + ints("one", "1") + "%k : ? = Add(%n, %one)\n";
  EXPECT_EQ(top_of_kept(more, three), "node 'best': k 4 at place 0 is outside [0, 3]");
}

// The size of the indices is that of another condition.
TEST(SizedIndices, GatherElementsOfMoreIndicesThanRowsFails) {
  const auto outcome = [](int axis, int64_t rows, int64_t indices) {
    const Executable e = compile_body(fmt::format(R"(
      input %x : f32[4,4]
      input %i : s64[4,4]
      input %c : bool[4]
      input %d : bool[4]
      %z : ? = Compress(%x, %c) {{axis = 0}}
      %at : ? = Compress(%i, %d) {{axis = {}}}
      %y : ? = GatherElements(%z, %at) {{axis = 1}} "picks"
      output %y
    )",
                                                  axis));
    Tensor x = Tensor::zeros(DType::f32, {4, 4});
    for (size_t i = 0; i < 16; i++) x.mutable_values<float>()[i] = static_cast<float>(i);
    std::vector<bool> c, d;
    for (int64_t i = 0; i < 4; i++) c.push_back(i < rows), d.push_back(i < indices);
    return indexed_outcome(e, {{"x", x},
                               {"i", Tensor::zeros(DType::s64, {4, 4})},
                               {"c", kept_condition(c)},
                               {"d", kept_condition(d)}});
  };
  EXPECT_EQ(outcome(0, 2, 1), "[1,4] 0 0 0 0");
  EXPECT_EQ(outcome(0, 2, 2), "[2,4] 0 0 0 0 4 4 4 4");
  EXPECT_EQ(outcome(0, 2, 3), "node 'picks': number of rows 3 at place 0 is outside [0, 2]");
  EXPECT_EQ(outcome(1, 4, 1), "[4,1] 0 4 8 12");
  EXPECT_EQ(outcome(1, 3, 1), "node 'picks': number of rows 4 at place 0 is outside [0, 3]");
}

}  // namespace
}  // namespace poprt::compiler
