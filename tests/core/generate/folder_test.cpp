#include "generate/folder.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "core/generate/support.h"

namespace poprt::test {
namespace {

namespace fs = std::filesystem;
using generate::ModelFolder;
using generate::open_folder;

class GenerationFolder : public testing::Test {
 protected:
  GenerationFolder() {
    std::string name = (fs::temp_directory_path() / "poprt_generate_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~GenerationFolder() override { fs::remove_all(path); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  ErrorCode code() const {
    try {
      open_folder(path);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  }

  std::string message() const {
    try {
      open_folder(path);
    } catch (const Error& e) {
      return e.message();
    }
    return "taken";
  }

  fs::path path;
};

TEST(ModelFolders, HaveTheSettingsOfTheirExporters) {
  const ModelFolder genai = open_folder(generation_data() / "genai");
  EXPECT_EQ(genai.model, generation_data() / "genai" / "model.onnx");
  EXPECT_EQ(genai.context_length, 64);
  EXPECT_EQ(genai.stop_tokens, std::vector<int64_t>{7});
  EXPECT_EQ(genai.input_ids, "input_ids");
  const ModelFolder optimum = open_folder(generation_data() / "optimum");
  EXPECT_EQ(optimum.context_length, 64);
  EXPECT_EQ(optimum.stop_tokens, std::vector<int64_t>{9});
  EXPECT_FALSE(optimum.is_popef);
  EXPECT_THROW(open_folder(generation_data() / "absent"), Error);
}

TEST_F(GenerationFolder, MergesTheStopTokensOfBothConfigurations) {
  write("model.onnx", "");
  write("config.json", R"({"n_positions": 128, "eos_token_id": 3})");
  write("generation_config.json", R"({"eos_token_id": [3, 5]})");
  const ModelFolder folder = open_folder(path);
  EXPECT_EQ(folder.stop_tokens, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(folder.context_length, 128);
}

TEST_F(GenerationFolder, TakesEveryTokenThatIsNotNegative) {
  write("model.onnx", "");
  write("config.json", R"({"eos_token_id": [0, -1, 2, 0]})");
  EXPECT_EQ(open_folder(path).stop_tokens, (std::vector<int64_t>{0, 2}));
  write("config.json", R"({"eos_token_id": null, "n_positions": null, "n_ctx": 8})");
  EXPECT_TRUE(open_folder(path).stop_tokens.empty());
  EXPECT_EQ(open_folder(path).context_length, 8);
}

TEST_F(GenerationFolder, TheFirstLengthOfTheConfigurationCounts) {
  write("model.onnx", "");
  write("config.json",
        R"({"max_position_embeddings": 5, "n_positions": 6, "n_ctx": 7, "sliding_window": 9})");
  EXPECT_EQ(open_folder(path).context_length, 5);
  write("config.json", R"({"n_ctx": 7, "n_positions": 6})");
  EXPECT_EQ(open_folder(path).context_length, 6);
}

TEST_F(GenerationFolder, ReadsTheNamesOfTheExporter) {
  write("other.onnx", "");
  write("genai_config.json", R"({"model": {"decoder": {
      "filename": "other.onnx",
      "inputs": {"input_ids": "a", "attention_mask": "b", "position_ids": "c"},
      "outputs": {"logits": "d"}}}})");
  const ModelFolder folder = open_folder(path);
  EXPECT_EQ(folder.model, path / "other.onnx");
  EXPECT_EQ(folder.input_ids, "a");
  EXPECT_EQ(folder.attention_mask, "b");
  EXPECT_EQ(folder.position_ids, "c");
  EXPECT_EQ(folder.logits, "d");
  EXPECT_EQ(folder.context_length, 0) << "it is not named";
  EXPECT_TRUE(folder.stop_tokens.empty());
  EXPECT_FALSE(folder.is_popef);
}

TEST_F(GenerationFolder, AFileIsAModelByItself) {
  for (const char* name : {"m.onnx", "m.popef"}) {
    write(name, "");
    const ModelFolder file = open_folder(path / name);
    EXPECT_EQ(file.model, path / name);
    EXPECT_EQ(file.is_popef, std::string_view(name) == "m.popef");
  }
}

// The first of these files is the model.
TEST_F(GenerationFolder, FindsTheModelByItsName) {
  fs::create_directory(path / "onnx");
  for (const char* name : {"onnx/model.onnx", "decoder_model_merged.onnx",
                           "decoder_with_past_model.onnx", "model.onnx"}) {
    write(name, "");
    EXPECT_EQ(open_folder(path).model, path / name);
  }
}

TEST_F(GenerationFolder, ConfigurationsHaveAtMost16Megabytes) {
  write("model.onnx", "");
  std::string text = R"({"n_positions": 12})";
  text.resize(size_t{1} << 24, ' ');
  write("config.json", text);
  EXPECT_EQ(open_folder(path).context_length, 12);
  write("config.json", text + ' ');
  EXPECT_EQ(code(), ErrorCode::resource_exhausted);
}

TEST_F(GenerationFolder, AWindowOfAttentionDoesNotLimitTheContext) {
  write("model.onnx", "");
  write("config.json", R"({"max_position_embeddings": 4096, "sliding_window": 512})");
  EXPECT_EQ(open_folder(path).context_length, 4096);
}

TEST_F(GenerationFolder, FindsTheFilesAndSettingsOfAModelWithAnEncoder) {
  for (const char* name :
       {"encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"})
    write(name, "");
  write("config.json", R"({"is_encoder_decoder": true, "max_source_positions": 1500,
        "max_target_positions": 448, "num_mel_bins": 80, "decoder_start_token_id": 50258,
        "forced_bos_token_id": 4, "eos_token_id": 50257})");
  write("generation_config.json", R"({"forced_decoder_ids": [[1, 50259], [2, 50359], [3, null]],
        "suppress_tokens": [-1, 7], "begin_suppress_tokens": [220], "forced_eos_token_id": 9})");
  const ModelFolder folder = open_folder(path);
  EXPECT_EQ(folder.model, path / "decoder_with_past_model.onnx");
  ASSERT_TRUE(folder.encoder);
  EXPECT_EQ(folder.encoder->model, path / "encoder_model.onnx");
  EXPECT_EQ(folder.encoder->first, path / "decoder_model.onnx");
  EXPECT_EQ(folder.encoder->features_shape, (std::vector<int64_t>{80, 3000}));
  EXPECT_EQ(folder.context_length, 448);
  EXPECT_EQ(folder.start_tokens, (std::vector<int64_t>{50258, 50259, 50359}));
  EXPECT_EQ(folder.forced_first, 4);
  EXPECT_EQ(folder.forced_last, 9);
  EXPECT_EQ(folder.suppressed, std::vector<int64_t>{7});
  EXPECT_EQ(folder.suppressed_first, std::vector<int64_t>{220});
  EXPECT_THROW(generation_text(folder, {.encoder_length = 100}), Error);  // features have one size
  fs::remove(path / "decoder_with_past_model.onnx");
  EXPECT_EQ(code(), ErrorCode::not_found);
  write("decoder_model_merged.onnx", "");
  EXPECT_EQ(open_folder(path).encoder->first, path / "decoder_model_merged.onnx");
}

