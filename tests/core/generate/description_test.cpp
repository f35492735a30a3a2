#include "generate/description.h"

#include <algorithm>
#include <tuple>

#include "core/generate/support.h"
#include "program/link.h"

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

std::string refusal_of(const std::string& key, const json& value) {
  runtime::Model model = *generation_model("optimum", {64, 3, {8}});
  json changed = parse_json(model.opaque.at(generate::kGeneration));
  if (value.is_discarded())
    changed.erase(key);
  else
    changed[key] = value;
  model.opaque[generate::kGeneration] = json_text(changed);
  try {
    generate::read_description(model);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss);
    constexpr std::string_view kBlob = "blob 'poprt.generation': ";
    EXPECT_TRUE(e.message().starts_with(kBlob)) << e.message();
    return e.message().substr(kBlob.size());
  }
  return "taken";
}

TEST(GenerationDescription, RefusesContradictionsToTheProgram) {
  const json missing(json::value_t::discarded);
  const std::tuple<const char*, json, const char*> cases[] = {
      {"version", 2, "it is not a JSON object of version 1"},
      {"version", missing, "'version' is missing"},
      {"version", 0, "'version' is 0, expected 1 to 16777216"},
      {"max_length", 1, "'max_length' is 1, expected 2 to 16777216"},
      {"max_length", 16777217, "'max_length' is 16777217, expected 2 to 16777216"},
      {"slots", 0, "'slots' is 0, expected 1 to 4096"},
      {"slots", 4097, "'slots' is 4097, expected 1 to 4096"},
      {"slots", 4096, "there is no shape for one token of each slot, or of one slot"},
      {"grows", false, "taken"},
      {"input_ids", 7, "'input_ids' is not text"},
      {"input_ids", missing, "'input_ids' is missing"},
      {"input_ids", "none", "the program has no input 'none'"},
      {"input_ids", "", "the program has no input ''"},
      {"logits", "none", "the program has no output 'none'"},
      {"position", "", "the program has no input ''"},
      {"attention_mask", "", "taken"},
      {"position_ids", "", "taken"},
      {"last", "past_key_values.0.key", "an input has two meanings"},
      {"attention_mask", "input_ids", "'input_ids' is s64[3,8], expected 195 elements"},
      {"position_ids", "input_ids", "an input has two meanings"},
      {"caches", json::object(), "'caches' is not a list"},
      {"caches", json::array(), "'caches' is not a list"},
      {"caches", {1}, "a cache is not [past, present, axis]"},
      {"caches", json::array({json::array({"past_key_values.0.key", "present.0.key"})}),
       "a cache is not [past, present, axis]"},
      {"caches", {{1, "present.0.key", 2}}, "'caches' is not text"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 0}},
       "cache 'past_key_values.0.key' [3,2,64,4] has no axis 0 of 64 places, or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 4}},
       "cache 'past_key_values.0.key' [3,2,64,4] has no axis 4 of 64 places, or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 1}},
       "cache 'past_key_values.0.key' [3,2,64,4] has no axis 1 of 64 places, or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 2},
        {"past_key_values.0.key", "present.0.value", 2}},
       "cache 'past_key_values.0.key' [3,2,64,4] has no axis 2 of 64 places, or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 2},
        {"past_key_values.0.value", "present.0.key", 2}},
       "cache 'past_key_values.0.value' [3,2,64,4] has no axis 2 of 64 places, or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "present.0.key", 2}},
       "the program has 5 outputs for 1 caches"},
      {"shapes", {{3, 1}, {1, 1, 1}}, "a shape is not [batch, tokens]"},
      {"shapes", {{3, 1}, {0, 1}}, "a shape is not [batch, tokens]"},
      {"shapes", {{3, 1}, {4, 1}}, "a shape is not [batch, tokens]"},
      {"shapes", {{3, 1}, {1, 0}}, "a shape is not [batch, tokens]"},
      {"shapes", {{3, 1}, {1, 65}}, "a shape is not [batch, tokens]"},
      {"shapes", {{3, 1}, {1, 2}}, "there is no shape for one token of each slot, or of one slot"},
      {"shapes", {{1, 1}, {3, 1}}, "there is no shape for one token of each slot, or of one slot"},
      {"shapes", {{3, 2}, {1, 1}}, "there is no shape for one token of each slot, or of one slot"},
      {"shapes", {{3, 1}, {1, 1}}, "the program has 3 variants for 2 shapes"},
      {"shapes", {{3, 1}, {1, 1}, {1, 64}}, "'input_ids' is s64[3,8], expected 64 elements"},
      {"last", "", "there is no input 'last' for several tokens"},
      {"ring", 0, "'ring' is 0, expected 1 to 63"},
      {"ring", 64, "'ring' is 64, expected 1 to 63"},
      {"valid_places", "", "the program has no input ''"},
      {"valid_places", "none", "the program has no input 'none'"},
      {"states", json::object(), "'states' is not a list"},
      {"states", {1}, "a state is not [past, present]"},
      {"states", json::array({json::array({"past_key_values.0.key"})}),
       "a state is not [past, present]"},
      {"states",
       json::array({json::array({"past_key_values.0.key", "present.0.key"}),
                    json::array({"past_key_values.0.value", "present.0.key"})}),
       "state 'past_key_values.0.value' has the shapes [3,2,64,4] and [3,2,64,4], or occurs twice"},
      {"caches",
       {{"past_key_values.0.key", "logits", 2}},
       "cache 'past_key_values.0.key' has the shapes [3,2,64,4] and [3,1,53]"},
      {"states", json::array({json::array({"past_key_values.0.key", "logits"})}),
       "state 'past_key_values.0.key' has the shapes [3,2,64,4] and [3,1,53], or occurs twice"},
      {"valid_places", program::kBucketIndex, "'poprt.bucket' is u32[1], expected 3 elements"},
      {"cache_precision", "int8",
       "cache 'past_key_values.0.key' has the shapes [3,2,64,4] and [3,2,64,4]"},
      {"cache_precision", "fp8",
       "cache 'past_key_values.0.key' has the shapes [3,2,64,4] and [3,2,64,4]"},
      {"cache_precision", "", "taken"},
      {"cache_precision", 8, "'cache_precision' is not text"},
      {"settings", 3, "'settings' is not an object"},
      {"settings", missing, "taken"},
      {"settings", json::object(), "taken"},
  };
  for (const auto& [key, value, wanted] : cases)
    EXPECT_EQ(refusal_of(key, value), wanted) << key << " " << value.dump();
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

