#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

constexpr const char* kSequences = R"(
    input %a : f32[2]
    input %b : f32[2]
    const %zero : s64[] = 0
    %s : ? = SequenceConstruct(%a, %b)
    %t : ? = SequenceInsert(%s, %b, %zero)
    %n : ? = SequenceLength(%t)
    %y : ? = ConcatFromSequence(%t) {axis = 0, new_axis = 1}
    %o : ? = Optional(%t)
    %has : ? = OptionalHasElement(%o)
    output %y
    output %n
    output %t
    output %has
)";

TEST(Sequences, SequencesBecomeTheirTensors) {
  const Executable e = compile_body(kSequences);
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  const Values got = run(e, {{"a", a}, {"b", b}});
  EXPECT_EQ(got.at("n").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("has").to_int64s(), (std::vector<int64_t>{1}));
  EXPECT_EQ(got.at("y").shape(), (Shape{3, 2}));
  EXPECT_TRUE(got.at("t[0]").same_as(b));
  EXPECT_TRUE(got.at("t[1]").same_as(a));
  EXPECT_TRUE(got.at("t[2]").same_as(b));
}

TEST(Sequences, APositionAtRunTimePicksFromEqualTensors) {
  const Executable e = compile_body(R"(
    input %a : f32[2]
    input %b : f32[2]
    input %i : s64[]
    %s : ? = SequenceConstruct(%a, %b)
    %y : ? = SequenceAt(%s, %i)
    output %y
  )");
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  for (const int64_t i : {0, 1, -1})
    EXPECT_TRUE(run(e, {{"a", a}, {"b", b}, {"i", Tensor::scalar(i)}}).at("y").same_as(i ? b : a));
}

// The inputs among 0, 1, 2 that a sequence of 0, 1 (and 3) contains after an edit at a position
// that is an input of the program.
std::vector<int> edited_at_run_time(const std::string& edit, int64_t position) {
  const Executable e = compile_body(
      "input %a : f32[1]\ninput %b : f32[1]\ninput %c : f32[1]\ninput %at : s32[1]\n"
      "%s : ? = SequenceConstruct(%a, %b" +
      std::string(edit == "SequenceInsert" ? ")" : ", %c)") + "\n%t : ? = " + edit + "(%s" +
      (edit == "SequenceInsert" ? ", %c" : "") + ", %at)\noutput %t\n");
  const auto one = [](float v) { return Tensor::of<float>({1}, {v}); };
  const Values got = run(e, {{"a", one(0)},
                             {"b", one(1)},
                             {"c", one(2)},
                             {"at", Tensor::of<int32_t>({1}, {static_cast<int32_t>(position)})}});
  std::vector<int> list;
  for (size_t i = 0; i < got.size(); i++)
    list.push_back(static_cast<int>(values(got.at("t[" + std::to_string(i) + "]"))[0]));
  return list;
}

TEST(Sequences, APositionAtRunTimeEditsEqualTensors) {
  for (const int64_t at : {-3, -2, -1, 0, 1, 2}) {
    std::vector list = {0, 1, 2};
    list.erase(list.begin() + (at < 0 ? at + 3 : at));
    EXPECT_EQ(edited_at_run_time("SequenceErase", at), list) << at;
  }
  for (const int64_t at : {-2, -1, 0, 1, 2}) {
    std::vector list = {0, 1};
    list.insert(list.begin() + (at < 0 ? at + 2 : at), 2);
    EXPECT_EQ(edited_at_run_time("SequenceInsert", at), list) << at;
  }
  EXPECT_EQ(code_of(R"(
    input %a : f32[1]
    input %b : f32[2]
    input %at : s64[]
    %s : ? = SequenceConstruct(%a, %b)
    %t : ? = SequenceErase(%s, %at)
    output %t
  )"),
            ErrorCode::unimplemented);
}

TEST(Sequences, ASequenceInputHasItsLengthFromTheOptions) {
  const std::string body = R"(
    %in : ? = poprt.ContainerInput() {kind = "sequence", element = 1, shape = [2], position = 0} "in"
    %y : ? = ConcatFromSequence(%in) {axis = 0}
    output %y
  )";
  EXPECT_EQ(code_of(body), ErrorCode::invalid_argument);
  Options options;
  options.input_length["in"] = 3;
  const Executable e = compile_body(body, options);
  ASSERT_EQ(e.program.inputs.size(), 3u);
  EXPECT_EQ(e.program.inputs[2].name, "in[2]");
  EXPECT_EQ(e.program.outputs[0].shape, (Shape{6}));
}

