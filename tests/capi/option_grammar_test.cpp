// Valid and invalid values of the options by name that have a grammar, with the messages, word for
// word; combinations of options, and warnings.
#include <gtest/gtest.h>
#include <poprt/poprt.h>

#include <string>
#include <utility>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

using poprt::test::message_for;
using Words = std::vector<std::pair<const char*, std::string>>;

poprt_compile_options plain() {
  poprt_compile_options o = {};
  o.struct_size = sizeof o;
  return o;
}

std::string create(const Words& words, poprt_compile_options o = plain()) {
  std::vector<poprt_option> list;
  for (const auto& [name, value] : words) list.push_back({name, value.c_str()});
  o.options = list.data();
  o.option_count = list.size();
  poprt_compiler* compiler = nullptr;
  std::string answer = message_for(poprt_compiler_create(&o, &compiler));
  poprt_compiler_free(compiler);
  const std::string usual = "invalid_argument: ";
  return answer.starts_with(usual) ? answer.substr(usual.size()) : answer;
}

// Returns the warnings of a call, one in each line.
std::string warned(const Words& words, poprt_compile_options o = plain()) {
  std::string warnings;
  poprt_log_set_callback(
      [](poprt_log_level, const char* message, void* to) {
        *static_cast<std::string*>(to) += std::string(message) + "\n";
      },
      &warnings);
  EXPECT_EQ(create(words, o), "ok");
  poprt_log_set_callback(nullptr, nullptr);
  return warnings;
}

void expect_answers(const char* option,
                    const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [value, answer] : cases)
    EXPECT_EQ(create({{option, value}}), answer) << option << " " << value;
}

TEST(OptionGrammar, InputShape) {
  const auto no = [](const std::string& word) {
    return "`input_shape`: expected NAME=d0,d1,... with sizes of at least 0, [] for a number, or "
           "several such shapes with / in between, found '" +
           word + "'";
  };
  expect_answers("input_shape", {{"x=1", "ok"},
                                 {"x=0", "ok"},
                                 {"x= 1 , 2", "ok"},
                                 {"x=[]", "ok"},
                                 {"x=1,2/3,4", "ok"},
                                 {"x=1\ny=2", "ok"},
                                 {"x", no("x")},
                                 {"=1", no("=1")},
                                 {"x=", no("x=")},
                                 {"x=-1", no("x=-1")},
                                 {"x=1,", no("x=1,")},
                                 {"x=,1", no("x=,1")},
                                 {"x=1/", no("x=1/")},
                                 {"x=[1]", no("x=[1]")},
                                 {"=[]", no("=[]")},
                                 {"x=1.5", no("x=1.5")},
                                 {"x=1\nx=2", "`input_shape`: 'x' is given twice"},
                                 {"x=1\n", "--input_shape: there is an empty word"},
                                 {"x=1/1",
                                  "`input_shapes`: 'x' is given twice: shapes 1 and 2 are the "
                                  "same"},
                                 {"x=1/2/1",
                                  "`input_shapes`: 'x' is given twice: shapes 1 and 3 are "
                                  "the same"}});
  EXPECT_EQ(create({{"input_shape", "x=1/2/3\ny=1/2"}}),
            "`input_shapes`: 'y' has 2 shapes and 'x' 3: an input has one, or one in each of them");
  EXPECT_EQ(create({{"input_shape", "x=1/2\ny=1\nz=3/3"}}), "ok") << "z alone has one twice";
  std::string many = "x=0";
  for (int i = 1; i < 64; i++) many += "/" + std::to_string(i);
  EXPECT_EQ(create({{"input_shape", many}}), "ok");
  EXPECT_EQ(create({{"input_shape", many + "/64"}}),
            "`input_shapes`: 'x' has 65 shapes, at most 64 are compiled");
}

