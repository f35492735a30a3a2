// Sizes that inputs or data decide: bounds that follow from the graph, and those of max_size.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/compiler/flow/sized_support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// The failure of the run, or the real part of y with its shape.
std::string sized_outcome(const Executable& e, const Values& feeds) {
  try {
    Shape shape;
    const std::vector<double> real = real_part(run(e, feeds), &shape);
    return fmt::format("{} {}", shape_string(shape), fmt::join(real, " "));
  } catch (const Error& error) {
    return fmt::format("{}: {}", error_code_name(error.code()), error.what());
  }
}

Tensor one_number(int64_t v) { return Tensor::of<int64_t>({1}, {v}); }

Executable with_bounds(const std::string& body, std::map<std::string, int64_t> max_size) {
  Options options;
  options.max_size = std::move(max_size);
  return compile_body(body, std::move(options));
}

// A slice whose bounds are inputs has the same result as one whose bounds are constants.
TEST(SizeRanges, SliceTakesAnyStartAndEndFromInputs) {
  const Tensor x = floats({6, 3}, 5);
  const auto body = [](const std::string& bounds, int64_t step) {
    return "input %x : f32[6,3]\n" + bounds +
           "const %axes : s64[1] = [0]\nconst %steps : s64[1] = [" + std::to_string(step) +
           "]\n%y : ? = Slice(%x, %from, %to, %axes, %steps)\noutput %y\n";
  };
  for (const int64_t step : {1, 2, -1, -3}) {
    const Executable both = compile_body(body("input %from : s64[1]\ninput %to : s64[1]\n", step));
    for (const int64_t from :
         {int64_t{0}, int64_t{2}, int64_t{-1}, int64_t{-9}, int64_t{-7}, int64_t{7}, INT64_MAX})
      for (const int64_t to :
           {int64_t{0}, int64_t{4}, int64_t{-2}, int64_t{6}, INT64_MIN + 1, INT64_MAX}) {
        const Executable constant = compile_body(
            body(fmt::format("const %from : s64[1] = [{}]\nconst %to : s64[1] = [{}]\n", from, to),
                 step));
        EXPECT_EQ(
            sized_outcome(both, {{"x", x}, {"from", one_number(from)}, {"to", one_number(to)}}),
            sized_outcome(constant, {{"x", x}}))
            << from << " to " << to << " by " << step;
      }
  }
  const Executable length = compile_body(
      "input %x : f32[6,3]\ninput %n : s32[1]\nconst %from : s32[2] = [0, 1]\n"
      "const %two : s32[1] = [3]\n%to : ? = Concat(%n, %two) {axis = 0}\n"
      "%y : ? = Slice(%x, %from, %to)\noutput %y\n");
  EXPECT_EQ(sized_outcome(length, {{"x", x}, {"n", Tensor::of<int32_t>({1}, {2})}}).substr(0, 6),
            "[2,2] ");
}

TEST(SizeRanges, TopKTakesANumberOfRowsFromAnInput) {
  const Executable e = compile_body(
      "input %x : f32[4]\ninput %k : s64[1]\n%y : ?, %at : ? = TopK(%x, %k)\noutput %y\n");
  const Tensor x = Tensor::of<float>({4}, {1, 7, 3, 5});
  const auto top = [&](int64_t k) { return sized_outcome(e, {{"x", x}, {"k", one_number(k)}}); };
  EXPECT_EQ(top(0), "[0] ");
  EXPECT_EQ(top(2), "[2] 7 5");
  EXPECT_EQ(top(4), "[4] 7 5 3 1");
  EXPECT_EQ(top(5), "out_of_range: node 'y': size 5 at place 0 is outside [0, 4]");
  EXPECT_EQ(top(-1), "out_of_range: node 'y': size -1 at place 0 is outside [0, 4]");
}

