#include "cli/commands/command_test.h"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

namespace poprt::cli::test {
namespace {

class EstimateCommand : public CommandTest {
 protected:
  static Ran estimated(const std::string& text, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"estimate", onnx("m.onnx", text)};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(add_estimate, words);
  }
};

constexpr const char* kEstimated = R"(graph "g" opset {"": 17} {
  input %x : f32[N,512]
  const %w : f32[512,256] = fill 1.0
  %m : f32[N,256] = MatMul(%x, %w) "product"
  %y : f32[N,256] = Relu(%m) "rectified"
  output %y
}
)";
const std::vector<std::string> kBatch = {"--batch_size", "64"};

std::vector<std::string> with_batch(std::vector<std::string> more) {
  more.insert(more.end(), kBatch.begin(), kBatch.end());
  return more;
}

TEST_F(EstimateCommand, TheTextNamesEveryHeadline) {
  const Ran ran = estimated(kEstimated, kBatch);
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"Target: c600 (ipu21), 1 IPU, 1472 tiles", "Cycles: ", "Throughput: ",
                           "Memory of IPU 0: ", "fits", "checked", "unchecked", "MatMul", "Relu"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
}

TEST_F(EstimateCommand, TheJsonHasCyclesAtTheTop) {
  const nlohmann::json json = estimated(kEstimated, with_batch({"--json", "--verbose"})).json();
  EXPECT_GT(json["cycles"], 500);
  EXPECT_LT(json["cycles"], 20000);
  EXPECT_EQ(json["samples"], 64);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["flops"], 2 * 64 * 512 * 256 + 64 * 256);
  ASSERT_EQ(json["operations"].size(), 2u);
  EXPECT_EQ(json["operations"][0]["name"], "product");
  EXPECT_EQ(json["operations"][0]["plan"]["method"], "AMP");
  int64_t sum = 0;
  for (const auto& op : json["operations"]) sum += op["cycles"].get<int64_t>();
  EXPECT_EQ(sum + json["phases"]["io"].get<int64_t>(), json["cycles"].get<int64_t>());
}

TEST_F(EstimateCommand, PrecisionAndTargetChangeTheCycles) {
  const auto cycles = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = with_batch(more);
    words.emplace_back("--json");
    const Ran ran = estimated(kEstimated, words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["milliseconds"].get<double>();
  };
  EXPECT_LT(cycles({"--precision", "fp16"}), cycles({}));
  EXPECT_GT(cycles({"--target", "mk2"}), cycles({}));
  EXPECT_LT(cycles({"--target", "bow"}), cycles({}));
}

