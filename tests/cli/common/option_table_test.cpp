#include "common/option_table.h"

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

const OptionInfo& info(const std::string& name) { return *option_tables().find(name); }

// Parses a command line with the options of poprt. `printed` is the output.
struct Line {
  Command app{"", "program"};
  GivenOptions given;
  Printed printed;
  explicit Line(Words words) {
    given.add_to(app, option_tables().options);
    printed = parse(app, std::move(words));
    if (!printed.code) given.take();
  }
};

TEST(OptionTable, MatchesTheOptionTableOfTheLibrary) {
  const OptionInfo& batch = info("batch_size");
  EXPECT_EQ(batch.name, "batch_size");
  EXPECT_EQ(batch.group, "Shapes, batch, opset");
  EXPECT_EQ(
      batch.help,
      "Batch size of every input that is no scalar; the commands use axis 0 without --batch_axis");
  EXPECT_EQ(batch.value, "N");
  EXPECT_EQ(batch.kind, "integer");
  EXPECT_EQ(batch.effect, "acts");
  EXPECT_EQ(batch.since, "1.3");
  EXPECT_EQ(batch.needs, "batch_axis");
  EXPECT_EQ(batch.least, 1);
  EXPECT_EQ(batch.most, std::nullopt);
  EXPECT_EQ(batch.above, std::nullopt);
  EXPECT_FALSE(batch.command || batch.executable || batch.is_flag() || batch.takes_many());
  const OptionInfo& input = info("input_model");
  EXPECT_TRUE(input.command);
  EXPECT_EQ(input.aliases, Words{"-i"});
  EXPECT_EQ(info("output_dir").standard, "./");
  EXPECT_TRUE(info("pad_values").executable && info("pad_values").takes_many());
  EXPECT_TRUE(info("passes").takes_many());
  EXPECT_EQ(info("max_padding").most, 0.9);
  EXPECT_EQ(info("available_memory_proportion").above, 0);
  EXPECT_TRUE(info("show").is_flag());
  EXPECT_EQ(info("perf_tuner").note, "PopRT never had it either");
  EXPECT_EQ(info("framework").choices, (Words{"onnx", "tensorflow", "pytorch", "keras", "paddle",
                                              "sklearn", "lightgbm", "xgboost"}));
  EXPECT_GT(std::ranges::count(option_tables().compiler_fields, "num_ipus"), 0);
}

TEST(OptionTable, FindsNamesAndLongAliasesOfBothTables) {
  EXPECT_EQ(option_tables().find("nothing"), nullptr);
  EXPECT_EQ(option_tables().find(""), nullptr);
  EXPECT_EQ(option_tables().find("i"), nullptr);
  EXPECT_EQ(option_tables().find("batch_per_step"), &info("batches_per_step"));
  ASSERT_NE(option_tables().find("saved_model"), nullptr);
  EXPECT_EQ(option_tables().find("saved_model"), &option_tables().tf2onnx.front());
}

TEST(OptionTable, SpellingsHaveTheShortOneFirst) {
  EXPECT_EQ(info("input_model").spellings(), (Words{"-i", "--input_model"}));
  EXPECT_EQ(info("batches_per_step").spellings(),
            (Words{"--batches_per_step", "--batch_per_step"}));
}

TEST(OptionTable, ValuesAreHeldToTheirLimits) {
  OptionInfo o;
  o.kind = "integer";
  o.least = 2;
  o.most = 4;
  for (const char* good : {"2", "3", "4"}) EXPECT_EQ(value_error(o, good), "") << good;
  const std::string range = "expected a whole number of at least 2 and at most 4, found ";
  for (const char* bad : {"1", "5", "2.5", "", "3x", "x", "nan"})
    EXPECT_EQ(value_error(o, bad), fmt::format("{}'{}'", range, bad));
  o.kind = "number";
  o.least = std::nullopt;
  o.above = 0.5;
  EXPECT_EQ(value_error(o, "0.50001"), "");
  EXPECT_EQ(value_error(o, "4"), "");
  for (const char* bad : {"0.5", "4.1", "nan", "", "1x"})
    EXPECT_EQ(value_error(o, bad),
              fmt::format("expected a number above 0.5 and at most 4, found '{}'", bad));
  o.above = std::nullopt;
  o.most = std::nullopt;
  EXPECT_EQ(value_error(o, "-1e9"), "");
  EXPECT_EQ(value_error(o, "x"), "expected a number, found 'x'");
  o.kind = "text";
  EXPECT_EQ(value_error(o, "anything"), "");
  o.choices = {"a", "b"};
  EXPECT_EQ(value_error(o, "b"), "");
  EXPECT_EQ(value_error(o, "c"), "expected a or b, found 'c'");
  o.kind = "integer";
  o.choices = {"1", "x"};
  EXPECT_EQ(value_error(o, "1"), "");
  EXPECT_EQ(value_error(o, "x"), "expected a whole number, found 'x'");
}

