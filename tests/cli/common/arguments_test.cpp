#include "common/arguments.h"

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

// A program with options of several kinds and one subcommand.
struct Program {
  Command app{"Does things.", "program"};
  Command* sub = app.add_command("work", "Works");
  std::string alpha, alpine, file;
  std::vector<std::string> words;
  int count = 0;
  double ratio = 0;
  bool flag = false, worked = false;

  Program() {
    app.add_option("-a,--alpha", alpha, "A text");
    app.add_option("--count", count, "A number");
    app.add_option("--count_all", words, "Several")->expected(1, 9);
    app.add_option("-r", ratio, "A ratio");
    app.add_flag("-f,--flag", flag, "A flag");
    sub->add_option("--alpine", alpine, "Of the command");
    sub->callback([this] { worked = true; });
  }
  Printed operator()(std::vector<std::string> given) { return parse(app, std::move(given)); }
};

std::string refusal(std::vector<std::string> words, const std::string& command = "program") {
  Program program;
  const Printed printed = program(std::move(words));
  EXPECT_EQ(printed.code, 2);
  EXPECT_EQ(printed.out, "");
  const std::string head = command + ": ", tail = "; see " + command + " --help\n";
  EXPECT_TRUE(printed.err.starts_with(head) && printed.err.ends_with(tail)) << printed.err;
  if (printed.err.size() < head.size() + tail.size()) return printed.err;
  return printed.err.substr(head.size(), printed.err.size() - head.size() - tail.size());
}

TEST(Arguments, EditDistanceCountsLettersThatDiffer) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abcd", ""), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
  EXPECT_EQ(edit_distance("ouput", "output"), 1U);
  EXPECT_EQ(edit_distance("output", "ouput"), 1U);
  EXPECT_EQ(edit_distance("ab", "ba"), 2U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
  EXPECT_EQ(edit_distance("abc", "xyz"), 3U);
}

TEST(Arguments, PrintableIsOneLine) {
  EXPECT_EQ(printable("a\nb\x1f"
                      "c\x7f~ \xc3\xa9"),
            "a\\x0ab\\x1fc\\x7f~ \xc3\xa9");
  // The control characters from U+0080 to U+009F, also as bytes of terminals of 8 bits.
  EXPECT_EQ(printable("\xc2\x80|\xc2\x9b|\xc2\xa0|\x9b|\xe9|\xe2\x80\x9b"),
            "\\xc2\\x80|\\xc2\\x9b|\xc2\xa0|\\x9b|\xe9|\xe2\x80\x9b");
}

TEST(Arguments, MessagesOfTheLibraryNameOptionsOfTheCommand) {
  EXPECT_EQ(spell_options("`batch_size` needs `batch_axis`"), "--batch_size needs --batch_axis");
  EXPECT_EQ(spell_options("see `input_shapes`"), "see --input_shape");
  EXPECT_EQ(spell_options("`allow_links` and `list_passes`!"),
            "--allow_symlinks and --list_all_passes!");
  EXPECT_EQ(spell_options("`list_passes` lists them", "poprt_exec opt"),
            "poprt_exec passes lists them");
  EXPECT_EQ(spell_options("`Two Words` and `fp8_params` here"),
            "`Two Words` and --fp8_params here");
  EXPECT_EQ(spell_options("`A``b`c`d"), "`A`--bc`d");
  EXPECT_EQ(spell_options("one ` alone"), "one ` alone");
}

