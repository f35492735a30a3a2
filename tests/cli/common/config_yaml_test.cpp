#include "common/config_yaml.h"

#include "cli/command_line.h"
#include "common/option_table.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

// A file of options, read after the command line `words`.
struct Config {
  TemporaryFolder folder;
  std::string path;
  Command app{"", "program"};
  GivenOptions given;
  std::vector<GivenOptions> models;

  explicit Config(const std::string& text, Words words = {})
      : path(write_file(folder, "c.yaml", text).string()) {
    given.add_to(app, option_tables().options);
    EXPECT_EQ(parse(app, std::move(words)).code, std::nullopt);
    given.take();
  }
  Config& read() {
    models = read_config_yaml(path, given);
    return *this;
  }
  Config& cut() {
    read_sharding_yaml(path, given);
    return *this;
  }
};

// The message for a file, after "--OPTION: PATH:".
template <class Read>
std::string wrong(const char* option, const std::string& text, Read&& read) {
  Config config(text);
  const std::string printed = message_of<Usage>([&] { read(config); });
  const std::string head = fmt::format("--{}: {}:", option, config.path);
  EXPECT_TRUE(printed.starts_with(head)) << printed;
  return printed.size() < head.size() ? printed : printed.substr(head.size());
}

std::string wrong(const std::string& text) {
  return wrong("config_yaml", text, [](Config& c) { c.read(); });
}

std::string wrong_cut(const std::string& text) {
  return wrong("manual_sharding_config", text, [](Config& c) { c.cut(); });
}

TEST(ConfigYaml, ValuesListsAndMappings) {
  Config c(
      "input_model: m.onnx\nshow: yes\nrun: no\nbatch_size: 3\nprecision: \"fp16\"\n"
      "passes: [a, 'b c']\ninput_shape: {x: [1, 2], y: []}\nskip_passes: |\n  d\n\n"
      "pad_values:\n- x=1\n- y=2\n");
  c.read();
  EXPECT_EQ(c.given.text("input_model"), "m.onnx");
  EXPECT_EQ(c.given.text("show"), "True");
  EXPECT_FALSE(c.given.has("run"));
  EXPECT_EQ(c.given.text("batch_size"), "3");
  EXPECT_EQ(c.given.text("precision"), "fp16");
  EXPECT_EQ(c.given.names("passes"), (Words{"a", "b c"}));
  EXPECT_EQ(c.given.joined("input_shape"), "x=1,2\ny=[]");
  EXPECT_EQ(c.given.joined("skip_passes"), "d");
  EXPECT_EQ(c.given.joined("pad_values"), "x=1\ny=2");
  EXPECT_TRUE(c.models.empty());
}

TEST(ConfigYaml, NullWordsHaveNoValueUnlessQuoted) {
  for (const char* word : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_EQ(wrong(fmt::format("\noutput: {}\n", word)), "2: output has no value") << word;
    if (*word)
      EXPECT_EQ(Config(fmt::format("output: '{}'\n", word)).read().given.text("output"), word);
  }
  EXPECT_EQ(Config("output: nuLL").read().given.text("output"), "nuLL");
  EXPECT_EQ(wrong("output: ''"), "1: output: the value is empty");
  EXPECT_EQ(wrong("output: \"\\n\""), "1: output: the value is empty");
}

TEST(ConfigYaml, TheCommandLineOverridesTheFile) {
  Config c("precision: fp32\noutput: y.popef\n", {"--precision", "fp16"});
  c.read();
  EXPECT_EQ(c.given.text("precision"), "fp16");
  EXPECT_EQ(c.given.text("output"), "y.popef");
}

TEST(ConfigYaml, ParametersOfPassesMayComeBeforeTheirPlugins) {
  EXPECT_EQ(Config("pass_args: {merge_matmul: {names: [q, k]}}").read().given.joined("pass_args"),
            "merge_matmul.names=q,k");
  EXPECT_EQ(Config("pass_args: [a.b=c]").read().given.joined("pass_args"), "a.b=c");
  EXPECT_EQ(wrong("\n\npass_args:\n  merge_matmul: a\n"),
            "4: pass_args: merge_matmul: expected a mapping of parameters");
  // A plug-in is loaded before words are made of a mapping.
  const std::string plugin = "custom_library_so_paths: /none/at/all.so\n";
  Config c("pass_args: {a: {b: c}}\n" + plugin);
  EXPECT_NE(message_of<Failure>([&] { c.read(); }).find("/none/at/all.so"), std::string::npos);
  EXPECT_EQ(Config("pass_args: [a.b=c]\n" + plugin).read().given.joined("pass_args"), "a.b=c");
}