TEST(OptionTable, ReadsOptionsFromACommandLine) {
  const Line line({"-i", "m.onnx", "--passes", "a", "b,", "c", "--input_shape", "x=1", "y=2",
                   "--show", "--run=false", "--input_shape", "z=3"});
  ASSERT_EQ(line.printed.code, std::nullopt) << line.printed.err;
  const GivenOptions& given = line.given;
  EXPECT_EQ(given.text("input_model"), "m.onnx");
  EXPECT_TRUE(given.has("show"));
  EXPECT_EQ(given.text("show"), "True");
  EXPECT_FALSE(given.has("run") || given.has("output") || given.has("i"));
  EXPECT_EQ(given.text("output", "standard"), "standard");
  EXPECT_EQ(given.text("output"), "");
  EXPECT_EQ(given.joined("passes"), "a,b,c");
  EXPECT_EQ(given.joined("input_shape"), "x=1\ny=2\nz=3");
  EXPECT_EQ(given.joined("skip_passes"), "");
  EXPECT_EQ(given.names("passes"), (Words{"a", "b", "c"}));
  EXPECT_EQ(given.names("skip_passes"), Words{});
  EXPECT_EQ(given.for_library(),
            (NamedOptions{{"input_shape", "x=1\ny=2\nz=3"}, {"passes", "a,b,c"}}));
}

TEST(OptionTable, NamesHaveNoBlanksAround) {
  const Line line({"--passes", " a , b c,,d", ","});
  EXPECT_EQ(line.given.names("passes"), (Words{"a", "b c", "d"}));
  // A word that is only a comma stays, because it ends no name.
  EXPECT_EQ(line.given.joined("passes"), " a , b c,,d,,");
}

TEST(OptionTable, HelpDescribesOptions) {
  const std::string help = Line({"--help"}).printed.out;
  for (const char* part : {"Shapes, batch, opset:", "FOLDER", "-i,", "--batch_per_step"})
    EXPECT_NE(help.find(part), std::string::npos) << part;
  std::string plain;
  for (const char c : help)
    if (c != ' ' && c != '\n') plain += c;
  for (const char* part : {"Folderofalloutputfiles[./]", "(withouteffect:PopRTneverhaditeither)",
                           "(recordedforthemodelofthechip)"})
    EXPECT_NE(plain.find(part), std::string::npos) << part;
}

TEST(OptionTable, TheLastOfSeveralValuesCounts) {
  const Line line({"-i", "a", "--input_model", "b", "--precision", "fp16", "--precision", "fp16",
                   "--passes", "a", "--passes", "b", "--show", "--show"});
  ASSERT_EQ(line.printed.code, std::nullopt) << line.printed.err;
  EXPECT_EQ(line.given.text("input_model"), "b");
  EXPECT_EQ(line.given.overridden(), Words{"input_model"});
  EXPECT_EQ(Line({"--output", "a", "--output", "b", "--output", "a"}).given.overridden(),
            Words{"output"});
  EXPECT_EQ(Line({}).given.overridden(), Words{});
}

TEST(OptionTable, ValuesAreCheckedWhereTheyAreGiven) {
  EXPECT_EQ(Line({"--batch_size", "0", "--batch_axis", "0"}).printed.err,
            "program: --batch_size: expected a whole number of at least 1, found '0'; see program "
            "--help\n");
  EXPECT_EQ(Line({"--precision", "int3"}).printed.code, 2);
}

TEST(OptionTable, TheCommandLineOverridesTheFile) {
  Line line({"--precision", "fp16"});
  line.given.add(info("precision"), {"fp32"});
  line.given.add(info("output"), {"x.popef"});
  line.given.add(info("output"), {"y.popef"});
  EXPECT_EQ(line.given.text("precision"), "fp16");
  EXPECT_EQ(line.given.text("output"), "y.popef");
  GivenOptions others;
  others.add(info("output"), {"z.popef"});
  others.add(info("output_dir"), {"w"});
  line.given.merge(others);
  EXPECT_EQ(line.given.text("output"), "y.popef");
  EXPECT_EQ(line.given.text("output_dir"), "w");
}

TEST(OptionTable, APassMayBeAnOption) {
  const auto moved = [](Words words) {
    Line line(std::move(words));
    line.given.move_pass("compare", "precision_compare");
    return fmt::format("{}|{}|{}", line.given.has("passes"), line.given.joined("passes"),
                       line.given.text("precision_compare"));
  };
  EXPECT_EQ(moved({"--passes", "a,compare", "b"}), "true|a,b|True");
  EXPECT_EQ(moved({"--passes", "compare"}), "false||True");
  EXPECT_EQ(moved({"--passes", "a", "compared"}), "true|a,compared|");
  EXPECT_EQ(moved({}), "false||");
}

TEST(OptionTable, MessagesHaveTheNamesOfTheCommandLine) {
  const auto message = [](std::vector<const char*> words, const char* text) {
    words.insert(words.begin(), "poprt");
    return with_typed_names(text, static_cast<int>(words.size()), words.data());
  };
  EXPECT_EQ(message({"--quantize"}, "--calibration_with_data needs --calibration_with_data"),
            "--quantize needs --quantize");
  EXPECT_EQ(message({"--quantize-loss-type=gptq"}, "--calibration_loss_type gptq"),
            "--quantize_loss_type gptq");
  EXPECT_EQ(message({"--batch_per_step", "2"}, "--batches_per_step_more, --batches_per_step."),
            "--batches_per_step_more, --batch_per_step.");
  EXPECT_EQ(message({"--calibration_with_data", "x"}, "--calibration_with_data"),
            "--calibration_with_data");
}

TEST(OptionTable, NeedsAreChecked) {
  EXPECT_EQ(message_of<Usage>([] { Line({"--json"}).given.check_needs(); }),
            "--json needs --list_all_passes");
  EXPECT_EQ(message_of<Usage>([] { Line({"--batch_axis", "1"}).given.check_needs(); }),
            "--batch_axis needs --batch_size");
  EXPECT_NO_THROW(Line({"--json", "--list_all_passes", "--show"}).given.check_needs());
}

}  // namespace
}  // namespace poprt::cli
