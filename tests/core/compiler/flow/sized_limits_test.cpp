// The bounds of tensors with a real part and padding, and the messages of refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/flow/specializer.h"
#include "core/compiler/flow/sized_support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

const std::string kHead =
    "input %x : f32[5,3]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) {axis = 0}\n";
const std::string kColumns = "%t : ? = Transpose(%z)\n";  // [3, n]

std::string scalar(const std::string& name, int64_t value) {
  return "%" + name + " : s64[] = Constant() {value_int = " + std::to_string(value) + "}\n";
}

// Returns the shape of y, which is the bound of its size.
Shape room_of(const std::string& body) {
  try {
    const Executable e = compile_body(kHead + body + "output %y\n");
    for (const program::Anchor& a : e.program.outputs)
      if (a.name == "y") return a.shape;
  } catch (const Error& e) {
    ADD_FAILURE() << e.message() << "\n" << body;
  }
  return {-1};
}

// "code: message" of a body that is refused.
std::string refusal(const std::string& body, int opset = 17) {
  try {
    test::compile_text(graph_text(kHead + body + "output %y\n", opset));
  } catch (const Error& e) {
    return fmt::format("{}: {}", error_code_name(e.code()), e.message());
  }
  return "taken";
}

struct Words {
  const char* name;
  std::string body, error_part;
  int opset = 17;
};

void expect_refused(std::span<const Words> all, const char* code) {
  for (const Words& w : all) {
    const std::string error_text = refusal(w.body, w.opset);
    EXPECT_TRUE(error_text.starts_with(code)) << w.name << ": " << error_text;
    EXPECT_NE(error_text.find(w.error_part), std::string::npos) << w.name << ": " << error_text;
  }
}

TEST(SizedLimits, ShapesOfSizesHaveRoomForTheMost) {
  const std::string of = "%y : ? = ConstantOfShape(%s)\n";
  const auto k = [](int64_t v) { return ints("k", std::to_string(v)); };
  const std::string choose =
      ints("many", "20") + "%s : ? = Where(%q, %many, %n)\n";  // 20 where q is true
  const std::pair<std::string, int64_t> cases[] = {
      {"%s : ? = Identity(%n)\n", 5},
      {k(9) + "%s : ? = Sub(%k, %n)\n", 9},
      {k(2) + "%s : ? = Mul(%n, %k)\n", 10},
      {"%s : ? = Add(%n, %n)\n", 10},
      {k(4) + "%s : ? = Min(%n, %k)\n", 4},
      {k(7) + "%s : ? = Max(%n, %k)\n", 7},
      {k(2) + "%s : ? = Div(%n, %k)\n", 2},
      {k(9) + "%s : ? = Div(%k, %n)\n", 9},
      {k(3) + "%s : ? = Mod(%n, %k)\n", 2},
      {k(9) + "%s : ? = Mod(%n, %k)\n", 5},
      {k(9) + "%s : ? = Mod(%n, %k) {fmod = 1}\n", 5},
      {k(4) + "%m : ? = Neg(%n)\n%s : ? = Mod(%m, %k)\n", 3},
      {k(1) + "%s : ? = Mod(%n, %k)\n", 0},
      // The greatest and the least number differ or are equal.
      {k(9) + "%q : ? = Equal(%n, %k)\n" + choose, 5},
      {k(6) + "%q : ? = Equal(%k, %n)\n" + choose, 5},
      {k(5) + "%q : ? = Equal(%n, %k)\n" + choose, 20},
      {k(3) + "%q : ? = Equal(%k, %n)\n" + choose, 20},
      {k(0) + "%q : ? = Equal(%n, %k)\n" + choose, 20},
      {k(-1) + "%q : ? = Equal(%n, %k)\n" + choose, 5},
      {k(5) + "%q : ? = Greater(%n, %k)\n" + choose, 5},
      {k(4) + "%q : ? = Greater(%n, %k)\n" + choose, 20},
      {k(0) + "%q : ? = Less(%n, %k)\n" + choose, 5},
      {k(6) + "%q : ? = Less(%n, %k)\n%p : ? = Not(%q)\n" + ints("many", "20") +
           "%s : ? = Where(%p, %many, %n)\n",
       5},
      {"%f : ? = Cast(%n) {to = 1}\n%s : ? = Cast(%f) {to = 7}\n", 5},
      {"%i : ? = Cast(%n) {to = 6}\n%s : ? = CastLike(%i, %zero)\n", 5},
      {"%q : ? = Cast(%n) {to = 9}\n" + choose, 20},
      {"%s : ? = Abs(%n)\n", 5},
      // The bound is the greatest minus the least number, for all combinations.
      {k(2) + "%d : ? = Div(%n, %k)\n%s : ? = Sub(%n, %d)\n", 5},
      {k(20) + "%size : ? = Size(%z)\n%s : ? = Sub(%k, %size)\n", 20},
      // Four numbers vary; the one with the greatest limit decides.
      {k(2) + "%a : ? = Mul(%n, %k)\n%b : ? = Add(%a, %n)\n%d : ? = Add(%b, %n)\n"
              "%s : ? = Max(%n, %a, %b, %d)\n",
       20},
      {"%e : ? = Concat(%n, %n) {axis = 0}\n%d : ? = CumSum(%e, %at) {exclusive = 0}\n"
       "%one : ? = Constant() {value_ints = [1]}\n%s : ? = Gather(%d, %one)\n",
       10},
  };
  for (const auto& [body, most] : cases)
    EXPECT_EQ(room_of(kRows + scalar("at", 0) + body + of), (Shape{most})) << body;
}

