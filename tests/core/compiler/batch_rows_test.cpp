// Networks with a batch: the rows of several requests share one batch, at any places and next to
// rows of NaN. Each request has the results that it has without the others, or the note names the
// reason why rows are not separate.
#include "compiler/batch_rows.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "compiler/driver.h"
#include "core/compiler/flow/support.h"
#include "ir/text.h"
#include "plugins/registration.h"
#include "program/batch_rows.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

constexpr int64_t kBatchOfFive = 5;

struct Batched {
  const char* name;
  const char* mixed;  // part of the reason; null: the rows are separate
  const char* body;   // of rows B
  size_t axis = 0;
};

// Weights that several of the networks have.
constexpr const char* kRowWeights = R"(
  const %w : f32[4,4] = [0.5, -1, 0.25, 2, 1, 0.75, -0.5, 0.1, 0.3, -0.2, 1.5, 1, -1, 0.6, 0.4, 0.9]
  const %zero : s64[] = 0
  const %one : s64[] = 1
  const %first : s64[1] = [0]
)";

const Batched kBatched[] = {
    {"a perceptron", nullptr,
     "input %x : f32[B,4]\n%h = MatMul(%x, %w)\n%y = Relu(%h)\noutput %y\n"},
    {"softmax over classes", nullptr,
     "input %x : f32[B,4]\n%h = MatMul(%x, %w)\n%y = Softmax(%h) {axis = 1}\noutput %y\n"},
    {"a computed shape", nullptr,
     "input %x : f32[B,4]\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n%u = Unsqueeze(%n, %first)\n"
     "const %r : s64[2] = [2, 2]\n%p = Concat(%u, %r) {axis = 0}\n%y = Reshape(%x, %p)\noutput "
     "%y\n"},
    {"layer normalisation", nullptr,
     "input %x : f32[B,3,4]\n const %g : f32[4] = [1, 2, 0.5, 1]\n"
     "%y = LayerNormalization(%x, %g) {axis = -1}\noutput %y\n"},
    {"heads of a constant number", nullptr,
     "input %x : f32[B,4]\n const %s : s64[3] = [-1, 2, 2]\n%r = Reshape(%x, %s)\n"
     "%p = Softmax(%r) {axis = 2}\n const %t : s64[2] = [0, 4]\n%y = Reshape(%p, %t)\n"
     "output %y\n"},
    {"classes up to an end", nullptr,
     "input %x : f32[B,9]\n const %e : s64[1] = [5]\n const %a : s64[1] = [1]\n"
     "%y = Slice(%x, %first, %e, %a)\noutput %y\n"},
    {"instance normalisation", nullptr,
     "input %x : f32[B,2,6]\n const %g : f32[2] = [1, 2]\n"
     "%y = InstanceNormalization(%x, %g, %g)\noutput %y\n"},
    {"batch normalisation", nullptr,
     "input %x : f32[B,2,3]\n const %a : f32[2] = [1, 2]\n const %b : f32[2] = [0, 1]\n"
     "%y = BatchNormalization(%x, %a, %b, %b, %a)\noutput %y\n"},
    {"a convolution", nullptr,
     "input %x : f32[B,1,5,5]\n const %k : f32[2,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, "
     "5, 4, 3, 2, 1]\n%y = Conv(%x, %k)\noutput %y\n"},
    {"pooling and resizing", nullptr,
     "input %x : f32[B,1,4,4]\n const %s : f32[4] = [1, 1, 2, 2]\n"
     "%p = MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]}\n"
     "%y = Resize(%p, _, %s) {mode = \"linear\"}\noutput %y\n"},
    {"a table", nullptr, "input %i : s64[B,3]\n%y = Gather(%w, %i) {axis = 0}\noutput %y\n"},
    {"the largest class", nullptr,
     "input %x : f32[B,4]\n%y = ArgMax(%x) {axis = 1, keepdims = 0}\noutput %y\n"},
    {"mean over time", nullptr,
     "input %x : f32[B,3,4]\n%y = ReduceMean(%x) {axes = [1], keepdims = 0}\noutput %y\n"},
    {"attention without a mask", nullptr,
     "input %x : f32[B,3,4]\n%q = MatMul(%x, %w)\n%t = Transpose(%x) {perm = [0, 2, 1]}\n"
     "%s = MatMul(%q, %t)\n%p = Softmax(%s) {axis = -1}\n%y = MatMul(%p, %x)\noutput %y\n"},
    {"attention with heads", nullptr,
     "input %x : f32[B,3,4]\n const %h : s64[4] = [0, 0, 2, 2]\n%r = Reshape(%x, %h)\n"
     "%q = Transpose(%r) {perm = [0, 2, 1, 3]}\n%k = Transpose(%r) {perm = [0, 2, 3, 1]}\n"
     "%s = MatMul(%q, %k)\n%p = Softmax(%s) {axis = -1}\n%c = MatMul(%p, %q)\n"
     "%b = Transpose(%c) {perm = [0, 2, 1, 3]}\n const %f : s64[3] = [0, 0, 4]\n"
     "%y = Reshape(%b, %f)\noutput %y\n"},
    {"attention with a mask", nullptr,
     "input %x : f32[B,3,4]\ninput %m : f32[B,3]\n%t = Transpose(%x) {perm = [0, 2, 1]}\n"
     "%c = MatMul(%x, %t)\n const %row : s64[1] = [1]\n%a = Unsqueeze(%m, %row)\n%d = Add(%c, %a)\n"
     "%r = Softmax(%d) {axis = -1}\n%y = MatMul(%r, %x)\noutput %y\n"},
    {"a decoder with a cache", nullptr,
     "input %c : f32[B,3,4]\ninput %x : f32[B,1,4]\n%k = Concat(%c, %x) {axis = 1}\n"
     "%t = Transpose(%k) {perm = [0, 2, 1]}\n%s = MatMul(%x, %t)\n%p = Softmax(%s) {axis = -1}\n"
     "%y = MatMul(%p, %k)\noutput %y\noutput %k\n"},
    {"tokens as rows of a matrix", nullptr,
     "input %x : f32[B,3,4]\n const %r : s64[2] = [-1, 4]\n%z = Reshape(%x, %r)\n"
     "%h = MatMul(%z, %w)\n const %f : s64[3] = [-1, 3, 4]\n%y = Reshape(%h, %f)\noutput %y\n"},
    {"tokens as rows of a result", nullptr,
     "input %x : f32[B,3,4]\n const %r : s64[2] = [-1, 4]\n%y = Reshape(%x, %r)\noutput %y\n"},
    {"a recurrent cell", nullptr,
     "input %x : f32[3,B,4]\n const %a : f32[1,2,4] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
     "const %r : f32[1,2,2] = [0.5, 0.25, -0.5, 1]\n%y, %h = RNN(%x, %a, %r) {hidden_size = 2}\n"
     "output %h\n",
     1},
    {"a token for each sample", nullptr,
     "input %x : f32[B,3,4]\n const %c : f32[1,1,4] = [1, 2, 3, 4]\n%s = Shape(%x)\n"
     "%n = Gather(%s, %first)\n const %r : s64[2] = [1, 4]\n%p = Concat(%n, %r) {axis = 0}\n"
     "%e = Expand(%c, %p)\n%y = Concat(%e, %x) {axis = 1}\noutput %y\n"},
    {"a state of zeros", nullptr,
     "input %x : f32[B,4]\n%s = Shape(%x)\n"
     "%z = ConstantOfShape(%s) {value = f32[1] [0.5]}\n%y = Add(%x, %z)\noutput %y\n"},
    {"positions of tokens", nullptr,
     "input %x : f32[B,3,4]\n const %p : f32[1,3,1] = [1, 2, 3]\n%y = Add(%x, %p)\noutput %y\n"},
    {"products of two inputs", nullptr,
     "input %a : f32[B,4]\ninput %b : f32[B,1]\n%y = Mul(%a, %b)\noutput %y\n"},
    {"softmax over the batch", "Softmax",
     "input %x : f32[B,4]\n%y = Softmax(%x) {axis = 0}\noutput %y\n"},
    {"a mean of the batch", "combines",
     "input %x : f32[B,4]\n%m = ReduceMean(%x) {axes = [0], keepdims = 1}\n%y = Sub(%x, %m)\n"
     "output %y\n"},
    {"a sum of the batch", "combines",
     "input %x : f32[B,4]\n%y = ReduceSum(%x) {keepdims = 0}\noutput %y\n"},
    {"the number of the row", "differs from row to row",
     "input %x : f32[B,4]\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n%p = Range(%zero, %n, %one)\n"
     "%q = Cast(%p) {to = 1}\n const %a : s64[1] = [1]\n%r = Unsqueeze(%q, %a)\n%y = Add(%x, %r)\n"
     "output %y\n"},
    {"running sums", "CumSum", "input %x : f32[B,4]\n%y = CumSum(%x, %zero)\noutput %y\n"},
    {"values that are scaled by the batch", "size",
     "input %x : f32[B,4]\n%s = Shape(%x)\n%l = Gather(%s, %zero)\n%n = Cast(%l) {to = 1}\n"
     "%y = Mul(%x, %n)\noutput %y\n"},
    {"the first sample", "Gather",
     "input %x : f32[B,4]\n%y = Gather(%x, %zero) {axis = 0}\noutput %y\n"},
    {"a scale for the whole batch", "DynamicQuantizeLinear",
     "input %x : f32[B,4]\n%q, %s, %z = DynamicQuantizeLinear(%x)\n"
     "%y = DequantizeLinear(%q, %s, %z)\noutput %y\n"},
    {"products of all pairs", "rows",
     "input %x : f32[B,4]\n%t = Transpose(%x) {perm = [1, 0]}\n%y = MatMul(%x, %t)\noutput %y\n"},
    {"sums of all pairs", "rows",
     "input %x : f32[B,4]\n const %a : s64[1] = [1]\n%u = Unsqueeze(%x, %a)\n%y = Add(%x, %u)\n"
     "output %y\n"},
    {"the best samples", "TopK",
     "input %x : f32[B,4]\n const %k : s64[1] = [2]\n%y, %i = TopK(%x, %k) {axis = 0}\noutput "
     "%y\n"},
    {"samples in reverse", "Slice",
     "input %x : f32[B,4]\n const %a : s64[1] = [-1]\n const %b : s64[1] = [-1000]\n"
     "const %c : s64[1] = [0]\n%y = Slice(%x, %a, %b, %c, %a)\noutput %y\n"},
    {"a loop that captures a batch", "combines places",
     "input %x : f32[B,4]\n const %most : s64[] = 1000\n const %s : f32[1,4] = [0, 0, 0, 0]\n"
     "%r = Loop(%most, _, %s) { body = graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\n"
     "input %v : f32[1,4]\n const %tenth : f32[] = 0.1\n"
     "%m = ReduceMean(%x) {axes = [0], keepdims = 1}\n%a = Add(%m, %v)\n%n = Mul(%a, %tenth)\n"
     "%k = Identity(%c)\noutput %k\noutput %n\n} }\n%y = Add(%x, %r)\noutput %y\n"},
    {"a fixed number of rows that Resize makes", "size",
     "input %x : f32[B,4]\n const %s : s64[2] = [5, 4]\n"
     "%y = Resize(%x, _, _, %s) {mode = \"nearest\"}\noutput %y\n"},
    {"a row that Expand repeats", "there is no model",
     "input %x : f32[B,4]\n const %s : s64[2] = [5, 4]\n%y = Expand(%x, %s)\noutput %y\n"},
    {"the batch as a second axis", "there is no model",
     "input %x : f32[B,1,4]\n const %s : s64[3] = [5, 3, 4]\n%y = Expand(%x, %s)\noutput %y\n"},
    {"a fixed number of groups", "there is no model",
     "input %x : f32[B,4]\n const %s : s64[2] = [5, -1]\n%y = Reshape(%x, %s)\noutput %y\n"},
    {"the first rows", "Slice",
     "input %x : f32[B,4]\n const %e : s64[1] = [5]\n%y = Slice(%x, %first, %e)\noutput %y\n"},
    {"the last rows", "Slice",
     "input %x : f32[B,4]\n const %e : s64[1] = [99999]\n const %s : s64[1] = [-5]\n"
     "%y = Slice(%x, %s, %e)\noutput %y\n"},
    {"elements of the first row that are replaced", "differs from row to row",
     "input %x : f32[B,4]\n const %i : s64[1,2] = [3, 1]\n const %u : f32[1,2] = [5, 6]\n"
     "%y = ScatterElements(%x, %i, %u) {axis = 1}\noutput %y\n"},
    {"a branch for a number of rows", "another",
     "input %x : f32[B,4]\n const %three : s64[] = 3\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n"
     "%c = Equal(%n, %three)\n%y = If(%c) { then_branch = graph \"t\" {\n%a = Neg(%x)\n"
     "output %a\n}, else_branch = graph \"e\" {\n%b = Exp(%x)\noutput %b\n} }\noutput %y\n"},
    {"a limited number of rows", "size",
     "input %x : f32[B,4]\n const %two : s64[] = 2\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n"
     "%m = Min(%n, %two)\n%f = Cast(%m) {to = 1}\n%y = Mul(%x, %f)\noutput %y\n"},
    {"whether there are more rows", "size",
     "input %x : f32[B,4]\n const %more : s64[] = 8\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n"
     "%m = Greater(%n, %more)\n%f = Cast(%m) {to = 1}\n%y = Mul(%x, %f)\noutput %y\n"},
    {"a lower triangle", "Trilu", "input %x : f32[B,4]\n%y = Trilu(%x) {upper = 0}\noutput %y\n"},
    {"rows along another axis of the result", "output 'y'",
     "input %x : f32[B,4]\n%y = Transpose(%x) {perm = [1, 0]}\noutput %y\n"},
};