TEST(SizeRanges, MaxSizeBoundsANumberThatDecidesASize) {
  const std::string exceeded =
      "out_of_range: node 'n': max_size: number 9 at place 0 is outside [0, 8]";
  const auto is = [&](const std::string& nodes, const std::string& of_3) {
    const Executable e = with_bounds(
        "input %x : f32[2]\ninput %n : s64[1]\nconst %one : s64[1] = [1]\n"
        "const %none : s64[1] = [0]\nconst %zero : s64[] = 0\nconst %step : s64[] = 1\n" +
            nodes + "output %y\n",
        {{"n", 8}});
    const Tensor x = Tensor::of<float>({2}, {1, 2});
    EXPECT_EQ(sized_outcome(e, {{"x", x}, {"n", one_number(3)}}), of_3) << nodes;
    EXPECT_EQ(sized_outcome(e, {{"x", x}, {"n", one_number(9)}}), exceeded) << nodes;
    EXPECT_EQ(sized_outcome(e, {{"x", x}, {"n", one_number(3)}}), of_3) << "after a failure";
  };
  is("%l : ? = Squeeze(%n)\n%y : ? = Range(%zero, %l, %step)\n", "[3] 0 1 2");
  is("%y : ? = Tile(%x, %n)\n", "[6] 1 2 1 2 1 2");
  is("%p : ? = Concat(%none, %n) {axis = 0}\n%y : ? = Pad(%x, %p)\n", "[5] 1 2 0 0 0");
  is("%p : ? = Concat(%n, %none) {axis = 0}\n%y : ? = Pad(%x, %p)\n", "[5] 0 0 0 1 2");
  is("%s : ? = Concat(%n, %one) {axis = 0}\n%y : ? = Expand(%x, %s)\n", "[3,2] 1 2 1 2 1 2");
  is("%y : ? = ConstantOfShape(%n)\n", "[3] 0 0 0");
  is("%f : ? = ConstantOfShape(%n)\n%sum : ? = ReduceSum(%f) {keepdims = 0}\n"
     "%y : ? = Add(%x, %sum)\n",
     "[2] 1 2");
}

// As in ONNX Runtime, the difference is rounded to f32 and the quotient to f64.
TEST(SizeRanges, TheLengthOfARangeOfFloatsIsComputedInF64) {
  const Executable e = with_bounds(
      "input %a : f32[]\ninput %b : f32[]\ninput %c : f32[]\n%y : ? = Range(%a, %b, %c)\n"
      "output %y\n",
      {{"y", 9}});
  const auto count = [&](float a, float b, float c) {
    return sized_outcome(
               e, {{"a", Tensor::scalar(a)}, {"b", Tensor::scalar(b)}, {"c", Tensor::scalar(c)}})
        .substr(0, 3);
  };
  EXPECT_EQ(count(0, 0.3f, 0.1f), "[4]");
  EXPECT_EQ(count(1, 1.7f, 0.1f), "[8]");
  EXPECT_EQ(count(0.1f, 0.7f, 0.2f), "[3]");
}

TEST(SizeRanges, MaxSizeOfARangeBoundsItsLength) {
  const auto is = [](const std::string& type, const std::string& start_limit_step,
                     const std::string& wanted) {
    const Executable e =
        with_bounds("input %a : " + type + "[]\ninput %b : " + type + "[]\ninput %c : " + type +
                        "[]\n%y : ? = Range(%a, %b, %c)\noutput %y\n",
                    {{"y", 4}});
    Values feeds;
    std::istringstream words(start_limit_step);
    for (const char* name : {"a", "b", "c"}) {
      double v = 0;
      words >> v;
      feeds[name] = type == "s64" ? Tensor::scalar(static_cast<int64_t>(v))
                                  : Tensor::scalar(static_cast<float>(v));
    }
    EXPECT_EQ(sized_outcome(e, feeds), wanted) << type << " " << start_limit_step;
  };
  is("s64", "0 3 1", "[3] 0 1 2");
  is("s64", "2 9 3", "[3] 2 5 8");
  is("s64", "5 -3 -2", "[4] 5 3 1 -1");
  is("s64", "5 3 1", "[0] ");
  is("s64", "0 5 1", "out_of_range: node 'y': max_size: number 5 at place 0 is outside [0, 4]");
  is("s64", "0 5 0", "out_of_range: node 'y': max_size: number 5 at place 0 is outside [0, 4]");
  is("f32", "0 1 0.25", "[4] 0 0.25 0.5 0.75");
  is("f32", "1 0.4 -0.25", "[3] 1 0.75 0.5");
}