// The parts that SplitToSequence makes of a s64 tensor that counts from 0.
std::vector<Tensor> split(const Shape& shape, const std::string& sizes,
                          const std::string& attributes, int opset = 17) {
  const std::string given = sizes.empty() ? "" : "const %sizes : " + sizes + "\n";
  const std::string second = sizes.empty() ? "" : ", %sizes";
  const Executable e = test::compile_text(
      graph_text("input %x : s64" + shape_string(shape) + "\n" + given +
                     "%s : ? = SplitToSequence(%x" + second + ") {" + attributes + "}\noutput %s\n",
                 opset));
  Tensor x = Tensor::zeros(DType::s64, shape);
  int64_t next = 0;
  for (int64_t& v : x.mutable_values<int64_t>()) v = next++;
  const Values got = run(e, {{"x", x}});
  std::vector<Tensor> parts;
  for (size_t i = 0; i < got.size(); i++) parts.push_back(got.at("s[" + std::to_string(i) + "]"));
  return parts;
}

// Parts as [first element, shape...], which determines a tensor that counts along one axis.
std::vector<std::vector<int64_t>> part_summaries(const std::vector<Tensor>& parts) {
  std::vector<std::vector<int64_t>> list;
  for (const Tensor& t : parts) {
    list.push_back(t.shape());
    list.back().insert(list.back().begin(), t.count() ? t.to_int64s()[0] : -1);
  }
  return list;
}

using Shown = std::vector<std::vector<int64_t>>;

TEST(Sequences, SplitWithoutSizesMakesSlicesOfOne) {
  EXPECT_EQ(part_summaries(split({3, 2}, "", "")), (Shown{{0, 1, 2}, {2, 1, 2}, {4, 1, 2}}));
  EXPECT_EQ(part_summaries(split({3, 2}, "", "axis = 1")), (Shown{{0, 3, 1}, {1, 3, 1}}));
  EXPECT_EQ(part_summaries(split({3, 2}, "", "axis = -1")), (Shown{{0, 3, 1}, {1, 3, 1}}));
  EXPECT_EQ(part_summaries(split({3, 2}, "", "keepdims = 0")), (Shown{{0, 2}, {2, 2}, {4, 2}}));
  EXPECT_EQ(part_summaries(split({3, 2}, "", "axis = 1, keepdims = 0")), (Shown{{0, 3}, {1, 3}}));
  EXPECT_EQ(part_summaries(split({1, 2}, "", "keepdims = 0")), (Shown{{0, 2}}));
}

TEST(Sequences, SplitIntoPartsOfOneSizeLeavesASmallerRest) {
  EXPECT_EQ(part_summaries(split({5, 2}, "s64[] = 2", "")),
            (Shown{{0, 2, 2}, {4, 2, 2}, {8, 1, 2}}));
  EXPECT_EQ(part_summaries(split({4}, "s64[] = 2", "")), (Shown{{0, 2}, {2, 2}}));
  EXPECT_EQ(part_summaries(split({4}, "s64[] = 9", "")), (Shown{{0, 4}}));
  // keepdims affects slices of size one, with or without the split sizes. PyTorch exports
  // unbind() in this way.
  EXPECT_EQ(part_summaries(split({2, 2}, "s64[] = 1", "keepdims = 0")), (Shown{{0, 2}, {2, 2}}));
  EXPECT_EQ(part_summaries(split({2, 2}, "s64[2] = [1, 1]", "keepdims = 0")),
            (Shown{{0, 1, 2}, {2, 1, 2}}));
  EXPECT_EQ(part_summaries(split({2, 2}, "s64[] = 2", "keepdims = 0")), (Shown{{0, 2, 2}}));
}