Shape at_rows(const Shape& shape, int64_t rows) {
  Shape at;
  for (const int64_t d : shape) at.push_back(d == kUnknownDim ? rows : d);
  return at;
}

Values request_of(const ir::Graph& graph, int64_t rows, uint32_t seed) {
  Values feeds;
  for (const ir::Value* v : graph.inputs()) {
    const Shape shape = at_rows(v->shape(), rows);
    if (v->dtype() == DType::f32) {
      feeds[v->name()] = floats(shape, seed++);
      continue;
    }
    Tensor t = Tensor::zeros(v->dtype(), shape);
    for (int64_t& x : t.mutable_values<int64_t>()) x = seed++ % 4;
    feeds[v->name()] = t;
  }
  return feeds;
}

// Copies rows [0, rows) of `part` to rows [at, at + rows) of `whole`, or back, along an axis of
// which each row has one place or a block of places.
void copy_rows(Tensor& whole, Tensor& part, size_t axis, int64_t rows, int64_t at, bool back) {
  int64_t outer = 1;
  for (size_t d = 0; d < axis; d++) outer *= whole.shape()[d];
  const uint64_t row = whole.bytes() / static_cast<uint64_t>(outer * kBatchOfFive);
  for (int64_t o = 0; o < outer; o++) {
    auto* a = static_cast<std::byte*>(whole.mutable_data()) +
              static_cast<uint64_t>(o * kBatchOfFive + at) * row;
    auto* b = static_cast<std::byte*>(part.mutable_data()) + static_cast<uint64_t>(o * rows) * row;
    std::memcpy(back ? b : a, back ? a : b, static_cast<uint64_t>(rows) * row);
  }
}