TEST(ConfigYaml, ErrorsNameTheLine) {
  EXPECT_EQ(wrong(""), "1: there are no options");
  EXPECT_EQ(wrong("[a]"), "1: expected NAME: VALUE");
  EXPECT_EQ(wrong("show: yes\n? [a]\n: b"), "2: expected the name of an option");
  EXPECT_EQ(wrong("show: yes\nshow: no"), "2: show is given twice");
  EXPECT_EQ(wrong("batches_per_step: 2\nbatch_per_step: 2"), "2: batches_per_step is given twice");
  EXPECT_EQ(wrong("frob: 1"), "1: there is no option 'frob'");
  EXPECT_EQ(wrong("\nshwo: 1"), "2: there is no option 'shwo', did you mean show?");
  EXPECT_EQ(wrong("show: 1"), "1: show: expected True or False, found '1'");
  EXPECT_EQ(wrong("batch_size: 0"),
            "1: batch_size: expected a whole number of at least 1, found '0'");
  EXPECT_EQ(wrong("precision: [fp16]"), "1: precision: expected one value, found a list");
  EXPECT_EQ(wrong("precision: {a: b}"), "1: precision: expected one value, found a mapping");
  EXPECT_EQ(wrong("passes: {a: b}"), "1: passes: expected a list, found a mapping");
  EXPECT_EQ(wrong("passes: [a, [b]]"),
            "1: passes: expected words, found a list or a mapping in it");
  EXPECT_EQ(wrong("passes: []"), "1: passes has no value");
  EXPECT_EQ(wrong("output: \"a\\nb\""), "1: output: the value has more than one line");
  EXPECT_EQ(wrong("output: \"a\\0b\""), "1: output: the value has more than one line");
  EXPECT_EQ(wrong("passes: &a [x]\nskip_passes: *a"),
            "2: aliases are not supported; repeat the value");
  for (const char* tagged : {"output: !t x", "passes: !t [x]", "input_shape: !t {x: 1}"})
    EXPECT_EQ(wrong(tagged), "1: tags are not supported") << tagged;
  EXPECT_EQ(wrong("show: yes\n--- {}\n"), "2: there is more than one document");
  EXPECT_EQ(wrong("config_yaml: x"), "1: a file of options cannot name another");
  EXPECT_TRUE(wrong("show: yes\nrun: a: b").starts_with("2: ")) << wrong("run: a: b");
}

TEST(ConfigYaml, MappingsInMappings) {
  EXPECT_EQ(Config("popart_options: {a: {b: {c: {d: 1}}}}").read().given.joined("popart_options"),
            "a.b.c.d=1");
  EXPECT_EQ(wrong("popart_options: {a: {b: {c: {d: {e: 1}}}}}"),
            "1: popart_options: lists and mappings are nested too deeply");
  EXPECT_EQ(wrong("pad_values: {x: 1, x: 2}"), "1: pad_values: x is given twice");
  EXPECT_EQ(wrong("pad_values: {[x]: 1}"),
            "1: pad_values: expected a name, found a list or a mapping");
  EXPECT_EQ(wrong("pad_values: {}"), "1: pad_values has no value");
  EXPECT_EQ(wrong("pad_values: {x: []}"), "1: pad_values has no value");
  EXPECT_EQ(wrong("input_shape: {x: {}}"), "1: input_shape has no value");
  EXPECT_EQ(wrong("input_shape: {x: [[]]}"), "1: input_shape has no value");
  EXPECT_EQ(wrong("input_shape: {}"), "1: input_shape has no value");
}

TEST(ConfigYaml, FilesHaveALimit) {
  const std::string text = "output: a.popef\n#";
  EXPECT_EQ(Config(text + std::string((1 << 20) - text.size(), 'x')).read().given.text("output"),
            "a.popef");
  Config longer(text + std::string((1 << 20) - text.size() + 1, 'x'));
  EXPECT_EQ(message_of<Usage>([&] { longer.read(); }),
            fmt::format("--config_yaml: '{}' has more than 1048576 bytes", longer.path));
  GivenOptions given;
  const std::string folder = longer.folder.path().string(), none = longer.path + ".none";
  for (const std::string& why :
       {fmt::format("cannot read '{}': Is a directory", folder),
        fmt::format("cannot open '{}': No such file or directory", none)}) {
    const std::string& path = why.find("Is a directory") != why.npos ? folder : none;
    EXPECT_EQ(message_of<Failure>([&] { (void)read_config_yaml(path, given); }),
              "--config_yaml: " + why);
    EXPECT_EQ(message_of<Failure>([&] { read_sharding_yaml(path, given); }),
              "--manual_sharding_config: " + why);
  }
}

