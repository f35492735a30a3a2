// Generators of the Triton backend in a small server (host.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "served.h"

namespace {

using namespace host;

// Texts of tests/data/generation/make.py.
Json reference_texts() {
  std::ifstream file(GENERATION "/expected.json");
  return Json::parse(file)["genai"];
}

template <class T>
TRITONBACKEND_Input input_of(const char* name, TRITONSERVER_DataType type,
                             const std::vector<T>& values) {
  TRITONBACKEND_Input input;
  input.name = name;
  input.type = type;
  input.shape = {static_cast<int64_t>(values.size())};
  input.buffers = {bytes_of(values.data(), values.size() * sizeof(T))};
  return input;
}

std::unique_ptr<TRITONBACKEND_Request> text_request(const std::vector<int64_t>& prompt,
                                                    int64_t max_new_tokens) {
  auto request = std::make_unique<TRITONBACKEND_Request>();
  request->inputs = {
      input_of("input_ids", TRITONSERVER_TYPE_INT64, prompt),
      input_of("max_new_tokens", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{max_new_tokens}),
      input_of("ignore_stop", TRITONSERVER_TYPE_BOOL, std::vector<uint8_t>{1})};
  request->wanted = {"token_ids", "log_probabilities"};
  return request;
}

template <class T>
std::vector<T> values_of(const TRITONBACKEND_Output& output) {
  std::vector<T> values(output.bytes.size() / sizeof(T));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

std::vector<int64_t> tokens_of(const TRITONBACKEND_Request& request) {
  std::vector<int64_t> tokens;
  for (const auto& response : request.responses)
    for (const int64_t token : values_of<int64_t>(response.at("token_ids")))
      tokens.push_back(token);
  return tokens;
}

std::vector<int64_t> first_tokens(const Json& text, size_t count) {
  auto tokens = text["tokens"].get<std::vector<int64_t>>();
  tokens.resize(count);
  return tokens;
}

void execute(Served& served, TRITONBACKEND_Request& request) {
  TRITONBACKEND_Request* one = &request;
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), &one, 1)), "");
}

TEST(TritonGenerator, ConfigurationIsDecoupled) {
  Served served("text.popef");
  ASSERT_EQ(served.load(), "");
  const Json config = served.config();
  EXPECT_EQ(config["model_transaction_policy"], Json({{"decoupled", true}}));
  EXPECT_FALSE(config.contains("dynamic_batching"));
  EXPECT_EQ(config["input"][0],
            Json({{"name", "input_ids"}, {"data_type", "TYPE_INT64"}, {"dims", {-1}}}));
  for (size_t i = 1; i < config["input"].size(); i++)
    EXPECT_EQ(config["input"][i]["optional"], true);
  EXPECT_EQ(config["output"][1]["data_type"], "TYPE_FP32");
}

TEST(TritonGenerator, ConfigurationsThatContradictAreRefused) {
  Served batched("text.popef", {{"max_batch_size", 2}});
  EXPECT_EQ(batched.load(),
            "max_batch_size is 2; expected 0, because each request to a generator is one text");
  Served devices("text.popef", parameter("devices", "0"));
  EXPECT_EQ(devices.load(),
            "only parameter 'threads' has an effect on a generator; remove the others");
  const Json tokens = {{"name", "input_ids"}, {"data_type", "TYPE_INT32"}, {"dims", {-1}}};
  Served type("text.popef", {{"input", Json::array({tokens})}});
  EXPECT_EQ(type.load(),
            "the configuration has input 'input_ids' with data_type TYPE_INT32; the model has "
            "TYPE_INT64");
  Served named("text.popef", {{"default_model_filename", "model.poprt"}});
  fs::rename(named.folder() / "executable.popef", named.folder() / "model.poprt");
  EXPECT_NE(named.load().find("must have the ending .popef"), std::string::npos);
  Served gpu("text.popef");
  ASSERT_EQ(gpu.load(), "");
  EXPECT_NE(gpu.add_instance(TRITONSERVER_INSTANCEGROUPKIND_GPU).find("KIND_GPU"),
            std::string::npos);
}