TEST(OptionGrammar, SerializedProducts) {
  const auto no = [](const std::string& word, const std::string& why) {
    return "`serialize_matmul`: expected OP=FACTOR[/MODE[/KEEP]], found '" + word + "': " + why;
  };
  expect_answers("serialize_matmul",
                 {{"n=1", "ok"},
                  {"n=2/input_channels", "ok"},
                  {"n=2/output_channels/True", "ok"},
                  {"n=2/none/False", "ok"},
                  {"a=b=2", "ok"},
                  {"n=2/", "ok"},
                  {"n", no("n", "there is no name")},
                  {"=2", no("=2", "there is no name")},
                  {"n=0", no("n=0", "the factor is not a whole number of at least 1")},
                  {"n=", no("n=", "the factor is not a whole number of at least 1")},
                  {"n=x", no("n=x", "the factor is not a whole number of at least 1")},
                  {"n=2/x", no("n=2/x", "the mode is unknown")},
                  {"n=2/none/true", no("n=2/none/true", "KEEP must be True or False")},
                  {"n=2/none/True/x", no("n=2/none/True/x", "KEEP must be True or False")}});
  const auto pair = [](const std::string& word, const std::string& why) {
    return "`serialize_matmul_add`: expected MATMUL/ADD=FACTOR, found '" + word + "': " + why;
  };
  expect_answers("serialize_matmul_add",
                 {{"a/b=2", "ok"},
                  {"a=2", pair("a=2", "there is one name only")},
                  {"=2", pair("=2", "there is no name")},
                  {"a/b=0", pair("a/b=0", "the factor is not a whole number of at least 1")},
                  {"a/b=2/none", pair("a/b=2/none", "there is text after the factor")}});
}

TEST(OptionGrammar, PackArgs) {
  const auto rows = [](const std::string& value) {
    return "`pack_args`: max_valid_num: expected a whole number from 1 to 1048576, found '" +
           value + "'";
  };
  const auto sizes = [](const std::string& value) {
    return "`pack_args`: segment_max_size: expected sizes from 1 on, joined by + when a sequence "
           "has several parts, found '" +
           value + "'";
  };
  const auto with_rows = [](const std::string& n) {
    return "max_valid_num=" + n + "\nsegment_max_size=8";
  };
  const auto with_sizes = [](const std::string& n) {
    return "max_valid_num=1\nsegment_max_size=" + n;
  };
  expect_answers(
      "pack_args",
      {{with_rows("1"), "ok"},
       {with_rows("1048576"), "ok"},
       {with_rows("1048577"), rows("1048577")},
       {with_rows("0"), rows("0")},
       {with_rows("x"), rows("x")},
       {with_sizes("1"), "ok"},
       {with_sizes("1+1048576"), "ok"},
       {with_sizes("1+1048577"), sizes("1+1048577")},
       {with_sizes("0"), sizes("0")},
       {with_sizes("+1"), sizes("+1")},
       {with_sizes("1+"), sizes("1+")},
       {with_rows("1") + "\nmax_valid_num=1", "`pack_args`: max_valid_num is given twice"},
       {"max_valid_num=1",
        "`pack_args`: expected max_valid_num=N segment_max_size=N, found no segment_max_size"},
       {"segment_max_size=1",
        "`pack_args`: expected max_valid_num=N segment_max_size=N, found no max_valid_num"},
       {"x=1",
        "`pack_args`: there is no key 'x'; keys are max_valid_num,segment_max_size,dynamic_groups,"
        "head_pattern,enable_double_batch_unpack,efficiency_priority"},
       {"max_valid_num=", "`pack_args`: expected KEY=VAL, found 'max_valid_num='"},
       {"=1", "`pack_args`: expected KEY=VAL, found '=1'"}});
}

