// Tests each branch of the rules for tensors of which a part is real: the results (those of a
// tensor that consists of this part), the bounds, and the refusals.
#include <gtest/gtest.h>

#include <limits>

#include "compiler/flow/specializer.h"
#include "core/compiler/flow/sized_support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

using Counts = std::vector<int64_t>;

struct SizedCase {
  const char* name;
  std::string body;
  Counts counts = {0, 2, 5};  // of rows that are real
  int64_t columns = 3;
  int opset = 17;
};
void PrintTo(const SizedCase& c, std::ostream* to) { *to << c.name; }

std::string floats_of(const std::string& name, const std::string& shape, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; i++)
    list += (i ? ", " : "") + std::to_string(i * 5 % 7 - 2) + (i % 2 ? ".5" : ".0");
  return "%" + name + " : ? = Constant() {value = f32[" + shape + "] [" + list + "]}\n";
}

std::string scalar_constant(const std::string& name, int64_t value) {
  return "%" + name + " : s64[] = Constant() {value_int = " + std::to_string(value) + "}\n";
}

const std::string kTransposed = "%t : ? = Transpose(%z)\n";  // [3, n]
// q: z as bytes of scale k and zero point o; m is the scale of probabilities.
const std::string kBytes =
    "const %k : f32[] = 0.05\nconst %m : f32[] = 0.00390625\nconst %o : u8[] = 100\n"
    "%q : ? = QuantizeLinear(%z, %k, %o)\n";
// z4: the first four rows of z, with room for four.
const std::string kFirstFour = kRows + ints("four", "4") +
                               "%m : ? = Min(%n, %four)\n"
                               "%z4 : ? = Slice(%z, %zero, %m, %zero)\n";
const std::string kPlaces = "%f : ? = Floor(%z)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n";
// i: 0, 1 .. for each row, [n, 1].
const std::string kNumbers = kRows + scalar_constant("from", 0) + scalar_constant("by", 1) +
                             ints("last", "-1") +
                             "%until : ? = Squeeze(%n)\n%r : ? = Range(%from, %until, %by)\n"
                             "%i : ? = Unsqueeze(%r, %last)\n";

// count: the number of rows, an s64 scalar.
const std::string kCount = kRows + "%count : ? = Squeeze(%n)\n";

// A Scan over rows that adds each row to its state, with the negated sums as scan output.
std::string sums(const std::string& results, const std::string& node) {
  return floats_of("w", "3", 3) + results + " = Scan(%w, " + node + R"(, body = graph "b" {
      input %a : f32[3]
      input %b : f32[3]
      %d : ? = Add(%a, %b)
      %e : ? = Neg(%d)
      output %d
      output %e } }
)";
}

// A Loop of %count iterations that doubles a state and counts the iterations.
std::string rounds(const std::string& results, const std::string& condition = "_") {
  return floats_of("w", "3", 3) + scalar_constant("none", 0) + results + " = Loop(%count, " +
         condition + R"(, %w, %none) { body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[3]
      input %k : s64[]
      const %one : s64[] = 1
      const %two : f32[] = 2.0
      %t : ? = Mul(%s, %two)
      %m : ? = Add(%k, %one)
      output %c
      output %t
      output %m
      output %t } }
)";
}

std::string doubled(const std::string& results, const std::string& condition = "_") {
  return kCount + rounds(results, condition);
}

std::string unique(const std::string& results, const std::string& attributes) {
  return kPlaces + results + " = Unique(%i) {" + attributes + "}\n";
}

std::string padded(const std::string& what, const std::string& pads) {
  return kRows + "%m : ? = Neg(%n)\n" + floats_of("w", "5,3", 15) + "%p : ? = Concat(" + pads +
         ") {axis = 0}\n%y : ? = Pad(" + what + ", %p)\n";
}

// v: the first n rows of a table; the other rows follow.
std::string of_table(const std::string& columns, int64_t count) {
  return kRows + floats_of("table", "5," + columns, count) +
         "%v : ? = Slice(%table, %zero, %n, %zero)\n";
}
const std::string kOfTable = of_table("3", 15);