TEST(TritonGenerator, OfFeaturesIsRefused) {
  Served served(nullptr);
  poprt_generator* generator = nullptr;
  succeed(poprt_generator_create(GENERATION "/whisper_genai", nullptr, &generator));
  succeed(poprt_generator_save(generator, (served.folder() / "audio.popef").string().c_str()));
  poprt_generator_free(generator);
  ASSERT_EQ(served.load(), "");
  EXPECT_TRUE(served.add_instance().starts_with("the encoder of the model takes features"));
}

TEST(TritonGenerator, EachTokenIsAResponse) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  for (const Json& text : reference_texts()) {
    const auto request = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->error, "");
    EXPECT_EQ(request->responses.size(), 8);
    EXPECT_EQ(request->ends, 1);
    EXPECT_EQ(tokens_of(*request), first_tokens(text, 8));
    for (size_t i = 0; i < 8; i++)
      EXPECT_NEAR(values_of<float>(request->responses[i].at("log_probabilities")).at(0),
                  text["log_probabilities"][i].get<double>(), 1e-3);
  }
  EXPECT_EQ(served.instance().succeeded, static_cast<int>(reference_texts().size()));
}

TEST(TritonGenerator, WithoutDecouplingATextIsOneResponse) {
  Served served("text.popef", {{"model_transaction_policy", {{"decoupled", false}}}});
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto request = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
  request->wanted = {"token_ids"};
  served.run(request);
  EXPECT_EQ(request->ends, 1);
  EXPECT_EQ(tokens_of(*request), first_tokens(text, 8));
  EXPECT_EQ(request->responses[0].size(), 1);
}

TEST(TritonGenerator, ManyTextsShareTheSlots) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json texts = reference_texts();
  std::vector<std::unique_ptr<TRITONBACKEND_Request>> requests;
  std::vector<TRITONBACKEND_Request*> all;
  for (size_t i = 0; i < 40; i++) {
    requests.push_back(
        text_request(texts[i % texts.size()]["prompt"].get<std::vector<int64_t>>(), 8));
    all.push_back(requests.back().get());
  }
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), all.data(), 40)), "");
  for (size_t i = 0; i < 40; i++) {
    all[i]->wait_released();
    EXPECT_EQ(tokens_of(*all[i]), first_tokens(texts[i % texts.size()], 8));
    EXPECT_EQ(all[i]->ends, 1);
  }
}

TEST(TritonGenerator, OptionsOfSampling) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto prompt = text["prompt"].get<std::vector<int64_t>>();
  const auto tokens = [&](int64_t seed, float temperature, int64_t stop) {
    const auto request = text_request(prompt, 12);
    request->inputs.push_back(
        input_of("seed", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{seed}));
    request->inputs.push_back(
        input_of("temperature", TRITONSERVER_TYPE_FP32, std::vector<float>{temperature}));
    if (stop >= 0)
      request->inputs.push_back(
          input_of("stop_token_ids", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{stop}));
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->error, "");
    return tokens_of(*request);
  };
  EXPECT_EQ(tokens(1, 2, -1), tokens(1, 2, -1));
  EXPECT_NE(tokens(1, 2, -1), tokens(2, 2, -1));
  EXPECT_EQ(tokens(1, 0, text["tokens"][2].get<int64_t>()), first_tokens(text, 3));
}

// The generate endpoint of the server passes fields that are no inputs as parameters.
TEST(TritonGenerator, ParametersOfARequestAreOptions) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto run = [&](const auto& parameters) {
    auto request = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
    request->parameters = parameters;
    execute(served, *request);
    request->wait_released();
    return request;
  };
  using Values = decltype(TRITONBACKEND_Request::parameters);
  const auto warm = [&](int64_t seed) {
    return tokens_of(*run(Values{{"temperature", 2.0}, {"seed", seed}}));
  };
  EXPECT_EQ(warm(1), warm(1));
  EXPECT_NE(warm(1), warm(2));
  EXPECT_EQ(run(Values{{"temperature", std::string("2")}})->error,
            "parameter 'temperature' is a text; expected a number");
  EXPECT_EQ(run(Values{{"max_new_tokens", int64_t{3}}})->error,
            "'max_new_tokens' is given as an input and as a parameter");
  host::take_log();
  for (int i = 0; i < 2; i++) EXPECT_EQ(run(Values{{"heat", 2.0}})->error, "");
  EXPECT_EQ(host::take_log(),
            "poprt: parameter 'heat' of a request has no effect; known are the names of the inputs "
            "that are numbers\n");
}

