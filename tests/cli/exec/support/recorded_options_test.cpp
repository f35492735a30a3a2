#include "exec/support/recorded_options.h"

#include <map>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

using Recorded = std::vector<popef::Option>;

std::string refused(const Recorded& recorded) {
  return message_of<Failure>([&] { RecordedOptions options(recorded); });
}

std::string not_understood(const std::string& name, const std::string& value) {
  return fmt::format(
      "the file records the compile option '{}' = '{}', which this version does not support; "
      "compile the model with poprt",
      name, value);
}

std::map<std::string, std::string> by_name(const RecordedOptions& r) {
  std::map<std::string, std::string> named;
  for (size_t i = 0; i < r.options.option_count; i++)
    EXPECT_TRUE(named.emplace(r.options.options[i].name, r.options.options[i].value).second);
  return named;
}

TEST(RecordedOptions, NoRecordGivesNoOptions) {
  const RecordedOptions r({});
  EXPECT_EQ(r.options.struct_size, sizeof r.options);
  EXPECT_EQ(r.options.input_shape_count + r.options.input_length_count + r.options.pass_count +
                r.options.skip_pass_count + r.options.output_count + r.options.option_count,
            0U);
  EXPECT_EQ(r.source + r.source_hash, "");
  EXPECT_EQ(r.options.stop_after, nullptr);
}

TEST(RecordedOptions, ShapesAndLengths) {
  const RecordedOptions r({{"input_shapes", "a=[2,30]"},
                           {"input_shapes", "b=[1]=[]"},
                           {"input_lengths", "s=3"},
                           {"input_lengths", "t=1=0"}});
  ASSERT_EQ(r.options.input_shape_count, 2U);
  EXPECT_STREQ(r.options.input_shapes[0].name, "a");
  ASSERT_EQ(r.options.input_shapes[0].rank, 2U);
  EXPECT_EQ(r.options.input_shapes[0].shape[0], 2);
  EXPECT_EQ(r.options.input_shapes[0].shape[1], 30);
  EXPECT_STREQ(r.options.input_shapes[1].name, "b=[1]");
  EXPECT_EQ(r.options.input_shapes[1].rank, 0U);
  ASSERT_EQ(r.options.input_length_count, 2U);
  EXPECT_STREQ(r.options.input_lengths[0].name, "s");
  EXPECT_EQ(r.options.input_lengths[0].length, 3);
  EXPECT_STREQ(r.options.input_lengths[1].name, "t=1");
  EXPECT_EQ(r.options.input_lengths[1].length, 0);
  for (const char* wrong : {"a", "a=2,3", "a=[2", "a=2]", "a=[x]", "a=[1,]", "a=[1 ]"})
    EXPECT_EQ(refused({{"input_shapes", wrong}}), not_understood("input_shapes", wrong));
  for (const char* wrong : {"a", "a=", "a=x", "a=1x"})
    EXPECT_EQ(refused({{"input_lengths", wrong}}), not_understood("input_lengths", wrong));
}

TEST(RecordedOptions, NamesAreLists) {
  const RecordedOptions r({{"passes", "a,b"},
                           {"skip_passes", "c"},
                           {"outputs", "x,y"},
                           {"outputs", "z"},
                           {"stop_after", "a"}});
  ASSERT_EQ(r.options.pass_count, 2U);
  EXPECT_STREQ(r.options.passes[0], "a");
  EXPECT_STREQ(r.options.passes[1], "b");
  ASSERT_EQ(r.options.skip_pass_count, 1U);
  EXPECT_STREQ(r.options.skip_passes[0], "c");
  ASSERT_EQ(r.options.output_count, 2U);
  EXPECT_STREQ(r.options.outputs[0], "x,y");  // the name of one
  EXPECT_STREQ(r.options.outputs[1], "z");
  EXPECT_STREQ(r.options.stop_after, "a");
}

