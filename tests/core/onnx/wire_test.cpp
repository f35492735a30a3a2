// Damaged models: for any bytes, import returns a graph or throws an Error, and a graph can be
// written and read again.
#include "onnx/wire.h"

#include <random>

#include "ir/verifier.h"
#include "onnx/export.h"
#include "support.h"
#include "support/recorded_lines.h"

namespace poprt::onnx {
namespace {

// A model with initializers, sparse and external tensors, a subgraph, a function, strings and
// attributes.
std::string victim() {
  pb::ModelProto model = base_model();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  pb::GraphProto& g = *model.mutable_graph();
  add_input(g, "x", {2, 2});
  add_output(g, "y", {2, 2});
  auto* w = g.add_initializer();
  w->set_name("w");
  w->set_data_type(1);
  w->add_dims(2);
  w->add_dims(2);
  w->set_raw_data(std::string(16, '\x3f'));
  auto* i = g.add_initializer();
  i->set_name("i");
  i->set_data_type(22);
  i->add_dims(3);
  i->add_int32_data(0x21);
  i->add_int32_data(0x03);
  auto* s = g.add_sparse_initializer();
  s->add_dims(4);
  s->mutable_values()->set_name("s");
  s->mutable_values()->set_data_type(1);
  s->mutable_values()->add_dims(1);
  s->mutable_values()->add_float_data(1);
  s->mutable_indices()->set_data_type(7);
  s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(2);
  auto& conv = add_node(g, "Conv", {"x", "w", ""}, {"a", ""}, "conv");
  auto& pads = add_attribute(conv, "pads", pb::AttributeProto::INTS);
  for (int p = 0; p < 4; p++) pads.add_ints(p);
  add_attribute(conv, "auto_pad", pb::AttributeProto::STRING).set_s("VALID");
  auto& branch = add_node(g, "If", {"a"}, {"b"});
  auto& body = *add_attribute(branch, "then_branch", pb::AttributeProto::GRAPH).mutable_g();
  body.set_name("body");
  add_node(body, "Relu", {"a"}, {"r"});
  add_output(body, "r");
  auto& call = add_node(g, "F", {"b"}, {"y"}, "call");
  call.set_domain("local");
  add_attribute(call, "slope", pb::AttributeProto::FLOAT).set_f(1);
  auto* f = model.add_functions();
  f->set_name("F");
  f->set_domain("local");
  f->add_input("p");
  f->add_output("q");
  auto* own = f->add_opset_import();
  own->set_domain("");
  own->set_version(17);
  auto& leaky = add_node(*f, "LeakyRelu", {"p"}, {"q"});
  add_attribute(leaky, "alpha", pb::AttributeProto::FLOAT).set_ref_attr_name("slope");
  add_value(g.mutable_value_info(), "a", {2, 2});
  return model.SerializeAsString();
}

// Only Error may be thrown. Returns whether there is a graph.
bool survives(const std::string& bytes) {
  std::unique_ptr<ir::Graph> g;
  try {
    g = import_bytes(bytes_of(bytes));
  } catch (const Error&) {
    return false;
  }
  EXPECT_NO_THROW(ir::verify(*g));
  const std::string again = export_bytes(*g);
  EXPECT_EQ(difference(*g, *import_bytes(bytes_of(again))), "");
  return true;
}

TEST(Hostile, VictimIsFine) { EXPECT_TRUE(survives(victim())); }

TEST(Hostile, TruncationAtEveryOffset) {
  const std::string whole = victim();
  for (size_t n = 0; n < whole.size(); n++) {
    SCOPED_TRACE(n);
    survives(whole.substr(0, n));
  }
}

TEST(Hostile, EveryByteChanged) {
  const std::string whole = victim();
  for (size_t n = 0; n < whole.size(); n++)
    for (const int x : {0x01, 0x80, 0xff, 0x08}) {
      SCOPED_TRACE(fmt::format("byte {} xor {}", n, x));
      std::string bytes = whole;
      bytes[n] = static_cast<char>(bytes[n] ^ x);
      survives(bytes);
    }
}

// A lost check, or a check that refuses a valid model, changes a count.
TEST(Hostile, RecordedAnswersToEveryByteChanged) {
  const std::string whole = victim();
  test::MessageCounts expected;
  for (size_t n = 0; n < whole.size(); n++)
    for (const int x : {0x01, 0x02, 0x04, 0x10, 0x20, 0x80}) {
      std::string bytes = whole;
      bytes[n] = static_cast<char>(bytes[n] ^ x);
      try {
        const auto graph = import_bytes(bytes_of(bytes));
        expected.add(
            fmt::format("taken: {} nodes, {} values", graph->node_count(), graph->values().size()));
      } catch (const Error& e) {
        expected.add(e.message());
      }
    }
  test::RecordedLines found;
  expected.write(found["import"]);
  test::expect_recorded(found, POPRT_TEST_DATA "/import_refusals.txt",
                        "Errors of the import of damaged models: wire_test.cpp.");
}

TEST(Hostile, RandomMutations) {
  std::mt19937 random(20240607);
  const std::string whole = victim();
  auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (int round = 0; round < 4000; round++) {
    SCOPED_TRACE(round);
    std::string bytes = whole;
    for (size_t edits = 1 + pick(4); edits > 0 && bytes.size() > 2; edits--) {
      const size_t at = pick(bytes.size());
      switch (pick(4)) {
        case 0: bytes[at] = static_cast<char>(pick(256)); break;
        case 1: bytes.erase(at, 1 + pick(8)); break;
        case 2: bytes.insert(at, bytes.substr(pick(bytes.size()), 1 + pick(16))); break;
        default: bytes.insert(at, 1 + pick(3), static_cast<char>(pick(256)));
      }
    }
    survives(bytes);
  }
}

TEST(Hostile, EndlessNumbersAndGroups) {
  const std::string whole = victim();
  survives(std::string(100, '\x80'));
  survives(whole + std::string(20, '\xff'));
  survives(std::string("\x08\x08", 2) + std::string(100000, '\x0b'));
  survives(std::string("\x08\x08\x3a\xff\xff\xff\xff\x0f", 8));
  survives(std::string("\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12));
  // Groups inside of the graph message.
  survives(std::string("\x08\x08\x3a\x90\x4e", 5) + std::string(10000, '\x0b'));
}

std::string message_of_import(const std::string& bytes) {
  pb::ModelProto model;
  try {
    parse_message(bytes_of(bytes), kModelTags, "ONNX model", model);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "taken";
}

// The positions were counted by hand: 08 08 is ir_version, 12 a string, 3a a message.
TEST(Wire, ErrorsStateTheByteOffset) {
  const std::string head("\x08\x08", 2);
  const std::string at2 = "data_loss: the ONNX model is truncated or damaged at byte 2: ";
  const std::string no = "invalid_argument: not an ONNX model: ";
  const std::pair<std::string, std::string> cases[] = {
      {"", no + "it is empty"},
      {head, "taken"},
      {head + "\x12\x02"
              "ab",
       "taken"},
      {head + "\x12\x03"
              "ab",
       at2 + "field 2 needs 3 bytes, 2 are left"},
      {head + "\x12", at2 + "a length does not end"},
      {head + "\x12\x80", at2 + "a length does not end"},
      {head + "\x08", at2 + "a number does not end"},
      {head + "\x08" + std::string(9, '\x80') + "\x01", "taken"},
      {head + "\x08" + std::string(10, '\x80') + "\x01", at2 + "a number does not end"},
      {head + "\x09"
              "1234567",
       at2 + "field 1 needs 8 bytes, 7 are left"},
      {head + "\x0d"
              "123",
       at2 + "field 1 needs 4 bytes, 3 are left"},
      {head + "\x0b", at2 + "a protobuf group, which ONNX does not use"},
      {head + "\x0c", at2 + "a protobuf group, which ONNX does not use"},
      {head + "\x0f", at2 + "a protobuf group, which ONNX does not use"},
      {head + std::string(1, '\0'), at2 + "no protobuf field starts here"},
      {head + "\x07", at2 + "no protobuf field starts here"},
      {head + "\xff", at2 + "no protobuf field starts here"},
      {head + std::string("\x80\x80\x80\x80\x10", 5), at2 + "no protobuf field starts here"},
      {head + head + std::string(1, '\0'),
       "data_loss: the ONNX model is truncated or damaged at byte 4: no protobuf field starts "
       "here"},
      {head + "\x3a\x01\xff",
       "data_loss: the ONNX model is truncated or damaged: a nested message does not parse (or is "
       "nested deeper than 200)"},
      {std::string(1, '\0'), no + "no protobuf field starts here"},
      {"\x0b", no + "it starts with protobuf field 1"},
      {"Hello", no + "it starts with protobuf field 9"},
      {std::string("\x7a\x01", 2) + "a" + head, no + "it starts with protobuf field 15"},
      {"\x08",
       "data_loss: the ONNX model is truncated or damaged at byte 0: a number does not end"},
  };
  for (const auto& [bytes, expected] : cases)
    EXPECT_EQ(message_of_import(bytes), expected) << testing::PrintToString(bytes);
  // An unknown field may follow a known one.
  EXPECT_EQ(message_of_import(head + "\x7a\x01"
                                     "a"),
            "taken");
  EXPECT_EQ(message_of_import(head + "\xf9\x07"
                                     "12345678"),
            "taken")
      << "eight bytes";
  EXPECT_EQ(message_of_import(head + "\xfd\x07"
                                     "1234"),
            "taken")
      << "four bytes";
}

// protobuf returns no bytes beyond its limit, which is 2 GiB unless a test sets it.
TEST(Wire, MessagesBeyondTheLimitAreAnError) {
  const pb::ModelProto model = relu_model();
  const std::string bytes = model.SerializeAsString();
  EXPECT_EQ(serialize_message(model, "it"), bytes);
  EXPECT_EQ(serialize_message(model, "it", bytes.size()), bytes);
  expect_error(ErrorCode::resource_exhausted,
               {fmt::format("it needs {} bytes and protobuf writes {} at most", bytes.size(),
                            bytes.size() - 1)},
               [&] { serialize_message(model, "it", bytes.size() - 1); });
}

}  // namespace
}  // namespace poprt::onnx