TEST_F(EstimateCommand, ATargetMayBeAFile) {
  std::ofstream("tiny.json") << R"({"base": "mk2", "name": "tiny", "tiles": 8})";
  const Ran ran = estimated(kEstimated, with_batch({"--target", "tiny.json"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Target: tiny (ipu2), 1 IPU, 8 tiles"), std::string::npos) << ran.out;
  std::ofstream("small.json") << R"({"base": "mk2", "tiles": 2, "bytes_per_tile": 40000})";
  const Ran full = estimated(kEstimated, with_batch({"--target", "small.json"}));
  EXPECT_EQ(full.code, 0) << full.err;
  EXPECT_NE(full.out.find("Memory allocation error : Out of memory on tile"), std::string::npos);
  EXPECT_NE(full.out.find("largest variable w: "), std::string::npos) << full.out;
}

TEST_F(EstimateCommand, ComparesTwoTargets) {
  const Ran ran = estimated(kEstimated, with_batch({"--compare", "bow"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("c600"), std::string::npos);
  EXPECT_NE(ran.out.find("bow"), std::string::npos);
  EXPECT_NE(ran.out.find("ratio"), std::string::npos);
}

TEST_F(EstimateCommand, SweepsBatchesAndNamesTheBest) {
  const Ran ran = estimated(kEstimated, {"--sweep", "batch_size=1,16,256", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json json = ran.json();
  ASSERT_EQ(json["sweep"].size(), 3u);
  EXPECT_EQ(json["best"], 256);
  EXPECT_LT(json["sweep"][0]["throughput"], json["sweep"][2]["throughput"]);
  EXPECT_LT(json["sweep"][0]["bytes"], json["sweep"][0]["bytes_with_gaps"]);
  EXPECT_EQ(json["sweep"][0]["borderline"], false);
  EXPECT_EQ(estimated(kEstimated, {"--sweep", "batch_size=0"}).code, 2);
  EXPECT_NE(estimated(kEstimated, {"--sweep", "batch_size=1000000001"})
                .err.find("'1000000001' is not a batch size from 1 to 1000000000"),
            std::string::npos);
  EXPECT_EQ(estimated(kEstimated, {"--sweep", "width=1"}).code, 2);
}

TEST_F(EstimateCommand, SweepsBatchesAtAnotherAxis) {
  const std::string rows = R"(graph "g" opset {"": 17} {
  input %x : f32[8,N]
  %y = Relu(%x)
  output %y
})";
  const auto samples = [&](const std::string& size) {
    const Ran ran = estimated(rows, {"--batch_axis", "1", "--batch_size", size, "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["throughput"].get<double>();
  };
  const Ran ran = estimated(rows, {"--sweep", "batch_size=1,64", "--batch_axis", "1", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.json()["sweep"][0]["throughput"].get<double>(), samples("1"));
  EXPECT_EQ(ran.json()["sweep"][1]["throughput"].get<double>(), samples("64"));
  for (std::vector<std::string> words :
       {std::vector<std::string>{"--batch_axis", "1"},
        {"--batch_axis", "0", "--sweep", "available_memory_proportion=0.2"}}) {
    const Ran alone = estimated(kEstimated, words);
    EXPECT_EQ(alone.code, 2);
    EXPECT_NE(alone.err.find("--batch_axis requires --batch_size"), std::string::npos) << alone.err;
  }
}

TEST_F(EstimateCommand, WeightsHaveNoBatch) {
  const std::string shapes = R"(graph "g" opset {"": 17} {
  input %x : f32[N,512]
  input %w : f32[512,512]
  %y = MatMul(%x, %w)
  output %y
})";
  const Ran one = estimated(shapes, {"--weights", "w", "--batch_size", "16", "--json"});
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran swept = estimated(shapes, {"--weights", "w", "--sweep", "batch_size=8,16", "--json"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  EXPECT_EQ(swept.json()["sweep"][1]["cycles"], one.json()["cycles"]);
  EXPECT_EQ(estimated(shapes, {"--batch_size", "16"}).code, 1);
}

// An executable is estimated with the options that it records, unless the command line has others.
TEST_F(EstimateCommand, RecordedOptionsMatchTheCommandLine) {
  onnx("recorded.onnx", kEstimated);
  const auto cycles = [](std::vector<std::string> words) {
    words.insert(words.begin(), "estimate");
    words.emplace_back("--json");
    const Ran ran = run_command(add_estimate, words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code ? 0 : ran.json()["milliseconds"].get<double>();
  };
  const std::string shape = "x=64,512";
  popef("half.popef", "recorded.onnx",
        {{"input_shape", shape.c_str()}, {"precision", "bf16"}, {"ipu_version", "ipu2"}});
  EXPECT_EQ(cycles({"half.popef"}), cycles({"recorded.onnx", "--input_shape", shape, "--precision",
                                            "fp16", "--target", "mk2"}));
  EXPECT_EQ(cycles({"half.popef", "--precision", "fp32", "--target", "c600"}),
            cycles({"recorded.onnx", "--input_shape", shape, "--precision", "fp32"}));
  popef("chip.popef", "recorded.onnx",
        {{"input_shape", shape.c_str()},
         {"num_io_tiles", "64"},
         {"available_memory_proportion", "0.1"}});
  EXPECT_EQ(cycles({"chip.popef"}),
            cycles({"recorded.onnx", "--input_shape", shape, "--num_io_tiles", "64",
                    "--available_memory_proportion", "0.1"}));
}

// An option of the command line takes precedence also if its value is the standard one.
TEST_F(EstimateCommand, GivenOptionsReplaceRecordedOnes) {
  onnx("m.onnx", kEstimated);
  popef("m.popef", "m.onnx",
        {{"input_shape", "x=64,512"},
         {"num_io_tiles", "64"},
         {"available_memory_proportion", "0.001"}});
  const auto milliseconds = [](std::vector<std::string> words) {
    words.insert(words.begin(), "estimate");
    words.emplace_back("--json");
    const Ran ran = run_command(add_estimate, words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code ? 0 : ran.json()["milliseconds"].get<double>();
  };
  const std::vector<std::string> standard = {"--num_io_tiles", "0", "--available_memory_proportion",
                                             "0.6"};
  std::vector<std::string> words = {"m.popef"};
  words.insert(words.end(), standard.begin(), standard.end());
  EXPECT_EQ(milliseconds(words), milliseconds({"m.onnx", "--input_shape", "x=64,512"}));
  EXPECT_NE(milliseconds(words), milliseconds({"m.popef"}));
}

TEST_F(EstimateCommand, ShapesOfUnknownInputsAreRefused) {
  const std::vector<std::string> words = {"--input_shape", "x=64,512", "mask=1"};
  const Ran ran = estimated(kEstimated, words);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("the model has no input 'mask'"), std::string::npos) << ran.err;
  std::vector<std::string> allowed = words;
  allowed.emplace_back("--allow_unknown_inputs");
  EXPECT_EQ(estimated(kEstimated, allowed).code, 0);
}

// A scalar has a shape without sizes, and names of inputs may contain brackets.
TEST_F(EstimateCommand, RecordedShapesKeepTheirNames) {
  onnx("m.onnx", R"(graph "g" opset {"": 17} {
  input %"x[0]" : f32[N,4]
  input %s : f32[]
  %y : f32[N,4] = Mul(%"x[0]", %s)
  output %y
}
)");
  popef("m.popef", "m.onnx", {{"input_shape", "x[0]=64,4\ns=[]"}});
  const Ran ran = run_command(add_estimate, {"estimate", "m.popef", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.json()["samples"], 64);
}

TEST_F(EstimateCommand, OfSeveralRecordedShapesTheLargestCounts) {
  onnx("m.onnx", kEstimated);
  popef("m.popef", "m.onnx", {{"input_shape", "x=64,512/1,512/16,512"}});
  const Ran ran = run_command(add_estimate, {"estimate", "m.popef", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.json()["samples"], 64);
  const Ran given =
      run_command(add_estimate, {"estimate", "m.popef", "--json", "--input_shape", "x=2,512"});
  EXPECT_EQ(given.json()["samples"], 2);
  const Ran several = estimated(kEstimated, {"--input_shape", "x=1,512/2,512"});
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("this command accepts one shape per input"), std::string::npos);
}

// Other dimensions can be open, too; the batch is where the model has the name of its dimension.
TEST_F(EstimateCommand, ASweptBatchReplacesThatOfAShape) {
  const char* const open = R"(graph "g" opset {"": 17} {
  input %x : f32[B,S,16]
  input %state : f32[2,B,16]
  const %w : f32[16,8] = fill 1.0
  %m : f32[B,S,8] = MatMul(%x, %w)
  %y : f32[2,B,16] = Relu(%state)
  output %m
  output %y
}
)";
  const auto words = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--input_shape", "x=1,64,16", "state=2,1,16"});
    more.emplace_back("--json");
    return more;
  };
  const Ran swept = estimated(open, words({"--sweep", "batch_size=1,4"}));
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Ran four = estimated(open, {"--input_shape", "x=4,64,16", "state=2,4,16", "--json"});
  EXPECT_EQ(swept.json()["sweep"][1]["cycles"], four.json()["cycles"]);
  EXPECT_NE(swept.json()["sweep"][0]["cycles"], four.json()["cycles"]);
  // A batch that contradicts a given shape stays an error; that of a recorded shape is replaced.
  EXPECT_EQ(estimated(open, words({"--batch_size", "4"})).code, 1);
  popef("m.popef", "m.onnx", {{"input_shape", "x=2,64,16\nstate=2,2,16"}});
  const auto recorded = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"estimate", "m.popef", "--json"});
    return run_command(add_estimate, more);
  };
  const Ran one = recorded({"--batch_size", "4"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.json()["cycles"], four.json()["cycles"]);
  const Ran more = recorded({"--sweep", "batch_size=2,4"});
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(more.json()["sweep"][1]["cycles"], four.json()["cycles"]);
}

// The error comes before the first line, also if the first value is the batch of the model.
TEST_F(EstimateCommand, ABatchThatIsFixedCannotBeSwept) {
  std::string fixed = kEstimated;
  for (size_t at = 0; (at = fixed.find("[N,", at)) != std::string::npos;)
    fixed.replace(at, 3, "[4,");
  const Ran ran = estimated(fixed, {"--sweep", "batch_size=4,8"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("axis 0 is fixed and cannot become 8"), std::string::npos) << ran.err;
  const Ran one = estimated(fixed, {"--sweep", "batch_size=4"});
  EXPECT_EQ(one.code, 0) << one.err;
}

TEST_F(EstimateCommand, AnOptionThatIsSweptHasNoOtherValue) {
  const Ran batch = estimated(kEstimated, {"--sweep", "batch_size=1,2", "--batch_size", "4"});
  EXPECT_EQ(batch.code, 2);
  EXPECT_NE(batch.err.find("leave out --batch_size"), std::string::npos) << batch.err;
  const Ran memory =
      estimated(kEstimated, with_batch({"--sweep", "available_memory_proportion=0.2,0.6",
                                        "--available_memory_proportion", "0.3"}));
  EXPECT_EQ(memory.code, 2);
  EXPECT_NE(memory.err.find("leave out --available_memory_proportion"), std::string::npos)
      << memory.err;
}

TEST_F(EstimateCommand, SweepsTheAvailableMemory) {
  const Ran ran = estimated(
      kEstimated, with_batch({"--sweep", "available_memory_proportion=0.001,0.2,0.6", "--json"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json json = ran.json();
  ASSERT_EQ(json["sweep"].size(), 3u);
  EXPECT_EQ(json["sweep"][1]["available_memory_proportion"], 0.2);
  double most = 0;
  for (const auto& row : json["sweep"]) most = std::max(most, row["throughput"].get<double>());
  for (const auto& row : json["sweep"])
    if (row["available_memory_proportion"] == json["best"]) {
      EXPECT_EQ(row["throughput"].get<double>(), most);
      EXPECT_EQ(row["fits"], true);
    }
  const Ran text =
      estimated(kEstimated, with_batch({"--sweep", "available_memory_proportion=0.2,0.6"}));
  EXPECT_NE(text.out.find("best available_memory_proportion that fits: 0."), std::string::npos)
      << text.out;
  for (const char* wrong : {"-0.1", "0", "1.5", "0.2,", "x", "0.2x", "nan", ""})
    EXPECT_EQ(
        estimated(kEstimated,
                  with_batch({"--sweep", std::string("available_memory_proportion=") + wrong}))
            .code,
        2)
        << wrong;
}

TEST_F(EstimateCommand, PrintsPlansAndWritesAPicture) {
  const Ran ran = estimated(kEstimated, with_batch({"--plans", "--svg", "m.svg"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Planning product: per-tile memory limit 383385 bytes"), std::string::npos)
      << ran.out;
  const std::string svg = file_text("m.svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST_F(EstimateCommand, TakesEightBitFloats) {
  const auto weights = [](const char* precision) {
    const Ran ran = estimated(kEstimated, with_batch({"--precision", precision, "--json"}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["memory"][0]["by_category"]["weights"].get<int64_t>();
  };
  EXPECT_LT(weights("fp8"), weights("fp16"));
  EXPECT_LT(weights("fp16"), weights("fp32"));
  const Ran help = run_command(add_estimate, {"estimate", "--help"});
  EXPECT_NE(help.out.find("fp32, fp16, bf16, fp8 or fp8_weight [the model's own]"),
            std::string::npos)
      << help.out;
}

TEST_F(EstimateCommand, RefusesEightBitFloatsForAChipWithoutThem) {
  for (const char* words : {"--target", "--compare"}) {
    const Ran ran = estimated(kEstimated, with_batch({"--precision", "fp8", words, "mk2"}));
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("mk2 has no products of 8-bit floats"), std::string::npos) << ran.err;
  }
}

// The memory of the chip is a little more than the program needs.
TEST_F(EstimateCommand, ASweepStatesThatAValueIsBorderline) {
  const auto needed = estimated(kEstimated, with_batch({"--json", "--target", "mk2"}))
                          .json()["memory"][0]["bytes_with_gaps"]
                          .get<int64_t>();
  std::ofstream("tight.json") << R"({"base": "mk2", "bytes_per_tile": )" << needed + 100 << "}";
  const std::vector<std::string> words =
      with_batch({"--target", "tight.json", "--sweep", "available_memory_proportion=0.6"});
  const std::string text = estimated(kEstimated, words).out;
  EXPECT_NE(text.find(" with gaps: fits, borderline\n"), std::string::npos) << text;
  EXPECT_NE(text.find("that fits: 0.6, borderline\n"), std::string::npos) << text;
}

// A remedy is a part of a command line, and with it the model fits as announced.
TEST_F(EstimateCommand, ARemedyOfTheReportMakesTheModelFit) {
  std::ofstream("small.json") << R"({"base": "mk2", "tiles": 8, "bytes_per_tile": 150000})";
  for (const std::vector<std::string>& shape :
       {std::vector<std::string>{"--batch_size", "4096", "--batch_axis", "0"},
        {"--input_shape", "x=4096,512"}}) {
    std::vector<std::string> words = shape;
    words.insert(words.end(), {"--target", "small.json", "--json"});
    const nlohmann::json full = estimated(kEstimated, words).json();
    ASSERT_EQ(full["fits"], false);
    ASSERT_FALSE(full["remedies"].empty());
    bool smaller = false;
    for (const auto& remedy : full["remedies"]) {
      ASSERT_EQ(remedy["fits"], true);
      std::istringstream text(remedy["option"].get<std::string>());
      std::vector<std::string> more = {std::istream_iterator<std::string>(text), {}};
      const bool replaces = more[0] == shape[0];
      smaller |= replaces;
      more.insert(more.begin(), words.begin() + (replaces ? std::ssize(shape) : 0), words.end());
      const Ran ran = estimated(kEstimated, more);
      ASSERT_EQ(ran.code, 0) << remedy << ran.err;
      EXPECT_EQ(ran.json()["fits"], true) << remedy;
      EXPECT_EQ(ran.json()["cycles"], remedy["cycles"]) << remedy;
    }
    EXPECT_TRUE(smaller) << full["remedies"];
  }
}

TEST_F(EstimateCommand, OptionsOfTheHostChangeTheThroughput) {
  const auto throughput = [](std::vector<std::string> more) {
    more.emplace_back("--json");
    const Ran ran = estimated(kEstimated, with_batch(more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["throughput"].get<double>();
  };
  const double usual = throughput({});
  EXPECT_GT(throughput({"--stream_buffering_depth", "2"}), usual);
  EXPECT_LT(throughput({"--enable_prefetch_datastreams", "False"}), usual);
  EXPECT_EQ(throughput({"--enable_prefetch_datastreams", "True"}), usual);
  EXPECT_GT(throughput({"--replicas", "2"}), usual);
  onnx("host.onnx", kEstimated);
  popef("host.popef", "host.onnx",
        {{"input_shape", "x=64,512"},
         {"compiler_options", "stream_buffering_depth=2\nenable_prefetch_datastreams=False"}});
  const Ran recorded = run_command(add_estimate, {"estimate", "host.popef", "--json"});
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(recorded.json()["throughput"].get<double>(),
            throughput({"--enable_prefetch_datastreams", "False"}));
  EXPECT_EQ(recorded.json()["options"]["stream_buffering_depth"], 2);
}

// A tensor of a missing file has a shape only; two of the same shape are two weights.
TEST_F(EstimateCommand, WeightsOfAMissingFileAreCounted) {
  const auto bytes = [](const char* model) {
    const Ran ran = run_command(add_estimate, {"estimate", model, "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json()["memory"][0]["by_category"]["weights"].get<int64_t>();
  };
  const auto save = [](const char* file, int layers) {
    std::string text = "graph \"g\" opset {\"\": 17} {\n  input %x0 : f16[16,2048]\n";
    for (int i = 0; i < layers; i++)
      text += fmt::format("  const %w{} : f16[2048,2048] = fill {}.0\n", i, i + 1);
    for (int i = 0; i < layers; i++)
      text += fmt::format("  %x{} : f16[16,2048] = MatMul(%x{}, %w{})\n", i + 1, i, i);
    text += fmt::format("  output %x{}\n}}\n", layers);
    poprt::onnx::export_file(*ir::parse_text(text), file, {.external_data = true});
    for (const auto& entry : std::filesystem::directory_iterator("."))
      if (entry.path().extension() != ".onnx") std::filesystem::remove(entry.path());
  };
  save("one.onnx", 1);
  save("three.onnx", 3);
  EXPECT_GE(bytes("one.onnx"), int64_t{2048} * 2048 * 2 / 1472);
  EXPECT_EQ(bytes("three.onnx"), 3 * bytes("one.onnx"));
}

TEST_F(EstimateCommand, RefusesInvalidOptions) {
  EXPECT_EQ(estimated(kEstimated, with_batch({"--target", "ipu9"})).code, 2);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--num_io_tiles", "1472"},
                                                {"--num_ipus", "0"},
                                                {"--batches_per_step", "0"},
                                                {"--available_memory_proportion", "1.5"},
                                                {"--available_memory_proportion", "0"},
                                                {"--outline_threshold", "nan"},
                                                {"--partials_type", "double"},
                                                {"--precision", "fp4"},
                                                {"--stream_buffering_depth", "0"},
                                                {"--enable_prefetch_datastreams", "yes"},
                                                {"--replicas", "0"},
                                                {"--sweep", "batch_size=1", "--plans"}}) {
    const Ran ran = estimated(kEstimated, with_batch(words));
    EXPECT_EQ(ran.code, 2) << words[0] << ran.err;
    EXPECT_NE(ran.err.find(words[0]), std::string::npos) << ran.err;
  }
  const Ran no_input = estimated(kEstimated, with_batch({"--weights", "nowhere"}));
  EXPECT_EQ(no_input.code, 1);
  EXPECT_NE(no_input.err.find("no input 'nowhere'"), std::string::npos) << no_input.err;
  EXPECT_EQ(run_command(add_estimate, {"estimate", "missing.popef"}).code, 1);
}

}  // namespace
}  // namespace poprt::cli::test