TEST(Sequences, SplitIntoListedPartsInBothFormsOfSplit) {
  for (const int opset : {11, 13, 18}) {
    EXPECT_EQ(part_summaries(split({6}, "s64[3] = [1, 3, 2]", "", opset)),
              (Shown{{0, 1}, {1, 3}, {4, 2}}));
    EXPECT_EQ(part_summaries(split({2, 3}, "s64[2] = [2, 1]", "axis = 1", opset)),
              (Shown{{0, 2, 2}, {2, 2, 1}}));
    EXPECT_EQ(part_summaries(split({3}, "s64[1] = [3]", "", opset)), (Shown{{0, 3}}));
  }
}

TEST(Sequences, SplittingAnEmptyTensorGivesNoElements) {
  EXPECT_EQ(part_summaries(split({0, 2}, "", "")), Shown{});
  EXPECT_EQ(part_summaries(split({0, 2}, "", "keepdims = 0")), Shown{});
  EXPECT_EQ(part_summaries(split({0, 2}, "s64[] = 3", "")), Shown{});
}

TEST(Sequences, PartsAreLimited) {
  const auto code = [](int64_t size, const std::string& more) {
    return code_of(fmt::format("input %x : f32[{}]\n{}\noutput %n\n", size, more));
  };
  const std::string slices = "%s : ? = SplitToSequence(%x)\n%n : ? = SequenceLength(%s)";
  EXPECT_EQ(code(65537, slices), ErrorCode::resource_exhausted);
  const std::string pairs =
      "const %two : s64[] = 2\n%s : ? = SplitToSequence(%x, %two)\n%n : ? = SequenceLength(%s)";
  EXPECT_EQ(code(131074, pairs), ErrorCode::resource_exhausted);
}

// Tests the largest number of parts that is allowed, and one more.
TEST(Sequences, PartsAndPositionsOfARunHaveTheirLimit) {
  const auto length = [](int64_t size, const std::string& more) -> std::string {
    try {
      const Executable e = compile_body(
          fmt::format("input %x : f32[{}]\ninput %p : s64[]\n{}\noutput %n\n", size, more));
      return std::to_string(
          run(e, {{"x", Tensor::zeros(DType::f32, {size})}, {"p", Tensor::scalar(int64_t{1})}})
              .at("n")
              .to_int64s()[0]);
    } catch (const Error& e) {
      return e.message();
    }
  };
  const std::string ones = "%s : ? = SplitToSequence(%x)\n%n : ? = SequenceLength(%s)";
  EXPECT_EQ(length(65536, ones), "65536");
  EXPECT_NE(length(65537, ones).find("more than 65536 parts"), std::string::npos);
  const std::string pairs =
      "const %two : s64[] = 2\n%s : ? = SplitToSequence(%x, %two)\n%n : ? = SequenceLength(%s)";
  EXPECT_EQ(length(131072, pairs), "65536");
  EXPECT_NE(length(131074, pairs).find("more than 65536 parts"), std::string::npos);
  const std::string edited =
      "%s : ? = SplitToSequence(%x)\n%t : ? = SequenceErase(%s, %p)\n%n : ? = SequenceLength(%t)";
  EXPECT_EQ(length(1024, edited), "1023");
  EXPECT_NE(
      length(1025, edited)
          .find("the position in a sequence must be constant, or its tensors of one shape and "
                "at most 1024"),
      std::string::npos);
}

TEST(Sequences, RefusesAnInsertionBeyondTheLargestLength) {
  const auto inserted = [](int64_t size) {
    return code_of(
        fmt::format("input %x : f32[{}]\ninput %e : f32[1]\n%s : ? = "
                    "SplitToSequence(%x)\n%t : ? = SequenceInsert(%s, %e)\n%n : ? = "
                    "SequenceLength(%t)\noutput %n\n",
                    size));
  };
  EXPECT_EQ(inserted(65535), ErrorCode::ok);
  EXPECT_EQ(inserted(65536), ErrorCode::resource_exhausted);
}