TEST(SizedLimits, PartsHaveRoomForTheMostThatTheyCanBe) {
  const auto slice = [](const char* from, const char* to, const char* step) {
    return room_of(ints("a", from) + ints("b", to) + ints("d", "0") + ints("s", step) +
                   "%y : ? = Slice(%z, %a, %b, %d, %s)\n")[0];
  };
  const std::string most = std::to_string(INT64_MAX), least = std::to_string(INT64_MIN + 1);
  EXPECT_EQ(slice("1", "4", "1"), 3);
  EXPECT_EQ(slice("0", "5", "1"), 5);
  EXPECT_EQ(slice("-2", most.c_str(), "1"), 2);
  EXPECT_EQ(slice("-5", most.c_str(), "1"), 5);
  EXPECT_EQ(slice("0", "-1", "1"), 4);
  EXPECT_EQ(slice("-3", "-1", "1"), 3);
  EXPECT_EQ(slice("0", "-5", "1"), 0);
  EXPECT_EQ(slice("0", most.c_str(), "2"), 3);
  EXPECT_EQ(slice("1", most.c_str(), "2"), 2);
  EXPECT_EQ(slice("-4", most.c_str(), "3"), 2);
  EXPECT_EQ(slice("-1", least.c_str(), "-1"), 5);
  EXPECT_EQ(slice("-1", least.c_str(), "-2"), 3);
  EXPECT_EQ(slice("7", "9", "1"), 0);
  const std::string w = kRows + "%w : f32[7] = Constant() {value = f32[7] [1, 2, 3, 4, 5, 6, 7]}\n";
  EXPECT_EQ(room_of(w + ints("k", "7") + "%y : ? = Slice(%w, %n, %k)\n"), (Shape{7}));
  EXPECT_EQ(room_of(w + ints("k", "1") + "%e : ? = Add(%n, %k)\n%y : ? = Slice(%w, %k, %e)\n"),
            (Shape{5}));
  EXPECT_EQ(room_of(w + ints("k", "-1") + "%y : ? = Slice(%w, %n, %k)\n"), (Shape{6}));
  EXPECT_EQ(room_of(w + ints("k", "0") + "%m : ? = Neg(%n)\n%y : ? = Slice(%w, %k, %m)\n"),
            (Shape{7}));
}

TEST(SizedLimits, RangesHaveRoomForTheMost) {
  const auto range = [](const std::string& from, const std::string& to, const std::string& by) {
    return room_of(kRows + "%s : ? = Squeeze(%n)\n%f : ? = Cast(%s) {to = 1}\n" + scalar("one", 1) +
                   scalar("two", 2) + scalar("nine", 9) + scalar("back", -3) +
                   "%half : f32[] = Constant() {value_float = 0.5}\n%y : ? = Range(" + from + ", " +
                   to + ", " + by + ")\n")[0];
  };
  EXPECT_EQ(range("%one", "%s", "%one"), 4);
  EXPECT_EQ(range("%one", "%s", "%two"), 2);
  EXPECT_EQ(range("%two", "%s", "%two"), 2);
  EXPECT_EQ(range("%s", "%nine", "%one"), 9);
  EXPECT_EQ(range("%nine", "%s", "%back"), 3);
  EXPECT_EQ(range("%s", "%one", "%back"), 2);
  EXPECT_EQ(range("%half", "%f", "%half"), 9);
  EXPECT_EQ(range("%nine", "%s", "%one"), 0);
}

