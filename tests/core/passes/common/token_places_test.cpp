#include "passes/common/token_places.h"

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

using passes::Tokens;

// Returns how the result of the last node depends on tokens, with two rows of three tokens. Inputs
// %m.. have tokens as a matrix, %f.. flat, %e.. elsewhere, and all others have none.
std::string by_token(const std::string& body, int opset = 17) {
  const auto graph = parsed(body + "\noutput %y\n", opset);
  const ir::Node& n = *graph->nodes().back();
  std::vector<Tokens> inputs;
  for (const ir::Value* v : n.inputs())
    inputs.push_back(!v                    ? Tokens::none
                     : v->name()[0] == 'm' ? Tokens::matrix
                     : v->name()[0] == 'f' ? Tokens::flat
                     : v->name()[0] == 'e' ? Tokens::elsewhere
                                           : Tokens::none);
  const auto found = passes::computed_by_token(n, inputs, {2, 3});
  if (!found) return "together";
  std::string text = found->result == Tokens::matrix ? "matrix" : "flat";
  if (found->heavy) text += " heavy";
  for (const size_t i : found->by_place) text += fmt::format(" place {}", i);
  return text;
}

struct Row {
  const char* text;
  const char* wanted;
};

TEST(TokenPlaces, OperatorsOfEachElement) {
  const Row rows[] = {
      {"input %m : f32[2,3,4]\n%y = Relu(%m)", "matrix"},
      {"input %f : f32[6,4]\n%y = Relu(%f)", "flat"},
      {"input %e : f32[3,2,4]\n%y = Relu(%e)", "together"},
      {"input %a : f32[2,3,4]\n%y = Relu(%a)", "together"},
      {"input %m : f32[2,3,4]\ninput %m2 : f32[2,3,1]\n%y = Add(%m, %m2)", "matrix"},
      {"input %m : f32[2,3,4]\ninput %f : f32[6,4]\n%y = Add(%m, %m)", "matrix"},
      {"input %m : f32[2,3]\ninput %f : f32[3]\n%y = Add(%m, %f)", "together"},
      {"input %m : f32[2,3]\ninput %e : f32[3]\n%y = Add(%m, %e)", "together"},
      // Spread to more dimensions, tokens are elsewhere.
      {"input %m : f32[2,3]\ninput %a : f32[5,2,3]\n%y = Add(%m, %a)", "together"},
      // A value without tokens is the same for all, for each position, or for each row.
      {"input %m : f32[2,3,4]\ninput %a : f32[4]\n%y = Add(%m, %a)", "matrix"},
      {"input %m : f32[2,3,4]\ninput %a : f32[1,4]\n%y = Add(%m, %a)", "matrix"},
      {"input %m : f32[2,3,4]\ninput %a : f32[1,1,4]\n%y = Add(%a, %m)", "matrix"},
      {"input %m : f32[2,3,4]\ninput %a : f32[3,1]\n%y = Add(%m, %a)", "matrix place 1"},
      {"input %m : f32[2,3,4]\ninput %a : f32[1,3,4]\n%y = Add(%a, %m)", "matrix place 0"},
      {"input %m : f32[2,3,4]\ninput %a : f32[2,3,4]\n%y = Add(%a, %m)", "together"},
      {"input %m : f32[2,3,4]\ninput %a : f32[2,1,4]\n%y = Add(%m, %a)", "together"},
      {"input %f : f32[6,4]\ninput %a : f32[4]\n%y = Add(%f, %a)", "flat"},
      {"input %f : f32[6,4]\ninput %a : f32[1,4]\n%y = Add(%f, %a)", "flat"},
      {"input %f : f32[6,4]\ninput %a : f32[6,1]\n%y = Add(%f, %a)", "together"},
      {"input %m : f32[2,3,4]\ninput %a : f32[N]\n%y = Add(%m, %a)", "together"},
      {"input %m : f32[2,3,4]\ninput %b : bool[2,3,4]\ninput %a : f32[3,4]\n%y = Where(%b, %m, %a)",
       "together"},
      {"input %m : f32[2,3,4]\ninput %b : bool[3,4]\ninput %a : f32[3,4]\n%y = Where(%b, %m, %a)",
       "matrix place 0 place 2"},
      {"input %m : f32[2,3,4]\nconst %a : f32[] = 1.0\n%y = Clip(%m, _, %a)", "matrix"},
      {"input %m : f32[2,N]\n%y = Relu(%m)", "together"},
  };
  for (const Row& row : rows) EXPECT_EQ(by_token(row.text), row.wanted) << row.text;
}