TEST(SizeRanges, MinOfAConstantLimitsARange) {
  const auto is = [](const std::string& type, const std::string& range, int64_t n,
                     const std::string& wanted) {
    std::string body =
        "input %n : TYPE[]\nconst %nine : TYPE[] = 9\nconst %start : TYPE[] = -1\n"
        "const %zero : TYPE[] = 0\nconst %one : TYPE[] = 1\n"
        "const %four : TYPE[] = 4\n%m : ? = Min(%n, %nine)\n%y : ? = Range(" +
        range + ")\noutput %y\n";
    for (size_t at; (at = body.find("TYPE")) != std::string::npos;) body.replace(at, 4, type);
    const Tensor number =
        type == "s64" ? Tensor::scalar(n) : Tensor::scalar(static_cast<int32_t>(n));
    EXPECT_EQ(sized_outcome(compile_body(body), {{"n", number}}), wanted) << range << " " << n;
  };
  for (const char* type : {"s64", "s32"}) {
    is(type, "%zero, %m, %one", 3, "[3] 0 1 2");
    is(type, "%zero, %m, %one", 20, "[9] 0 1 2 3 4 5 6 7 8");
    is(type, "%zero, %m, %one", 0, "[0] ");
    is(type, "%zero, %m, %one", -5, "[0] ");
    is(type, "%start, %m, %four", 7, "[2] -1 3");
    is(type, "%start, %m, %four", 12, "[3] -1 3 7");
    is(type, "%start, %m, %four", -2, "[0] ");
  }
}

TEST(SizeRanges, WithoutABoundTheErrorNamesTheOption) {
  const std::string body = "input %n : s64[1]\n%y : ? = ConstantOfShape(%n)\noutput %y\n";
  try {
    compile_body(body);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("option max_size"), std::string::npos) << e.message();
  }
  try {
    with_bounds(body, {{"m", 4}});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "option max_size: the model has no value 'm'");
  }
}