Executable compiled_at(const ir::Graph& graph, int64_t rows) {
  DriverOptions options;
  for (const ir::Value* v : graph.inputs())
    options.input_shape[v->name()] = at_rows(v->shape(), rows);
  return compile_model(graph.clone(), options);
}

program::BatchRows rows_along(const Executable& e, size_t axis) {
  const auto note = e.notes.find(program::kBatchRows);
  if (note != e.notes.end())
    for (const program::BatchRows& a : program::read_batch_rows(note->second))
      if (a.axis == axis) return a;
  ADD_FAILURE() << "nothing is noted of axis " << axis;
  return {};
}

class BatchedNetworks : public testing::TestWithParam<Batched> {};

TEST_P(BatchedNetworks, SeparateRequestsOrNameTheNodeThatMixesThem) {
  const Batched& n = GetParam();
  const auto graph = ir::parse_text(graph_text(std::string(kRowWeights) + n.body));
  const Executable e = compiled_at(*graph, kBatchOfFive);
  const program::BatchRows noted = rows_along(e, n.axis);
  EXPECT_EQ(noted.rows, kBatchOfFive);
  EXPECT_EQ(noted.inputs.size(), graph->inputs().size());
  if (n.mixed) {
    EXPECT_NE(noted.mixed.find(n.mixed), std::string::npos) << noted.mixed;
    return;
  }
  ASSERT_EQ(noted.mixed, "");
  constexpr int64_t kRows = 2;
  const Executable alone = compiled_at(*graph, kRows);
  for (const int64_t at : {0, 1, 3}) {
    Values request = request_of(*graph, kRows, 7);
    Values batch;
    for (auto& [name, part] : request) {
      Shape shape = part.shape();
      shape[n.axis] = kBatchOfFive;
      batch[name] = Tensor::zeros(part.dtype(), shape);
      if (part.dtype() == DType::f32)
        for (float& x : batch[name].mutable_values<float>())
          x = std::numeric_limits<float>::quiet_NaN();
      copy_rows(batch[name], part, n.axis, kRows, at, false);
    }
    Values wanted = run(alone, request), results = run(e, batch);
    for (auto& [name, want] : wanted) {
      Tensor got = Tensor::zeros(want.dtype(), want.shape());
      copy_rows(results.at(name), got, n.axis, kRows, at, true);
      const auto a = got.to_doubles(), b = want.to_doubles();
      for (size_t i = 0; i < a.size(); i++)
        EXPECT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i])))
            << name << " at " << i << ", row " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, BatchedNetworks, testing::ValuesIn(kBatched),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