TEST(RecordedOptions, FieldsOfTheOptions) {
  const RecordedOptions r({{"precision", "fp16"},
                           {"winograd", "fast"},
                           {"batch_size", "3"},
                           {"batch_axis", "1"},
                           {"max_tensor_size", "-1"},
                           {"rewrite_limit", "7"},
                           {"max_padding", "0.25"},
                           {"convert_version", "13"},
                           {"variable_weights", "1"},
                           {"strict", "1"},
                           {"embed_source", "1"},
                           {"source", "m.onnx"},
                           {"source_hash", "abc"}});
  EXPECT_EQ(r.options.precision, POPRT_PRECISION_FP16);
  EXPECT_EQ(r.options.winograd, POPRT_WINOGRAD_FAST);
  EXPECT_EQ(r.options.batch_size, 3);
  EXPECT_EQ(r.options.batch_axis, 1);
  EXPECT_EQ(r.options.max_tensor_size, -1);
  EXPECT_EQ(r.options.rewrite_limit, 7);
  EXPECT_EQ(r.options.max_padding, 0.25);
  EXPECT_EQ(r.options.convert_version, 13);
  EXPECT_EQ(r.options.variable_weights, 1);
  EXPECT_EQ(r.options.strict, 1);
  EXPECT_EQ(r.options.embed_source, 1);
  EXPECT_EQ(r.source, "m.onnx");
  EXPECT_EQ(r.source_hash, "abc");
  EXPECT_EQ(r.options.option_count, 0U);
  EXPECT_EQ(RecordedOptions({{"precision", "fp32"}}).options.precision, POPRT_PRECISION_FP32);
  EXPECT_EQ(RecordedOptions({{"winograd", "off"}}).options.winograd, POPRT_WINOGRAD_OFF);
  EXPECT_EQ(RecordedOptions({{"winograd", "exact"}}).options.winograd, POPRT_WINOGRAD_EXACT);
}

TEST(RecordedOptions, RefusesInvalidRecordedValues) {
  for (const auto& [name, value] :
       {std::pair("precision", "int3"), std::pair("winograd", "slow"), std::pair("batch_size", "x"),
        std::pair("batch_size", "1x"), std::pair("batch_size", ""), std::pair("max_padding", "x"),
        std::pair("max_padding", "0.5x"), std::pair("max_padding", ""), std::pair("strict", "0"),
        std::pair("strict", "2"), std::pair("variable_weights", "yes"),
        std::pair("no_such_option", "1")})
    EXPECT_EQ(refused({{name, value}}), not_understood(name, value));
  // A forged file must neither load code nor choose the folder of a cache.
  for (const auto& [name, value] :
       {std::pair("custom_library_so_paths", "/tmp/x.so"),
        std::pair("compiler_options", "cache_path=/tmp"), std::pair("popart_options", "a=b"),
        std::pair("enable_engine_caching", "True"), std::pair("cache_path", "/tmp"),
        std::pair("opaque_blobs", "{}")})
    EXPECT_EQ(refused({{name, value}}), not_understood(name, value));
  EXPECT_EQ(refused({{"graph0/precision", "fp16"}}),
            "the executable contains several models; compile them again and fuse them (poprt "
            "--config_yaml)");
}

TEST(RecordedOptions, OthersAreOptionsByName) {
  const RecordedOptions r({{"num_ipus", "2"},
                           {"popart.a.b", "x"},
                           {"num_io_tiles", "32"},
                           {"precision", "fp8"},
                           {"serialize_matmul", "a=2 b=3"},
                           {"checkpoints", "u v"},
                           {"popart.c", "y"},
                           {"enable_pipelining", "True"}});
  EXPECT_EQ(by_name(r), (std::map<std::string, std::string>{
                            {"compiler_options", "num_ipus=2\nenable_pipelining=True"},
                            {"popart_options", "a.b=x\nc=y"},
                            {"num_io_tiles", "32"},
                            {"precision", "fp8"},
                            {"serialize_matmul", "a=2\nb=3"},
                            {"checkpoints", "u v"}}));
  EXPECT_EQ(r.options.precision, POPRT_PRECISION_KEEP);
}

}  // namespace
}  // namespace poprt::cli