// Each case is a model with an input %n that decides a shape. If the error advises max_size, the
// model is compiled with this advice, and its results are those of a model in which %n is constant.
TEST(SizeRanges, TheAdviceOfAnErrorWorks) {
  const std::string rest =
      "input %x : f32[2,6]\ninput %row : f32[1,6]\ninput %v : f32[3]\ninput %image : f32[1,1,4,4]\n"
      "input %flags : bool[2,2]\nconst %six : s64[1] = [6]\nconst %three : s64[2] = [3, 2]\n"
      "const %open : s64[1] = [-1]\nconst %none : s64[1] = [0]\nconst %zero : s64[] = 0\n"
      "const %one : s64[] = 1\nconst %both : f32[2] = [0, 1]\n";
  const Values feeds = {{"x", floats({2, 6}, 1)},
                        {"row", floats({1, 6}, 2)},
                        {"v", floats({3}, 3)},
                        {"image", floats({1, 1, 4, 4}, 4)},
                        {"flags", Tensor::zeros(DType::boolean, {2, 2})}};
  struct Case {
    const char* type;
    Tensor n;
    const char* nodes;
    const char* advice;  // the words of max_size; empty: there are none
  };
  const auto list = [](std::vector<int64_t> numbers) {
    return Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
  };
  const Tensor five = Tensor::scalar(int64_t{5});
  const Case cases[] = {
      {"s64[]", five, "%y : ? = Range(%zero, %n, %one)\n", "n"},
      {"s64[]", five, "%y : ? = Range(%n, %zero, %one)\n", "n"},
      {"s64[]", five, "%m : ? = Neg(%n)\n%y : ? = Range(%m, %n, %one)\n", "y"},
      {"s64[]", five, "%y : ? = Range(%zero, %n, %n)\n", "y"},
      {"f32[]", Tensor::scalar(2.5f), "%z : ? = Sub(%n, %n)\n%y : ? = Range(%z, %n, %n)\n", "y"},
      {"s64[1]", list({3}), "%y : ? = ConstantOfShape(%n)\n", "n"},
      {"s64[2]", list({3, 2}), "%y : ? = ConstantOfShape(%n)\n", ""},
      {"s64[1]", list({3}), "%s : ? = Concat(%n, %six) {axis = 0}\n%y : ? = Expand(%row, %s)\n",
       "n"},
      {"s64[3]", list({7, 3, 9}),
       "%k : ? = Gather(%n, %one)\n%k1 : ? = Unsqueeze(%k, %none)\n"
       "%s : ? = Concat(%k1, %six) {axis = 0}\n%y : ? = Expand(%row, %s)\n",
       "n"},
      {"s64[2]", list({3, 6}), "%y : ? = Expand(%row, %n)\n", ""},
      {"s64[1]", list({3}), "%y : ? = Tile(%v, %n)\n", "n"},
      {"s64[1]", list({2}),
       "%s : ? = Concat(%n, %six) {axis = 0}\n%m : ? = Mul(%s, %s)\n%y : ? = Tile(%x, %m)\n", ""},
      {"s64[2]", list({2, 2}), "%y : ? = Tile(%x, %n)\n", ""},
      {"s64[1]", list({2}),
       "%at : ? = NonZero(%flags)\n%f : ? = Cast(%at) {to = 1}\n"
       "%s : ? = Concat(%none, %n) {axis = 0}\n%y : ? = Tile(%f, %s)\n",
       "n"},
      {"s64[2]", list({1, 2}), "%y : ? = Pad(%v, %n)\n", "n"},
      {"s64[2]", list({1, 2}), "%y : ? = Pad(%v, %n) {mode = \"reflect\"}\n", ""},
      {"s64[4]", list({1, 0, 0, 2}), "%y : ? = Pad(%x, %n)\n", ""},
      {"s64[1]", list({12}), "%y : ? = Reshape(%x, %n)\n", "n"},
      {"s64[1]", list({2}), "%s : ? = Concat(%n, %six) {axis = 0}\n%y : ? = Reshape(%x, %s)\n",
       "n"},
      {"s64[1]", list({2}), "%s : ? = Concat(%three, %n) {axis = 0}\n%y : ? = Reshape(%x, %s)\n",
       "n"},
      {"s64[1]", list({2}), "%s : ? = Concat(%n, %open) {axis = 0}\n%y : ? = Reshape(%x, %s)\n",
       ""},
      {"s64[2]", list({4, 3}), "%y : ? = Reshape(%x, %n)\n", ""},
      {"s64[1]", list({1}), "%y : ? = Slice(%x, %none, %six, %n)\n", ""},
      {"s64[4]", list({1, 1, 8, 8}), "%y : ? = Resize(%image, _, _, %n)\n", ""},
      {"s64[]", Tensor::scalar(int64_t{4}), "%y : ? = OneHot(%three, %n, %both)\n", ""},
      {"s64[2]", list({2, 4}), "%y : ?, %z : ? = Split(%x, %n) {axis = 1}\n", ""},
      {"s64[1]", list({1}), "%y : ? = ReduceSum(%x, %n)\n", ""},
      {"s64[]", five, "%y : ? = HannWindow(%n)\n", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.nodes);
    const std::string body = rest + c.nodes + "output %y\n", type = c.type;
    const std::string input = "input %n : " + type + "\n" + body;
    std::string error;
    try {
      compile_body(input);
    } catch (const Error& e) {
      error = e.message();
    }
    const size_t at = error.find(", or give ");
    const std::string option = "with option max_size: ";
    EXPECT_NE(error.find("make it constant"), std::string::npos) << error;
    EXPECT_EQ(at == std::string::npos ? "" : error.substr(error.find(option) + option.size()),
              *c.advice ? std::string(c.advice) + "=N" : "")
        << error;
    if (!*c.advice) continue;
    const Executable bounded = with_bounds(input, {{c.advice, 12}});
    const Executable constant = compile_body(
        fmt::format("const %n : {} = {}{}{}\n", type, c.n.shape().empty() ? "" : "[",
                    fmt::join(c.n.to_doubles(), ", "), c.n.shape().empty() ? "" : "]") +
        body);
    Values all = feeds;
    all["n"] = c.n;
    EXPECT_EQ(sized_outcome(bounded, all), sized_outcome(constant, feeds));
  }
}