TEST(TokenPlaces, ProductsAndTables) {
  const Row rows[] = {
      {"input %m : f32[2,3,4]\ninput %w : f32[4,5]\n%y = MatMul(%m, %w)", "matrix heavy"},
      {"input %f : f32[6,4]\ninput %w : f32[4,5]\n%y = MatMul(%f, %w)", "flat heavy"},
      {"input %m : f32[2,3]\ninput %w : f32[3,5]\n%y = MatMul(%m, %w)", "together"},
      {"input %m : f32[2,3,4]\ninput %w : f32[4]\n%y = MatMul(%m, %w)", "matrix heavy"},
      {"input %m : f32[2,3,4]\ninput %w : f32[2,4,5]\n%y = MatMul(%m, %w)", "together"},
      {"input %m : f32[2,3,4]\ninput %m2 : f32[2,4,3]\n%y = MatMul(%m, %m2)", "together"},
      {"input %w : f32[5,2]\ninput %m : f32[2,3]\n%y = MatMul(%w, %m)", "together"},
      {"input %f : f32[6,4]\ninput %w : f32[4,5]\ninput %c : f32[5]\n%y = Gemm(%f, %w, %c)",
       "flat heavy"},
      {"input %f : f32[6,4]\ninput %w : f32[4,5]\ninput %c : f32[1,5]\n%y = Gemm(%f, %w, %c)",
       "flat heavy"},
      {"input %f : f32[6,4]\ninput %w : f32[4,5]\ninput %c : f32[6,1]\n%y = Gemm(%f, %w, %c)",
       "together"},
      {"input %f : f32[6,4]\ninput %w : f32[4,5]\ninput %f2 : f32[6,5]\n%y = Gemm(%f, %w, %f2)",
       "flat heavy"},
      {"input %f : f32[6,4]\ninput %w : f32[5,4]\n%y = Gemm(%f, %w) {transB = 1}", "flat heavy"},
      {"input %f : f32[6,6]\ninput %w : f32[6,5]\n%y = Gemm(%f, %w) {transA = 1}", "together"},
      {"input %t : f32[9,4]\ninput %m : s64[2,3]\n%y = Gather(%t, %m)", "matrix heavy"},
      {"input %t : f32[9,4]\ninput %f : s64[6]\n%y = Gather(%t, %f) {axis = -2}", "flat heavy"},
      {"input %t : f32[9,4]\ninput %m : s64[2,3]\n%y = Gather(%t, %m) {axis = 1}", "together"},
      {"input %m : f32[2,3,4]\ninput %i : s64[2]\n%y = Gather(%m, %i) {axis = 2}", "matrix"},
      {"input %m : f32[2,3,4]\ninput %i : s64[2]\n%y = Gather(%m, %i) {axis = -1}", "matrix"},
      {"input %m : f32[2,3,4]\ninput %i : s64[2]\n%y = Gather(%m, %i) {axis = 1}", "together"},
      {"input %m : f32[2,3,4]\ninput %i : s64[2]\n%y = Gather(%m, %i)", "together"},
      {"input %f : f32[6,4]\ninput %i : s64[2]\n%y = Gather(%f, %i) {axis = 1}", "flat"},
      {"input %m : f32[2,3,4]\ninput %m2 : s64[2,3]\n%y = Gather(%m, %m2) {axis = 2}", "together"},
  };
  for (const Row& row : rows) EXPECT_EQ(by_token(row.text), row.wanted) << row.text;
}