TEST(ConfigYaml, ModelsHaveSeparateOptions) {
  Config c(
      "precision: fp16\nmodel_fusion:\n- {input_model: a.onnx, precision: fp32}\n"
      "- {input_model: b.onnx, manual_sharding_config: s.yaml}\nexport_popef: yes\n",
      {"--num_io_tiles", "32"});
  c.read();
  ASSERT_EQ(c.models.size(), 2U);
  const auto of = [&](size_t i, const char* name) { return c.models[i].text(name); };
  EXPECT_EQ(of(0, "input_model") + of(1, "input_model"), "a.onnxb.onnx");
  EXPECT_EQ(of(0, "precision") + of(1, "precision"), "fp32fp16");
  EXPECT_EQ(of(0, "num_io_tiles") + of(1, "num_io_tiles"), "3232");
  EXPECT_EQ(of(0, "export_popef") + of(1, "export_popef"), "TrueTrue");
  EXPECT_EQ(of(1, "manual_sharding_config"), "s.yaml");
  EXPECT_FALSE(c.models[0].has("manual_sharding_config"));
  EXPECT_FALSE(c.given.has("input_model"));
  EXPECT_EQ(c.given.text("precision"), "fp16");
}

TEST(ConfigYaml, ModelsThatAreWrong) {
  const std::string list = "1: model_fusion: expected a list of models, each a mapping of options";
  EXPECT_EQ(wrong("model_fusion: a"), list);
  EXPECT_EQ(wrong("model_fusion: {a: b}"), list);
  EXPECT_EQ(wrong("model_fusion: [a]"),
            "1: model_fusion: expected a mapping of options for each model");
  EXPECT_EQ(wrong("model_fusion: []"), "1: model_fusion: there are no models in the list");
  EXPECT_EQ(wrong("model_fusion: [{precision: fp16}]"),
            "1: model_fusion: a model has no input_model");
  EXPECT_EQ(wrong("model_fusion: [{input_model: a, run: yes}]"),
            "1: model_fusion: run is for all models; give it outside of the list");
  EXPECT_EQ(wrong("input_model: b\nmodel_fusion: [{input_model: a}]\n"),
            "3: input_model: the models are given in the list model_fusion");
  EXPECT_EQ(wrong("model_fusion: [{input_model: a, model_fusion: []}]"),
            "1: there is no option 'model_fusion'");
  EXPECT_EQ(wrong("model_fusion: [{input_model: a}]\nmodel_fusion: [{input_model: a}]"),
            "2: model_fusion is given twice");
}

TEST(ConfigYaml, CutPoints) {
  Config c(
      "- {node: a, device: 0, stage: 1}\n- {stage: 999999999, node: b}\n- {node: c, device: 3}\n");
  c.cut();
  EXPECT_EQ(c.given.joined("sharding_info"), "a=0\nc=3");
  EXPECT_EQ(c.given.joined("pipelining_info"), "a=1\nb=999999999");
  EXPECT_FALSE(Config("- {node: a, device: 0}").cut().given.has("pipelining_info"));
  EXPECT_FALSE(Config("- {node: a, stage: 0}").cut().given.has("sharding_info"));
  for (const char* name : {"sharding_info", "pipelining_info"}) {
    Config twice("- {node: a, device: 0}", {std::string("--") + name, "a=1"});
    EXPECT_EQ(
        message_of<Usage>([&] { twice.cut(); }),
        fmt::format("--manual_sharding_config and --{}: only one of them may contain cut points",
                    name));
  }
}

TEST(ConfigYaml, CutPointsThatAreWrong) {
  EXPECT_EQ(wrong_cut(""), "1: there are no cut points");
  EXPECT_EQ(wrong_cut("\n[]"), "2: there are no cut points");
  EXPECT_EQ(wrong_cut("{}"), "1: expected a list of maps with node, device and stage");
  EXPECT_EQ(wrong_cut("- a"), "1: expected a map with node, device and stage");
  EXPECT_EQ(wrong_cut("- {[a]: b}"), "1: expected node, device or stage");
  EXPECT_EQ(wrong_cut("- {place: 1}"), "1: expected node, device or stage, found 'place'");
  EXPECT_EQ(wrong_cut("- {node: [a]}"), "1: node: expected one value");
  EXPECT_EQ(wrong_cut("- {node: ~}"), "1: node: expected one value");
  EXPECT_EQ(wrong_cut("- {node: a, device: null}"), "1: device: expected one value");
  EXPECT_EQ(wrong_cut("- {node: ''}"), "1: node: expected a name, found ''");
  EXPECT_EQ(wrong_cut("- {node: \"a\\nb\"}"), "1: node: expected a name, found 'a\nb'");
  for (const char* number : {"-1", "''", "1x", "1234567890", "1.0"})
    for (const char* key : {"device", "stage"})
      EXPECT_TRUE(
          wrong_cut(fmt::format("- {{node: a, {}: {}}}", key, number))
              .starts_with(fmt::format("1: {}: expected a whole number from 0, found ", key)))
          << number;
  EXPECT_EQ(wrong_cut("- {node: a, node: b}"), "1: node is given twice");
  EXPECT_EQ(wrong_cut("- {device: 1}"), "1: a cut point has no node");
  EXPECT_EQ(wrong_cut("- {node: a}"), "1: node 'a' has neither device nor stage");
  EXPECT_EQ(wrong_cut("- {node: a, stage: 1}\n--- a"), "2: there is more than one document");
}

}  // namespace
}  // namespace poprt::cli
