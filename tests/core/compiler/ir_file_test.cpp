#include "compiler/ir_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "ir/text.h"

namespace poprt::compiler {
namespace {

constexpr const char* kText = R"(graph "main" opset {"": 17} {
  input %x : f32[2,?]
  input %c : bool[]
  const %k : s64[2] = [2, -1]
  const %many : u8[65] = fill 1
  %r = Reshape(%x, %k) {allowzero = 1}
  %y : f32[2] = Clip(%r, _, _) "cut"
  %z : ? = If(%c) {else_branch = graph "e" { %n : ? = Abs(%r) output %n }, then_branch = graph "t" { %m : ? = Exp(%r) output %m }}
  output %y
  output %z
}
)";

std::string written(const std::string& name, int graphs) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("{}.{}", getpid(), name);
  {
    IrFile file(path);
    for (int i = 0; i < graphs; i++) file.add(*ir::parse_text(kText));
    EXPECT_FALSE(std::filesystem::exists(path)) << "before write()";
    file.write();
  }
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

const std::string kGraphText = R"({"name": "main",
 "inputs": [
  {"name":"x","dtype":"f32","shape":[2,-1]},
  {"name":"c","dtype":"bool","shape":[]}],
 "outputs": [
  "y",
  "z"],
 "constants": [
  {"name":"k","dtype":"s64","shape":[2],"values":["2","-1"]},
  {"name":"many","dtype":"u8","shape":[65]}],
 "nodes": [
  {"name":"","op_type":"Reshape","domain":"","inputs":["x","k"],"outputs":[{"name":"r","dtype":"undefined","shape":null}],"attributes":{"allowzero":1}},
  {"name":"cut","op_type":"Clip","domain":"","inputs":["r",null,null],"outputs":[{"name":"y","dtype":"f32","shape":[2]}],"attributes":{}},
  {"name":"","op_type":"If","domain":"","inputs":["c"],"outputs":[{"name":"z","dtype":"undefined","shape":null}],"attributes":{"else_branch":{"name":"e","inputs":[],"outputs":["n"],"constants":[],"nodes":[{"name":"","op_type":"Abs","domain":"","inputs":["r"],"outputs":[{"name":"n","dtype":"undefined","shape":null}],"attributes":{}}]},"then_branch":{"name":"t","inputs":[],"outputs":["m"],"constants":[],"nodes":[{"name":"","op_type":"Exp","domain":"","inputs":["r"],"outputs":[{"name":"m","dtype":"undefined","shape":null}],"attributes":{}}]}}}]})";

const std::string kOperators = R"("main": [
  {"type":"Reshape","name":"","inputs":["x","k"],"outputs":["r"]},
  {"type":"Clip","name":"cut","inputs":["r",null,null],"outputs":["y"]},
  {"type":"If","name":"","inputs":["c"],"outputs":["z"]}])";

TEST(IrFile, JsonHasTheContentsOfTheGraph) {
  EXPECT_EQ(written("ir.json", 1), "{\"format\": \"poprt ir 1\",\n\"graphs\": [\n" + kGraphText +
                                       "\n],\n" + kOperators + "}\n");
  EXPECT_EQ(written("ir.json", 2), "{\"format\": \"poprt ir 1\",\n\"graphs\": [\n" + kGraphText +
                                       ",\n" + kGraphText + "\n],\n" + kOperators + "}\n");
}

TEST(IrFile, OtherNamesHaveTheTextForm) {
  const std::string text = written("ir.txt", 2);
  const auto graph = ir::parse_text(kText);
  ir::TextOptions options;
  options.large = ir::TextOptions::Large::elide;
  EXPECT_EQ(text, ir::to_text(*graph, options) + ir::to_text(*graph, options));
}

TEST(IrFile, AFolderThatIsMissingIsAnErrorAtOnce) {
  EXPECT_THROW(IrFile("/nonexistent/folder/ir.json"), Error);
}

}  // namespace
}  // namespace poprt::compiler
