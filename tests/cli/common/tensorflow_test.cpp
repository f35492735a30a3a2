#include "common/tensorflow.h"

#include <sstream>

#include "cli/stand_in.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

// A replacement for tf2onnx: `found` is the exit code of the search for the package, `act` the
// commands that replace a conversion to $out.
struct Converter {
  StandIn python;
  GivenOptions options;
  std::string out = python.file("out.onnx"), model = sample_model("bits");

  explicit Converter(const std::string& act, int found = 0)
      : python("case \"$2\" in *find_spec*) exit " + std::to_string(found) +
               ";; esac\nout=$here/out.onnx; first=; case \"$*\" in *--opset*) first=yes;; esac\n"
               "good() { cp '" +
               sample_model("bits") + "' \"$out\"; }\n" + act) {}

  void give(const std::string& name, Words words) {
    options.add(*option_tables().find(name), std::move(words));
  }
  // Converts and returns the messages.
  std::string run() {
    testing::internal::CaptureStderr();
    try {
      convert_tensorflow(options, "saved", out);
    } catch (...) {
      testing::internal::GetCapturedStderr();
      throw;
    }
    return testing::internal::GetCapturedStderr();
  }
  // A digit for each conversion: 1 with an opset, 0 with the default one.
  std::string conversions() const {
    std::string calls;
    std::istringstream lines(python.calls());
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(" tf2onnx.convert "))  // after the program that runs modules
        calls += line.find("--opset") == line.npos ? "0" : "1";
    return calls;
  }
};

TEST(Tensorflow, WordsOfTheConverter) {
  Converter plain("good");
  EXPECT_EQ(plain.run(), "");
  const std::string head = "\n tf2onnx.convert --saved-model saved --output " + plain.out;
  EXPECT_NE(plain.python.calls().find(head + " --opset 11\n"), std::string::npos)
      << plain.python.calls();
  EXPECT_EQ(plain.conversions(), "1");
  Converter all("good");
  all.give("signature_def", {"s"});
  all.give("tag", {"t"});
  all.give("inputs", {"a:0,", "b:0"});
  all.give("outputs", {"c:0"});
  all.give("inputs_as_nchw", {"b"});
  all.give("outputs_as_nchw", {"same"});
  all.give("opset", {"13"});
  EXPECT_EQ(all.run(), "");
  EXPECT_NE(all.python.calls().find("--signature_def s --tag t --inputs a:0,b:0 --outputs c:0 "
                                    "--inputs-as-nchw b --outputs-as-nchw same --opset 13\n"),
            std::string::npos)
      << all.python.calls();
}

TEST(Tensorflow, APackageThatIsMissingIsNotStarted) {
  Converter missing("good", 3);
  EXPECT_EQ(message_of<Failure>([&] { missing.run(); }),
            "--framework tensorflow: Python's package tf2onnx is not installed; python3 -m pip "
            "install tf2onnx tensorflow");
  EXPECT_EQ(missing.conversions(), "");
  Converter other("good", 1);  // prints a separate error
  EXPECT_EQ(other.run(), "");
}

TEST(Tensorflow, AnOpsetThatLacksAnOperatorIsNotInsistedOn) {
  const std::string stdout_text =
      "poprt: --framework tensorflow: tf2onnx cannot write the model with opset 11{}; it was "
      "written with tf2onnx's default opset\n";
  Converter lacks("good; [ $first ] && echo 'x - Unsupported ops: Einsum' || true");
  EXPECT_EQ(lacks.run(), fmt::format(fmt::runtime(stdout_text), " (Einsum)"));
  EXPECT_EQ(lacks.conversions(), "10");
  Converter fails("[ $first ] && exit 1; good");
  EXPECT_EQ(fails.run(), fmt::format(fmt::runtime(stdout_text), ""));
  EXPECT_EQ(fails.conversions(), "10");
}