std::string mixed_in(const std::string& body, size_t axis = 0) {
  const auto graph = ir::parse_text(graph_text(body));
  return rows_along(compile_model(ir::parse_text(graph_text(body)), {}), axis).mixed;
}

TEST(BatchRows, WeightsThatDifferFromRowToRowMix) {
  EXPECT_NE(mixed_in("input %x : f32[2,2]\n const %b : f32[2,2] = [1, 2, 3, 4]\n"
                     "%y = Add(%x, %b)\noutput %y\n")
                .find("'b', which differs from row to row"),
            std::string::npos);
  EXPECT_EQ(mixed_in("input %x : f32[2,2]\n const %b : f32[2,2] = [1, 2, 1, 2]\n"
                     "%y = Add(%x, %b)\noutput %y\n"),
            "");
}

// A node whose inputs have no rows may still read them in a subgraph, also in a nested one.
TEST(BatchRows, BranchesThatCaptureTheBatchMix) {
  const std::string plain =
      "If(%c) { then_branch = graph \"t\" {\n%tm = ReduceMax(%x) {axes = [0], keepdims = 1}\n"
      "%to = Neg(%tm)\noutput %to\n}, else_branch = graph \"e\" {\n"
      "%em = ReduceMin(%x) {axes = [0], keepdims = 1}\n%eo = Abs(%em)\noutput %eo\n} }";
  const std::string nested = "If(%d) { then_branch = graph \"a\" {\n%ar = " + plain +
                             "\n%ao = Neg(%ar)\noutput %ao\n}, else_branch = graph \"b\" {\n"
                             "%bo = Abs(%z)\noutput %bo\n} }";
  for (const std::string& branches : {plain, nested}) {
    const std::string why = mixed_in(
        "input %x : f32[3,2]\ninput %c : bool[]\ninput %d : bool[]\ninput %z : f32[1,2]\n%r = " +
        branches + "\n%y = Add(%x, %r)\noutput %y\n");
    EXPECT_NE(why.find("combines places"), std::string::npos) << why << " in " << branches;
  }
}