TEST(SizedLimits, BoundsOfResultsFollowFromTheirOperands) {
  // The bound of two broadcast sizes is the larger one; other bounds follow from the rest of the
  // shape.
  const std::string four = kRows + ints("four", "4") +
                           "%m : ? = Min(%n, %four)\n%z4 : ? = Slice(%z, %zero, %m, %zero)\n";
  EXPECT_EQ(room_of(four + "%y : ? = Add(%z, %z4)\n"), (Shape{5, 3}));
  EXPECT_EQ(room_of(four + "%y : ? = Add(%z4, %z)\n"), (Shape{5, 3}));
  EXPECT_EQ(room_of(four + "%y : ? = Neg(%z4)\n"), (Shape{4, 3}));
  EXPECT_EQ(room_of(ints("to", "-1, 2") + "%e : ? = Concat(%z, %z) {axis = 1}\n"
                                          "%y : ? = Reshape(%e, %to)\n"),
            (Shape{15, 2}));
  EXPECT_EQ(room_of(kColumns + ints("to", "-1") + "%y : ? = Reshape(%t, %to)\n"), (Shape{15}));
  EXPECT_EQ(room_of(kColumns + ints("to", "3, -1, 1") + "%y : ? = Reshape(%t, %to)\n"),
            (Shape{3, 5, 1}));
  EXPECT_EQ(room_of(ints("r", "3, 1") + "%y : ? = Tile(%z, %r)\n"), (Shape{15, 3}));
  EXPECT_EQ(room_of(ints("r", "0, 1") + "%y : ? = Tile(%z, %r)\n"), (Shape{0, 3}));
  EXPECT_EQ(room_of(ints("e", "4, 1") + "%y : ? = Expand(%z, %e)\n"), (Shape{4, 3}));
  EXPECT_EQ(room_of("%w : ? = Constant() {value = f32[4,1] [1, 2, 3, 4]}\n%y : ? = Add(%z, %w)\n"),
            (Shape{4, 3}));
  EXPECT_EQ(room_of("%w : ? = Constant() {value = f32[2,1] [1, 2]}\n"
                    "%e : ? = Concat(%z, %w, %z) {axis = 1}\n%y : ? = Identity(%e)\n"),
            (Shape{2, 7}));
  EXPECT_EQ(room_of("%y : ? = Concat(%z, %x, %z) {axis = 0}\n"), (Shape{15, 3}));
}

// Reshape recognises the size of its input however the number was computed. Otherwise there would
// be two unknown dimensions, which it refuses.
TEST(SizedLimits, OneSizeIsOneValueHoweverItIsWritten) {
  const char* const ways[] = {
      "%k : ? = Identity(%n)\n",
      "%i : ? = Constant() {value_ints = [-2]}\n%k : ? = Gather(%shape, %i)\n",
      "%i : ? = Constant() {value_ints = [1, 0]}\n%g : ? = Gather(%shape, %i)\n"
      "%j : ? = Constant() {value_ints = [1]}\n%k : ? = Gather(%g, %j)\n",
      "%q : ? = Squeeze(%n)\n%k : ? = Unsqueeze(%q, %zero)\n",
      "%k : ? = Cast(%n) {to = 7}\n",
      "%k : ? = Shape(%z) {end = 1}\n",
      "%a : ? = Concat(%n, %n, %zero) {axis = 0}\n%i : ? = Constant() {value_ints = [1]}\n"
      "%k : ? = Gather(%a, %i)\n",
      "%f : ? = Constant() {value = bool[1] [false]}\n%k : ? = Where(%f, %zero, %n)\n",
      "%f : ? = Constant() {value = bool[1] [true]}\n%k : ? = Where(%f, %n, %zero)\n",
      "%f : ? = Constant() {value = bool[2] [true, false]}\n%w : ? = Where(%f, %shape, %zero)\n"
      "%k : ? = Gather(%w, %zero)\n",
      "%f : ? = Constant() {value = bool[] true}\n%w : ? = Where(%f, %shape, %zero)\n"
      "%k : ? = Gather(%w, %zero)\n",
      "%one : ? = Constant() {value_ints = [1]}\n%k : ? = Reshape(%n, %one)\n",
      // These take n from [3, n].
      "%i : ? = Constant() {value_ints = [-1]}\n%k : ? = Gather(%turned, %i)\n",
      "%f : ? = Constant() {value = bool[2] [false, true]}\n%w : ? = Where(%f, %turned, %zero)\n"
      "%i : ? = Constant() {value_ints = [1]}\n%k : ? = Gather(%w, %i)\n",
      "%f : ? = Constant() {value = bool[2] [true, false]}\n%w : ? = Where(%f, %turned, %n)\n"
      "%i : ? = Constant() {value_ints = [1]}\n%k : ? = Gather(%w, %i)\n",
  };
  for (const char* way : ways)
    expect_as_of_rows(kRows + kColumns + "%turned : ? = Shape(%t)\n" + way + ints("open", "-1") +
                          "%to : ? = Concat(%k, %open) {axis = 0}\n%y : ? = Reshape(%z, %to)\n",
                      3, {1, 4});
}