TEST(OptionGrammar, ChecksOptionsWithASpecialGrammar) {
  const auto remap = [](const std::string& mode) {
    return "`remap_mode`: expected before_TYPE, after_TYPE or both, found '" + mode + "'";
  };
  const std::pair<const char*, std::string> insert = {"enable_insert_remap", "True"};
  EXPECT_EQ(create({insert, {"remap_mode", "before_x"}}), "ok");
  EXPECT_EQ(create({insert, {"remap_mode", "after_x, both"}}), "ok");
  EXPECT_EQ(create({insert, {"remap_mode", "before_"}}), remap("before_"));
  EXPECT_EQ(create({insert, {"remap_mode", "after_"}}), remap("after_"));
  EXPECT_EQ(create({insert, {"remap_mode", "bot"}}), remap("bot"));
  const auto pass = [](const std::string& word) {
    return "`pass_args`: expected PASS.PARAMETER=TEXT, found '" + word + "'";
  };
  for (const char* word : {"p", "p.x", ".x=1", "p=1", "p.=1", "=p.x"})
    EXPECT_EQ(create({{"pass_args", word}}), pass(word));
  EXPECT_EQ(create({{"merge_moe", "a,b"}}), "ok");
  EXPECT_EQ(create({{"merge_moe", "a,b,c"}}),
            "`merge_moe`: expected pairs of names, found 'a,b,c'");
  EXPECT_EQ(create({{"merge_matmul_add", "a"}}),
            "`merge_matmul_add`: expected pairs of names, found 'a'");
  const auto padding = [](const std::string& word) {
    return "--pad_values: expected NAME=NUMBER or NAME=mask, found '" + word + "'";
  };
  for (const char* good : {"x=1", "x=-1.5e3", "x=mask", "a=b=2"})
    EXPECT_EQ(create({{"pad_values", good}}).find("expected NAME"), std::string::npos) << good;
  for (const char* bad : {"x", "=1", "=mask", "x=", "x=1x", "x=Mask"})
    EXPECT_EQ(create({{"pad_values", bad}}), padding(bad));
  for (const char* good : {"x=1", "a=b=0", "x=1\ny=2"})
    EXPECT_EQ(create({{"max_size", good}}), "ok") << good;
  for (const std::string bad : {"x", "=1", "x=", "x=1x", "x=-1", "x=1.5"})
    EXPECT_EQ(create({{"max_size", bad}}), "--max_size: expected NAME=N, found '" + bad + "'");
  for (const char* good : {"error", "zero"})
    EXPECT_EQ(create({{"out_of_range", good}}), "ok") << good;
  EXPECT_NE(create({{"out_of_range", "wrap"}}), "ok");
  for (const char* good : {"True", "False"}) EXPECT_EQ(create({{"compact", good}}), "ok") << good;
  EXPECT_NE(create({{"compact", "half"}}), "ok");
  EXPECT_EQ(create({{"skip_passes", "sort_graph,"}}),
            "--skip_passes: there is an empty name in 'sort_graph,'");
  EXPECT_EQ(create({{"skip_passes", " sort_graph , sort_graph\t"}}), "ok");
}