TEST(Arguments, NumbersHaveBothLimits) {
  const Check whole = between<int64_t>(-2, 5);
  for (const char* good : {"-2", "0", "5"}) EXPECT_EQ(whole(good), "") << good;
  EXPECT_EQ(whole("-3"), "expected a whole number from -2 to 5, found '-3'");
  for (const char* bad : {"6", "", "1x", "x1", "1.0", "99999999999999999999"})
    EXPECT_EQ(whole(bad), fmt::format("expected a whole number from -2 to 5, found '{}'", bad));
  const Check least = at_least<int>(3);
  EXPECT_EQ(least("3"), "");
  EXPECT_EQ(least("2147483647"), "");
  EXPECT_EQ(least("2"), "expected a whole number of at least 3, found '2'");
  EXPECT_EQ(least("2147483648"),
            "expected a whole number from 3 to 2147483647, found '2147483648'");
  const Check ratio = between(0.5, 1.5);
  EXPECT_EQ(ratio("0.5"), "");
  EXPECT_EQ(ratio("1.5"), "");
  EXPECT_EQ(ratio("1.51"), "expected a number from 0.5 to 1.5, found '1.51'");
  EXPECT_EQ(at_least(0.5)("0.4"), "expected a number of at least 0.5, found '0.4'");
  EXPECT_NE(ratio("nan"), "");
}

TEST(Arguments, WordsAndPathsAreChecked) {
  EXPECT_EQ(one_of({"a", "b"})("b"), "");
  EXPECT_EQ(one_of({"a", "b"})("c"), "expected a or b, found 'c'");
  const TemporaryFolder folder;
  const std::string file = write_file(folder, "f", "").string(), path = folder.path().string();
  EXPECT_EQ(existing_file()(file), "");
  EXPECT_EQ(existing_file()(path), "expected a file, found none at '" + path + "'");
  EXPECT_EQ(existing_folder()(path), "");
  EXPECT_EQ(existing_folder()(file), "expected a folder, found none at '" + file + "'");
}

TEST(Arguments, ValuesAreWritten) {
  Program p;
  const Printed printed =
      p({"--alpha", "x", "--count=7", "-r", "0.5", "--flag", "work", "--alpine", "y"});
  EXPECT_EQ(printed.code, std::nullopt);
  EXPECT_EQ(printed.err + printed.out, "");
  EXPECT_EQ(p.alpha + p.alpine, "xy");
  EXPECT_EQ(p.count, 7);
  EXPECT_EQ(p.ratio, 0.5);
  EXPECT_TRUE(p.flag && p.worked && p.sub->parsed());
  Program without;
  EXPECT_EQ(without({"-a", "x"}).code, std::nullopt);
  EXPECT_FALSE(without.flag || without.worked || without.sub->parsed());
  EXPECT_TRUE(p.app.has_command("work"));
  EXPECT_FALSE(p.app.has_command("wor") || p.app.has_command("program") || p.app.has_command(""));
}

TEST(Arguments, NumbersOfEveryWidth) {
  Command app("", "program");
  int64_t wide = 0;
  uint64_t natural = 0;
  std::optional<double> perhaps;
  app.add_option("--wide", wide, "");
  app.add_option("--natural", natural, "");
  app.add_option("--perhaps", perhaps, "");
  EXPECT_EQ(parse(app, {"--wide", "-9000000000"}).code, std::nullopt);
  EXPECT_EQ(wide, -9000000000);
  EXPECT_EQ(perhaps, std::nullopt);
  EXPECT_EQ(parse(app, {"--natural", "18446744073709551615", "--perhaps", "0.25"}).code,
            std::nullopt);
  EXPECT_EQ(natural, ~uint64_t{0});
  EXPECT_EQ(perhaps, 0.25);
  EXPECT_EQ(parse(app, {"--natural", "x"}).err,
            "program: --natural: expected a whole number, found 'x'; see program --help\n");
  EXPECT_EQ(parse(app, {"--perhaps", "x"}).err,
            "program: --perhaps: expected a number, found 'x'; see program --help\n");
}

TEST(Arguments, BeginningsOfOptionsAreWholeNames) {
  Program p;
  EXPECT_EQ(p({"--al", "x", "--fla", "--count_", "a", "b"}).code, std::nullopt);
  EXPECT_EQ(p.alpha, "x");
  EXPECT_TRUE(p.flag);
  EXPECT_EQ(p.words, (std::vector<std::string>{"a", "b"}));
  Program with_value;
  EXPECT_EQ(with_value({"--alp=x=y", "--count=3"}).code, std::nullopt);
  EXPECT_EQ(with_value.alpha, "x=y");
  EXPECT_EQ(with_value.count, 3);
  EXPECT_EQ(refusal({"--cou", "3"}),
            "option '--cou' is ambiguous, it could be --count, --count_all");
  EXPECT_EQ(refusal({"--cou=3"}), "option '--cou' is ambiguous, it could be --count, --count_all");
}