// A text-to-speech model repeats each phoneme as often as it predicts.
TEST(SizeRanges, ALengthRegulatorRunsWithABound) {
  const std::string body = R"(
    input %x : f32[1,3,2]
    input %d : s64[1,3]
    const %axis : s64[] = 1
    const %zero : s64[] = 0
    const %one : s64[] = 1
    const %first : s64[1] = [0]
    const %second : s64[1] = [1]
    const %last : s64[1] = [-1]
    const %unit : f32[] = 1
    const %most : s64[] = 2
    %cs : ? = CumSum(%d, %axis)
    %tot : ? = ReduceMax(%cs) {keepdims = 0}
    %rg : ? = Range(%zero, %tot, %one)
    %cu : ? = Unsqueeze(%cs, %last)
    %m : ? = Less(%rg, %cu)
    %mf : ? = Cast(%m) {to = 1}
    %inv : ? = Sub(%unit, %mf)
    %idx : ? = ReduceSum(%inv, %second) {keepdims = 0}
    %ii : ? = Cast(%idx) {to = 7}
    %i1 : ? = Squeeze(%ii, %first)
    %xs : ? = Squeeze(%x, %first)
    %i2 : ? = Clip(%i1, %zero, %most)
    %y : ? = Gather(%xs, %i2) {axis = 0}
    output %y
  )";
  const Tensor x = Tensor::of<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  for (const char* name : {"tot", "rg"}) {
    const Executable e = with_bounds(body, {{name, 7}});
    const auto of = [&](std::vector<int64_t> d) {
      return sized_outcome(e, {{"x", x}, {"d", Tensor::of<int64_t>({1, 3}, d)}});
    };
    EXPECT_EQ(of({2, 0, 1}), "[3,2] 1 2 1 2 5 6");
    EXPECT_EQ(of({1, 3, 3}), "[7,2] 1 2 3 4 3 4 3 4 5 6 5 6 5 6");
    EXPECT_EQ(of({1, 3, 4}),
              fmt::format("out_of_range: node '{}': max_size: number 8 at place 0 is "
                          "outside [0, 7]",
                          name));
  }
}

// torch.nn.EmbeddingBag: each round sums the rows of one bag, a slice between two offsets.
TEST(SizeRanges, AnEmbeddingBagSumsSlicesBetweenOffsets) {
  const Executable e = compile_body(R"(
    input %ids : s64[6]
    input %offsets : s64[4]
    const %table : f32[4,2] = [0, 1, 2, 3, 4, 5, 6, 7]
    const %three : s64[] = 3
    const %yes : bool[] = true
    %y : ? = Loop(%three, %yes) {body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      const %one : s64[] = 1
      const %first : s64[1] = [0]
      %next : ? = Add(%i, %one)
      %a : ? = Gather(%offsets, %i) {axis = 0}
      %b : ? = Gather(%offsets, %next) {axis = 0}
      %from : ? = Unsqueeze(%a, %first)
      %to : ? = Unsqueeze(%b, %first)
      %bag : ? = Slice(%ids, %from, %to, %first)
      %rows : ? = Gather(%table, %bag) {axis = 0}
      %sum : ? = ReduceSum(%rows, %first) {keepdims = 0}
      output %c
      output %sum
    }}
    output %y
  )");
  EXPECT_EQ(sized_outcome(e, {{"ids", Tensor::of<int64_t>({6}, {3, 1, 2, 2, 0, 1})},
                              {"offsets", Tensor::of<int64_t>({4}, {0, 2, 2, 6})}}),
            "[3,2] 8 10 0 0 10 14");
}

TEST(SizeRanges, PlacesOfNonZeroSelectElements) {
  const Executable e = compile_body(R"(
    input %x : f32[2,3]
    %at : ? = NonZero(%x)
    %rows : ? = Transpose(%at) {perm = [1, 0]}
    %y : ? = GatherND(%x, %rows)
    output %y
  )");
  EXPECT_EQ(sized_outcome(e, {{"x", Tensor::of<float>({2, 3}, {0, 4, 0, 5, 0, 6})}}), "[3] 4 5 6");
}