TEST(SizedLimits, ErrorsNameTheSizeWithoutARule) {
  const auto along = [](const char* name, int axis, int most) {
    return fmt::format(
        "the size of '{}' along axis {} depends on data (at most {}), and there is no rule for it "
        "in this operator; make what it depends on constant, or end the model before it",
        name, axis, most);
  };
  const std::string square = "%q : ? = Concat(%z, %z) {axis = 1}\n" + ints("a", "0") +
                             ints("five", "5") + ints("one", "1") +
                             "%s : ? = Slice(%q, %a, %five, %one)\n%r : ? = Transpose(%s)\n";
  const std::string places = "%f : ? = Floor(%s)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n";
  const Words all[] = {
      {"sum of two axes", square + "%y : ? = Add(%s, %r)\n", along("r", 1, 5)},
      {"joined of two axes",
       square + ints("u", "2") +
           "%s3 : ? = Unsqueeze(%s, %u)\n%r3 : ? = Unsqueeze(%r, %u)\n"
           "%y : ? = Concat(%s3, %r3) {axis = 2}\n",
       along("r3", 1, 5)},
      {"joined along one of them", square + "%y : ? = Concat(%s, %r) {axis = 1}\n",
       along("r", 1, 5)},
      {"places and updates of two axes", square + places + "%y : ? = ScatterElements(%x, %i, %r)\n",
       along("r", 1, 5)},
      {"places with an unknown depth",
       square + "%f : ? = Floor(%r)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n"
                "%w : ? = Constant() {value = f32[1,1,1,1,1] [1]}\n%u : ? = ReduceSum(%x)\n"
                "%y : ? = ScatterND(%w, %i, %u)\n",
       along("i", 1, 5)},
      {"mean of integers", "%i : ? = Cast(%z) {to = 6}\n%y : ? = ReduceMean(%i) {axes = [0]}\n",
       along("i", 0, 5)},
      {"gathered from another axis", square + places + "%y : ? = Gather(%s, %i) {axis = 1}\n",
       along("i", 0, 5)},
      {"GatherND with batches", square + places + "%y : ? = GatherND(%x, %i) {batch_dims = 1}\n",
       along("i", 0, 5)},
      {"compressed along another axis",
       "%d : ? = Constant() {value = bool[3] [true, false, true]}\n"
       "%y : ? = Compress(%z, %d) {axis = 1}\n",
       along("z", 0, 5)},
      {"compressed as one row",
       "%d : ? = Constant() {value = bool[3] [true, false, true]}\n"
       "%y : ? = Compress(%z, %d)\n",
       along("z", 0, 5)},
      {"split along it", "%y : ?, %y2 : ? = Split(%z)\n", along("z", 0, 5)},
      {"boxes with scores of all",
       ints("b", "1, -1, 3") +
           "%boxes : ? = Reshape(%z, %b)\n"
           "%s : ? = Constant() {value = f32[1,1,5] [1, 2, 3, 4, 5]}\n" +
           ints("k", "1") + "%y : ? = NonMaxSuppression(%boxes, %s, %k)\n",
       along("boxes", 1, 5)},
      {"normalized in training",
       ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n"
                               "%w : f32[1] = Constant() {value = f32[1] [2]}\n"
                               "%y : ?, %m : ?, %v : ? = BatchNormalization(%a, %w, %w, %w, %w) "
                               "{training_mode = 1}\n",
       along("a", 0, 5)},
      {"convolved along it",
       ints("s", "1, 1, -1") + "%a : ? = Reshape(%z, %s)\n"
                               "%w : f32[1,1,2] = Constant() {value = f32[1,1,2] [2, 3]}\n"
                               "%y : ? = Conv(%a, %w)\n",
       along("a", 2, 15)},
      {"convolved with it",
       ints("s", "-1, 1, 3") + "%a : ? = Reshape(%z, %s)\n"
                               "%w : f32[1,1,4] = Constant() {value = f32[1,1,4] [2, 3, 4, 5]}\n"
                               "%y : ? = Conv(%w, %a)\n",
       along("a", 0, 5)},
      {"a shape of more", ints("to", "6, 3") + "%y : ? = Reshape(%z, %to)\n", along("z", 0, 5)},
      {"updates of a tensor without padding",
       kColumns +
           "%i : ? = Constant() {value = s64[3,1] [0, 1, 2]}\n"
           "%w : ? = Constant() {value = f32[3,5] [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5]}\n"
           "%y : ? = ScatterND(%w, %i, %t)\n",
       along("t", 1, 5)},
      {"GatherND with an unknown depth",
       square + "%f : ? = Floor(%r)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n"
                "%w : ? = Constant() {value = f32[1,1,1,1,1] [1]}\n%y : ? = GatherND(%w, %i)\n",
       along("i", 1, 5)},
      {"regions of a tensor with a size from data",
       ints("s", "-1, 1, 1, 3") +
           "%a : ? = Reshape(%z, %s)\n"
           "%b : ? = Constant() {value = f32[1,4] [0, 0, 1, 1]}\n"
           "%i : ? = Constant() {value_ints = [0]}\n%y : ? = RoiAlign(%a, %b, %i)\n",
       along("a", 0, 5)},
      {"regions of a sized number of edges",
       kRows + ints("four", "4") +
           "%m : ? = Min(%n, %four)\n%z4 : ? = Slice(%z, %zero, %m, %zero)\n"
           "%edges : ? = Transpose(%z4)\n%i : ? = Constant() {value_ints = [0, 0, 0]}\n"
           "%image : ? = Constant() {value = f32[1,1,1,2] [1, 2]}\n"
           "%y : ? = RoiAlign(%image, %edges, %i)\n",
       along("edges", 1, 4)},
      {"sampled along it",
       ints("s", "1, 1, -1, 3") +
           "%a : ? = Reshape(%z, %s)\n"
           "%g : ? = Constant() {value = f32[1,1,1,2] [0, 0]}\n%y : ? = GridSample(%a, %g)\n",
       along("a", 2, 5)},
      {"sampled at so many places",
       square + ints("s6", "1, -1, 3, 2") +
           "%g : ? = Reshape(%q, %s6)\n"
           "%image : ? = Constant() {value = f32[1,1,1,2] [1, 2]}\n%y : ? = GridSample(%image, "
           "%g)\n",
       along("g", 1, 5)},
      {"padded along the named axis",
       ints("p", "1, 2") + ints("named", "0") +
           "%y : ? = Pad(%z, %p, _, %named) {mode = \"edge\"}\n",
       along("z", 0, 5), 18},
      // The result has the size of the input if the size equals its bound.
      {"cropped to the bound", ints("to", "5, 3") + "%y : ? = CenterCropPad(%z, %to)\n",
       along("z", 0, 5), 18},
      {"resized to the bound",
       ints("s", "-1, 1, 3") + ints("to", "5, 1, 6") +
           "%a : ? = Reshape(%z, %s)\n%y : ? = Resize(%a, _, _, %to)\n",
       along("a", 0, 5)},
      {"padded before by ten", "%y : ? = Pad(%z) {pads = [1, 0, 0, 0], mode = \"reflect\"}\n",
       along("z", 0, 5), 10},
      {"cropped by ten", "%y : ? = Pad(%z) {pads = [-1, 0, 0, 0]}\n", along("z", 0, 5), 10},
      {"items beside it", "%y : ? = Unique(%z) {axis = 1}\n", along("z", 0, 5)},
      {"elements of a sequence at a place that depends on data",
       kRows + "%s : ? = SequenceConstruct(%z, %z)\n%i : ? = Squeeze(%n)\n%k : s64[] = Constant() "
               "{value_int = 1}\n%at : ? = Min(%i, %k)\n%y : ? = SequenceAt(%s, %at)\n",
       "the position in a sequence must be constant"},
      {"a sequence of parts of several rows",
       "%two : s64[] = Constant() {value_int = 2}\n%s : ? = SplitToSequence(%z, %two)\n"
       "%y : ? = SequenceLength(%s)\n",
       "the size of the axis depends on data, so each part must have one element"},
  };
  expect_refused(all, "unimplemented");
}