// An element that is missing, one that is a sequence, and sequences of two lengths.
TEST(Sequences, ErrorsNameMissingOrMismatchedElements) {
  const auto message_for = [](const std::string& body) -> std::string {
    try {
      compile_body(
          "input %x : f32[2]\nconst %zero : s64[] = 0\n%one : ? = SequenceConstruct(%x)\n"
          "%two : ? = SequenceConstruct(%x, %x)\n" +
          body + "output %y\n");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message().substr(e.message().find("): ") + 3);
    }
    return "taken";
  };
  const std::string map =
      "%y : ? = SequenceMap(INPUTS) {body = graph \"b\" { input %e : ? input %f : "
      "? %s : ? = Add(%e, %f) output %s }}\n";
  EXPECT_EQ(message_for(replaced(map, "INPUTS", "%one, %x")), "taken");
  EXPECT_EQ(message_for(replaced(map, "INPUTS", "%two, %two")), "taken");
  EXPECT_EQ(message_for(replaced(map, "INPUTS", "%one, %two")), "sequences of 1 and 2 elements");
  EXPECT_EQ(message_for(replaced(map, "INPUTS", "%x, %two")), "input 0 should be a sequence");
  EXPECT_EQ(message_for("%y : ? = SequenceConstruct(%x, %one)\n"),
            "an element should be a tensor and is a sequence");
  EXPECT_EQ(message_for("%y : ? = SequenceInsert(%one, %two)\n"),
            "the element should be a tensor and is a sequence");
  EXPECT_EQ(message_for("%o : ? = Optional()\n%y : ? = SequenceInsert(%one, %o)\n"),
            "the element should be a tensor and is missing");
  EXPECT_EQ(message_for("%o : ? = Optional()\n%y : ? = OptionalGetElement(%o)\n"),
            "the optional has no element");
  EXPECT_EQ(message_for("%e : ? = SequenceEmpty()\n%y : ? = SequenceErase(%e, %zero)\n"),
            "the sequence is empty");
  EXPECT_EQ(message_for("%e : ? = SequenceEmpty()\n%y : ? = SequenceAt(%e, %zero)\n"),
            "position 0 of a sequence of 0");
  EXPECT_EQ(message_for("%e : ? = SequenceEmpty()\n%y : ? = ConcatFromSequence(%e) {axis = 0}\n"),
            "input 0 should be a sequence with elements");
  EXPECT_EQ(message_for("%y : ? = ConcatFromSequence(%x) {axis = 0}\n"),
            "input 0 should be a sequence with elements");
  EXPECT_EQ(message_for("%y : ? = Neg(%one)\n"), "an input is a sequence, expected a tensor");
}

TEST(Sequences, PartsThatAreTooLongOrTooFewAreNamed) {
  const auto refusal = [](const std::string& sizes) -> std::string {
    try {
      compile_body("input %x : f32[3]\nconst %sizes : " + sizes +
                   "\n%s : ? = SplitToSequence(%x, %sizes)\noutput %s\n");
    } catch (const Error& e) {
      return e.message().substr(e.message().find("): ") + 3);
    }
    return "";
  };
  EXPECT_EQ(refusal("s64[1] = [3]"), "");
  EXPECT_EQ(refusal("s64[1] = [4]"), "a part has 4 elements");
  EXPECT_EQ(refusal("s64[2] = [4, -1]"), "a part has 4 elements");
  EXPECT_EQ(refusal("s64[2] = [-1, 4]"), "a part has -1 elements");
  EXPECT_EQ(refusal("s64[2] = [1, 1]"), "the parts have 2 elements in total, the axis has 3");
  EXPECT_EQ(refusal("s64[] = 0"), "a part has 0 elements");
}

TEST(Sequences, ATensorIsNoSequence) {
  for (const char* node :
       {"SequenceAt(%x, %zero)", "SequenceLength(%x)", "SequenceErase(%x, %zero)",
        "SequenceInsert(%x, %x, %zero)", "ConcatFromSequence(%x) {axis = 0}"})
    EXPECT_EQ(code_of("input %x : f32[3]\nconst %zero : s64[] = 0\n%y : ? = " + std::string(node) +
                      "\noutput %y\n"),
              ErrorCode::invalid_argument)
        << node;
}

TEST(Sequences, PartsThatDoNotFillTheAxisAreRefused) {
  for (const char* sizes : {"s64[2] = [1, 1]", "s64[2] = [2, 2]", "s64[2] = [-1, 4]",
                            "s64[2] = [4, -1]", "s64[] = 0", "s64[] = -1"})
    EXPECT_EQ(code_of("input %x : f32[3]\nconst %sizes : " + std::string(sizes) +
                      "\n%s : ? = SplitToSequence(%x, %sizes)\noutput %s\n"),
              ErrorCode::invalid_argument)
        << sizes;
}