// The loop ends by its condition, or after a number of rounds that an input states.
TEST(SizeRanges, MaxSizeBoundsTheRoundsOfALoopWithScanOutputs) {
  const auto loop = [](const std::string& inputs, const std::string& count,
                       const std::string& more) {
    return with_bounds(
        inputs + "input %x : f32[1]\n%last : ?, %y : ? = Loop(" + count +
            ", _, %x) {body = graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\n"
            "input %v : f32[1]\nconst %one : f32[1] = [1]\nconst %end : f32[1] = [4]\n"
            "%n : ? = Add(%v, %one)\n%go : ? = Less(%n, %end)\n%copy : ? = Identity(%n)\n"
            "output %" +
            more + "\noutput %n\noutput %copy\n}} \"turns\"\noutput %y\n",
        {{"y", 5}});
  };
  const std::string exceeded =
      "resource_exhausted: loop 'turns' runs more rounds than 5, the bound that it is compiled for";
  const auto x = [](float v) { return Tensor::of<float>({1}, {v}); };
  for (const char* count : {"_", "%most"}) {
    const Executable e = loop("const %most : s64[] = 9223372036854775807\n", count, "go");
    EXPECT_EQ(sized_outcome(e, {{"x", x(1)}}), "[3,1] 2 3 4");
    EXPECT_EQ(sized_outcome(e, {{"x", x(-1)}}), "[5,1] 0 1 2 3 4");
    EXPECT_EQ(sized_outcome(e, {{"x", x(-2)}}), exceeded);
  }
  const Executable counted = loop("input %m : s64[]\n", "%m", "c");
  const auto of = [&](int64_t m) {
    return sized_outcome(counted, {{"x", x(0)}, {"m", Tensor::scalar(m)}});
  };
  EXPECT_EQ(of(2), "[2,1] 1 2");
  EXPECT_EQ(of(5), "[5,1] 1 2 3 4 5");
  EXPECT_EQ(of(6), "out_of_range: node 'turns': max_size: number 6 at place 0 is outside [0, 5]");
  // The trip count is the number of true flags, whose bound 8 is larger than the option.
  const Executable bounded = loop(
      "input %flags : bool[8]\nconst %place : s64[] = 1\n%found : ? = NonZero(%flags)\n"
      "%shape : ? = Shape(%found)\n%m : ? = Gather(%shape, %place)\n",
      "%m", "c");
  const auto of_true = [&](size_t trues) {
    Tensor flags = Tensor::zeros(DType::boolean, {8});
    for (size_t i = 0; i < trues; i++) flags.mutable_values<bool>()[i] = true;
    return sized_outcome(bounded, {{"x", x(0)}, {"flags", flags}});
  };
  EXPECT_EQ(of_true(0), "[0,1] ");
  EXPECT_EQ(of_true(5), "[5,1] 1 2 3 4 5");
  EXPECT_EQ(of_true(6),
            "out_of_range: node 'turns': max_size: number 6 at place 0 is outside [0, 5]");
}

// The bounds 65536^2 and 65536^4 are 0 in s32 and s64.
TEST(SizeRanges, ANumberThatMayOverflowHasNoBound) {
  Tensor seven = Tensor::zeros(DType::boolean, {256, 256});
  for (size_t i = 0; i < 7; i++) seven.mutable_values<bool>()[i * 9001] = true;
  const auto of_seven = [&](const std::string& nodes) {
    const Executable e = compile_body(
        "input %b : bool[256,256]\n%z : ? = NonZero(%b)\n%s : ? = Shape(%z)\n"
        "const %at : s64[] = 1\nconst %first : s64[] = 0\nconst %last : s32[] = 2147483647\n"
        "const %unit : f32[] = 0.5\n"
        "%n : ? = Gather(%s, %at)\n%m : ? = Cast(%n) {to = 6}\n%v : ? = Gather(%s, %first)\n" +
        nodes + "output %y\n");
    return real_part(run(e, {{"b", seven}})).at(0);
  };
  EXPECT_EQ(of_seven("%y : ? = Mul(%m, %m)\n"), 49);
  EXPECT_EQ(of_seven("%q : ? = Mul(%n, %n)\n%y : ? = Mul(%q, %q)\n"), 2401);
  EXPECT_EQ(of_seven("%q : ? = Mul(%n, %n)\n%y : ? = Cast(%q) {to = 6}\n"), 49);
  EXPECT_EQ(of_seven("%q : ? = Mul(%n, %n)\n%y : ? = CastLike(%q, %last)\n"), 49);
  EXPECT_EQ(of_seven("%f : ? = Cast(%n) {to = 1}\n%h : ? = Add(%f, %unit)\n"
                     "%q : ? = Mul(%h, %h)\n%y : ? = Cast(%q) {to = 6}\n"),
            56);
  EXPECT_EQ(of_seven("const %none : s64[1] = [0]\n%u : ? = Unsqueeze(%m, %none)\n"
                     "%c : ? = Concat(%u, %u) {axis = 0}\n"
                     "%y : ? = ReduceProd(%c) {keepdims = 0}\n"),
            49);
  const auto squared = [](int32_t n) {
    const Executable e = with_bounds(
        "input %n : s32[]\nconst %one : s32[] = 1\n%q : ? = Mul(%n, %n)\n"
        "%y : ? = Add(%q, %one)\noutput %y\n",
        {{"n", 65536}});
    return real_part(run(e, {{"n", Tensor::scalar(n)}})).at(0);
  };
  EXPECT_EQ(squared(3), 10);
}

}  // namespace
}  // namespace poprt::compiler