// A model of the same file with another program.
template <class Change>
std::string refusal_with_program(const std::string& kind, const generate::GenerationSizes& sizes,
                                 const Change& change) {
  runtime::Model model = *generation_model(kind, sizes);
  const auto changed = std::make_shared<program::Program>(model.program());
  change(*changed);
  program::verify(*changed);
  model.image.program = changed;
  try {
    generate::read_description(model);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss);
    return e.message();
  }
  return "taken";
}

size_t anchor_of(const std::vector<program::Anchor>& anchors, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(anchors, name, &program::Anchor::name) -
                             anchors.begin());
}

// The other type has as many bits, so the program remains valid.
TEST(GenerationDescription, RefusesAnchorsOfTypesThatItCannotConvert) {
  const auto refusal = [](bool output, const std::string& name) {
    return refusal_with_program("optimum", {64, 3, {8}}, [&](program::Program& p) {
      auto& anchors = output ? p.outputs : p.inputs;
      DType& type = anchors[anchor_of(anchors, name)].dtype;
      type = dtype_bits(type) == 64 ? DType::u64 : dtype_bits(type) == 32 ? DType::u32 : DType::u8;
    });
  };
  const json all = blob();
  for (const char* key : {"input_ids", "last", "attention_mask", "position_ids", "position"}) {
    const auto name = all.at(key).get<std::string>();
    const std::string found = refusal(false, name);
    EXPECT_TRUE(found.starts_with("blob 'poprt.generation': '" + name + "' is u")) << found;
  }
  const std::string logits = refusal(true, "logits");
  EXPECT_TRUE(logits.starts_with("blob 'poprt.generation': 'logits' is u32")) << logits;
  const std::string cache = "cache 'past_key_values.0.key' has the shapes";
  for (const std::string& found :
       {refusal(false, "past_key_values.0.key"), refusal(true, "present.0.key")})
    EXPECT_NE(found.find(cache), std::string::npos) << found;
}