TEST(ModelFolders, AnEncoderHasAtMost512TokensUnlessALongerOneIsGiven) {
  const auto encoder = [](int64_t context, int64_t given) {
    ModelFolder folder;
    folder.encoder.emplace();
    folder.encoder->context_length = context;
    return nlohmann::json::parse(generation_text(folder, {.encoder_length = given}))["encoder"];
  };
  const auto length = [&](int64_t context, int64_t given) {
    return encoder(context, given)["length"].get<int64_t>();
  };
  EXPECT_EQ(length(1024, 0), 512);
  EXPECT_EQ(length(0, 0), 512);
  EXPECT_EQ(length(100, 0), 100);
  EXPECT_EQ(length(1024, 700), 700);
  const auto shorter = encoder(1024, 0)["lengths"], shortest = encoder(100, 0)["lengths"];
  EXPECT_EQ(shorter.get<std::vector<int64_t>>(), (std::vector<int64_t>{32, 128}));
  EXPECT_EQ(shortest.get<std::vector<int64_t>>(), std::vector<int64_t>{32});
  EXPECT_THROW(encoder(1024, 1025), Error);
}

TEST_F(GenerationFolder, HasTheEncoderThatGenaiNames) {
  for (const char* name : {"encoder.onnx", "decoder.onnx"}) write(name, "");
  for (
      const char* form :
      {R"("encoder": {"filename": "encoder.onnx", "inputs": {"audio_features": "mel"}})",
       R"("encoder_decoder_init": {"filename": "encoder.onnx", "inputs": {"input_features": "mel"}})"}) {
    write("genai_config.json", std::string(R"({"model": {"context_length": 448, "eos_token_id": 2,
        "decoder": {"filename": "decoder.onnx"}, )") +
                                   form + "}}");
    const ModelFolder folder = open_folder(path);
    EXPECT_EQ(folder.model, path / "decoder.onnx");
    ASSERT_TRUE(folder.encoder) << form;
    EXPECT_EQ(folder.encoder->model, path / "encoder.onnx");
    EXPECT_EQ(folder.encoder->first, "");
    EXPECT_EQ(folder.encoder->features, "mel");
    EXPECT_EQ(folder.context_length, 448);
    EXPECT_TRUE(folder.start_tokens.empty()) << "the caller gives them";
  }
  write("generation_config.json", R"({"decoder_start_token_id": 5, "suppress_tokens": [7]})");
  EXPECT_EQ(open_folder(path).start_tokens, std::vector<int64_t>{5});
  EXPECT_EQ(open_folder(path).suppressed, std::vector<int64_t>{7});
}

