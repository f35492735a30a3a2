#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(Specialize, TextIsComputedAtCompileTime) {
  const std::string body = R"(
    input %x : f32[2]
    const %a : string[2] = ["one", "two"]
    const %b : string[] = "!"
    %t : ? = StringConcat(%a, %b)
    %same : ? = Equal(%t, %a)
    %y : ? = Neg(%x)
    output %t
    output %same
    output %y
  )";
  EXPECT_EQ(code_of(body), ErrorCode::unimplemented);
  Options options;
  Values text;
  options.constant_outputs = &text;
  const Executable e = test::compile_text(graph_text(body, 20), options);
  EXPECT_EQ(text.at("t").string_values(), (std::vector<std::string>{"one!", "two!"}));
  EXPECT_EQ(e.program.outputs.size(), 2u);
}

}  // namespace
}  // namespace poprt::compiler
