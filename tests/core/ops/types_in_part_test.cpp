// Types that are inferred from inputs whose dimensions or ranks are not all known, recorded: each
// operator that moves, joins or cuts tensors, with each of these inputs.
//
//   POPRT_WRITE_RECORDS=1 test_ops --gtest_filter='TypesInPart.*'   # then read the diff
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ir/text.h"
#include "ir/types_agree.h"
#include "ops/op.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

// Each reads %x; lines end with a semicolon. %one is [1].
constexpr const char* kNodes[] = {
    "%y : ? = Squeeze(%x)",
    "const %a : s64[1] = [0];%y : ? = Squeeze(%x, %a)",
    "const %a : s64[2] = [-1, 0];%y : ? = Squeeze(%x, %a)",
    "input %a : s64[1];%y : ? = Squeeze(%x, %a)",
    "const %a : s64[2] = [0, -1];%y : ? = Unsqueeze(%x, %a)",
    "const %p : s64[4] = [0, 1, 0, 0];%y : ? = Pad(%x, %p)",
    "const %p : s64[4] = [0, 0, 2, 0];%y : ? = Pad(%x, %p)",
    "const %p : s64[4] = [-1, 0, 0, -2];%y : ? = Pad(%x, %p)",
    "const %p : s64[4] = [0, 1, 0, 1];%y : ? = Pad(%x, %p) {mode = \"reflect\"}",
    "input %p : s64[4];%y : ? = Pad(%x, %p)",
    "%y : ? = Transpose(%x)",
    "%y : ? = Transpose(%x) {perm = [1, 0]}",
    "%y : ? = Flatten(%x)",
    "%y : ? = Flatten(%x) {axis = 0}",
    "%y : ? = Flatten(%x) {axis = 2}",
    "const %s : s64[2] = [0, -1];%y : ? = Reshape(%x, %s)",
    "const %s : s64[1] = [-1];%y : ? = Reshape(%x, %s)",
    "const %s : s64[3] = [1, 2, -1];%y : ? = Reshape(%x, %s)",
    "const %s : s64[2] = [3, 4];%y : ? = Reshape(%x, %s)",
    "const %s : s64[3] = [2, 1, 1];%y : ? = Expand(%x, %s)",
    "const %s : s64[2] = [3, 4];%y : ? = Expand(%x, %s)",
    "const %r : s64[2] = [2, 3];%y : ? = Tile(%x, %r)",
    "const %b : s64[1] = [1];const %e : s64[1] = [3];%y : ? = Slice(%x, %b, %e)",
    "const %b : s64[1] = [-1];const %e : s64[1] = [-9];%y : ? = Slice(%x, %b, %e, %one, %b)",
    "%y : ? = Concat(%x, %x) {axis = 0}",
    "%y : ? = Concat(%x, %x) {axis = -1}",
    "%y : ?, %z : ? = Split(%x) {axis = 0, num_outputs = 2}",
    "const %s : s64[2] = [1, 2];%y : ?, %z : ? = Split(%x, %s) {axis = 1}",
    "const %i : s64[2,2] = [0, 1, 1, 0];%y : ? = Gather(%x, %i)",
    "const %i : s64[] = 0;%y : ? = Gather(%x, %i) {axis = 1}",
    "const %i : s64[1,2] = [0, 1];%y : ? = GatherND(%x, %i)",
    "%y : ? = Shape(%x)",
    "%y : ? = Shape(%x) {start = 1}",
    "%y : ? = Size(%x)",
    "%y : ? = NonZero(%x)",
    "const %a : s64[1] = [1];%y : ? = ReduceSum(%x, %a)",
    "const %a : s64[1] = [-2];%y : ? = ReduceSum(%x, %a) {keepdims = 0}",
    "%y : ? = ReduceSum(%x)",
    "%y : ? = ReduceSum(%x) {keepdims = 0}",
    "%y : ? = ReduceSum(%x) {noop_with_empty_axes = 1}",
    "%y : ? = ArgMax(%x) {axis = 1, keepdims = 0}",
    "const %k : s64[1] = [2];%y : ?, %i : ? = TopK(%x, %k)",
    "input %o : f32[4];%y : ? = Add(%x, %o)",
    "input %o : f32[N,1];%y : ? = Mul(%o, %x)",
    "input %o : f32[5,1,1];%y : ? = Max(%x, %o)",
    "input %o : f32[4,2];%y : ? = MatMul(%x, %o)",
    "input %o : f32[3,2,3];%y : ? = MatMul(%o, %x)",
    "input %o : f32[4];%y : ? = MatMul(%x, %o)",
    "input %o : f32[4,2];%y : ? = Gemm(%x, %o)",
    "input %o : f32[3,2];%y : ? = Gemm(%x, %o) {transA = 1}",
    "input %o : bool[3];%y : ? = Compress(%x, %o) {axis = 0}",
    "input %o : bool[3,1];%y : ? = Where(%o, %x, %x)",
    "const %d : s64[] = 3;const %v : f32[2] = [0.0, 1.0];%y : ? = OneHot(%x, %d, %v)",
    "%y : ? = Softmax(%x)",
    "%y : ? = CumSum(%x, %axis);const %axis : s64[] = 0",
    "%y : ? = Trilu(%x)",
    "%y : ? = EyeLike(%x)",
    "%y : ? = DepthToSpace(%x) {blocksize = 2}",
    "%y : ? = Einsum(%x) {equation = \"ij->ji\"}",
    "%y : ? = Einsum(%x, %x) {equation = \"ij,kj->ik\"}",
    "%y : ? = Einsum(%x) {equation = \"...j->...\"}",
    "%y : ? = ScatterElements(%x, %i, %x);const %i : s64[1,1] = [0]",
    "%y : ? = Cast(%x) {to = 10}",
    "%y : ? = ConstantOfShape(%s);const %s : s64[2] = [2, 3]",
    "%s : ? = SplitToSequence(%x);%y : ? = SequenceAt(%s, %i);const %i : s64[] = 0",
    "%y : ? = Unique(%x)",
    "%y : ? = LayerNormalization(%x, %w);const %w : f32[4] = fill 1.0",
    "const %s : f32[2] = [2.0, 1.5];%y : ? = Resize(%x, _, %s)",
};