// The generator has a buffer of slots x vocabulary for the logits.
TEST(GenerationDescription, RefusesMoreLogitsThanThoseOfTheSlots) {
  EXPECT_EQ(refusal_with_program("optimum", {64, 3, {8}},
                                 [](program::Program& p) {
                                   auto& logits = p.outputs[anchor_of(p.outputs, "logits")];
                                   logits.shape.at(1) = 100;
                                 }),
            "blob 'poprt.generation': the logits have the shape [3,100,53], expected 53 for each "
            "of 3 slots");
}

TEST(GenerationDescription, RefusesAnIndexThatIsNotOneU32) {
  for (const auto& [dtype, shape] :
       {std::pair(DType::u32, Shape{2}), std::pair(DType::s64, Shape{1})}) {
    // The parts of the program read the first number of the index.
    const auto refusal = refusal_with_program("optimum", {64, 3, {8}}, [&](program::Program& p) {
      auto& index = p.inputs[anchor_of(p.inputs, program::kBucketIndex)];
      index.dtype = dtype;
      index.shape = shape;
    });
    EXPECT_NE(refusal.find("expected one u32"), std::string::npos) << refusal;
  }
}

// A run for the last slot has the memory of one row.
TEST(GenerationDescription, RefusesAVariantThatUsesRowsOfOtherSlots) {
  for (const char* name : {"present.0.key", "present.1.value"}) {
    const auto refusal = refusal_with_program("optimum", {64, 3, {8}}, [&](program::Program& p) {
      const size_t at = anchor_of(p.outputs, name);
      const uint64_t all = p.outputs[at].bytes();
      for (program::Buffer& b : p.buffers)
        if (b.space == program::Space::output && b.index == at) b.bytes = all - b.offset;
    });
    EXPECT_NE(refusal.find(fmt::format("bytes of '{}', and 1 slots have 2048 each", name)),
              std::string::npos)
        << refusal;
  }
}

// Errors of the program are reported before those of the settings.
TEST(GenerationDescription, TheMemoryOfVariantsIsCheckedBeforeTheSettings) {
  runtime::Model model = *generation_model("optimum", {64, 3, {8}});
  const auto changed = std::make_shared<program::Program>(model.program());
  const size_t at = anchor_of(changed->outputs, "present.0.key");
  const uint64_t all = changed->outputs[at].bytes();
  for (program::Buffer& b : changed->buffers)
    if (b.space == program::Space::output && b.index == at) b.bytes = all - b.offset;
  model.image.program = changed;
  json with_settings = blob();
  with_settings["settings"] = 3;
  model.opaque[generate::kGeneration] = json_text(with_settings);
  try {
    generate::read_description(model);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("bytes of 'present.0.key'"), std::string::npos) << e.message();
  }
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

TEST(GenerationDescription, GrowsOnlyIfTheBlobStatesIt) {
  runtime::Model model = *generation_model("optimum", {64, 3, {8}});
  json changed = blob();
  changed.erase("grows");
  model.opaque[generate::kGeneration] = json_text(changed);
  EXPECT_FALSE(generate::read_description(model).grows);
}

TEST(GenerationDescription, RefusesLogitsOfManyDimensions) {
  EXPECT_EQ(refusal_with_program("optimum", {64, 3, {8}},
                                 [](program::Program& p) {
                                   p.outputs[anchor_of(p.outputs, "logits")].shape = {3, 1, 1, 53};
                                 }),
            "blob 'poprt.generation': the logits have the shape [3,1,1,53]");
}

// As for the memory that a variant writes.
TEST(GenerationDescription, RefusesAVariantThatReadsRowsOfOtherSlots) {
  const auto refusal = [](const std::string& kind, const generate::GenerationSizes& sizes,
                          const std::string& name) {
    return refusal_with_program(kind, sizes, [&](program::Program& p) {
      const size_t at = anchor_of(p.inputs, name);
      const uint64_t all = p.inputs.at(at).bytes();
      for (program::Buffer& b : p.buffers)
        if (b.space == program::Space::input && b.index == at) b.bytes = all - b.offset;
    });
  };
  EXPECT_EQ(refusal("optimum", {64, 3, {8}}, "past_key_values.1.value"),
            "blob 'poprt.generation': variant 1 uses 6144 bytes of 'past_key_values.1.value', and "
            "1 slots have 2048 each");
  EXPECT_EQ(refusal("t5", {36, 3, {}, 40}, "past_key_values.0.encoder.key"),
            "blob 'poprt.generation': variant 1 uses 7680 bytes of "
            "'past_key_values.0.encoder.key', and 1 slots have 2560 each");
}