TEST(SizedLimits, BranchesWithSizesOfTwoAxesAreRefused) {
  const auto branches = [](const char* yes, const char* no) {
    return refusal("input %p : bool[]\n%q : ? = Concat(%z, %z) {axis = 1}\n" + ints("a", "0") +
                   ints("five", "5") + ints("one", "1") +
                   "%s : ? = Slice(%q, %a, %five, %one)\n%r : ? = Transpose(%s)\n"
                   "%y : ? = If(%p) {then_branch = graph \"t\" { %i : ? = Neg(%" +
                   yes + ") output %i }, else_branch = graph \"e\" { %j : ? = Neg(%" + no +
                   ") output %j }}\n");
  };
  EXPECT_EQ(branches("s", "s"), "taken");
  EXPECT_EQ(branches("r", "r"), "taken");
  for (const std::string& error_text : {branches("s", "r"), branches("r", "s")})
    EXPECT_NE(error_text.find("depends on data (at most 5), and there is no rule for it"),
              std::string::npos)
        << error_text;
}

TEST(SizedLimits, ShapesOfTwoSizesAndNoneAreNamed) {
  const std::string two =
      "has more than one dimension that depends on data, or one with no bound "
      "that is known; make what it depends on constant, or end the model "
      "before it";

  const std::string both = kRows + "%to : ? = Concat(%n, %n) {axis = 0}\n";
  const std::string sub = kRows + ints("k", "2") + "%m : ? = Sub(%n, %k)\n";
  const auto constant = [](const char* of) {
    return "%y : ? = ConstantOfShape(%" + std::string(of) + ")\n";
  };
  const Words all[] = {
      {"a square", both + constant("to"), two},
      {"a reshaped square", both + "%y : ? = Reshape(%x, %to)\n", two},
      {"two open",
       ints("k", "3, -1") + both + "%e : ? = Concat(%n, %k) {axis = 0}\n" + kColumns +
           "%y : ? = Reshape(%t, %e)\n",
       "'e' " + two},
      {"expanded along another",
       kRows + ints("k", "1") + kColumns +
           "%to : ? = Concat(%n, %k) {axis = 0}\n%f : ? = ReduceSum(%t, %zero)\n"
           "%y : ? = Expand(%f, %to)\n",
       two},
      {"tiled along another",
       kRows + ints("k", "1") +
           "%r : ? = Concat(%k, %n) {axis = 0}\n"
           "%y : ? = Tile(%z, %r)\n",
       two},
      {"tiled along both", both + "%y : ? = Tile(%x, %to)\n", two},
      {"the best beside", kRows + "%y : ?, %i : ? = TopK(%z, %n)\n", two},
      {"a step", kRows + ints("k", "3") + "%y : ? = Slice(%x, %zero, %k, %zero, %n)\n", two},
      {"an axis", kRows + ints("k", "3") + "%y : ? = Slice(%x, %zero, %k, %n)\n", two},
      {"an end beside", kRows + ints("one", "1") + "%y : ? = Slice(%z, %zero, %n, %one)\n", two},
      {"a start beside",
       kRows + ints("one", "1") + ints("k", "3") + "%y : ? = Slice(%z, %n, %k, %one)\n", two},
      {"two ends", both + ints("from", "0, 0") + "%y : ? = Slice(%x, %from, %to)\n", two},
      {"a depth",
       kRows + "%i : ? = Constant() {value_ints = [1, 0]}\n"
               "%v : ? = Constant() {value = f32[2] [1, 2]}\n%y : ? = OneHot(%i, %n, %v)\n",
       two},
      {"room around",
       kRows + "%p : ? = Concat(%zero, %n, %n, %zero) {axis = 0}\n%y : ? = Pad(%x, %p)\n", two},
      {"a step of a range",
       kRows + "%s : ? = Squeeze(%n)\n" + scalar("a", 0) + scalar("b", 9) +
           "%y : ? = Range(%a, %b, %s)\n",
       two},
  };
  expect_refused(all, "unimplemented");
  const std::string unbounded = "the shape of 'y' is f32[?] and depends on run-time values";
  const Words none[] = {
      {"what fmod leaves", sub + "%s : ? = Mod(%m, %k) {fmod = 1}\n" + constant("s"), unbounded},
      {"what no divisor leaves", kRows + ints("k", "-3") + "%s : ? = Mod(%n, %k)\n" + constant("s"),
       unbounded},
      {"what a divisor of no sign leaves",
       kRows + "%m : ? = Neg(%n)\n%s : ? = Mod(%m, %n)\n" + constant("s"), unbounded},
      {"by a number of either sign", sub + "%s : ? = Div(%k, %m)\n" + constant("s"), unbounded},
      {"by a negative number",
       kRows + ints("k", "9") + "%m : ? = Neg(%n)\n%s : ? = Div(%k, %m)\n" + constant("s"),
       unbounded},
      {"by a float",
       kRows + ints("k", "9") +
           "%f : ? = Cast(%n) {to = 1}\n"
           "%g : ? = Cast(%k) {to = 1}\n%h : ? = Div(%g, %f)\n%s : ? = Cast(%h) {to = 7}\n" +
           constant("s"),
       unbounded},
      {"of 16 bits",
       kRows + "%h : ? = Cast(%n) {to = 5}\n%s : ? = Cast(%h) {to = 7}\n" + constant("s"),
       unbounded},
      {"like 8 bits",
       kRows +
           "%l : ? = Constant() {value = u8[1] [1]}\n"
           "%h : ? = CastLike(%n, %l)\n%s : ? = Cast(%h) {to = 7}\n" +
           constant("s"),
       unbounded},
      {"a truth of a negative number",
       sub +
           "%q : ? = Cast(%m) {to = 9}\n"
           "%s : ? = Where(%q, %k, %n)\n" +
           constant("s"),
       unbounded},
      {"without its sign", sub + "%s : ? = Abs(%m)\n" + constant("s"), unbounded},
      {"the greatest of five",
       kRows +
           "%a : ? = Add(%n, %n)\n%b : ? = Add(%a, %n)\n%d : ? = Add(%b, %n)\n"
           "%e : ? = Add(%d, %n)\n%s : ? = Max(%n, %a, %b, %d, %e)\n" +
           constant("s"),
       unbounded},
  };
  expect_refused(none, "invalid_argument");
}

