#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

class Flops : public CommandTest {
 protected:
  // Flops and bytes of a graph in text form. `note` is the text on stderr.
  static std::pair<int64_t, int64_t> cost(const std::string& text, const std::string& note = "") {
    const Ran ran = counted(text, {"--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, note);
    if (ran.code != 0) return {};
    return {ran.json()["flops"], ran.json()["bytes"]};
  }
  static Ran counted(const std::string& text, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"flops", onnx("m.onnx", text)};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(add_flops, words);
  }
};

constexpr const char* kNet = R"(graph "g" opset {"": 17} {
  input %x : f32[N,4]
  const %w : f32[4,3] = fill 1.0
  %m : f32[N,3] = MatMul(%x, %w) "product"
  %y : f32[N,3] = Relu(%m) "rectified"
  output %y
}
)";

// The expected numbers are 2 x 5 x 4 x 3, and one for each of 15 elements.
TEST_F(Flops, RowsOfNodesAndTheirSum) {
  const Ran ran = counted(kNet, {"--verbose", "--input_shape", "x=5,4"});
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out,
            "MatMul                                120 FLOPs            188 bytes  product\n"
            "Relu                                   15 FLOPs            120 bytes  rectified\n"
            "total                                 135 FLOPs            308 bytes\n");
  const Ran sum = counted(kNet, {"--batch_size", "5", "--batch_axis", "0"});
  EXPECT_EQ(sum.out, ran.out.substr(ran.out.find("total")));
  const nlohmann::json json = counted(kNet, {"--json", "--input_shape", "x=5,4"}).json();
  EXPECT_EQ(json["flops"], 135);
  EXPECT_EQ(json["bytes"], 308);
  const nlohmann::json relu = {
      {"name", "rectified"}, {"op_type", "Relu"}, {"flops", 15}, {"bytes", 120}};
  ASSERT_EQ(json["nodes"].size(), 2);
  EXPECT_EQ(json["nodes"][1], relu);
}

TEST_F(Flops, VariableInputsAreRefused) {
  const Ran ran = counted(kNet);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(
      ran.err.find("the shape of input 'x' (f32[N,4]) is variable; fix it with --input_shape"),
      std::string::npos)
      << ran.err;
}

// An input that a node has twice counts once; an input that is left out has no bytes.
TEST_F(Flops, ShapesOfUnknownInputsAreRefused) {
  const Ran ran = counted(kNet, {"--input_shape", "x=5,4", "xs=1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("--input_shape: the model has no input 'xs', did you mean 'x'?"),
            std::string::npos)
      << ran.err;
  const Ran known = counted(kNet, {"--input_shape", "x=5,4"});
  EXPECT_EQ(counted(kNet, {"--input_shape", "x=5,4", "xs=1", "--allow_unknown_inputs"}).out,
            known.out);
}

TEST_F(Flops, InputsCountOnce) {
  EXPECT_EQ(cost(R"(graph "g" opset {"": 17} {
  input %x : f32[8]
  %y : f32[8] = Add(%x, %x)
  output %y
})"),
            std::pair(8L, 64L));
  EXPECT_EQ(cost(R"(graph "g" opset {"": 17} {
  input %x : f32[8]
  const %most : f32[] = 6.0
  %y : f32[8] = Clip(%x, _, %most)
  output %y
})")
                .second,
            32 + 4 + 32);
}

// The body of a loop counts once for each round if the number of rounds is constant.
TEST_F(Flops, LoopsOfUnknownLengthCountOnce) {
  const std::string body = R"({body = graph "b" {
    input %i : s64[]
    input %go : bool[]
    input %v : f32[4]
    %on : bool[] = Identity(%go)
    %u : f32[4] = Add(%v, %v)
    output %on
    output %u
  }})";
  const std::string head = R"(graph "g" opset {"": 17} {
  input %x : f32[4]
  input %times : s64[]
  const %three : s64[] = 3
  const %yes : bool[] = true
)";
  const auto flops = [&](const std::string& times, const std::string& note) {
    return cost(head + "  %y : f32[4] = Loop(" + times + ", %yes, %x) " + body +
                    "\n  output %y\n}\n",
                note)
        .first;
  };
  const std::string unknown =
      "poprt_exec flops: Loop node that makes 'y' is counted for one round, because the number of "
      "its rounds is known at run time only\n";
  EXPECT_EQ(flops("%three", ""), 12);
  EXPECT_EQ(flops("%times", unknown), 4);
  EXPECT_EQ(flops("_", unknown), 4);
}

// The first of several scanned inputs has the number of rounds: here six columns, then six rows.
TEST_F(Flops, ScansCountEachStep) {
  const auto flops = [&](const std::string& first, const std::string& second,
                         const std::string& axes) {
    return cost(R"(graph "g" opset {"": 17} {
  input %x : f32[4]
  input %p : f32[)" +
                first + R"(]
  input %q : f32[)" +
                second + R"(]
  %y : f32[4], %all : f32[6,4] = Scan(%x, %p, %q) {body = graph "b" {
    input %s : f32[4]
    input %r : f32[4]
    input %t : f32[4]
    %u : f32[4] = Add(%s, %r)
    %z : f32[4] = Mul(%u, %t)
    output %u
    output %z
  }, num_scan_inputs = 2)" +
                axes + R"(}
  output %y
  output %all
})")
        .first;
  };
  EXPECT_EQ(flops("4,6", "6,4", ", scan_input_axes = [1, 0]"), 6 * 8);
  EXPECT_EQ(flops("6,4", "4,6", ", scan_input_axes = [0, 1]"), 6 * 8);
  EXPECT_EQ(flops("6,4", "6,4", ""), 6 * 8);
  EXPECT_EQ(flops("4,6", "6,4", ", scan_input_axes = [-1, 0]"), 6 * 8);
}