TEST(TritonGenerator, ATextWhoseFirstTokenIsLateIsAnError) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto late = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
  late->timeout_us = 1;
  execute(served, *late);
  late->wait_released();
  EXPECT_EQ(late->code, TRITONSERVER_ERROR_UNAVAILABLE);
  EXPECT_EQ(late->error, "the request waited longer than its timeout for its first token");
  EXPECT_EQ(late->ends, 1);
  const auto patient = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
  patient->timeout_us = 60'000'000;
  execute(served, *patient);
  patient->wait_released();
  EXPECT_EQ(tokens_of(*patient), first_tokens(text, 8));
}

TEST(TritonGenerator, HostileRequestsAreRefused) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const auto refusal = [&](const std::unique_ptr<TRITONBACKEND_Request>& request) {
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->ends, 1);
    EXPECT_EQ(request->code, TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_TRUE(request->responses.empty());
    return request->error;
  };
  EXPECT_NE(refusal(text_request({}, 8)).find("empty"), std::string::npos);
  EXPECT_NE(refusal(text_request({53}, 8)).find("token 53"), std::string::npos);
  EXPECT_NE(refusal(text_request({-1}, 8)).find("token -1"), std::string::npos);
  EXPECT_NE(refusal(text_request(std::vector<int64_t>(1000, 1), 8)).find("1000 tokens"),
            std::string::npos);
  EXPECT_NE(refusal(text_request({1}, -1)).find("max_new_tokens"), std::string::npos);
  auto request = text_request({1}, 8);
  request->inputs.erase(request->inputs.begin());
  EXPECT_EQ(refusal(request), "input 'input_ids' is missing");
  request = text_request({1}, 8);
  request->inputs[1].buffers[0].resize(4);
  EXPECT_EQ(refusal(request), "input 'max_new_tokens' has 4 bytes; expected 8");
  request = text_request({1}, 8);
  request->inputs[1].shape = {0};
  request->inputs[1].buffers.clear();
  EXPECT_NE(refusal(request).find("'max_new_tokens' has shape [0]"), std::string::npos);
  request = text_request({1}, 8);
  request->wanted.push_back("text");
  EXPECT_EQ(refusal(request), "the model has no output 'text'");
  request = text_request({1}, 8);
  request->refuse_response = true;
  execute(served, *request);
  request->wait_released();
  EXPECT_EQ(request->sent, 0);
}

TEST(TritonGenerator, ACancelledTextEnds) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const auto early = text_request({7}, 60);
  early->cancelled = true;
  execute(served, *early);
  early->wait_released();
  EXPECT_EQ(early->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_TRUE(early->responses.empty());
  // The client cancels at its first token.
  const auto late = text_request({7}, 60);
  late->cancel_when_sent = true;
  execute(served, *late);
  late->wait_released();
  EXPECT_EQ(late->error, "the client cancelled the request");
  EXPECT_EQ(late->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(late->ends, 1);
  EXPECT_EQ(late->responses.size(), 1);
}

TEST(TritonGenerator, UnloadingEndsTexts) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  for (int i = 0; i < 20; i++) {
    const auto text = text_request({7}, 60);
    execute(served, *text);
    served.remove_instances();
    EXPECT_EQ(text->released, 1);
    EXPECT_EQ(text->ends, 1);
    EXPECT_TRUE(text->error.empty() || text->code == TRITONSERVER_ERROR_CANCELLED) << text->error;
    ASSERT_EQ(served.add_instance(), "");
  }
}

}  // namespace