TEST(OptionGrammar, FieldsOfTheCompiler) {
  const auto field = [](const std::string& text) { return "`compiler_options`: " + text; };
  expect_answers(
      "compiler_options",
      {{"num_ipus=1", "ok"},
       {"num_ipus=0", field("num_ipus: expected a whole number of at least 1 and at most 1024, "
                            "found '0'")},
       {"num_ipus=1025", field("num_ipus: expected a whole number of at least 1 and at most 1024, "
                               "found '1025'")},
       {"num_ipus=1024\nvirtual_graph_mode=auto", "ok"},
       {"num_ipus=2", field("num_ipus=2 needs virtual_graph_mode manual (of a model that is cut) "
                            "or auto")},
       {"num_ipus=2\nvirtual_graph_mode=manual", "ok"},
       {"enable_pipelining=True", field("enable_pipelining needs several IPUs, num_ipus is 1")},
       {"enable_pipelining=False", "ok"},
       {"enable_pipelining=1\nnum_ipus=2\nvirtual_graph_mode=auto", "ok"},
       {"ipu_version=ipu3", field("ipu_version: expected ipu2 or ipu21, found 'ipu3'")},
       {"virtual_graph_mode=x", field("virtual_graph_mode: expected off, manual, auto or "
                                      "executionPhases, found 'x'")},
       {"virtual_graph_mode=executionPhases",
        "unimplemented: `compiler_options`: virtual_graph_mode=executionPhases is for training: "
        "use manual or auto"},
       {"available_memory_proportion=0", field("available_memory_proportion: expected a number "
                                               "above 0 and at most 1, found '0'")},
       {"available_memory_proportion=1", "ok"},
       {"available_memory_proportion=1.01", field("available_memory_proportion: expected a number "
                                                  "above 0 and at most 1, found '1.01'")},
       {"num_io_tiles=0", "ok"},
       {"num_io_tiles=-1",
        field("num_io_tiles: expected a whole number of at least 0, found '-1'")},
       {"outline_threshold=-1e3", "ok"},
       {"outline_threshold=x", field("outline_threshold: expected a number, found 'x'")},
       {"outline_threshold=inf", field("outline_threshold: expected a number, found 'inf'")},
       {"enable_outlining=yes", field("enable_outlining: expected True or False, found 'yes'")},
       {"enable_outlining=true", "ok"},
       {"no_field=1", field("CompilerOptions has no field 'no_field'")},
       {"cache_path", field("expected KEY=VAL, found 'cache_path'")},
       {"opaque_blobs={}", "ok"},
       {"opaque_blobs={\"a\": \"b\"}", "ok"},
       {"opaque_blobs={\"a\": 1}", field("opaque_blobs: expected a JSON object of texts, found "
                                         "'{\"a\": 1}'")},
       {"opaque_blobs=[]", field("opaque_blobs: expected a JSON object of texts, found '[]'")},
       {"partials_type=half\npartials_type=half", "ok"},
       {"partials_type=half\npartials_type=float",
        "partials_type is given twice, as half and as "
        "float"}});
  expect_answers("popart_options",
                 {{"outlineThreshold=1", "ok"},
                  {"engineOptions.a.b=1", "ok"},
                  {"outline=1", "`popart_options`: SessionOptions has no field 'outline'"},
                  {"outline.engineOptions=1",
                   "`popart_options`: SessionOptions has no field 'outline.engineOptions'"},
                  {"outlineThreshold=1\noutlineThreshold=2",
                   "popart.outlineThreshold is given twice, as 1 and as 2"}});
  EXPECT_EQ(create({{"num_io_tiles", "32"}, {"compiler_options", "num_io_tiles=32"}}), "ok");
  EXPECT_EQ(create({{"num_io_tiles", "32"}, {"compiler_options", "num_io_tiles=64"}}),
            "num_io_tiles is given twice, as 32 and as 64");
  const poprt_opaque_blob blob = {"a", "b", 1};
  poprt_compile_options o = plain();
  o.opaque_blobs = &blob;
  o.opaque_blob_count = 1;
  EXPECT_EQ(create({{"compiler_options", "opaque_blobs={}"}}, o),
            field("opaque_blobs is given twice: as a field and by name"));
}

TEST(OptionGrammar, NamesTheOptionOfAField) {
  EXPECT_EQ(
      create({{"num_ipus", "2"}}),
      "there is no option 'num_ipus'; it is a field of compiler_options, whose lines are such "
      "as 'num_ipus=VALUE'");
}