TEST(Arguments, AbbreviationsAfterACommandAreOfThatCommand) {
  const std::vector<std::vector<std::string>> heads = {
      {}, {"--flag"}, {"-f"}, {"--alpha=z"}, {"-a", "z"}};
  for (const std::vector<std::string>& before : heads) {
    Program p;
    std::vector<std::string> words = before;
    words.insert(words.end(), {"work", "--al", "y"});
    EXPECT_EQ(p(words).code, std::nullopt) << fmt::format("{}", before.size());
    EXPECT_EQ(p.alpine, "y");
  }
  // The name of the command as the value of an option is a value.
  for (const char* option : {"--alpha", "-a"}) {
    Program p;
    EXPECT_EQ(p({option, "work", "--fl"}).code, std::nullopt) << option;
    EXPECT_EQ(p.alpha, "work");
    EXPECT_TRUE(p.flag);
    EXPECT_FALSE(p.worked);
  }
}

TEST(Arguments, ArgumentsAfterADoubleDashAreNotOptions) {
  Command app("", "program");
  std::vector<std::string> files;
  std::string name;
  app.add_option("FILES", files, "Files");
  app.add_option("--name", name, "Name");
  EXPECT_EQ(parse(app, {"--", "--na"}).code, std::nullopt);
  EXPECT_EQ(files, std::vector<std::string>{"--na"});
}

TEST(Arguments, NamesOfOneOptionAreNotAmbiguous) {
  Command app("", "program");
  std::string value;
  app.add_option("--quantize_loss,--quantize_loss_type", value, "");
  EXPECT_EQ(parse(app, {"--quantize", "x"}).code, std::nullopt);
  EXPECT_EQ(value, "x");
}

TEST(Arguments, SuggestsTheNearestOption) {
  EXPECT_EQ(refusal({"--aplha", "x"}), "there is no option '--aplha', did you mean --alpha?");
  EXPECT_EQ(refusal({"--flga=1"}), "there is no option '--flga', did you mean --flag?");
  EXPECT_EQ(refusal({"--cuont"}), "there is no option '--cuont', did you mean --count?");
  EXPECT_EQ(refusal({"--xlgh"}), "there is no option '--xlgh'");
  EXPECT_EQ(refusal({"--alxhx"}), "there is no option '--alxhx', did you mean --alpha?");
  EXPECT_EQ(refusal({"--cont_all", "x"}),
            "there is no option '--cont_all', did you mean --count_all?");
  EXPECT_EQ(refusal({"work", "--alpin3", "x"}, "program work"),
            "there is no option '--alpin3', did you mean --alpine?");
  EXPECT_EQ(refusal({"work", "--flag"}, "program work"), "there is no option '--flag'");
}

TEST(Arguments, SuggestsTheOptionForANameOfOtherPrograms) {
  Command app("", "program");
  int seconds = 0;
  app.add_option("--seconds", seconds, "");
  EXPECT_NE(parse(app, {"--duration", "5"}).err.find("'--duration', did you mean --seconds?"),
            std::string::npos);
  EXPECT_EQ(parse(app, {"--requests", "5"}).err.find("did you mean"), std::string::npos)
      << "the command has no --iterations";
}

TEST(Arguments, RefusesUnexpectedArguments) {
  EXPECT_EQ(refusal({"a", "b"}), "expected options, found 'a' and 'b'");
  EXPECT_EQ(refusal({"work", "a"}, "program work"), "expected options, found 'a'");
  EXPECT_EQ(refusal({"--", "--zzz"}), "expected options, found '--' and '--zzz'");
  const auto message_for = [](std::vector<std::string> words) {
    Command app("", "program");
    std::string model;
    app.add_option("-i,--input_model", model, "");
    return parse(app, std::move(words)).err;
  };
  EXPECT_EQ(message_for({"m.onnx"}),
            "program: expected options, found 'm.onnx': give --input_model m.onnx; see program "
            "--help\n");
  EXPECT_EQ(message_for({"-i", "m.onnx", "n.onnx"}),
            "program: expected options, found 'n.onnx'; see program --help\n");
  EXPECT_EQ(message_for({"m.onnx", "n.onnx"}),
            "program: expected options, found 'm.onnx' and 'n.onnx'; see program --help\n");
  EXPECT_EQ(message_for({"-z"}), "program: there is no option '-z'; see program --help\n");
}