TEST(Sequences, TensorsAreJoinedAlongAnyAxis) {
  const auto shape_of = [](const std::string& attributes) {
    return compile_body(
               "input %a : f32[2,3]\ninput %b : f32[2,3]\n"
               "%s : ? = SequenceConstruct(%a, %b)\n"
               "%y : ? = ConcatFromSequence(%s) {" +
               attributes + "}\noutput %y\n")
        .program.outputs[0]
        .shape;
  };
  EXPECT_EQ(shape_of("axis = 0"), (Shape{4, 3}));
  EXPECT_EQ(shape_of("axis = 1"), (Shape{2, 6}));
  EXPECT_EQ(shape_of("axis = -2"), (Shape{4, 3}));
  EXPECT_EQ(shape_of("axis = 0, new_axis = 1"), (Shape{2, 2, 3}));
  EXPECT_EQ(shape_of("axis = 2, new_axis = 1"), (Shape{2, 3, 2}));
  EXPECT_EQ(shape_of("axis = -1, new_axis = 1"), (Shape{2, 3, 2}));
  EXPECT_THROW(shape_of("axis = 2"), Error);
  EXPECT_THROW(shape_of("axis = 3, new_axis = 1"), Error);
}

// Returns the inputs among 0, 1, 2 that a sequence contains after one edit.
std::vector<int> edited(const std::string& edit, const std::string& position) {
  const Executable e =
      compile_body("input %a : f32[1]\ninput %b : f32[1]\ninput %c : f32[1]\n" +
                   (position.empty() ? "" : "const %at : s64[] = " + position + "\n") +
                   "%s : ? = SequenceConstruct(%a, %b)\n%t : ? = " + edit + "(%s" +
                   (edit == "SequenceInsert" ? ", %c" : "") + (position.empty() ? "" : ", %at") +
                   ")\noutput %t\n");
  const auto one = [](float v) { return Tensor::of<float>({1}, {v}); };
  const Values got = run(e, {{"a", one(0)}, {"b", one(1)}, {"c", one(2)}});
  std::vector<int> list;
  if (got.contains("t")) return {static_cast<int>(values(got.at("t"))[0])};
  for (size_t i = 0; i < got.size(); i++)
    list.push_back(static_cast<int>(values(got.at("t[" + std::to_string(i) + "]"))[0]));
  return list;
}

TEST(Sequences, PositionsCountFromBothEndsAndDefaultToTheLast) {
  EXPECT_EQ(edited("SequenceInsert", ""), (std::vector{0, 1, 2}));
  EXPECT_EQ(edited("SequenceInsert", "0"), (std::vector{2, 0, 1}));
  EXPECT_EQ(edited("SequenceInsert", "2"), (std::vector{0, 1, 2}));
  EXPECT_EQ(edited("SequenceInsert", "-1"), (std::vector{0, 2, 1}));
  EXPECT_EQ(edited("SequenceInsert", "-2"), (std::vector{2, 0, 1}));
  EXPECT_EQ(edited("SequenceErase", ""), (std::vector{0}));
  EXPECT_EQ(edited("SequenceErase", "0"), (std::vector{1}));
  EXPECT_EQ(edited("SequenceErase", "-2"), (std::vector{1}));
  EXPECT_EQ(edited("SequenceAt", "1"), (std::vector{1}));
  EXPECT_EQ(edited("SequenceAt", "-2"), (std::vector{0}));
  for (const auto& [edit, position] : {std::pair{"SequenceInsert", "3"},
                                       {"SequenceInsert", "-3"},
                                       {"SequenceErase", "2"},
                                       {"SequenceErase", "-3"},
                                       {"SequenceAt", "2"},
                                       {"SequenceAt", "-3"}})
    EXPECT_THROW(edited(edit, position), Error) << edit << " " << position;
}

// -- Rows of an unknown number ------------------------------------------------------------------

// Rows of x [4, 2] that %c selects, as a sequence, and `body` with outputs.
Values of_selected_rows(const std::string& body, const std::vector<bool>& selected,
                        int64_t at = 0) {
  const Executable e = compile_body(
      "input %x : f32[4,2]\ninput %c : bool[4]\ninput %at : s64[]\n"
      "%rows : ? = Compress(%x, %c) {axis = 0}\n" +
      body);
  Tensor c = Tensor::zeros(DType::boolean, {4});
  for (size_t i = 0; i < 4; i++) c.mutable_values<bool>()[i] = selected[i];
  return run(e, {{"x", floats({4, 2}, 0)}, {"c", c}, {"at", Tensor::scalar(at)}});
}