// NonZero returns two rows (one for each axis) of unknown length. A Scan over its rows counts two
// steps of four additions; a Scan over its columns, whose number is unknown, counts one step.
TEST_F(Flops, ScansCountStepsOfAKnownLength) {
  const auto flops = [&](const std::string& axis) {
    return counted(R"(graph "g" opset {"": 17} {
  input %x : f32[4]
  input %m : f32[3,3]
  %n : s64[2,?] = NonZero(%m)
  %y : f32[4] = Scan(%x, %n) {body = graph "b" {
    input %s : f32[4]
    input %r : s64[?]
    %u : f32[4] = Add(%s, %s)
    output %u
  }, num_scan_inputs = 1, scan_input_axes = [)" +
                       axis + R"(]}
  output %y
})",
                   {"--json"})
        .json()["flops"]
        .get<int64_t>();
  };
  EXPECT_EQ(flops("0") - flops("1"), 4);
}

// If two branches have equal operations, the one that moves more bytes counts.
TEST_F(Flops, DearerBranchCounts) {
  for (const bool swapped : {false, true}) {
    const std::string large = R"(graph "l" {
    %c : f32[8,4] = Concat(%^x, %^x) {axis = 0}
    %o : f32[1,4] = Slice(%c, %^zero, %^one, %^zero)
    output %o
  })";
    const std::string small = R"(graph "s" {
    %o : f32[1,4] = Slice(%^x, %^zero, %^one, %^zero)
    output %o
  })";
    const auto [flops, bytes] =
        cost(R"(graph "g" opset {"": 17} {
  input %on : bool[]
  input %x : f32[4,4]
  const %zero : s64[1] = [0]
  const %one : s64[1] = [1]
  %y : f32[1,4] = If(%on) {then_branch = )" +
             (swapped ? large : small) + ", else_branch = " + (swapped ? small : large) +
             "}\n  output %y\n}\n");
    EXPECT_GE(bytes, 64 + 128 + 128 + 16 + 1 + 16) << swapped;
  }
}

// If the shapes of several results depend on data, the report names the first result.
TEST_F(Flops, ReportsNodesOfUnknownShape) {
  const Ran ran = counted(R"(graph "g" opset {"": 17} {
  input %x : f32[6]
  %r : f32[6] = Relu(%x)
  %u : f32[K], %i : s64[L] = Unique(%r) "distinct"
  %y : f32[K] = Neg(%u)
  output %y
  output %i
})",
                          {"--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.json()["flops"], 6);
  EXPECT_TRUE(ran.err.starts_with("poprt_exec flops: 2 nodes are not counted, such as Unique"))
      << ran.err;
  EXPECT_NE(ran.err.find("where the shape of 'u' (f32["), std::string::npos) << ran.err;
}

// Nodes that determine shapes are computed first, and are then not counted. If all shapes are
// known, nothing is computed.
TEST_F(Flops, ShapesThatAreComputedAreKnown) {
  const nlohmann::json known = counted(R"(graph "g" opset {"": 17} {
  input %x : f32[2,3,4]
  %s : s64[3] = Shape(%x)
  const %at : s64[] = 0
  %n : s64[] = Gather(%s, %at)
  const %axes : s64[1] = [0]
  %m : s64[1] = Unsqueeze(%n, %axes)
  const %rest : s64[1] = [-1]
  %t : s64[2] = Concat(%m, %rest) {axis = 0}
  %f : f32[*] = Reshape(%x, %t)
  %y : f32[*] = Relu(%f)
  output %y
})",
                                       {"--json"})
                                   .json();
  EXPECT_EQ(known["nodes"].size(), 2);
  EXPECT_EQ(known["nodes"][1]["flops"], 24);
  const nlohmann::json constant = counted(R"(graph "g" opset {"": 17} {
  input %x : f32[4]
  const %a : f32[4] = fill 1.0
  %b : f32[4] = Neg(%a)
  %y : f32[4] = Add(%x, %b)
  output %y
})",
                                          {"--json"})
                                      .json();
  EXPECT_EQ(constant["nodes"].size(), 2);
}

TEST_F(Flops, StrictAndLinks) {
  without_import("odd.onnx");
  const Ran assumed = run_command(add_flops, {"flops", "odd.onnx"});
  EXPECT_EQ(assumed.code, 0) << assumed.err;
  EXPECT_EQ(run_command(add_flops, {"flops", "odd.onnx", "--strict"}).code, 1);
  onnx::export_file(*ir::parse_text(kNet), "out.onnx",
                    {.external_data = true, .external_threshold = 1});
  std::filesystem::rename("out.onnx.data", "elsewhere");
  std::filesystem::create_symlink("elsewhere", "out.onnx.data");
  const std::vector<std::string> words = {"flops", "out.onnx", "--input_shape", "x=5,4"};
  EXPECT_EQ(run_command(add_flops, words).code, 1);
  std::vector<std::string> trusted = words;
  trusted.push_back("--allow_symlinks");
  EXPECT_EQ(run_command(add_flops, trusted).code, 0);
}

}  // namespace
}  // namespace poprt::cli::test