TEST(SizedLimits, ErrorsNameInvalidNumbers) {
  const std::string s = kRows + "%s : ? = Squeeze(%n)\n" + scalar("zero_", 0);
  const Words all[] = {
      {"no step of a range", s + "%y : ? = Range(%zero_, %s, %zero_)\n", "the step is 0"},
      {"no step", ints("a", "0") + ints("b", "4") + "%y : ? = Slice(%z, %a, %b, %a, %a)\n",
       "a step is 0"},
      {"starts and ends", ints("a", "0, 0") + ints("b", "4") + "%y : ? = Slice(%z, %a, %b)\n", ""},
      {"repeats", ints("r", "2") + "%y : ? = Tile(%z, %r)\n", ""},
  };
  expect_refused(all, "invalid_argument");
  const Words large[] = {{"a long range",
                          s + scalar("many", int64_t{1} << 30) + scalar("one", 1) +
                              "%m : ? = Mul(%s, %many)\n%y : ? = Range(%zero_, %m, %one)\n",
                          "the range has up to 5368709120 numbers"}};
  expect_refused(large, "resource_exhausted");
  const Words conditions[] = {
      {"a long condition",
       "%v : ? = Identity(%x)\n input %d : bool[6]\n"
       "%y : ? = Compress(%v, %d) {axis = 0}\n",
       "6 conditions for 5 elements: a longer condition must be constant"},
      {"a long condition of all", "input %d : bool[16]\n%y : ? = Compress(%x, %d)\n",
       "16 conditions for 15 elements: a longer condition must be constant"},
      {"axes of a run", "input %d : s64[1]\n%y : ? = ReduceSum(%z, %d)\n",
       "input 1 must be constant"}};
  expect_refused(conditions, "unimplemented");
}