TEST(SequencesOfRows, LengthIsTheRealNumber) {
  const char* body = R"(
    %s : ? = SplitToSequence(%rows)
    %n : ? = SequenceLength(%s)
    %z : ? = Add(%n, %at)
    output %z
  )";
  EXPECT_EQ(of_selected_rows(body, {true, false, true, true}).at("z").to_int64s()[0], 3);
  EXPECT_EQ(of_selected_rows(body, {false, false, false, false}, 5).at("z").to_int64s()[0], 5);
}

TEST(SequencesOfRows, APositionPicksARealRowOrFailsTheRun) {
  for (const char* keeps : {"0", "1"}) {
    const std::string body = std::string("%s : ? = SplitToSequence(%rows) {keepdims = ") + keeps +
                             "}\n%y : ? = SequenceAt(%s, %at)\noutput %y\n";
    const std::vector<bool> selected = {false, true, false, true};
    const auto picked = [&](int64_t at) { return of_selected_rows(body, selected, at).at("y"); };
    EXPECT_EQ(picked(0).shape(), keeps[0] == '0' ? (Shape{2}) : (Shape{1, 2}));
    EXPECT_EQ(picked(0).to_doubles(), of_selected_rows(body, selected, -2).at("y").to_doubles());
    EXPECT_EQ(picked(1).to_doubles(), picked(-1).to_doubles());
    EXPECT_NE(picked(0).to_doubles(), picked(1).to_doubles());
    for (const int64_t outside : {2, 3, 4, -3, -5}) EXPECT_THROW(picked(outside), Error) << outside;
  }
}

TEST(SequencesOfRows, ConcatGivesTheRealRowsBack) {
  for (const char* how :
       {"axis = 0", "axis = 0, new_axis = 1", "axis = 1", "axis = -1, new_axis = 1"}) {
    const Values got = of_selected_rows(
        std::string("%s : ? = SplitToSequence(%rows)\n%y : ? = ConcatFromSequence(%s) {") + how +
            "}\n%sum : ? = ReduceSum(%y) {keepdims = 0}\noutput %sum\n",
        {true, false, false, true});
    const std::vector<double> all = floats({4, 2}, 0).to_doubles();
    EXPECT_NEAR(got.at("sum").to_doubles()[0], all[0] + all[1] + all[6] + all[7], 1e-5) << how;
  }
}

TEST(SequencesOfRows, ColumnsOfUnknownLengthAreSplit) {
  const Values got = of_selected_rows(R"(
    %s : ? = SplitToSequence(%rows) {axis = 1, keepdims = 0}
    const %first : s64[] = 1
    %column : ? = SequenceAt(%s, %first)
    %y : ? = ReduceSum(%column) {keepdims = 0}
    output %y
  )",
                                      {true, false, true, false});
  const std::vector<double> all = floats({4, 2}, 0).to_doubles();
  EXPECT_NEAR(got.at("y").to_doubles()[0], all[1] + all[5], 1e-5);
}

TEST(SequencesOfRows, RefusesUsesThatNeedTheLength) {
  const char* refusals[] = {
      "%t : ? = SequenceInsert(%s, %x)\n%y : ? = SequenceLength(%t)\noutput %y\n",
      "%t : ? = SequenceErase(%s)\n%y : ? = SequenceLength(%t)\noutput %y\n",
      "output %s\n",
  };
  for (const char* body : refusals) {
    try {
      of_selected_rows(std::string("%s : ? = SplitToSequence(%rows)\n") + body,
                       {true, true, true, true});
      ADD_FAILURE() << body;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented) << e.what();
      EXPECT_NE(std::string(e.what()).find("depends on data"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(of_selected_rows("const %two : s64[] = 2\n%s : ? = SplitToSequence(%rows, %two)\n"
                                "%y : ? = SequenceLength(%s)\noutput %y\n",
                                {true, true, true, true}),
               Error);
}

}  // namespace
}  // namespace poprt::compiler