const SizedCase kCases[] = {
    // The padding is not a repetition of the real part.
    {"batch_of_a_table_that_is_repeated",
     kOfTable + ints("s", "-1, 1, 3") + "%a : ? = Reshape(%v, %s)\n" + floats_of("w", "5,3,2", 30) +
         "%y : ? = MatMul(%a, %w)\n",
     {1, 5}},
    {"batch_of_b_of_a_table_that_is_repeated",
     kOfTable + ints("s", "-1, 3, 1") + "%b : ? = Reshape(%v, %s)\n" + floats_of("w", "5,2,3", 30) +
         "%y : ? = MatMul(%w, %b)\n",
     {1, 5}},
    {"a_row_of_a_table_added_to_all",
     kOfTable + floats_of("w", "5,3", 15) + "%y : ? = Sub(%w, %v)\n",
     {1, 5}},
    {"a_row_of_a_table_added_by_gemm",
     kOfTable + floats_of("a", "5,2", 10) + floats_of("w", "2,3", 6) +
         "%y : ? = Gemm(%a, %w, %v)\n",
     {1, 5}},
    {"a_row_of_a_table_expanded",
     kOfTable + ints("e", "5, 3") + "%y : ? = Expand(%v, %e)\n",
     {1, 5}},
    {"rows_of_a_table_reduced", kOfTable + "%y : ? = ReduceMax(%v) {axes = [0]}\n", {1, 2, 4}},
    {"least_rows_of_a_table",
     kOfTable + "%y : ? = ReduceMin(%v) {axes = [0], keepdims = 0}\n",
     {1, 2, 4}},
    {"best_rows_of_a_table",
     kOfTable + ints("k", "1") + "%y : ?, %i : ? = TopK(%v, %k) {axis = 0}\n",
     {1, 2, 4}},
    {"rows_of_a_table_from_the_end",
     kOfTable + scalar_constant("last", -1) + "%y : ? = Gather(%v, %last)\n",
     {1, 2, 4}},
    {"rows_of_a_table_joined", kOfTable + "%y : ? = Concat(%v, %z, %v) {axis = 0}\n"},
    {"columns_of_a_table_flattened",
     kOfTable + "%t : ? = Transpose(%v)\n" + ints("to", "-1") + "%y : ? = Reshape(%t, %to)\n"},
    {"product_of_a_table_and_its_columns",
     kOfTable + "%t : ? = Transpose(%v)\n%y : ? = MatMul(%t, %v)\n"},
    {"softmax_of_the_rows_of_a_table", kOfTable + "%y : ? = Softmax(%v) {axis = 0}\n"},
    {"boxes_of_a_table",
     of_table("4", 20) + ints("b", "1, -1, 4") + ints("s", "1, 1, -1") + ints("one", "1") +
         ints("five", "5") +
         "%boxes : ? = Reshape(%v, %b)\n"
         "%sum : ? = ReduceSum(%v, %one)\n%scores : ? = Reshape(%sum, %s)\n"
         "%y : ? = NonMaxSuppression(%boxes, %scores, %five)\n",
     {1, 2, 4},
     4},
    {"all_elements_by_places_from_the_end",
     kOfTable +
         "%i : ? = Constant() {value = s64[5,3] [0, -1, 0, -1, 0, -1, 0, 0, 0, -1, -1, -1, 0, "
         "0, 0]}\n%y : ? = GatherElements(%v, %i) {axis = 0}\n",
     {1, 2, 4}},
    {"softmax_of_the_middle_of_eleven",
     "const %s : s64[3] = [1, -1, 3]\n%m : ? = Reshape(%z, %s)\n%y : ? = Softmax(%m)\n",
     {0, 2, 5},
     3,
     11},
    {"whether_there_are_rows",
     kRows + "%q : ? = Cast(%n) {to = 9}\n%s : ? = Cast(%q) {to = 7}\n"
             "%y : ? = ConstantOfShape(%s)\n",
     {0, 1, 3}},
    {"nothing_added_to_one_row",
     ints("a", "9") + ints("b", "10") + ints("d", "0") +
         "%e : ? = Slice(%z, %a, %b, %d)\n%y : ? = Add(%e, %z)\n",
     {1}},
    {"numbers_downwards_from_zero", kRows + "%s : ? = Squeeze(%n)\n" + scalar_constant("a", 0) +
                                        scalar_constant("d", -1) + "%y : ? = Range(%a, %s, %d)\n"},
    // Products.
    {"matrix_by_matrices_of_rows",
     floats_of("w", "2,3,2", 12) + "%y : ? = MatMul(%z, %w)\n"},  // rows, where b has more
    {"columns_behind_matrices",
     kTransposed + floats_of("w", "2,1,3", 6) + "%y : ? = MatMul(%w, %t)\n"},
    {"columns_of_a_batch", ints("s", "1, 3, -1") + kTransposed + "%b : ? = Reshape(%t, %s)\n" +
                               floats_of("w", "1,2,3", 6) + "%y : ? = MatMul(%w, %b)\n"},
    {"a_row_by_columns_of_a_batch", ints("s", "1, 3, -1") + kTransposed +
                                        "%b : ? = Reshape(%t, %s)\n" + floats_of("w", "3", 3) +
                                        "%y : ? = MatMul(%w, %b)\n"},
    {"a_row_by_columns", kTransposed + floats_of("w", "3", 3) + "%y : ? = MatMul(%w, %t)\n"},
    {"batch_of_b", ints("s", "-1, 3, 1") + "%b : ? = Reshape(%z, %s)\n" + floats_of("w", "2,3", 6) +
                       "%y : ? = MatMul(%w, %b)\n"},
    {"batch_of_b_beside_one", ints("s", "-1, 3, 1") + "%b : ? = Reshape(%z, %s)\n" +
                                  floats_of("w", "1,2,3", 6) + "%y : ? = MatMul(%w, %b)\n"},
    {"batch_of_b_in_a_larger_one", ints("s", "-1, 3, 1") + "%b : ? = Reshape(%z, %s)\n" +
                                       floats_of("w", "2,1,2,3", 12) + "%y : ? = MatMul(%w, %b)\n"},
    {"batch_of_a_in_a_larger_one", ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n" +
                                       floats_of("w", "2,1,3,2", 12) + "%y : ? = MatMul(%a, %w)\n"},
    {"inner_batch", ints("s", "1, -1, 3, 1") + "%a : ? = Reshape(%z, %s)\n" +
                        floats_of("w", "2,1,1,2", 4) + "%y : ? = MatMul(%a, %w)\n"},
    {"batch_that_is_repeated",
     ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n" + floats_of("w", "5,3,2", 30) +
         "%y : ? = MatMul(%a, %w)\n",
     {1, 5}},
    {"batch_of_fewer",
     ints("s", "-1, 3, 1") + "%b : ? = Reshape(%z, %s)\n" + floats_of("w", "4,2,3", 24) +
         "%y : ? = MatMul(%w, %b)\n",
     {1, 4}},
    {"sum_over_two_bounds",
     kFirstFour + "%a : ? = Transpose(%z4)\n%y : ? = MatMul(%a, %z)\n",
     {0, 1, 3, 4}},
    {"sum_over_two_bounds_turned",
     kFirstFour + kTransposed + "%y : ? = MatMul(%t, %z4)\n",
     {0, 1, 3, 4}},
    {"gemm_and_fewer_rows",
     floats_of("w", "3,2", 6) + floats_of("b", "4,2", 8) + "%y : ? = Gemm(%z, %w, %b)\n",
     {4}},
    {"gemm_of_a_transposed_and_fewer_rows",
     kTransposed + floats_of("w", "3,2", 6) + floats_of("b", "4,2", 8) +
         "%y : ? = Gemm(%t, %w, %b) {transA = 1}\n",
     {4}},
    {"gemm_and_a_column_of_fewer",
     floats_of("w", "3,2", 6) + floats_of("b", "4,1", 4) + "%y : ? = Gemm(%z, %w, %b)\n",
     {4}},
    {"gemm_of_columns_and_fewer",
     kTransposed + floats_of("w", "2,3", 6) + floats_of("b", "2,4", 8) +
         "%y : ? = Gemm(%w, %t, %b)\n",
     {4}},
    {"gemm_of_b_transposed_and_a_row_of_fewer",
     floats_of("w", "2,3", 6) + floats_of("b", "4", 4) + "%y : ? = Gemm(%w, %z, %b) {transB = 1}\n",
     {4}},
    {"gemm_of_columns_and_one", kTransposed + floats_of("w", "2,3", 6) + floats_of("b", "2,1", 2) +
                                    "%y : ? = Gemm(%w, %t, %b)\n"},
    {"gemm_and_a_scalar", floats_of("w", "3,2", 6) + "%b : f32[] = Constant() {value_float = 2.5}\n"
                                                     "%y : ? = Gemm(%z, %w, %b) {alpha = 0.5}\n"},
    {"gemm_and_one_row",
     floats_of("w", "3,2", 6) + floats_of("b", "1,2", 2) + "%y : ? = Gemm(%z, %w, %b)\n"},
    {"gemm_adds_rows_to_all_real",
     floats_of("a", "5,2", 10) + floats_of("w", "2,3", 6) + "%y : ? = Gemm(%a, %w, %z)\n",
     {1, 5}},
    {"gemm_adds_columns_to_all_real",
     kTransposed + floats_of("a", "3,2", 6) + floats_of("w", "2,5", 10) +
         "%y : ? = Gemm(%a, %w, %t)\n",
     {1, 5}},
    {"gemm_adds_a_row_of_columns", kTransposed + floats_of("a", "2,3", 6) + ints("zero", "0") +
                                       "%sum : ? = ReduceSum(%t, %zero) {keepdims = 0}\n"
                                       "%y : ? = Gemm(%a, %t, %sum)\n"},
    // Concat.
    {"joined_with_fewer_rows",
     floats_of("w", "4,2", 8) + "%y : ? = Concat(%z, %w) {axis = 1}\n",
     {4}},
    {"joined_behind_fewer_rows",
     floats_of("w", "4,2", 8) + "%y : ? = Concat(%w, %z) {axis = -1}\n",
     {4}},
    {"joined_with_all_rows",
     floats_of("w", "5,2", 10) + "%y : ? = Concat(%z, %w) {axis = 1}\n",
     {5}},
    {"joined_of_two_bounds", kFirstFour + "%y : ? = Concat(%z, %z4) {axis = 1}\n", {0, 1, 4}},
    {"joined_of_two_bounds_turned",
     kFirstFour + "%y : ? = Concat(%z4, %z) {axis = 1}\n",
     {0, 1, 4}},
    {"one_behind_the_other_of_two_bounds",
     kFirstFour + "%y : ? = Concat(%z4, %z, %z4) {axis = 0}\n"},
    {"joined_with_nothing", floats_of("w", "2,3", 6) + ints("a", "0") +
                                "%e : ? = Slice(%w, %a, %a, %a)\n"
                                "%y : ? = Concat(%z, %e, %w) {axis = 0}\n"},
    // Sums, means, the greatest.
    {"sum_of_two_axes", ints("s", "1, -1, 3") + ints("a", "-1, 0") +
                            "%m : ? = Reshape(%z, %s)\n"
                            "%y : ? = ReduceSum(%m, %a) {keepdims = 0}\n"},
    {"sum_of_two_axes_kept", ints("s", "1, -1, 3") + ints("a", "2, 0") +
                                 "%m : ? = Reshape(%z, %s)\n%y : ? = ReduceSum(%m, %a)\n"},
    {"mean_of_rows", "%y : ? = ReduceMean(%z) {axes = [0]}\n", {1, 2, 5}},
    {"mean_of_columns",
     kTransposed + "%y : ? = ReduceMean(%t) {axes = [-1], keepdims = 0}\n",
     {1, 2, 5}},
    {"mean_of_doubles",
     "%d : ? = Cast(%z) {to = 11}\n%y : ? = ReduceMean(%d) {axes = [0]}\n",
     {1, 3, 5}},
    {"greatest_of_negative_rows",
     "%e : ? = Exp(%z)\n%f : ? = Neg(%e)\n%y : ? = ReduceMax(%f) {axes = [0]}\n",
     {1, 2, 5}},
    {"least_of_positive_rows",
     "%e : ? = Exp(%z)\n%y : ? = ReduceMin(%e) {axes = [0]}\n",
     {1, 2, 5}},
    {"place_of_the_greatest_negative_row",
     "%e : ? = Exp(%z)\n%f : ? = Neg(%e)\n%y : ? = ArgMax(%f) {keepdims = 0}\n",
     {1, 2, 5}},
    {"place_of_the_least_positive_row", "%e : ? = Exp(%z)\n%y : ? = ArgMin(%e)\n", {1, 2, 5}},
    {"place_of_the_greatest_column",
     kTransposed + "%e : ? = Exp(%t)\n%f : ? = Neg(%e)\n%y : ? = ArgMax(%f) {axis = -1}\n",
     {1, 2, 5}},
    {"product_of_integers",
     "%up : ? = Ceil(%z)\n%i : ? = Cast(%up) {to = 6}\n%y : ? = ReduceProd(%i) {axes = [0]}\n"},
    {"greatest_of_integers",
     "%down : ? = Floor(%z)\n%i : ? = Cast(%down) {to = 7}\n%a : ? = Abs(%i)\n%b : ? = Neg(%a)\n"
     "%y : ? = ReduceMax(%b) {axes = [0]}\n",
     {1, 2, 5}},
    // Scattered.
    {"rows_added_by_number", kNumbers + floats_of("d", "5,3", 15) +
                                 "%y : ? = ScatterND(%d, %i, %z) {reduction = \"add\"}\n"},
    {"rows_multiplied_by_number", kNumbers + floats_of("d", "5,3", 15) +
                                      "%y : ? = ScatterND(%d, %i, %z) {reduction = \"mul\"}\n"},
    {"greatest_rows_by_number",
     kNumbers + floats_of("d", "5,3", 15) +
         "%y : ? = ScatterND(%d, %i, %z) {reduction = \"max\"}\n",
     {0, 2, 5},
     3,
     18},
    {"least_rows_by_number",
     kNumbers + floats_of("d", "5,3", 15) +
         "%y : ? = ScatterND(%d, %i, %z) {reduction = \"min\"}\n",
     {0, 2, 5},
     3,
     18},
    {"rows_put_by_number",
     kNumbers + floats_of("d", "6,3", 18) + "%y : ? = ScatterND(%d, %i, %z)\n"},
    {"elements_added_to_columns", kTransposed +
                                      "%f : ? = Floor(%t)\n%g : ? = Abs(%f)\n"
                                      "%i : ? = Cast(%g) {to = 7}\n" +
                                      floats_of("d", "3,4", 12) +
                                      "%y : ? = ScatterElements(%d, %i, %t) {axis = 1, reduction = "
                                      "\"add\"}\n"},
    {"elements_added_to_rows", kPlaces + floats_of("d", "4,3", 12) +
                                   "%y : ? = ScatterElements(%d, %i, %z) {reduction = \"add\"}\n"},
    {"greatest_elements",
     kPlaces + floats_of("d", "4,3", 12) +
         "%y : ? = ScatterElements(%d, %i, %z) {reduction = \"max\"}\n",
     {0, 2, 5},
     3,
     18},
    {"least_elements",
     kPlaces + floats_of("d", "4,3", 12) +
         "%y : ? = ScatterElements(%d, %i, %z) {reduction = \"min\"}\n",
     {0, 2, 5},
     3,
     18},
    {"elements_of_fewer_updates",
     kPlaces + floats_of("d", "4,3", 12) + floats_of("u", "4,3", 12) +
         "%y : ? = ScatterElements(%d, %i, %u) {reduction = "
         "\"add\"}\n",
     {4}},
    {"elements_of_all_updates",
     kPlaces + floats_of("d", "4,3", 12) + floats_of("u", "5,3", 15) +
         "%y : ? = ScatterElements(%d, %i, %u) {reduction = \"add\"}\n",
     {5}},
    {"elements_of_fewer_places",
     "%i : ? = Constant() {value = s64[2,3] [0, 1, 2, 3, 2, 1]}\n" + floats_of("d", "4,3", 12) +
         "%y : ? = ScatterElements(%d, %i, %z)\n",
     {2}},
    {"the_last_row_is_put",
     "%i : ? = Constant() {value = s64[1,1] [-1]}\n" + floats_of("u", "1,3", 3) +
         "%y : ? = ScatterND(%z, %i, %u)\n",
     {1, 2, 5}},
    {"the_last_of_columns_is_put",
     kTransposed + "%i : ? = Constant() {value = s64[1,2] [1, -1]}\n" + floats_of("u", "1", 1) +
         "%y : ? = ScatterND(%t, %i, %u)\n",
     {1, 2, 5}},
    {"the_last_place_of_the_last_row_is_put",
     "%i : ? = Constant() {value = s64[2,2] [-1, -1, -1, 0]}\n" + floats_of("u", "2", 2) +
         "%y : ? = ScatterND(%z, %i, %u)\n",
     {1, 2, 5}},
    {"an_element_of_the_last_row_is_put",
     "%i : ? = Constant() {value = s64[1,3] [-1, -1, -1]}\n" + floats_of("u", "1,3", 3) +
         "%y : ? = ScatterElements(%z, %i, %u)\n",
     {1, 2, 5}},
    {"an_element_beside_is_put",
     "%i : ? = Constant() {value = s64[1,1] [-1]}\n" + floats_of("u", "1,1", 1) +
         "%y : ? = ScatterElements(%z, %i, %u) {axis = 1}\n",
     {1, 2, 5}},
    // Gathered.
    {"rows_from_the_end", kNumbers + "%back : ? = Neg(%r)\n%one : s64[] = Constant() {value_int = "
                                     "1}\n%j : ? = Sub(%back, %one)\n%y : ? = Gather(%z, %j)\n"},
    {"the_last_row_by_elements",
     "%i : ? = Constant() {value = s64[1,3] [-1, 0, -1]}\n"
     "%y : ? = GatherElements(%z, %i)\n",
     {1, 2, 5}},
    {"elements_by_sized_places",
     kPlaces + floats_of("w", "4,3", 12) + "%y : ? = GatherElements(%w, %i) {axis = 0}\n"},
    {"rows_of_a_matrix_by_nd",
     kNumbers + floats_of("w", "5,3", 15) + "%y : ? = GatherND(%w, %i)\n"},
    // Compressed again.
    {"rows_with_a_positive_sum", ints("a", "1") + "%s : ? = ReduceSum(%z, %a) {keepdims = 0}\n"
                                                  "%o : f32[] = Constant() {value_float = 0.0}\n"
                                                  "%p : ? = Greater(%o, %s)\n"
                                                  "%y : ? = Compress(%z, %p) {axis = 0}\n"},
    // Elementwise.
    {"added_to_fewer_rows", floats_of("w", "4,3", 12) + "%y : ? = Add(%z, %w)\n", {1, 4}},
    {"added_to_all_rows", floats_of("w", "5,3", 15) + "%y : ? = Add(%w, %z)\n", {1, 5}},
    {"sum_of_three_bounds", kFirstFour + "%y : ? = Sum(%z, %z4, %z)\n", {0, 1, 4}},
    // Shapes.
    {"shape_to_before_the_first", "%y : ? = Shape(%z) {end = -9}\n"},
    {"shape_from_before_the_first", "%y : ? = Shape(%z) {start = -9}\n"},
    {"shape_of_the_second_only", "%y : ? = Shape(%z) {start = 1, end = 2}\n"},
    {"rows_of_a_shape", "%y : ? = Shape(%z) {end = 1}\n"},
    {"columns_of_a_shape", kTransposed + "%s : ? = Shape(%t) {start = 1}\n" + ints("k", "9") +
                               "%d : ? = Sub(%k, %s)\n%y : ? = ConstantOfShape(%d)\n"},
    {"size_of_what_is_left", "%s : ? = Size(%z)\n" + scalar_constant("from", 0) +
                                 scalar_constant("by", 1) + "%y : ? = Range(%from, %s, %by)\n"},
    // Reshaped.
    {"to_pairs_of_more", ints("to", "-1, 4") + "%y : ? = Reshape(%z, %to)\n", {0, 2, 4}, 6},
    {"to_two_rows", ints("to", "2, -1") + "%y : ? = Reshape(%z, %to)\n", {0, 1, 2, 5}, 4},
    {"to_two_matrices", ints("to", "2, -1, 2") + "%y : ? = Reshape(%z, %to)\n", {0, 1, 2, 5}, 4},
    {"columns_to_two_rows",
     kTransposed + ints("to", "2, -1") + "%y : ? = Reshape(%t, %to)\n",
     {0, 1, 2, 5},
     4},
    {"columns_to_matrices",
     kTransposed + ints("to", "-1, 2") + "%y : ? = Reshape(%t, %to)\n",
     {0, 1, 2, 5},
     4},
    {"rows_to_a_known_shape", ints("to", "3, 2") + "%y : ? = Reshape(%z, %to)\n", {2}},
    {"columns_to_a_known_shape",
     kTransposed + ints("to", "6") + "%y : ? = Reshape(%t, %to)\n",
     {2}},
    {"columns_with_their_size_in_place",
     kRows + kTransposed + ints("two", "2, 2") +
         "%to : ? = Concat(%two, %n) {axis = 0}\n%y : ? = Reshape(%t, %to)\n",
     {1, 2, 5},
     4},
    {"rows_and_what_is_open",
     kRows + ints("open", "-1, 2") +
         "%to : ? = Concat(%n, %open) {axis = 0}\n"
         "%y : ? = Reshape(%z, %to)\n",
     {1, 2, 5},
     4},
    {"all_real_to_rows_of_two",
     kRows + ints("two", "2") + floats_of("w", "4", 4) +
         "%to : ? = Concat(%n, %two) {axis = 0}\n"
         "%y : ? = Reshape(%w, %to)\n",
     {2}},
    {"one_row_is_squeezed",
     ints("one", "1") + ints("zero", "0") +
         "%f : ? = Slice(%z, %zero, %one, %zero)\n%y : ? = Squeeze(%f)\n",
     {1, 2, 5}},
    // Repeated.
    {"tiled_by_its_own_rows",
     kRows + ints("one", "1") + "%r : ? = Concat(%n, %one) {axis = 0}\n%y : ? = Tile(%z, %r)\n",
     {0, 1, 2, 5}},
    {"tiled_never", ints("r", "0, 2") + "%y : ? = Tile(%z, %r)\n"},
    {"tiled_beside", ints("r", "1, 2") + "%y : ? = Tile(%z, %r)\n"},
    {"expanded_by_its_own_rows",
     kRows + ints("k", "2, 1") + "%e : ? = Concat(%k, %n) {axis = 0}\n" + kTransposed +
         "%y : ? = Expand(%t, %e)\n",
     {0, 1, 2, 5},
     1},
    {"expanded_to_fewer_rows", ints("e", "4, 3") + "%y : ? = Expand(%z, %e)\n", {1, 4}},
    {"all_rows_expanded_by_rows",
     kRows + ints("one", "1") + floats_of("w", "5,3", 15) +
         "%e : ? = Concat(%n, %one) {axis = 0}\n"
         "%y : ? = Expand(%w, %e)\n",
     {1, 5}},
    {"expanded_to_fewer_dimensions", ints("e", "3") + "%y : ? = Expand(%z, %e)\n"},
    // Numbers.
    {"numbers_from_two", kRows + "%s : ? = Squeeze(%n)\n" + scalar_constant("a", 2) +
                             scalar_constant("d", 1) + "%y : ? = Range(%a, %s, %d)\n"},
    {"every_second_number",
     kRows + "%s : ? = Squeeze(%n)\n" + scalar_constant("a", 0) + scalar_constant("d", 2) +
         "%y : ? = Range(%a, %s, %d)\n",
     {0, 1, 2, 3, 4, 5}},
    {"numbers_downwards",
     kRows + "%s : ? = Squeeze(%n)\n" + scalar_constant("a", 3) + scalar_constant("d", -1) +
         "%y : ? = Range(%a, %s, %d)\n",
     {0, 1, 2, 3, 4, 5}},
    {"numbers_of_32_bits", kRows + "%s : ? = Squeeze(%n)\n%i : ? = Cast(%s) {to = 6}\n"
                                   "%a : s32[] = Constant() {value = s32[] 0}\n"
                                   "%d : s32[] = Constant() {value = s32[] 1}\n"
                                   "%y : ? = Range(%a, %i, %d)\n"},
    {"halves_downwards",
     kRows + "%s : ? = Squeeze(%n)\n%f : ? = Cast(%s) {to = 1}\n"
             "%a : f32[] = Constant() {value_float = 0.5}\n"
             "%d : f32[] = Constant() {value_float = -0.75}\n"
             "%y : ? = Range(%f, %a, %d)\n",
     {0, 1, 2, 3, 4, 5}},
    // TopK.
    {"all_rows_in_order", kRows + "%y : ?, %i : ? = TopK(%z, %n) {axis = 0}\n"},
    {"places_of_all_rows_in_order",
     kRows + "%v : ?, %y : ? = TopK(%z, %n) {axis = 0, largest = 0}\n"},
    {"best_of_a_vector", kRows + floats_of("w", "7", 7) + "%y : ?, %i : ? = TopK(%w, %n)\n"},
    {"two_least_rows",
     ints("k", "2") + "%y : ?, %i : ? = TopK(%z, %k) {axis = 0, largest = 0}\n",
     {2, 5}},
    {"two_greatest_negative_rows",
     "%e : ? = Exp(%z)\n%f : ? = Neg(%e)\n" + ints("k", "2") +
         "%y : ?, %i : ? = TopK(%f, %k) {axis = 0}\n",
     {2, 5}},
    // Operators for each sample.
    {"convolved", ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n" +
                      floats_of("w", "2,1,2", 4) + "%y : ? = Conv(%a, %w)\n"},
    {"greatest_of_pairs", ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n"
                                                  "%y : ? = MaxPool(%a) {kernel_shape = [2]}\n"},
    {"greatest_of_pairs_and_their_places",
     ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n"
                             "%v : ?, %y : ? = MaxPool(%a) {kernel_shape = [2]}\n"},
    {"means_of_channels", ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n"
                                                  "%y : ? = GlobalAveragePool(%a)\n"},
    // The table has as many columns as there are rows.
    {"square_of_a_table", kRows + floats_of("table", "5,5", 25) + ints("from", "0, 0") +
                              ints("along", "1, 0") +
                              "%e : ? = Concat(%n, %n) {axis = 0}\n"
                              "%y : ? = Slice(%table, %from, %e, %along)\n"},
    {"square_of_a_table_in_two_steps",
     kRows + floats_of("table", "5,5", 25) + ints("one", "1") +
         "%none : ? = Sub(%n, %n)\n%t : ? = Slice(%table, %none, %n, %one)\n"
         "%y : ? = Slice(%t, %zero, %n, %zero)\n"},
    // Axes that the axis map carries.
    {"determinants",
     ints("s", "-1, 2, 2") + "%a : ? = Reshape(%z, %s)\n%y : ? = Det(%a)\n",
     {0, 2, 5},
     4},
    {"mixed_point_by_point", kTransposed + ints("s", "1, 3, -1") + "%a : ? = Reshape(%t, %s)\n" +
                                 floats_of("w", "2,3,1", 6) + "%y : ? = Conv(%a, %w)\n"},
    {"boxes",
     ints("b", "1, -1, 4") + ints("s", "1, 1, -1") + ints("one", "1") + ints("five", "5") +
         "%boxes : ? = Reshape(%z, %b)\n"
         "%sum : ? = ReduceSum(%z, %one)\n%least : ? = Reshape(%sum, %s)\n"
         "%y : ? = NonMaxSuppression(%boxes, %least, %five)\n",
     {1, 2, 5},
     4},
    {"boxes_above",
     ints("b", "1, -1, 4") + ints("s", "1, 1, -1") + ints("one", "1") + ints("five", "5") +
         "%iou : f32[1] = Constant() {value_floats = [0.25]}\n"
         "%above : f32[1] = Constant() {value_floats = [-1.5]}\n"
         "%boxes : ? = Reshape(%z, %b)\n"
         "%sum : ? = ReduceSum(%z, %one)\n%scores : ? = Reshape(%sum, %s)\n"
         "%y : ? = NonMaxSuppression(%boxes, %scores, %five, %iou, %above)\n",
     {1, 2, 5},
     4},
    {"sampled",
     ints("s", "-1, 1, 2, 2") + ints("g", "-1, 1, 2, 2") + "%a : ? = Reshape(%z, %s)\n" +
         "%b : ? = Reshape(%z, %g)\n%y : ? = GridSample(%a, %b)\n",
     {1, 2, 5},
     4},
    // Padded at the sides, by axes.
    {"padded_along_named_axes",
     ints("p", "1, 2") + ints("a", "-1") + "%y : ? = Pad(%z, %p, _, %a)\n",
     {0, 2, 5},
     3,
     18},
    // Forms of older opsets.
    {"softmax_of_eleven", "%y : ? = Softmax(%z)\n", {0, 2, 5}, 3, 11},
    {"softmax_of_columns_of_eleven", kTransposed + "%y : ? = Softmax(%t)\n", {0, 2, 5}, 3, 11},
    {"softmax_of_what_lies_behind_of_eleven",
     kTransposed +
         "const %s : s64[3] = [1, 3, -1]\n%m : ? = Reshape(%t, %s)\n%y : ? = Softmax(%m)\n",
     {0, 2, 5},
     3,
     11},
    {"attributes_of_eleven",
     "%u : ? = Unsqueeze(%z) {axes = [0, -1]}\n%s : ? = Squeeze(%u) {axes = [-1]}\n"
     "%y : ? = ReduceSum(%s) {axes = [2], keepdims = 0}\n",
     {0, 2, 5},
     3,
     11},
    {"slice_of_nine", "%y : ? = Slice(%z) {starts = [1, -2], ends = [4, 3]}\n", {0, 1, 2, 5}, 3, 9},
    {"slice_of_nine_by_axes",
     "%y : ? = Slice(%z) {starts = [-2], ends = [9], axes = [0]}\n",
     {0, 1, 2, 5},
     3,
     9},
    // The bound of the pad is added, and the padding of the rows is replaced.
    {"padded_along_it",
     ints("p", "2, 0, 1, 1") +
         "%v : f32[] = Constant() {value_float = 1.5}\n%y : ? = Pad(%z, %p, %v)\n"},
    {"padded_along_the_named_axis",
     ints("p", "1, 2") + ints("a", "0") + "%y : ? = Pad(%z, %p, _, %a)\n",
     {0, 2, 5},
     3,
     18},
    {"cropped_along_it", ints("p", "-1, 0, -1, 0") + "%y : ? = Pad(%z, %p)\n", {2, 3, 5}},
    {"padded_and_cropped", ints("p", "1, 0, -1, 0") + "%y : ? = Pad(%z, %p)\n", {0, 2, 5}},
    {"padded_along_it_by_ten",
     "%y : ? = Pad(%z) {pads = [1, 0, 2, 1], value = 2.5}\n",
     {0, 2, 5},
     3,
     10},
    {"padded_after_by_as_many", padded("%w", "%zero, %zero, %n, %zero")},
    {"padded_before_by_as_many", padded("%w", "%n, %zero, %zero, %zero")},
    {"padded_on_both_sides_by_as_many", padded("%w", "%n, %zero, %n, %zero")},
    {"rows_padded_by_as_many", padded("%z", "%n, %zero, %n, %zero")},
    {"cropped_after_by_as_many", padded("%w", "%zero, %zero, %m, %zero")},
    {"cropped_before_by_as_many", padded("%w", "%m, %zero, %zero, %zero")},
    {"moved_by_as_many", padded("%w", "%m, %zero, %n, %zero")},
    // Items past the size are replaced by copies of the first item.
    {"unique_numbers", unique("%y : ?", ""), {0, 1, 2, 5}},
    {"first_of_unique_numbers", unique("%a : ?, %y : ?", ""), {0, 1, 2, 5}},
    {"places_in_unique_numbers", unique("%a : ?, %b : ?, %y : ?", ""), {0, 1, 2, 5}},
    {"how_often_there_are_unique_numbers",
     unique("%a : ?, %b : ?, %k : ?, %y : ?", ""),
     {0, 1, 2, 5}},
    {"unique_numbers_as_they_come",
     unique("%a : ?, %b : ?, %k : ?, %y : ?", "sorted = 0"),
     {0, 2, 5}},
    {"unique_rows", unique("%y : ?", "axis = 0"), {0, 1, 2, 5}, 1},
    {"how_often_there_are_unique_rows",
     unique("%a : ?, %b : ?, %k : ?, %y : ?", "axis = 0"),
     {0, 1, 2, 5},
     1},
    {"lower_triangle", "%y : ? = Trilu(%z) {upper = 0}\n"},
    {"upper_triangle_beside", kTransposed + "%y : ? = Trilu(%t)\n"},
    // Sequences of such rows.
    {"joined_from_a_sequence", floats_of("w", "2,3", 6) +
                                   "%s : ? = SequenceConstruct(%z, %w, %z)\n"
                                   "%y : ? = ConcatFromSequence(%s) {axis = 0}\n"},
    {"joined_beside_from_a_sequence",
     "%s : ? = SequenceConstruct(%z, %z)\n%y : ? = ConcatFromSequence(%s) {axis = -1}\n"},
    {"stacked_from_a_sequence",
     "%s : ? = SequenceConstruct(%z, %z)\n"
     "%y : ? = ConcatFromSequence(%s) {axis = 0, new_axis = 1}\n"},
    {"stacked_beside_from_a_sequence",
     "%s : ? = SequenceConstruct(%z, %z)\n"
     "%y : ? = ConcatFromSequence(%s) {axis = 1, new_axis = 1}\n"},
    {"inserted_into_a_sequence",
     floats_of("w", "2,3", 6) + scalar_constant("at", 0) + scalar_constant("last", -1) +
         "%e : ? = SequenceConstruct(%w)\n%s : ? = SequenceInsert(%e, %z, %at)\n"
         "%r : ? = SequenceErase(%s, %last)\n%y : ? = SequenceAt(%r, %at)\n"},
    // Loops with a number of iterations that depends on data.
    {"sums_of_steps", sums("%t : ?, %y : ?", "%z) {num_scan_inputs = 1")},
    {"state_after_steps", sums("%y : ?, %t : ?", "%z) {num_scan_inputs = 1")},
    {"sums_of_steps_from_the_end",
     sums("%t : ?, %y : ?",
          "%z) {num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1]")},
    {"sums_of_steps_beside",
     kTransposed +
         sums("%o : ?, %y : ?",
              "%t) {num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1]")},
    {"rows_of_rounds", doubled("%a : ?, %b : ?, %y : ?")},
    {"state_after_rounds", doubled("%y : ?, %b : ?, %t : ?")},
    {"rows_of_rounds_after_a_condition",
     ints("three", "3") +
         "%sh : ? = Shape(%z)\n%at0 : ? = Constant() {value_int = 0}\n"
         "%rows : ? = Gather(%sh, %at0)\n%three0 : ? = Squeeze(%three)\n"
         "%may : ? = Less(%rows, %three0)\n" +
         doubled("%a : ?, %b : ?, %y : ?", "%may")},
    {"a_shape_of_counted_rounds",
     doubled("%a : ?, %b : ?, %t : ?") + ints("one", "1") +
         "%shape1 : ? = Reshape(%b, %one)\n%y : ? = ConstantOfShape(%shape1)\n"},
    {"rows_of_a_limited_number_of_rounds",
     kRows +
         "%sum : ? = ReduceSum(%z) {keepdims = 0}\n%f : ? = Abs(%sum)\n"
         "%g : ? = Cast(%f) {to = 7}\n" +
         scalar_constant("most", 3) + "%count : ? = Min(%g, %most)\n" +
         rounds("%a : ?, %b : ?, %y : ?")},
    {"a_shape_of_a_branch",
     kRows + ints("two", "2") + "%less : ? = Less(%n, %two)\n%p : ? = Squeeze(%less)\n" +
         "%to : ? = If(%p) {then_branch = graph \"t\" { %i : ? = Add(%n, %two) output %i }, "
         "else_branch = graph \"e\" { %j : ? = Sub(%n, %two) output %j }}\n"
         "%y : ? = ConstantOfShape(%to)\n"},
    // TopK of more elements than the axis has: the bound of k is limited to the length.
    {"the_best_of_a_number_with_a_larger_bound", kRows +
                                                     "%m : ? = Add(%n, %n)\n%k : ? = Sub(%m, %n)\n"
                                                     "%y : ?, %i : ? = TopK(%z, %k) {axis = 0}\n"},
    {"the_best_of_the_least_by_eleven",
     "const %zero : s64[1] = [0]\nconst %two : s64[1] = [2]\n%shape : ? = Shape(%z)\n"
     "%n : ? = Gather(%shape, %zero) {axis = 0}\n" +
         floats_of("w", "2,3", 6) +
         "%less : ? = Less(%n, %two)\n%k : ? = Where(%less, %n, %two)\n"
         "%y : ?, %i : ? = TopK(%w, %k) {axis = 0}\n",
     {0, 1, 2, 5},
     3,
     11},
    // Operators whose expansion contains no size.
    {"bias_and_gelu", floats_of("w", "3", 3) + "%y : ? = com.microsoft.BiasGelu(%z, %w)\n"},
    {"bias_and_gelu_of_two", "%y : ? = com.microsoft.BiasGelu(%z, %z)\n"},
    {"bias_and_gelu_beside",
     kTransposed + floats_of("w", "1", 1) + "%y : ? = com.microsoft.BiasGelu(%t, %w)\n"},
    {"lower_triangle_of_microsoft", "%y : ? = com.microsoft.Trilu(%z) {upper = 0}\n"},
    {"upper_triangle_of_microsoft_beside", kTransposed + "%y : ? = com.microsoft.Trilu(%t)\n"},
    {"product_of_microsoft",
     floats_of("w", "3,2", 6) + "%y : ? = com.microsoft.FusedMatMul(%z, %w) {alpha = 0.5}\n"},
    {"product_of_microsoft_beside",
     floats_of("w", "3,2", 6) +
         "%y : ? = com.microsoft.FusedMatMul(%w, %z) {transA = 1, transB = 1}\n"},
    {"product_of_microsoft_over_rows", "%y : ? = com.microsoft.FusedMatMul(%z, %z) {transA = 1}\n"},
    {"sum_and_layer_norm",
     floats_of("g", "3", 3) + "%y : ? = com.microsoft.SkipLayerNormalization(%z, %z, %g)\n"},
    {"sum_and_simplified_layer_norm",
     floats_of("g", "3", 3) +
         "%y : ? = com.microsoft.SkipSimplifiedLayerNormalization(%z, %z, %g)\n"},
    {"the_sum_of_a_simplified_layer_norm",
     floats_of("g", "3", 3) +
         "%a : ?, %b : ?, %c1 : ?, %s : ? = com.microsoft.SkipSimplifiedLayerNormalization(%z, %z, "
         "%g)\n%y : ? = Add(%a, %s)\n"},
    {"softmax_of_bytes",
     kBytes + "%r : ? = com.microsoft.QLinearSoftmax(%q, %k, %o, %m, %o) {axis = 1}\n"
              "%y : ? = DequantizeLinear(%r, %m, %o)\n"},
    {"softmax_of_bytes_over_rows",
     kBytes + "%r : ? = com.microsoft.QLinearSoftmax(%q, %k, %o, %m, %o) {axis = 0}\n"
              "%y : ? = DequantizeLinear(%r, %m, %o)\n",
     {1, 2, 5}},
    {"bytes_of_a_range",
     "%b : ?, %k : ?, %o : ? = DynamicQuantizeLinear(%z)\n"
     "%y : ? = DequantizeLinear(%b, %k, %o)\n"},
    {"the_scale_of_a_range", "%b : ?, %y : ?, %o : ? = DynamicQuantizeLinear(%z)\n"},
    {"pad_of_ten", "%y : ? = Pad(%z) {pads = [0, 1, 0, 2]}\n", {0, 2, 5}, 3, 10},
};

class SizedCases : public testing::TestWithParam<SizedCase> {};

TEST_P(SizedCases, PaddedResultsEqualResultsOfTheRealSize) {
  const SizedCase& c = GetParam();
  expect_as_of_rows(c.body, c.columns, c.counts, 1e-5, c.opset);
}

INSTANTIATE_TEST_SUITE_P(Sized, SizedCases, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace poprt::compiler