// The result has three rows of two places each, and a constant repeats every two places.
TEST(BatchRows, ConstantsRepeatForEachBlockOfPlaces) {
  const std::string body =
      "input %x : f32[3,2]\n const %r : s64[1] = [6]\n const %b : f32[6] = [1, 2, 1, 2, 1, 2]\n"
      "%z = Reshape(%x, %r)\n%a = Add(%z, %b)\n const %s : s64[2] = [3, 2]\n"
      "%y = Reshape(%a, %s)\noutput %y\n";
  EXPECT_EQ(mixed_in(body), "");
  EXPECT_NE(mixed_in(replaced(body, "[1, 2, 1, 2, 1, 2]", "[1, 2, 1, 2, 1, 3]")), "");
  EXPECT_NE(mixed_in(replaced(body, "[1, 2, 1, 2, 1, 2]", "[1, 2, 3, 1, 2, 3]")), "");
}

TEST(BatchRows, InputsOfAnotherSizeAreTheSameForAllRows) {
  const Executable e = compile_model(
      ir::parse_text(
          graph_text("input %x : f32[3,4]\ninput %t : f32[4,2]\n%y = MatMul(%x, %t)\noutput %y\n")),
      {});
  const program::BatchRows rows = rows_along(e, 0);
  EXPECT_EQ(rows.inputs, (std::vector<std::string>{"x"}));
  EXPECT_EQ(rows.mixed, "");
}

TEST(BatchRows, AModelOfOneRowHasNoNote) {
  const Executable e =
      compile_model(ir::parse_text(graph_text("input %x : f32[1]\n%y = Neg(%x)\noutput %y\n")), {});
  EXPECT_FALSE(e.notes.contains(program::kBatchRows));
}