// The warning of a folder with these settings of texts.
std::string warning_of(const fs::path& path) {
  static std::string warning;
  warning.clear();
  set_log_receiver([](int32_t, const char* message) { warning += message; });
  open_folder(path);
  set_log_receiver(nullptr);
  return warning;
}

TEST_F(GenerationFolder, TokensOfADecoderAreForcedAndSuppressed) {
  write("model.onnx", "");
  const char* settings = R"({"eos_token_id": 3, "suppress_tokens": [-1, 7],
      "begin_suppress_tokens": [9], "bad_words_ids": [[5], [3], [-1]], "forced_bos_token_id": 4,
      "forced_eos_token_id": 6})";
  const auto check = [&] {
    EXPECT_EQ(warning_of(path), "");
    const ModelFolder folder = open_folder(path);
    EXPECT_EQ(folder.suppressed, (std::vector<int64_t>{7, 5})) << "a stop token is no bad word";
    EXPECT_EQ(folder.suppressed_first, std::vector<int64_t>{9});
    EXPECT_EQ(folder.forced_first, 4);
    EXPECT_EQ(folder.forced_last, 6);
    const auto passed = parse_json(generation_text(folder, {})).at("settings");
    EXPECT_EQ(passed.at("suppressed"), nlohmann::json({7, 5}));
    EXPECT_EQ(passed.at("forced_last"), 6);
  };
  write("config.json", settings);
  check();
  write("config.json", R"({"suppress_tokens": [1], "forced_bos_token_id": 2})");
  write("generation_config.json", settings);
  check();
  write("generation_config.json", R"({"bad_words_ids": [5]})");
  EXPECT_EQ(code(), ErrorCode::data_loss);
}

