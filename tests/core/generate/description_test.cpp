#include "generate/description.h"

#include "core/generate/support.h"

namespace poprt::test {
namespace {

using nlohmann::json;

ErrorCode code_of(const std::string& blob, bool encoder = false) {
  runtime::Model model = encoder ? *generation_model("t5", {36, 3, {}, 40})
                                 : *generation_model("optimum", {64, 3, {8}});
  model.opaque[generate::kGeneration] = blob;
  try {
    generate::read_description(model);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

json blob() {
  return parse_json(generation_model("optimum", {64, 3, {8}})->opaque.at(generate::kGeneration));
}

TEST(GenerationDescription, IsThatOfTheModel) {
  const auto d = generate::read_description(*generation_model("optimum", {64, 3, {8}}));
  EXPECT_EQ(d.max_length, 64);
  EXPECT_EQ(d.slots, 3);
  EXPECT_EQ(d.vocabulary, 53);
  EXPECT_TRUE(d.grows);
  EXPECT_EQ(d.caches.size(), 4u);
  EXPECT_EQ(d.caches[0].row_bytes, 2u * 64 * 4 * 4);
  EXPECT_EQ(d.stop_tokens, std::vector<int64_t>{9});
  EXPECT_EQ(d.shapes.size(), 3u);
}

TEST(GenerationDescription, RefusesAModelThatIsNotForAGenerator) {
  runtime::Model model = *generation_model("optimum", {64, 3, {8}});
  model.opaque.clear();
  try {
    generate::read_description(model);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  }
}

TEST(GenerationDescription, RefusesBlobsThatContradictTheProgram) {
  EXPECT_EQ(code_of(json_text(blob())), ErrorCode::ok);
  EXPECT_EQ(code_of(""), ErrorCode::data_loss);
  EXPECT_EQ(code_of("{}"), ErrorCode::data_loss);
  const std::pair<const char*, json> changes[] = {
      {"version", 2},
      {"max_length", 1},
      {"max_length", 65},
      {"max_length", 1e300},
      {"slots", 0},
      {"slots", 4},
      {"slots", 5000},
      {"input_ids", "absent"},
      {"input_ids", 7},
      {"logits", "present.0.key"},
      {"position", ""},
      {"last", "past_key_values.0.key"},
      {"caches", json::array()},
      {"caches", {{"past_key_values.0.key", "logits", 2}}},
      {"caches", {{"input_ids", "present.0.key", 2}}},
      {"shapes", json::array()},
      {"shapes", {{3, 1}}},
      {"shapes", {{3, 1}, {1, 65}}},
      {"shapes", {{3, 1}, {1, 1}, {1, 33}}},
      {"shapes", {{3, 1}, {1, 1}}},
      {"settings", 3},
      {"settings", {{"stop_tokens", "x"}}}};
  for (const auto& [key, value] : changes) {
    json changed = blob();
    changed[key] = value;
    EXPECT_EQ(code_of(json_text(changed)), ErrorCode::data_loss) << key << " " << json_text(value);
  }
  const json whole = blob();
  for (const auto& [key, value] : whole.items()) {
    if (key == "grows" || key == "settings") continue;
    json changed = blob();
    changed.erase(key);
    EXPECT_EQ(code_of(json_text(changed)), ErrorCode::data_loss) << key;
  }
}

TEST(GenerationDescription, RefusesWrongEncoders) {
  const json whole =
      parse_json(generation_model("t5", {36, 3, {}, 40})->opaque.at(generate::kGeneration));
  EXPECT_EQ(code_of(json_text(whole), true), ErrorCode::ok);
  const std::pair<const char*, json> changes[] = {
      {"input_ids", ""},
      {"input_ids", "absent"},
      {"input_ids", "input_ids"},
      {"input_ids", 3},
      {"features", "encoder/attention_mask"},
      {"memory_mask", ""},
      {"memory_mask", "poprt.last"},
      {"places", 39},
      {"places", -1},
      {"places", 1e300},
      {"lengths", json::array()},
      {"lengths", {40}},
      {"lengths", {40, 32}},
      {"lengths", {0, 40}},
      {"lengths", {32, 41}},
      {"cross", json::array()},
      {"cross", {{"input_ids", "present.0.encoder.key"}}},
      {"cross", {{"past_key_values.0.encoder.key", "logits"}}},
      {"cross", {{"past_key_values.0.encoder.key"}}}};
  for (const auto& [key, value] : changes) {
    json changed = whole;
    changed["encoder"][key] = value;
    EXPECT_EQ(code_of(json_text(changed), true), ErrorCode::data_loss)
        << key << " " << json_text(value);
  }
  const auto with_settings = [&](const char* key, json value) {
    json changed = whole;
    changed["settings"][key] = std::move(value);
    return code_of(json_text(changed), true);
  };
  EXPECT_EQ(with_settings("start_tokens", json::array()), ErrorCode::data_loss);
  EXPECT_EQ(with_settings("start_tokens", {53}), ErrorCode::data_loss);
  EXPECT_EQ(with_settings("start_tokens", std::vector<int64_t>(36, 1)), ErrorCode::data_loss);
  EXPECT_EQ(with_settings("forced_first", 53), ErrorCode::data_loss);
  EXPECT_EQ(with_settings("forced_last", -1), ErrorCode::data_loss);
  EXPECT_EQ(with_settings("suppressed", {-1, 99}), ErrorCode::ok);
  json without = whole;
  without.erase("encoder");
  EXPECT_EQ(code_of(json_text(without), true), ErrorCode::data_loss);
}

}  // namespace
}  // namespace poprt::test