TEST(TokenPlaces, OnlyAxesAfterTheTokensKeepPlaces) {
  const Row rows[] = {
      {"input %m : f32[2,3,4]\n%y = Softmax(%m)", "matrix"},
      {"input %m : f32[2,3,4]\n%y = Softmax(%m) {axis = 2}", "matrix"},
      {"input %m : f32[2,3,4]\n%y = Softmax(%m) {axis = 1}", "together"},
      {"input %m : f32[2,3]\n%y = Softmax(%m)", "together"},
      {"input %f : f32[6,4]\n%y = Softmax(%f) {axis = 1}", "flat"},
      {"input %f : f32[6,4]\n%y = Softmax(%f) {axis = 0}", "together"},
      {"input %m : f32[2,3,4]\ninput %g : f32[4]\n%y = LayerNormalization(%m, %g)", "matrix"},
      {"input %m : f32[2,3,4]\ninput %g : f32[3,4]\n%y = LayerNormalization(%m, %g) {axis = 1}",
       "together"},
      {"input %m : f32[2,3,4]\nconst %a : s64[1] = [2]\n%y = ReduceSum(%m, %a)", "matrix"},
      {"input %m : f32[2,3,4]\nconst %a : s64[1] = [-1]\n%y = ReduceSum(%m, %a)", "matrix"},
      {"input %m : f32[2,3,4,5]\nconst %a : s64[2] = [2, 1]\n%y = ReduceSum(%m, %a)", "together"},
      {"input %m : f32[2,3,4]\n%y = ReduceSum(%m)", "together"},
      {"input %m : f32[2,3,4]\ninput %a : s64[1]\n%y = ReduceSum(%m, %a)", "together"},
      {"input %m : f32[2,3,4]\n%y = ReduceMean(%m) {axes = [2]}", "matrix"},
      {"input %m : f32[2,3,4]\n%y = ReduceMax(%m) {axes = [1]}", "together"},
      {"input %m : f32[2,3,4]\n%y = ReduceMin(%m) {axes = [2], keepdims = 0}", "matrix"},
      {"input %m : f32[2,3,4]\n%y = ReduceProd(%m) {axes = [-1]}", "matrix"},
      {"input %m : f32[2,3,4]\ninput %m2 : f32[2,3,4]\n%y = Concat(%m, %m2) {axis = 2}", "matrix"},
      {"input %m : f32[2,3,4]\ninput %m2 : f32[2,3,4]\n%y = Concat(%m, %m2) {axis = -2}",
       "together"},
      {"input %m : f32[2,3,4]\ninput %a : f32[2,3,4]\n%y = Concat(%m, %a) {axis = 2}", "together"},
      {"input %m : f32[2,3,4]\n%y, %z = Split(%m) {axis = 2}", "matrix"},
      {"input %m : f32[2,4,4]\n%y, %z = Split(%m) {axis = 1}", "together"},
      {"input %m : f32[2,3,4]\n%y, %z = Split(%m)", "together"},
      {"input %m : f32[2,3,4]\nconst %b : s64[1] = [1]\nconst %s : s64[1] = [3]\nconst %a : s64[1] "
       "= "
       "[2]\n%y = Slice(%m, %b, %s, %a)",
       "matrix"},
      {"input %m : f32[2,3,4]\nconst %b : s64[1] = [1]\nconst %s : s64[1] = [3]\nconst %a : s64[1] "
       "= "
       "[1]\n%y = Slice(%m, %b, %s, %a)",
       "together"},
      {"input %m : f32[2,3,4]\nconst %b : s64[1] = [1]\nconst %s : s64[1] = [2]\n"
       "%y = Slice(%m, %b, %s)",
       "together"},
      {"input %m : f32[2,3,4,5]\n%y = Transpose(%m) {perm = [0, 1, 3, 2]}", "matrix"},
      {"input %m : f32[2,3,4,5]\n%y = Transpose(%m) {perm = [0, 2, 1, 3]}", "together"},
      {"input %m : f32[3,3,4]\n%y = Transpose(%m) {perm = [1, 0, 2]}", "together"},
      {"input %m : f32[2,3]\n%y = Transpose(%m)", "together"},
      {"input %f : f32[6,4,5]\n%y = Transpose(%f) {perm = [0, 2, 1]}", "flat"},
      {"input %f : f32[6,4,5]\n%y = Transpose(%f) {perm = [1, 0, 2]}", "together"},
      // Running sums within a token or over tokens, and what needs neighbours.
      {"input %m : f32[2,3,4]\nconst %a : s64[] = 2\n%y = CumSum(%m, %a)", "matrix"},
      {"input %m : f32[2,3,4]\nconst %a : s64[] = 1\n%y = CumSum(%m, %a)", "together"},
      {"input %m : f32[2,3,4]\nconst %k : s64[1] = [2]\n%y, %z = TopK(%m, %k)", "matrix"},
      {"input %m : f32[2,3,4]\n%y = ArgMax(%m) {axis = -1}", "matrix"},
      {"input %m : s64[2,3]\nconst %d : s64[] = 5\ninput %v : f32[2]\n%y = OneHot(%m, %d, %v)",
       "matrix"},
      {"input %m : f32[2,3,4]\nconst %r : s64[3] = [1, 1, 2]\n%y = Tile(%m, %r)", "matrix"},
      {"input %m : f32[2,3,4]\nconst %r : s64[3] = [1, 2, 1]\n%y = Tile(%m, %r)", "together"},
      // Which element is kept depends on the place.
      {"input %m : f32[2,3]\n%y = Trilu(%m)", "together"},
      {"input %m : f32[2,3,4,4]\n%y = Trilu(%m)", "matrix"},
      // Places are read, or written, by their numbers.
      {"input %m : f32[2,3,4]\nconst %i : s64[1,1] = [1]\ninput %u : f32[1,3,4]\n"
       "%y = ScatterND(%m, %i, %u)",
       "together"},
      {"input %m : f32[2,3,4]\n%y = Shape(%m)", "together"},
      {"input %m : f32[2,3,4]\ninput %w : f32[5,3,1]\n%y = Conv(%m, %w)", "together"},
  };
  for (const Row& row : rows) EXPECT_EQ(by_token(row.text), row.wanted) << row.text;
  const char* old = "input %m : f32[2,3,4]\n%y = Softmax(%m)";
  EXPECT_EQ(by_token(old, 12), "together");
  EXPECT_EQ(by_token("input %f : f32[6,4]\n%y = Softmax(%f)", 12), "flat");
}