TEST_F(GenerationFolder, WarnsAboutSettingsThatDoNotApply) {
  write("model.onnx", "");
  const auto warning = [&](const std::string& file, const std::string& text) {
    write(file, text);
    const std::string all = warning_of(path), start = "'" + (path / file).string() + "' has ";
    if (all.empty()) return all;
    EXPECT_TRUE(all.find(start) != std::string::npos) << all;
    const size_t at = all.find("here: ") + 6;
    return all.substr(at, all.find("; set the options of a sequence") - at);
  };
  const auto search = [&](const std::string& text) {
    return warning("genai_config.json",
                   R"({"model": {"context_length": 64}, "search": {)" + text + "}}");
  };
  EXPECT_EQ(search(R"("do_sample": false, "temperature": 0.6, "top_k": 50, "top_p": 0.9,
      "early_stopping": true, "length_penalty": 1.2, "max_length": 64, "min_length": 0,
      "no_repeat_ngram_size": 0, "num_beams": 1, "num_return_sequences": 1,
      "repetition_penalty": 1.0, "past_present_share_buffer": true)"),
            "")
      << "the text of onnxruntime-genai is greedy";
  EXPECT_EQ(search(R"("do_sample": true, "top_k": 1)"), "");
  EXPECT_EQ(search(R"("do_sample": true, "temperature": 0.6, "top_p": 0.9)"),
            "do_sample true, temperature 0.6, top_p 0.9");
  EXPECT_EQ(search(R"("num_beams": 4, "early_stopping": true, "length_penalty": 1.0)"),
            "num_beams 4, early_stopping true");
  EXPECT_EQ(search(R"("repetition_penalty": 1.1, "min_length": 5, "max_length": 8)"),
            "repetition_penalty 1.1, min_length 5, max_length 8");
  fs::remove(path / "genai_config.json");
  EXPECT_EQ(warning("config.json", R"({"no_repeat_ngram_size": 3, "max_length": 20})"),
            "no_repeat_ngram_size 3, max_length 20");
  EXPECT_EQ(warning("generation_config.json",
                    R"({"max_new_tokens": 20, "stop_strings": ["a"], "sequence_bias": {},
                        "bad_words_ids": [[1], [2, 3]]})"),
            "max_new_tokens 20, stop_strings, bad_words_ids of several tokens");
}

TEST_F(GenerationFolder, ReadsTheInputsOfAnEncoderOfTokens) {
  for (const char* name : {"encoder.onnx", "decoder.onnx"}) write(name, "");
  write("genai_config.json", R"({"model": {"context_length": 448, "decoder_start_token_id": 3,
      "encoder": {"filename": "encoder.onnx", "context_length": 77,
                  "inputs": {"input_ids": "i", "attention_mask": "m"}},
      "decoder": {"filename": "decoder.onnx"}}})");
  const ModelFolder folder = open_folder(path);
  ASSERT_TRUE(folder.encoder);
  EXPECT_EQ(folder.encoder->input_ids, "i");
  EXPECT_EQ(folder.encoder->attention_mask, "m");
  EXPECT_EQ(folder.encoder->features, "");
  EXPECT_EQ(folder.encoder->context_length, 77);
  EXPECT_EQ(folder.start_tokens, std::vector<int64_t>{3});
}

TEST_F(GenerationFolder, ReadsTheNamesOfRecurrentStates) {
  write("model.onnx", "");
  write("genai_config.json", R"({"model": {"decoder": {
      "inputs": {"past_key_names": "k.%d", "past_value_names": "v.%d", "past_conv_names": "c.%d",
                 "past_sequence_length": "length", "past_bad_names": 3, "past_lost_names": "l.%d",
                 "other_names": "o.%d"},
      "outputs": {"present_key_names": "pk.%d", "present_value_names": "pv.%d",
                  "present_conv_names": "pc.%d", "present_sequence_length": "p.%d",
                  "present_lost_names": "none", "other_names": "po.%d"}}}})");
  const ModelFolder folder = open_folder(path);
  ASSERT_EQ(folder.states.size(), 1u);
  EXPECT_EQ(folder.states[0], std::pair(std::string("c.%d"), std::string("pc.%d")));
}

