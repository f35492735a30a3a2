#include "onnx/split_model.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/error.h"
#include "onnx/import.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

std::span<const std::byte> span_of(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string random_text(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

void set_floats(pb::TensorProto& t, const std::string& name, size_t bytes, uint32_t seed) {
  t.set_name(name);
  t.set_data_type(pb::TensorProto::FLOAT);
  t.add_dims(static_cast<int64_t>(bytes / 4));
  t.set_raw_data(random_text(bytes, seed));
}

// Initializers "small" and "w", and a node Constant with the value "c".
pb::ModelProto sample() {
  pb::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  pb::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  set_floats(*graph.add_initializer(), "small", 4 * 10, 1);
  set_floats(*graph.add_initializer(), "w", kLeastCutBytes, 2);
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type("Constant");
  node.add_output("c");
  pb::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(pb::AttributeProto::TENSOR);
  set_floats(*value.mutable_t(), "", 9001 * 4, 3);
  for (const char* name : {"small", "w", "c"}) {
    pb::NodeProto& copy = *graph.add_node();
    copy.set_op_type("Identity");
    copy.add_input(name);
    copy.add_output(std::string("of_") + name);
    graph.add_output()->set_name(copy.output(0));
  }
  return model;
}

ReadModel reader_of(const std::string& bytes) {
  return [&bytes](uint64_t offset, std::span<std::byte> to) {
    std::ranges::copy(span_of(bytes).subspan(offset, to.size()), to.begin());
  };
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A message in a field of another message.
std::string field_with(int number, const std::string& content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (size_t size = content.size();; size >>= 7) {
    out += static_cast<char>(size >= 0x80 ? size | 0x80 : size);
    if (size < 0x80) break;
  }
  return out + content;
}

TEST(SplitModel, CutsLargeRawDataAndNothingElse) {
  const std::string bytes = sample().SerializeAsString();
  const auto split = split_model(span_of(bytes));
  ASSERT_TRUE(split);
  ASSERT_EQ(split->cuts.size(), 2u);
  pb::ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(split->rest));
  pb::ModelProto expected = sample();
  expected.mutable_graph()->mutable_initializer(1)->clear_raw_data();
  expected.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t()->clear_raw_data();
  EXPECT_EQ(rest.SerializeAsString(), expected.SerializeAsString());

  const pb::GraphProto& graph = rest.graph();
  EXPECT_EQ(&SplitModel::tensor_of(split->cuts[0], rest), &graph.node(0).attribute(0).t());
  EXPECT_EQ(&SplitModel::tensor_of(split->cuts[1], rest), &graph.initializer(1));
  const auto data = read_cuts(split->cuts, reader_of(bytes));
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(text_of(data[0].bytes), random_text(9001 * 4, 3));
  EXPECT_EQ(text_of(data[1].bytes), random_text(kLeastCutBytes, 2));
  for (const CutData& d : data) EXPECT_EQ(reinterpret_cast<uintptr_t>(d.bytes.data()) % 64, 0u);
}

// The cuts of one block keep it alive.
TEST(SplitModel, ReadsManyBlocksOnSeveralThreads) {
  const std::string bytes = random_text(size_t{80} << 20, 4);
  std::vector<SplitModel::Cut> cuts;
  uint64_t at = 1;
  for (const uint64_t size : {uint64_t{40} << 20, uint64_t{5000}, uint64_t{31} << 20,
                              uint64_t{4097}, uint64_t{6} << 20}) {
    cuts.push_back({.initializer = 0, .offset = at, .bytes = size});
    at += size + 7;
  }
  auto data = read_cuts(cuts, reader_of(bytes));
  ASSERT_EQ(data.size(), cuts.size());
  const CutData kept = data[3];
  data.erase(data.begin() + 1, data.end());
  EXPECT_TRUE(std::ranges::equal(data[0].bytes, span_of(bytes).subspan(1, cuts[0].bytes)));
  EXPECT_TRUE(std::ranges::equal(kept.bytes, span_of(bytes).subspan(cuts[3].offset, 4097)));
  EXPECT_THROW(
      read_cuts(cuts, [](uint64_t, std::span<std::byte>) { fail(ErrorCode::data_loss, "gone"); }),
      Error);
}

TEST(SplitModel, LeavesModelsOfAnotherFormAlone) {
  const std::string bytes = sample().SerializeAsString();
  const auto splits = [](const std::string& b) { return split_model(span_of(b)).has_value(); };
  EXPECT_TRUE(splits(bytes));
  EXPECT_FALSE(splits(""));
  EXPECT_FALSE(splits(bytes + bytes)) << "protobuf merges two graphs";
  const std::string tensor = sample().graph().initializer(1).SerializeAsString();
  EXPECT_TRUE(splits(field_with(7, field_with(5, tensor))));
  EXPECT_FALSE(splits(field_with(7, field_with(5, tensor + tensor)))) << "the data twice";
  const std::string node = field_with(5, field_with(5, tensor) + field_with(5, tensor));
  EXPECT_TRUE(splits(field_with(7, field_with(1, field_with(5, field_with(5, tensor))))));
  EXPECT_FALSE(splits(field_with(7, field_with(1, node)))) << "the tensor of an attribute twice";
  EXPECT_FALSE(splits(field_with(7, field_with(5, tensor) + "\x0b\x0c"))) << "a group";

  pb::ModelProto mostly_small = sample();
  mostly_small.set_doc_string(std::string(100'000, 'd'));
  EXPECT_FALSE(splits(mostly_small.SerializeAsString()));
  // A truncated model is never split, so protobuf reports it.
  for (size_t size = 0; size < bytes.size(); size += size < 400 ? 1 : 997) {
    const auto split = split_model(span_of(bytes).first(size));
    pb::ModelProto whole;
    EXPECT_TRUE(!split || whole.ParseFromString(bytes.substr(0, size))) << size;
  }
}

// Each changed byte gives the same graph or the same error with and without the split.
TEST(SplitModel, ImportsChangedModelsLikeProtobuf) {
  const std::string bytes = sample().SerializeAsString();
  const auto bytes_of_input = [](const ir::Value& v) -> std::string {
    if (!v.producer() || v.producer()->inputs().empty()) return "";
    const ir::Value* from = v.producer()->input(0);
    if (!from || !from->is_constant() || from->dtype() == DType::string) return "";
    const Tensor& t = from->constant();
    return text_of({static_cast<const std::byte*>(t.data()), t.bytes()});
  };
  const auto imported = [&](const std::string& b) -> std::string {
    try {
      std::string text;
      const auto graph = import_bytes(span_of(b));
      for (const ir::Value* v : graph->outputs()) text += v->name() + bytes_of_input(*v);
      return text;
    } catch (const Error& e) {
      return e.message();
    }
  };
  // With a long text the model is not split, because most of it is then not raw data.
  const std::string padding = "\x32" + std::string("\x80\x80\x08", 3) + std::string(131072, 'd');
  std::mt19937 random(9);
  int errors = 0;
  for (int i = 0; i < 3000; i++) {
    std::string changed = bytes;
    const size_t at = random() % 3 ? random() % 120 : random() % changed.size();
    changed[at] = static_cast<char>(random());
    const auto whole = imported(changed + padding), parts = imported(changed);
    errors += !whole.starts_with("of_");
    // Messages about damage contain positions, which depend on the size.
    if (whole.find("at byte") != whole.npos) continue;
    EXPECT_EQ(parts, whole) << at;
  }
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace poprt::onnx