TEST(OptionGrammar, RefusesOptionsWithoutTheOptionsThatTheyNeed) {
  const std::pair<const char*, std::string> fp8 = {"precision", "fp8"},
                                            weights = {"precision", "fp8_weight"},
                                            ipu21 = {"ipu_version", "ipu21"};
  EXPECT_EQ(create({fp8}), "`precision` fp8 needs `ipu_version` ipu21, which has it");
  EXPECT_EQ(create({fp8, {"ipu_version", "ipu2"}}),
            "`precision` fp8 needs `ipu_version` ipu21, which has it");
  EXPECT_EQ(create({fp8, ipu21}), "ok");
  EXPECT_EQ(create({fp8, {"estimate_target", "c600"}}), "ok");
  EXPECT_EQ(create({weights}), "ok");
  EXPECT_EQ(create({{"batch_size", "2"}}), "`batch_size` needs `batch_axis`");
  EXPECT_EQ(create({{"batch_axis", "0"}}), "`batch_axis` needs `batch_size`");
  poprt_compile_options o = plain();
  o.batch_size = 2;
  EXPECT_EQ(create({{"batch_axis", "1"}}, o), "ok");
  EXPECT_EQ(create({{"batch_size", "2"}}, o),
            "`batch_size` is given twice: as a field and by name");
  o = plain();
  o.batch_axis = 1;
  EXPECT_EQ(create({{"batch_size", "2"}}, o), "ok");
  EXPECT_EQ(create({{"batch_size", "2"}, {"batch_axis", "1"}}, o),
            "`batch_axis` is given twice: as a field and by name");
  const Words data = {{"calibration_with_data", "True"}, {"data_preprocess", "x"}};
  Words with = data;
  EXPECT_EQ(create(with), "`calibration_with_data` needs `precision` fp8, fp8_weight or int8");
  with.push_back({"precision", "fp16"});
  EXPECT_EQ(create(with),
            "`calibration_with_data` needs `precision` fp8, fp8_weight or int8, found fp16");
  with.back() = weights;
  EXPECT_EQ(create(with), "ok");
  with.push_back({"calibration_loss_type", "gptq"});
  EXPECT_EQ(create(with), "ok");
  with[2] = fp8;
  with.push_back(ipu21);
  EXPECT_EQ(create(with),
            "`calibration_loss_type` gptq goes with `precision` fp8_weight, not with "
            "fp8");
  EXPECT_EQ(create({{"lowest_opset", "11"}, {"convert_version", "11"}}),
            "`lowest_opset` and `convert_version` exclude each other");
  o = plain();
  o.convert_version = 13;
  EXPECT_EQ(create({{"lowest_opset", "11"}}, o),
            "`lowest_opset` and `convert_version` exclude each other");
  for (const char* good : {"0", "11", "28"}) EXPECT_EQ(create({{"lowest_opset", good}}), "ok");
  for (const char* bad : {"1", "10"})
    EXPECT_EQ(
        create({{"lowest_opset", bad}}),
        std::string("`lowest_opset`: expected 0 or an opset from 11 to 28, found '") + bad + "'");
  for (const char* compared : {"check", "precision_compare"}) {
    EXPECT_EQ(create({{"eightbitsio", "True"}, {compared, "True"}}),
              std::string("`") + compared +
                  "` needs equal inputs of both models, and `eightbitsio` changes those of the "
                  "converted model");
    EXPECT_EQ(create({{compared, "True"}, {"input_shape", "x=1/2"}}),
              "unimplemented: `check` and `precision_compare` run a model at one shape: give one "
              "in `input_shape`");
    EXPECT_EQ(create({{compared, "True"}, {"input_shape", "x=1\ny=2"}}), "ok");
  }
  EXPECT_EQ(create({{"input_shape", "x=1/2"}}), "ok");
}

TEST(OptionGrammar, WarnsOfOptionsWithoutEffect) {
  const std::string data =
      "`data_preprocess` has no effect without `calibration_with_data`, `precision_compare` or "
      "`check`\n";
  EXPECT_EQ(warned({{"data_preprocess", "x"}}), data);
  EXPECT_EQ(warned({{"data_preprocess", "x"}, {"precision_compare", "True"}}), "");
  EXPECT_EQ(warned({{"data_preprocess", "x"}, {"check", "True"}}), "");
  EXPECT_EQ(warned({{"data_preprocess", "x"},
                    {"calibration_with_data", "True"},
                    {"precision", "fp8_weight"}}),
            "");
  const std::string types = "`fp16_skip_op_types` has no effect without `precision` fp16\n";
  const std::pair<const char*, std::string> skip = {"fp16_skip_op_types", "Add"};
  EXPECT_EQ(warned({skip}), types);
  EXPECT_EQ(warned({skip, {"precision", "fp32"}}), types);
  EXPECT_EQ(warned({skip, {"precision", "fp16"}}), "");
  EXPECT_EQ(warned({skip, {"precision", "fp8_weight"}}), "");
  poprt_compile_options o = plain();
  o.precision = POPRT_PRECISION_FP16;
  EXPECT_EQ(warned({skip}, o), "");
  const std::string quarters = "`fp8_params` has no effect without `precision fp8 or fp8_weight`\n";
  const std::pair<const char*, std::string> formats = {"fp8_params", "F143,F143,-1,-1"};
  EXPECT_EQ(warned({formats}), quarters);
  EXPECT_EQ(warned({formats, {"precision", "fp16"}}), quarters);
  EXPECT_EQ(warned({formats, {"precision", "fp8_weight"}}), "");
  EXPECT_EQ(warned({formats, {"passes", "float_to_fp8"}}), "");
  EXPECT_EQ(warned({formats, {"passes", "sort_graph"}}), quarters);
  const char* pass = "float_to_fp8";
  o = plain();
  o.passes = &pass;
  o.pass_count = 1;
  EXPECT_EQ(warned({formats}, o), "");
  pass = "sort_graph";
  EXPECT_EQ(warned({formats}, o), quarters);
}

}  // namespace