TEST_F(GenerationFolder, TheLaterConfigurationReplacesStartTokens) {
  for (const char* name :
       {"encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"})
    write(name, "");
  const auto tokens = [&](const std::string& later) {
    write("config.json", R"({"n_positions": 512, "decoder_start_token_id": 3,
                             "forced_decoder_ids": [[1, 7], [2, 8], [4, 9]]})");
    write("generation_config.json", later);
    return open_folder(path).start_tokens;
  };
  using Tokens = std::vector<int64_t>;
  EXPECT_EQ(tokens("{}"), (Tokens{3, 7, 8}));
  EXPECT_EQ(tokens(R"({"decoder_start_token_id": 5})"), (Tokens{5, 7, 8}));
  EXPECT_EQ(tokens(R"({"forced_decoder_ids": [[1, 6]]})"), (Tokens{3, 6}));
  EXPECT_EQ(tokens(R"({"forced_decoder_ids": null})"), (Tokens{3, 7, 8}));
  EXPECT_EQ(open_folder(path).encoder->context_length, 512);
}

TEST_F(GenerationFolder, ErrorsNameTheFileAndTheReason) {
  write("model.onnx", "");
  write("config.json", R"({"n_positions": -1})");
  EXPECT_EQ(message(), "'" + (path / "config.json").string() +
                           "': 'n_positions' is -1, which is not expected");
  write("config.json", "{}");
  for (const std::string setting : {R"('eos_token_id' is 1.5)", R"('eos_token_id' is "x")",
                                    R"('suppress_tokens' is "x")", R"('bad_words_ids' is 5)"}) {
    const size_t end = setting.find('\'', 1);
    const std::string key = setting.substr(1, end - 1), value = setting.substr(end + 5);
    write("generation_config.json",
          "{\"" + key + "\": " + (key == "eos_token_id" ? value : "[" + value + "]") + "}");
    EXPECT_EQ(message(), "'" + (path / "generation_config.json").string() + "': " + setting +
                             ", which is not expected");
  }
  fs::remove(path / "generation_config.json");
  fs::remove(path / "config.json");
  write("encoder_model.onnx", "");
  EXPECT_EQ(message(),
            "folder '" + path.string() + "' has an encoder_model.onnx and no config.json");
  write("genai_config.json", R"({"model": {"decoder": {"pipeline": []}}})");
  EXPECT_EQ(code(), ErrorCode::unimplemented);
  EXPECT_EQ(message(), "'" + path.string() + "': decoders of several models are not supported");
}

TEST(ModelFolders, PassTheirSettingsToTheCompiler) {
  ModelFolder folder;
  folder.input_ids = "i";
  folder.logits = "l";
  folder.states = {{"c.%d", "pc.%d"}};
  folder.stop_tokens = {4};
  const auto json_pairs = nlohmann::json::array({nlohmann::json::array({"c.%d", "pc.%d"})});
  nlohmann::json expected = {{"max_length", 2048},
                             {"slots", 1},
                             {"input_ids", "i"},
                             {"attention_mask", ""},
                             {"position_ids", ""},
                             {"logits", "l"},
                             {"optional_states", json_pairs},
                             {"settings", {{"stop_tokens", {4}}, {"context_length", 0}}}};
  EXPECT_EQ(parse_json(generation_text(folder, {})), expected);
  expected["slots"] = 3;
  expected["prefill"] = {8, 16};
  expected["cache_precision"] = "int8";
  EXPECT_EQ(parse_json(generation_text(
                folder, {.slots = 3, .prefill = {8, 16}, .cache_precision = "int8"})),
            expected);
  const auto refusal = [&](const generate::GenerationSizes& sizes) {
    try {
      return generation_text(folder, sizes);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message();
    }
  };
  EXPECT_EQ(refusal({.encoder_length = 9}), "encoder_length is 9, and the model has no encoder");
  folder.context_length = 64;
  EXPECT_EQ(refusal({.max_length = 65}), "max_length is 65, the model has a context of 64");
  folder.encoder.emplace();
  folder.encoder->features_shape = {80, 3000};
  const nlohmann::json encoder = parse_json(generation_text(folder, {})).at("encoder");
  EXPECT_EQ(encoder.at("length"), 0);
  EXPECT_EQ(encoder.at("lengths"), nlohmann::json::array());
  EXPECT_EQ(refusal({.encoder_length = 9}),
            "encoder_length is 9, and the encoder of the model has features of one size");
}