TEST(Tensorflow, TheFirstOneIsMadeAgainWhereNoOtherIsBetter) {
  for (const char* second : {"[ $first ] || exit 1", "[ $first ] || rm \"$out\""}) {
    Converter converter(std::string("good; echo 'Unsupported ops: Einsum'; ") + second);
    EXPECT_EQ(converter.run(), "");
    EXPECT_EQ(converter.conversions(), "101") << second;
    EXPECT_TRUE(std::filesystem::exists(converter.out));
  }
  Converter both("good; echo 'Unsupported ops: Einsum'");
  EXPECT_EQ(both.run(), "");
  EXPECT_EQ(both.conversions(), "101");
}

TEST(Tensorflow, AModelThatWasThereIsNotTakenForTheNewOne) {
  Converter converter("[ $first ] && good && echo 'Unsupported ops: A' || true");
  EXPECT_EQ(converter.run(), "");
  EXPECT_EQ(converter.conversions(), "101");
}

TEST(Tensorflow, ReportsTheLastLineOfAFailedConversion) {
  Converter fails("[ $first ] && echo a && echo 'the reason' && echo ' \t ' || echo other; exit 1");
  EXPECT_EQ(message_of<Failure>([&] { fails.run(); }),
            "--framework tensorflow: tf2onnx failed: the reason");
  EXPECT_EQ(fails.conversions(), "10");
  Converter silent("exit 0");
  EXPECT_EQ(message_of<Failure>([&] { silent.run(); }),
            "--framework tensorflow: tf2onnx failed: it printed no message");
}

// The model has inputs b and i, and outputs wide, real, same and brief.
TEST(Tensorflow, TransposeOptionsTakeNamesOfTheModel) {
  const auto message_for = [](const std::string& option, Words words, Words ends = {}) {
    Converter converter("good");
    converter.give(option, std::move(words));
    if (!ends.empty()) converter.give(option.substr(0, option.find("_as")), std::move(ends));
    try {
      return converter.run();
    } catch (const Failure& e) {
      return std::string(e.what());
    }
  };
  for (const char* name : {"b", "i", "b:0", "i:0", "b,i:0"})
    EXPECT_EQ(message_for("inputs_as_nchw", {name}), "") << name;
  for (const char* name : {"wide", "brief", "Identity:0", "Identity_1:0", "Identity_3:0"})
    EXPECT_EQ(message_for("outputs_as_nchw", {name}), "") << name;
  EXPECT_EQ(message_for("inputs_as_nchw", {"t:0"}, {"t:0[1,2]"}), "");
  EXPECT_EQ(message_for("outputs_as_nchw", {"u:0"}, {"t:0,u:0"}), "");
  for (const char* name : {"wide", "Identity:0", "t:0"})
    EXPECT_EQ(
        message_for("inputs_as_nchw", {name}),
        fmt::format("tf2onnx --inputs_as_nchw: the model has no input '{}'; it has b, i", name));
  for (const char* name : {"Identity_0:0", "Identity_4:0", "wide:0", "b"})
    EXPECT_EQ(message_for("outputs_as_nchw", {name}),
              fmt::format("tf2onnx --outputs_as_nchw: the model has no output '{}'; it has wide, "
                          "real, same, brief",
                          name));
}

TEST(Tensorflow, RefusesToTransposeOtherThanFourDimensions) {
  for (const char* direction : {"input", "output"}) {
    Converter converter(
        fmt::format("good; [ $first ] && echo 'Unsupported ops: A' && echo 'W - transpose_{0} for "
                    "one: rank' || "
                    "echo 'W - transpose_{0} for two: shape must be rank 4: no'",
                    direction));
    // The message of the second conversion counts.
    converter.give(std::string(direction) + "s_as_nchw", {direction[0] == 'i' ? "b" : "real"});
    EXPECT_EQ(
        message_of<Failure>([&] { converter.run(); }),
        fmt::format("tf2onnx --{}s_as_nchw: two: it does not have four dimensions", direction));
    // The options name no input or output to transpose.
    Converter without(fmt::format("good; echo 'W - transpose_{} for one: rank'", direction));
    EXPECT_EQ(without.run(), "");
  }
}

}  // namespace
}  // namespace poprt::cli
