#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "poprt/poprt.hpp"

namespace {

using namespace poprt;

std::string identity() {
  std::ifstream file(DATA "/identity.onnx", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(CppPasses, ArgumentsAndCallbacksReachTheirPass) {
  std::vector<std::string> done;
  std::string message;
  passes::ApplyOptions options;
  options.afterPass = [&](const compiler::PassReport& r) { done.push_back(r.pass); };
  options.text = [&](const std::string& pass, const std::string& text) {
    message = pass + ": " + text;
  };
  const std::string model = passes::applyPasses(
      identity(), {{"const_batch_size", {{"const_batch_size", "3"}}}, {"model_io_info_stat", {}}},
      options);
  EXPECT_EQ(done, (std::vector<std::string>{"const_batch_size", "model_io_info_stat"}));
  EXPECT_NE(message.find("model_io_info_stat: inputs: 1\n  1 x dtype - f32, shape - [3, "),
            std::string::npos)
      << message;
  EXPECT_EQ(compiler::Compiler::compile(model)->getPopefModel() != nullptr, true);
}

TEST(CppPasses, ForwardsExceptionsOfACallback) {
  passes::ApplyOptions options;
  options.afterPass = [](const compiler::PassReport&) { throw std::runtime_error("mine"); };
  EXPECT_THROW(passes::applyPasses(identity(), {{"sort_graph", {}}}, options), std::runtime_error);
  EXPECT_THROW(passes::applyPasses(identity(), {{"no_such_pass", {}}}), Error);
}

TEST(CppPasses, ListingAndOrder) {
  EXPECT_NE(passes::listPasses().find("\"name\": \"shape_inference\""), std::string::npos);
  EXPECT_EQ(passes::sortPasses({"sort_graph"}), std::vector<std::string>{"sort_graph"});
}

}  // namespace