TEST_F(GenerationFolder, RefusesHostileConfigurations) {
  EXPECT_EQ(code(), ErrorCode::not_found);  // no model
  write("model.onnx", "");
  for (const char* config : {"[]", "{", "{\"eos_token_id\": \"end\"}", "{\"eos_token_id\": 1.5}",
                             "{\"n_positions\": -1}", "{\"n_positions\": 1e300}"}) {
    write("config.json", config);
    EXPECT_EQ(code(), ErrorCode::data_loss) << config;
  }
  write("config.json", R"({"is_encoder_decoder": true})");
  EXPECT_EQ(code(), ErrorCode::not_found);  // no encoder_model.onnx
  for (const char* name :
       {"encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"})
    write(name, "");
  EXPECT_EQ(code(), ErrorCode::data_loss);  // no decoder_start_token_id
  for (const char* config : {"\"decoder_start_token_id\": \"a\"", "\"decoder_start_token_id\": -1",
                             "\"decoder_start_token_id\": 1, \"forced_decoder_ids\": [3]",
                             "\"decoder_start_token_id\": 1, \"suppress_tokens\": [\"a\"]",
                             "\"decoder_start_token_id\": 1, \"num_mel_bins\": 1e300"}) {
    write("config.json", std::string("{\"is_encoder_decoder\": true, ") + config + "}");
    EXPECT_EQ(code(), ErrorCode::data_loss) << config;
  }
  write("config.json", "{}");
  const auto genai = [&](const std::string& model) {
    write("genai_config.json", "{\"model\": " + model + "}");
    return code();
  };
  EXPECT_EQ(genai("{\"decoder\": {\"filename\": \"../other.onnx\"}}"),
            ErrorCode::permission_denied);
  EXPECT_EQ(genai("{\"decoder\": {\"filename\": \"/etc/passwd\"}}"), ErrorCode::permission_denied);
  EXPECT_EQ(genai("{\"decoder\": {\"filename\": \"absent.onnx\"}}"), ErrorCode::not_found);
  EXPECT_EQ(genai("{\"decoder\": {\"filename\": 7}}"), ErrorCode::data_loss);
  EXPECT_EQ(genai("{\"decoder\": []}"), ErrorCode::data_loss);
  EXPECT_EQ(genai("{\"decoder\": {\"inputs\": {\"input_ids\": 3}}}"), ErrorCode::data_loss);
  EXPECT_EQ(genai("{\"encoder\": {}}"), ErrorCode::data_loss);  // no filename
  EXPECT_EQ(genai("{\"encoder_decoder_init\": {\"filename\": \"/etc/passwd\"}}"),
            ErrorCode::permission_denied);
  EXPECT_EQ(genai("{\"encoder\": {\"filename\": \"../other.onnx\"}}"),
            ErrorCode::permission_denied);
  EXPECT_EQ(genai("{\"encoder\": {\"filename\": \"absent.onnx\"}}"), ErrorCode::not_found);
  EXPECT_EQ(genai("{\"decoder\": {}}"), ErrorCode::ok);
}

TEST(ModelFolders, DetermineTheSizesOfCaches) {
  ModelFolder folder;
  const auto length = [&](generate::GenerationSizes sizes) {
    return compiler::read_generation(generation_text(folder, sizes)).max_length;
  };
  EXPECT_EQ(length({}), 2048);
  EXPECT_EQ(length({100, 0, {}}), 100);
  folder.context_length = 256;
  EXPECT_EQ(length({}), 256);
  EXPECT_THROW(length({257, 0, {}}), Error);
  folder.context_length = 1 << 20;
  EXPECT_EQ(length({}), 2048);
  EXPECT_EQ(length({4096, 0, {}}), 4096);
}

}  // namespace
}  // namespace poprt::test