constexpr const char* kInputs[] = {"f32[3,4]", "f32[N,4]", "f32[3,M]",  "f32[?,4]",   "f32[N,N]",
                                   "f32[1,1]", "f32[1,?]", "f32[0,4]",  "f32[N=3,4]", "f32[*]",
                                   "f32[4]",   "f32[]",    "f32[2,3,4]"};

TEST(TypesInPart, MatchTheRecord) {
  RecordedLines found;
  for (const char* node : kNodes) {
    std::string text = node;
    std::ranges::replace(text, ';', '\n');
    // A constant that is after its reader is moved to the front.
    if (const size_t at = text.find("\nconst "); at != text.npos && !text.starts_with("const "))
      text = text.substr(at + 1) + "\n" + text.substr(0, at);
    for (const char* input : kInputs) {
      std::string line;
      try {
        const auto graph = ir::parse_text(
            std::string("graph \"g\" opset {\"\": 18} {\nconst %one : s64[1] = [1]\ninput %x : ") +
            input + "\n" + text + "\noutput %y\n}");
        ops::infer(*graph);
        line = ir::type_string(graph->outputs()[0]->type);
      } catch (const Error& e) {
        line = e.message();
      }
      found[node].insert(std::string(input) + ": " + line);
    }
  }
  expect_digests(found, POPRT_TEST_DATA "/types_in_part.txt",
                 "Types inferred from partial types: types_in_part_test.cpp.");
}

TEST(TypesInPart, IndicesOfUnknownTypeAreNotRefused) {
  for (const std::string op : {"OneHot", "ReverseSequence"}) {
    ir::Graph g("g");
    g.opsets[""] = 17;
    ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
    ir::Value* unknown = g.add_input("i", ir::ValueType{});
    ir::Value* values = g.add_input("v", ir::ValueType::of(DType::f32, {2}));
    ir::Value* depth = g.add_constant("d", Tensor::scalar(int64_t{4}));
    ir::Node* n = op == "OneHot" ? g.add_node(op, "", {unknown, depth, values})
                                 : g.add_node(op, "", {x, unknown});
    EXPECT_NO_THROW(ops::infer(*n)) << op;
  }
}

}  // namespace
}  // namespace poprt::test