TEST(BatchRows, WeightsThatASessionChangesHaveNoRows) {
  DriverOptions options;
  options.variable_weights = true;
  const Executable e = compile_model(
      ir::parse_text(graph_text("input %x : f32[2,2]\n const %w : f32[2,2] = [1, 2, 3, 4]\n"
                                "%y = MatMul(%x, %w)\noutput %y\n")),
      options);
  EXPECT_EQ(rows_along(e, 0).inputs, (std::vector<std::string>{"x"}));
  EXPECT_EQ(rows_along(e, 0).mixed, "");
}

// A compilation after a separate conversion writes the same note.
TEST(BatchRows, TheSizeOfTheBatchCountsAfterAConversion) {
  const auto graph = ir::parse_text(
      graph_text("input %x : f32[B,4]\n const %z : s64[] = 0\n%s = Shape(%x)\n"
                 "%l = Gather(%s, %z)\n%n = Cast(%l) {to = 1}\n%y = Mul(%x, %n)\noutput %y\n"));
  EXPECT_TRUE(computes_with_sizes(*graph));
  DriverOptions options;
  options.input_shape["x"] = {4, 4};
  EXPECT_FALSE(convert_model(*graph, options));
}

// The number is computed outside of the branches, which read it as a value of the outer graph.
TEST(BatchRows, ABranchThatReadsASizeComputesWithIt) {
  EXPECT_TRUE(computes_with_sizes(*ir::parse_text(graph_text(
      "input %x : f32[B,4]\ninput %c : bool[]\n%s = Shape(%x)\n%n = Cast(%s) {to = 1}\n"
      "%y = If(%c) { then_branch = graph \"t\" {\n%m = Neg(%n)\noutput %m\n}, else_branch = graph "
      "\"e\" {\n%p = Abs(%n)\noutput %p\n} }\n%z = Neg(%x)\noutput %z\n"))));
}

TEST(BatchRows, ConstantExtentsDependOnTheBatch) {
  const auto depends = [](const std::string& shape) {
    return depends_on_batch(
        *ir::parse_text(graph_text("input %x : f32[B,4]\n const %s : s64[2] = " + shape +
                                   "\n%y = Reshape(%x, %s)\noutput %y\n")));
  };
  EXPECT_TRUE(depends("[5, -1]"));
  EXPECT_FALSE(depends("[-1, 2]"));
  EXPECT_FALSE(depends("[0, 4]"));
}

TEST(BatchRows, SizesThatAreOnlyExtentsAreNotComputedWith) {
  EXPECT_FALSE(computes_with_sizes(*ir::parse_text(
      graph_text("input %x : f32[B,4]\n%s = Shape(%x)\n%y = Reshape(%x, %s)\noutput %y\n"))));
  EXPECT_TRUE(computes_with_sizes(
      *ir::parse_text(graph_text("input %x : f32[B,4]\n%s = Shape(%x)\noutput %s\n"))));
}

int32_t infer_first(const poprt_op_call* call, void*) {
  const poprt_op_tensor& x = *call->inputs[0];
  return call->host->set_output(call, 0, x.dtype, x.rank, x.shape);
}

int32_t copy_first(const poprt_op_call* call, void*, void*) {
  std::memcpy(call->outputs[0]->data, call->inputs[0]->data, call->outputs[0]->bytes);
  return POPRT_OK;
}

int32_t init_samples(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  for (const uint32_t flags : {0u, uint32_t{POPRT_OPERATOR_PER_SAMPLE}}) {
    poprt_operator op = {};
    op.struct_size = sizeof op;
    op.domain = "test.rows";
    op.name = flags ? "Separate" : "Unstated";
    op.version = 1;
    op.flags = flags;
    op.infer = infer_first;
    op.compute = copy_first;
    if (const int32_t code = host->add_operator(registry, &op)) return code;
  }
  return POPRT_OK;
}

TEST(BatchRows, OperatorsOfPluginsSeparateRowsIfDeclared) {
  poprt_plugin plugin = {};
  plugin.struct_size = sizeof plugin;
  plugin.name = "test-rows";
  plugin.version = "1";
  plugin.init = init_samples;
  auto library = std::make_unique<plugins::Library>();
  plugins::initialize(plugin, *library);
  plugins::add(std::move(library));
  const auto mixed = [](const char* op) {
    return mixed_in(fmt::format(
        "input %x : f32[3,4]\n const %w : f32[3,4] = fill 2.0\n%y = test.rows.{}(%x, %w)\n"
        "output %y\n",
        op));
  };
  EXPECT_EQ(mixed("Separate"), "");
  EXPECT_NE(mixed("Unstated").find("Unstated"), std::string::npos);
}

}  // namespace
}  // namespace poprt::compiler