// An element of the padding does not change a sum, even if it is infinite.
TEST(SizedLimits, InfinityInPaddingDoesNotReachASum) {
  const Executable e = compile_body(R"(
    input %x : f32[5]
    input %c : bool[5]
    input %w : f32[5]
    %z : ? = Compress(%x, %c) {axis = 0}
    %y : ? = MatMul(%z, %w)
    output %y
  )");
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Values got = run(e, {{"x", Tensor::of<float>({5}, {1, 2, 3, -4, 5})},
                             {"c", Tensor::of<bool>({5}, {true, false, true, true, false})},
                             {"w", Tensor::of<float>({5}, {1, 10, 100, inf, nan})}});
  EXPECT_EQ(got.at("y").to_doubles(), std::vector<double>{1 + 30 - 400});
}

TEST(SizedLimits, ACompressedRealPartCountsItsOwnConditions) {
  const auto result = [](const std::string& conditions) {
    return of_kept("%d : ? = Constant() {value = bool[5] [" + conditions +
                   "]}\n%y : ? = Compress(%z, %d) {axis = 0}\n");
  };
  EXPECT_EQ(result("true, false, true, true, true"), (std::vector<double>{1, -4}));
  EXPECT_EQ(result("false, true, false, true, true"), std::vector<double>{3});
  EXPECT_EQ(of_kept("%o : f32[] = Constant() {value_float = 2.0}\n%p : ? = Less(%z, %o)\n"
                    "%y : ? = Compress(%z, %p)\n"),
            (std::vector<double>{1, -4}));
}