TEST(Arguments, NamesTheRightPlaceOfAWord) {
  Command app("", "program");
  Command* work = app.add_command("work", "");
  std::string file;
  std::vector<std::string> inputs;
  int64_t size = 0, axis = 0;
  bool json = false;
  work->add_option("FILE", file, "");
  work->add_option("--input", inputs, "")->many();
  work->add_flag("--json", json, "");
  add_batch_options(*work, size, axis);
  const auto message_for = [&](std::vector<std::string> words) {
    const std::string message = parse(app, std::move(words)).err;
    return message.substr(0, message.find("; see program"));
  };
  EXPECT_EQ(message_for({"--json", "work", "a"}),
            "program work: '--json' is an option of work: give it after work");
  EXPECT_EQ(message_for({"--jsan", "work", "a"}), "program work: there is no option '--jsan'");
  EXPECT_EQ(message_for({"work", "a", "b"}), "program work: expected one FILE, found 'a' and 'b'");
  EXPECT_EQ(message_for({"work", "a", "x=b.npy"}),
            "program work: expected one FILE, found 'a' and 'x=b.npy': give --input x=b.npy");
  EXPECT_EQ(message_for({"work", "a", "-b", "2"}),
            "program work: there is no option '-b', did you mean --batch_size?");
}

TEST(Arguments, AFullDiskIsTheStandardOutputs) {
  EXPECT_EQ(with_standard_output_name("cannot write to file: No space left on device"),
            "cannot write to the standard output: No space left on device");
  EXPECT_EQ(with_standard_output_name("cannot write 'a'"), "cannot write 'a'");
}

TEST(Arguments, ValuesThatCannotBeRead) {
  EXPECT_EQ(refusal({"--count", "x", "stray"}), "--count: expected a whole number, found 'x'");
  EXPECT_EQ(refusal({"--count", "x"}), "--count: expected a whole number, found 'x'");
  EXPECT_EQ(refusal({"-r", "x"}), "-r: expected a number, found 'x'");
  EXPECT_EQ(refusal({"--flag=perhaps"}), "--flag: expected true or false, found 'perhaps'");
  EXPECT_EQ(refusal({"--count", "1", "--count", "2"}), "--count: expected one occurrence, found 2");
  EXPECT_EQ(refusal({"--alpha", "1", "-a", "2", "-a", "3"}),
            "--alpha: expected one occurrence, found 3");
  EXPECT_EQ(refusal({"--alpha", ""}), "--alpha: the value is empty");
  EXPECT_EQ(refusal({"work", "--alpine", ""}, "program work"), "--alpine: the value is empty");
}

TEST(Arguments, ValuesThatAreMissing) {
  EXPECT_EQ(refusal({"--count"}),
            "--count: expected a whole number, found the end of the line: give --count INT");
  EXPECT_EQ(refusal({"-a"}),
            "--alpha: expected a value, found the end of the line: give --alpha TEXT");
  EXPECT_EQ(refusal({"work", "--alpine"}, "program work"),
            "--alpine: expected a value, found the end of the line: give --alpine TEXT");
  Command app("", "program");
  std::string level;
  app.add_option("--level", level, "")->type_name("LEVEL");
  EXPECT_EQ(parse(app, {"--level"}).err,
            "program: --level: expected LEVEL, found the end of the line: give --level LEVEL; see "
            "program --help\n");
}