TEST(GenerationDescription, RefusesInputsOfEncodersThatItCannotConvert) {
  const auto refusal = [](const std::string& kind, const std::string& key, const auto& change) {
    const generate::GenerationSizes sizes = {36, 3, {}, kind == "t5" ? 40 : 0};
    const json all = parse_json(generation_model(kind, sizes)->opaque.at(generate::kGeneration));
    const auto name = all.at("encoder").at(key).get<std::string>();
    return refusal_with_program(
        kind, sizes, [&](program::Program& p) { change(p.inputs[anchor_of(p.inputs, name)]); });
  };
  const auto to_unsigned = [](program::Anchor& a) {
    a.dtype = dtype_bits(a.dtype) == 64   ? DType::u64
              : dtype_bits(a.dtype) == 32 ? DType::u32
                                          : DType::u8;
  };
  const std::string blob_name = "blob 'poprt.generation': ";
  EXPECT_EQ(refusal("t5", "input_ids", to_unsigned),
            blob_name + "'encoder/input_ids' is u64[1,40], expected 40 elements");
  EXPECT_EQ(refusal("t5", "attention_mask", to_unsigned),
            blob_name + "'encoder/attention_mask' is u64[1,40], expected 40 elements");
  EXPECT_EQ(refusal("t5", "memory_mask", to_unsigned),
            blob_name + "'encoder_attention_mask' is u64[3,40], expected 120 elements");
  EXPECT_EQ(refusal("whisper", "features", to_unsigned),
            blob_name + "'encoder/input_features' is u32[1,6,48], expected 1 elements");
  EXPECT_EQ(refusal("whisper", "features",
                    [](program::Anchor& a) { std::swap(a.shape.at(0), a.shape.at(1)); }),
            blob_name + "'encoder/input_features' has the shape [6,1,48]");
}

TEST(GenerationDescription, RefusalsOfEncodersNameTheirReason) {
  const json whole =
      parse_json(generation_model("t5", {36, 3, {}, 40})->opaque.at(generate::kGeneration));
  const auto refusal = [](const json& changed) {
    runtime::Model model = *generation_model("t5", {36, 3, {}, 40});
    model.opaque[generate::kGeneration] = json_text(changed);
    try {
      generate::read_description(model);
    } catch (const Error& e) {
      return e.message().substr(std::string_view("blob 'poprt.generation': ").size());
    }
    return std::string("taken");
  };
  json changed = whole;
  changed["encoder"] = 3;
  EXPECT_EQ(refusal(changed), "'encoder' is not an object");
  const std::string key = "past_key_values.0.encoder.key", now = "present.0.encoder.key";
  const std::tuple<const char*, json, const char*> cases[] = {
      {"lengths", {40, 32}, "'encoder' has wrong inputs, lengths or places"},
      {"cross", json::array(), "'cross' is not a list"},
      {"cross", json::object({{"a", 1}}), "'cross' is not a list"},
      {"cross", {key}, "an entry of 'cross' is not [past, present]"},
      {"cross", json::array({json::array({key})}), "an entry of 'cross' is not [past, present]"},
      {"cross", json::array({json::array({key, now, 1})}),
       "an entry of 'cross' is not [past, present]"},
      {"cross", json::array({json::array({key, "logits"})}),
       "'past_key_values.0.encoder.key' [3,4,40,4] and 'logits' [3,1,53] are not keys of "
       "cross-attention"},
      {"cross", json::array({json::array({key, now}), json::array({key, now})}),
       "'past_key_values.0.encoder.key' [3,4,40,4] and 'present.0.encoder.key' [1,4,40,4] are not "
       "keys of cross-attention"},
      {"cross", json::array({json::array({key, now})}), "the program has 9 outputs for 4 caches"},
      {"attention_mask", whole.at("encoder").at("input_ids"), "an input has two meanings"},
      {"input_ids", "input_ids", "'input_ids' is s64[3,1], expected 40 elements"},
  };
  for (const auto& [name, value, wanted] : cases) {
    changed = whole;
    changed["encoder"][name] = value;
    EXPECT_EQ(refusal(changed), wanted) << name << " " << value.dump();
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
  EXPECT_EQ(with_settings("start_tokens", json::array()), ErrorCode::ok) << "the caller gives them";
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