TEST(TokenPlaces, ReshapesThatKeepTheOrderKeepPlaces) {
  const Row rows[] = {
      {"input %m : f32[2,3,4]\nconst %s : s64[4] = [2, 3, 2, 2]\n%y = Reshape(%m, %s)", "matrix"},
      {"input %m : f32[2,3,4]\nconst %s : s64[2] = [6, 4]\n%y = Reshape(%m, %s)", "flat"},
      {"input %f : f32[6,4]\nconst %s : s64[3] = [2, 3, 4]\n%y = Reshape(%f, %s)", "matrix"},
      {"input %f : f32[6,4]\nconst %s : s64[3] = [6, 2, 2]\n%y = Reshape(%f, %s)", "flat"},
      {"input %m : f32[2,3,4]\nconst %s : s64[2] = [2, 12]\n%y = Reshape(%m, %s)", "together"},
      {"input %m : f32[2,3,4]\nconst %s : s64[3] = [3, 2, 4]\n%y = Reshape(%m, %s)", "together"},
      {"input %m : f32[2,3,4]\nconst %s : s64[1] = [24]\n%y = Reshape(%m, %s)", "together"},
      {"input %m : f32[2,3]\nconst %s : s64[1] = [6]\n%y = Reshape(%m, %s)", "flat"},
      {"input %m : f32[2,3,4]\n%y = Flatten(%m) {axis = 2}", "flat"},
      {"input %m : f32[2,3,4]\n%y = Flatten(%m)", "together"},
      {"input %m : f32[2,3,1]\nconst %a : s64[1] = [2]\n%y = Squeeze(%m, %a)", "matrix"},
      {"input %m : f32[2,3]\nconst %a : s64[1] = [2]\n%y = Unsqueeze(%m, %a)", "matrix"},
      {"input %m : f32[2,3]\nconst %a : s64[1] = [1]\n%y = Unsqueeze(%m, %a)", "together"},
      {"input %m : f32[2,3]\ninput %s : s64[2]\n%y = Reshape(%m, %s)", "together"},
      // The type of the result is known, and those of its operands are not.
      {"input %m : f32[2,N,4]\nconst %s : s64[3] = [2, 3, 4]\n%y = Reshape(%m, %s)", "together"},
      {"input %t : f32[N,4]\ninput %m : s64[2,3]\n%y = Gather(%t, %m)", "together"},
  };
  for (const Row& row : rows) EXPECT_EQ(by_token(row.text), row.wanted) << row.text;
}

}  // namespace
}  // namespace poprt::test