TEST(Arguments, ReportsMissingRequiredArguments) {
  Command app("", "program");
  Command* run = app.add_command("run", "");
  app.add_command("walk", "");
  app.require_subcommand();
  std::string file, shape;
  run->add_option("FILE", file, "")->required();
  run->add_option("-s,--shape", shape, "")->required();
  const std::string tail = "; see program --help\n";
  EXPECT_EQ(parse(app, {}).err,
            "program: expected a command, found none: give one of run, walk" + tail);
  EXPECT_EQ(parse(app, {"run", "--shape", "2"}).err,
            "program run: expected FILE, found none: give program run FILE; see program run "
            "--help\n");
  EXPECT_EQ(parse(app, {"run", "f"}).err,
            "program run: expected --shape, found none: give --shape TEXT; see program run "
            "--help\n");
  EXPECT_EQ(parse(app, {"run", "f", "--shape", "2"}).code, std::nullopt);
}

TEST(Arguments, HelpAndVersionsArePrinted) {
  Program p;
  p.app.set_version_flag("-v,--version", "1.2.3");
  const Printed version = p({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "1.2.3\n");
  const Printed help = p({"-h"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("--count_all"), std::string::npos);
  EXPECT_NE(help.out.find("Print versions"), std::string::npos);
  EXPECT_NE(p({"work", "--help"}).out.find("--alpine"), std::string::npos);
}

TEST(Arguments, OptionsAreDescribed) {
  Command app("", "program");
  std::string value = "so";
  Option* option = app.add_option("--value", value, "old")->capture_default_str();
  option->description("What it is")->type_name("KIND")->group("Values");
  app.add_option("--hidden")->group("");
  const std::string help = parse(app, {"--help"}).out;
  for (const char* part : {"--value KIND", "What it is [so]", "Values:\n"})
    EXPECT_NE(help.find(part), std::string::npos) << part << help;
  EXPECT_EQ(help.find("--hidden"), std::string::npos);
  EXPECT_EQ(help.find("old"), std::string::npos);
}

TEST(Arguments, DashesAndUnderscoresAreTheSame) {
  for (const char* word : {"--max_size", "--max-size", "--max-si", "--max_s"}) {
    Command app("", "program");
    std::string value;
    app.add_option("--max_size", value, "");
    EXPECT_EQ(parse(app, {word, "5"}).code, std::nullopt) << word;
    EXPECT_EQ(value, "5") << word;
  }
  Command app("", "program");
  std::string value;
  app.add_option("--max_size", value, "");
  EXPECT_NE(parse(app, {"--mix-size", "5"}).err.find("did you mean --max_size?"),
            std::string::npos);
}

TEST(Arguments, ChoicesIgnoreCase) {
  Command app("", "program");
  std::string value;
  app.add_option("--type", value, "")->choose({"fp16", "FP32"});
  EXPECT_EQ(parse(app, {"--type", "Fp16"}).code, std::nullopt);
  EXPECT_EQ(value, "fp16");
  EXPECT_EQ(parse(app, {"--type", "fp32"}).code, std::nullopt);
  EXPECT_EQ(value, "FP32");
  EXPECT_NE(parse(app, {"--type", "fp8"}).err.find("expected fp16 or FP32, found 'fp8'"),
            std::string::npos);
}

TEST(Arguments, SimilarWordsAreFound) {
  const std::vector<std::string> words = {"bench", "run", "compare"};
  EXPECT_EQ(similar_word(words, "benchmark"), "bench");
  EXPECT_EQ(similar_word(words, "comp"), "compare");
  EXPECT_EQ(similar_word(words, "rnu"), "run");
  EXPECT_EQ(similar_word(words, "xyz"), "");
  EXPECT_EQ(similar_word(words, "r"), "");
}

TEST(Arguments, OptionsCountTheirWords) {
  Command app("", "program");
  std::vector<std::string> list;
  std::string file;
  Option* last = app.add_option("--last")->take_last();
  Option* flag = app.add_flag("--flag");
  Option* none = app.add_flag("--none");
  Option* wrong = app.add_flag("--wrong");
  app.add_option("--list", list, "")->delimiter(',')->allow_extra_args(false);
  app.add_option("FILE", file, "");
  ASSERT_EQ(parse(app, {"--last", "a", "--last", "b", "--flag", "--list", "c,d", "f",
                        "--none=false", "--wrong=maybe"})
                .code,
            std::nullopt);
  EXPECT_EQ(last->count(), 2U);
  EXPECT_EQ(last->words(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(last->reduced(), std::vector<std::string>{"b"});
  EXPECT_EQ(flag->count(), 1U);
  EXPECT_TRUE(flag->is_true());
  EXPECT_FALSE(none->is_true());
  EXPECT_EQ(message_of<Usage>([&] { (void)wrong->is_true(); }),
            "--wrong: expected true or false, found 'maybe'");
  EXPECT_EQ(list, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(file, "f");
}

TEST(Arguments, OptionsThatGoTogetherOrDoNot) {
  Command app("", "program");
  std::string a, b, c;
  Option* first = app.add_option("--first", a, "");
  Option* second = app.add_option("--second", b, "")->excludes(first);
  app.add_option("--third", c, "")->needs(second);
  EXPECT_EQ(parse(app, {"--first", "1"}).code, std::nullopt);
  EXPECT_EQ(parse(app, {"--second", "1", "--third", "2"}).code, std::nullopt);
  EXPECT_EQ(parse(app, {"--first", "1", "--second", "2"}).code, 2);
  EXPECT_EQ(parse(app, {"--third", "1"}).code, 2);
}

TEST(Arguments, OptionsOfBatchesAndConvolutions) {
  const auto message_for = [](std::vector<std::string> words) {
    Command app("", "program");
    int64_t size = 0, axis = -1;
    std::string choice;
    add_batch_options(app, size, axis);
    add_winograd_option(app, choice);
    const Printed printed = parse(app, std::move(words));
    return printed.code ? printed.err : fmt::format("{} {} {}", size, axis, choice);
  };
  EXPECT_EQ(message_for({"--batch_size", "1", "--batch_axis", "0"}), "1 0 ");
  EXPECT_EQ(message_for({"--batch_size", "1"}), "1 -1 ");
  EXPECT_NE(message_for({"--batch_axis", "1"}).find("--batch_size"), std::string::npos);
  EXPECT_NE(
      message_for({"--batch_size", "0", "--batch_axis", "0"}).find("of at least 1, found '0'"),
      std::string::npos);
  EXPECT_NE(
      message_for({"--batch_size", "1", "--batch_axis", "-1"}).find("of at least 0, found '-1'"),
      std::string::npos);
  for (const char* word : {"off", "exact", "fast"})
    EXPECT_EQ(message_for({"--winograd", word}), fmt::format("0 -1 {}", word));
  EXPECT_NE(message_for({"--winograd", "slow"}).find("expected off or exact or fast, found 'slow'"),
            std::string::npos);
}

TEST(Arguments, ExceptionsAreOneLineAndACode) {
  const auto run = [](const std::function<int()>& body) {
    testing::internal::CaptureStderr();
    const int code = guarded("tool do", body);
    return fmt::format("{} {}", code, testing::internal::GetCapturedStderr());
  };
  EXPECT_EQ(run([] { return 7; }), "7 ");
  EXPECT_EQ(run([]() -> int { throw Usage("a\nb `x_y`"); }),
            "2 tool do: a\\x0ab `x_y`; see tool do --help\n");
  EXPECT_EQ(run([]() -> int { throw Failure("no\t`x_y`"); }), "1 tool do: no\\x09--x_y\n");
  EXPECT_EQ(run([]() -> int { throw std::runtime_error("other"); }), "1 tool do: other\n");
}

TEST(Arguments, VersionsAreThreeNumbers) {
  const std::string found = versions();
  const int v = poprt_version();
  const std::string numbers = fmt::format("{}.{}.{}", v / 1000000, v % 1000000 / 1000, v % 1000);
  EXPECT_EQ(found, fmt::format("PopRT version: {}\nbuilt with emulated IPU: {}\nfound emulated "
                               "IPU: {}",
                               poprt_version_string(), numbers, numbers));
  EXPECT_EQ(numbers, poprt_version_string());
}

}  // namespace
}  // namespace poprt::cli