// A number below zero results in no elements.
TEST(SizedLimits, SizesBelowZeroAreZero) {
  const std::string less = "%s : ? = Shape(%z)\n" + ints("k", "4") + "%m : ? = Sub(%s, %k)\n";
  EXPECT_EQ(of_kept(less + "%y : ? = ConstantOfShape(%m)\n"), std::vector<double>{});
  EXPECT_EQ(of_kept(less + "%w : ? = Constant() {value = f32[2] [1, 2]}\n%y : ? = Tile(%w, %m)\n"),
            std::vector<double>{});
  EXPECT_EQ(of_kept("%s : ? = Size(%z)\n" + scalar("a", 4) + scalar("d", 1) +
                    "%y : ? = Range(%a, %s, %d)\n"),
            std::vector<double>{});
}

TEST(SizedLimits, GatheredRowsAreTheRealRows) {
  Shape shape;
  EXPECT_EQ(of_kept("%k : s64[2] = Constant() {value_ints = [-1, 1]}\n%r : ? = Reshape(%z, %k)\n"
                    "%i : s64[5,2] = Constant() {value = s64[5,2] [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}\n"
                    "%y : ? = GatherElements(%r, %i) {axis = 1}\n",
                    &shape),
            (std::vector<double>{1, 1, 3, 3, -4, -4}));
  EXPECT_EQ(shape, (Shape{3, 2}));
}

TEST(SizedLimits, TheExtremesOfATypeAreItsLeastAndItsMost) {
  const auto both = [](DType t) {
    return std::pair(ops::extreme(t, false).to_doubles().at(0),
                     ops::extreme(t, true).to_doubles().at(0));
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(both(DType::f32), std::pair(-inf, inf));
  EXPECT_EQ(both(DType::f64), std::pair(-inf, inf));
  EXPECT_EQ(both(DType::f16), std::pair(-inf, inf));
  EXPECT_EQ(both(DType::s8), std::pair(-128.0, 127.0));
  EXPECT_EQ(both(DType::u8), std::pair(0.0, 255.0));
  EXPECT_EQ(both(DType::s16), std::pair(-32768.0, 32767.0));
  EXPECT_EQ(both(DType::u16), std::pair(0.0, 65535.0));
  EXPECT_EQ(both(DType::s32), std::pair(-2147483648.0, 2147483647.0));
  EXPECT_EQ(both(DType::u32), std::pair(0.0, 4294967295.0));
  EXPECT_EQ(both(DType::boolean), std::pair(0.0, 1.0));
  EXPECT_EQ(ops::extreme(DType::s64, true).values<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(ops::extreme(DType::s64, false).values<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(ops::extreme(DType::u64, true).values<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(ops::extreme(DType::u64, false).values<uint64_t>()[0], 0u);
}

}  // namespace
}  // namespace poprt::compiler
