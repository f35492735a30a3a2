// Models with one field changed: each field of each message of some models is cleared, set to
// another value, removed from or added to its list. tests/data/onnx_fields.txt records by field the
// messages of the import and the sizes of the imported graphs.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>

#include "base/log.h"
#include "ir/text.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "onnx/model_hash.h"
#include "support.h"
#include "support/recorded_lines.h"

namespace poprt::onnx {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Calls `visit` with the root changed in one field, and puts the field back.
class Alterer {
 public:
  explicit Alterer(std::function<void(const std::string& field)> visit)
      : visit_(std::move(visit)) {}

  void walk(Message& m, const std::string& path, int depth = 0) {
    const auto* type = m.GetDescriptor();
    const Reflection& r = *m.GetReflection();
    for (int i = 0; i < type->field_count(); i++) {
      const FieldDescriptor& f = *type->field(i);
      const std::string name = path + "." + std::string(f.name());
      if (f.name() == "doc_string") continue;
      if (f.is_repeated())
        list(m, r, f, name, depth);
      else
        single(m, r, f, name, depth);
    }
  }

 private:
  template <class F>
  void altered(Message& m, const std::string& name, F&& change) {
    const std::unique_ptr<Message> saved(m.New());
    saved->CopyFrom(m);
    change();
    visit_(name);
    m.CopyFrom(*saved);
  }

  void list(Message& m, const Reflection& r, const FieldDescriptor& f, const std::string& name,
            int depth) {
    const int count = r.FieldSize(m, &f);
    const bool messages = f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (count > 0) altered(m, name, [&] { r.RemoveLast(&m, &f); });
    if (count > 1) {
      altered(m, name, [&] { r.ClearField(&m, &f); });
      altered(m, name, [&] { r.SwapElements(&m, &f, 0, count - 1); });
    }
    if (messages) {
      if (depth < 5) altered(m, name, [&] { r.AddMessage(&m, &f); });
      if (count > 0)
        altered(m, name, [&] {
          const std::unique_ptr<Message> last(r.GetRepeatedMessage(m, &f, count - 1).New());
          last->CopyFrom(r.GetRepeatedMessage(m, &f, count - 1));
          r.AddMessage(&m, &f)->CopyFrom(*last);
        });
      for (int i = 0; i < count && i < 12; i++)
        walk(*r.MutableRepeatedMessage(&m, &f, i), name, depth + 1);
      return;
    }
    values(f, [&](auto&& set) { altered(m, name, [&] { set(r, m, f, -1); }); });
    for (int i = 0; i < count && i < 3; i++)
      values(f, [&](auto&& set) { altered(m, name, [&] { set(r, m, f, i); }); });
  }

  void single(Message& m, const Reflection& r, const FieldDescriptor& f, const std::string& name,
              int depth) {
    const bool there = r.HasField(m, &f);
    if (there) altered(m, name, [&] { r.ClearField(&m, &f); });
    if (f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (there)
        walk(*r.MutableMessage(&m, &f), name, depth + 1);
      else if (depth < 7)
        altered(m, name, [&] { r.MutableMessage(&m, &f); });
      return;
    }
    values(f, [&](auto&& set) { altered(m, name, [&] { set(r, m, f, -2); }); });
  }

  // Calls `each` with a setter for each value that the field may get. Its argument `at` is an index
  // of a list, -1 to append to the list, or -2 for a field that is no list.
  template <class F>
  static void values(const FieldDescriptor& field, F&& each) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        for (const int64_t v : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1} << 40})
          each([v](const Reflection& r, Message& m, const FieldDescriptor& f, int at) {
            at == -2   ? r.SetInt64(&m, &f, v)
            : at == -1 ? r.AddInt64(&m, &f, v)
                       : r.SetRepeatedInt64(&m, &f, at, v);
          });
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        for (const int32_t v : {-1, 0, 1, 2, 7, 8, 10, 16, 99})
          each([v](const Reflection& r, Message& m, const FieldDescriptor& f, int at) {
            at == -2   ? r.SetInt32(&m, &f, v)
            : at == -1 ? r.AddInt32(&m, &f, v)
                       : r.SetRepeatedInt32(&m, &f, at, v);
          });
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        for (const int v : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 14})
          each([v](const Reflection& r, Message& m, const FieldDescriptor& f, int at) {
            if (f.enum_type()->FindValueByNumber(v) && at == -2) r.SetEnumValue(&m, &f, v);
          });
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        each([](const Reflection& r, Message& m, const FieldDescriptor& f, int at) {
          at == -2   ? r.SetFloat(&m, &f, 0.5F)
          : at == -1 ? r.AddFloat(&m, &f, 0.5F)
                     : r.SetRepeatedFloat(&m, &f, at, 0.5F);
        });
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        for (const char* v : {"", "x", "no such", "../x", "part.bin", "4"})
          each([v](const Reflection& r, Message& m, const FieldDescriptor& f, int at) {
            at == -2   ? r.SetString(&m, &f, v)
            : at == -1 ? r.AddString(&m, &f, v)
                       : r.SetRepeatedString(&m, &f, at, v);
          });
        break;
      default: break;
    }
  }

  std::function<void(const std::string&)> visit_;
};

void add_rich_inputs(pb::GraphProto& g) {
  add_input(g, "x", {2, 2});
  add_input(g, "c", {});
  g.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(9);
  auto* list = g.add_input();
  list->set_name("list");
  auto* element = list->mutable_type()->mutable_sequence_type()->mutable_elem_type();
  element->mutable_tensor_type()->set_elem_type(1);
  element->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("n");
  auto* maybe = g.add_input();
  maybe->set_name("maybe");
  maybe->mutable_type()->mutable_optional_type()->mutable_elem_type()->CopyFrom(*element);
  add_output(g, "y", {2, 2});
  add_output(g, "z", {2, 2});
}

pb::TensorProto* add_weights(pb::GraphProto& g, const char* name, int type,
                             const std::vector<int64_t>& dims) {
  pb::TensorProto* t = g.add_initializer();
  t->set_name(name);
  t->set_data_type(type);
  for (const int64_t d : dims) t->add_dims(d);
  return t;
}

void add_rich_weights(pb::GraphProto& g) {
  add_weights(g, "raw", 1, {2, 2})->set_raw_data(std::string(16, '\x3f'));
  auto* floats = add_weights(g, "floats", 1, {2});
  floats->add_float_data(1);
  floats->add_float_data(2);
  add_weights(g, "half", 10, {1})->add_int32_data(0x3c00);
  add_weights(g, "text", 8, {1})->add_string_data("word");
  add_weights(g, "double", 11, {1})->add_double_data(2);
  add_weights(g, "wide", 13, {1})->add_uint64_data(5);
  auto* external = add_weights(g, "outside", 1, {2});
  external->set_data_location(pb::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair{"location", "part.bin"}, {"offset", "4"}, {"length", "8"}}) {
    auto* e = external->add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  auto* sparse = g.add_sparse_initializer();
  sparse->add_dims(2);
  sparse->add_dims(2);
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(1);
  sparse->mutable_values()->add_dims(2);
  sparse->mutable_values()->add_float_data(1);
  sparse->mutable_values()->add_float_data(2);
  sparse->mutable_indices()->set_data_type(7);
  sparse->mutable_indices()->add_dims(2);
  sparse->mutable_indices()->add_int64_data(0);
  sparse->mutable_indices()->add_int64_data(3);
}

void add_rich_nodes(pb::GraphProto& g) {
  auto& constant = add_node(g, "Constant", {}, {"k"});
  auto* value = add_attribute(constant, "value", pb::AttributeProto::TENSOR).mutable_t();
  value->set_data_type(1);
  value->add_float_data(3);
  auto& branch = add_node(g, "If", {"c"}, {"b"}, "if");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& body = *add_attribute(branch, name, pb::AttributeProto::GRAPH).mutable_g();
    body.set_name(name);
    const std::string result = std::string("of_") + name;
    add_node(body, name[0] == 't' ? "Relu" : "Neg", {"x"}, {result}, "inner");
    add_output(body, result, {2, 2});
  }
  auto& pad = add_node(g, "Many", {"b", "", "raw"}, {"m", "", "unused"}, "many");
  pad.set_domain("local");
  add_attribute(pad, "ints", pb::AttributeProto::INTS).add_ints(1);
  add_attribute(pad, "words", pb::AttributeProto::STRINGS).add_strings("w");
  add_attribute(pad, "numbers", pb::AttributeProto::FLOATS).add_floats(1);
  add_attribute(pad, "word", pb::AttributeProto::STRING).set_s("w");
  add_attribute(pad, "number", pb::AttributeProto::FLOAT).set_f(2);
  add_attribute(pad, "int", pb::AttributeProto::INT).set_i(2);
  add_attribute(pad, "tensors", pb::AttributeProto::TENSORS).add_tensors()->CopyFrom(*value);
  auto& call = add_node(g, "Outer", {"m", "k"}, {"y"}, "call");
  call.set_domain("local");
  add_attribute(call, "slope", pb::AttributeProto::FLOAT).set_f(0.25F);
  add_node(g, "Add", {"y", "sparse"}, {"z"}, "sum");
  add_value(g.mutable_value_info(), "b", {2, 2});
}

void add_nested_functions(pb::ModelProto& model) {
  const auto function = [&](const char* name) {
    auto* f = model.add_functions();
    f->set_domain("local");
    f->set_name(name);
    f->add_input("p");
    f->add_input("q");
    f->add_output("out");
    for (const auto& import : model.opset_import()) f->add_opset_import()->CopyFrom(import);
    return f;
  };
  auto* outer = function("Outer");
  outer->add_attribute("slope");
  add_node(*outer, "Inner", {"p", "q"}, {"h"}, "inside").set_domain("local");
  add_attribute(add_node(*outer, "LeakyRelu", {"h"}, {"out"}, "leaky"), "alpha",
                pb::AttributeProto::FLOAT)
      .set_ref_attr_name("slope");
  auto* inner = function("Inner");
  add_node(*inner, "Mul", {"p", "q"}, {"s"}, "product");
  add_attribute(add_node(*inner, "Cast", {"s"}, {"out"}, "cast"), "to", pb::AttributeProto::INT)
      .set_i(1);
}

// Types of every kind, sparse and external tensors, functions in functions, subgraphs that capture,
// attributes of every kind.
pb::ModelProto rich_model() {
  pb::ModelProto model = base_model(17, 10);
  model.set_producer_name("p");
  model.set_producer_version("1");
  model.set_domain("d");
  model.set_model_version(3);
  auto* property = model.add_metadata_props();
  property->set_key("k");
  property->set_value("v");
  auto* local = model.add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  pb::GraphProto& g = *model.mutable_graph();
  add_rich_inputs(g);
  add_rich_weights(g);
  add_rich_nodes(g);
  add_nested_functions(model);
  return model;
}

// Inputs that are containers become nodes of our domain, which the file then imports.
void expect_comes_back(ir::Graph& graph, const std::string& what) {
  const std::string bytes = export_bytes(graph);
  const auto again = import_bytes(bytes_of(bytes));
  if (again->opsets.contains("poprt")) graph.opsets.emplace("poprt", 1);
  EXPECT_EQ(difference(graph, *again), "") << what;
}

TEST(OnnxFields, RichModelIsTaken) {
  const TemporaryDirectory folder;
  write_file(folder / "part.bin", std::string(32, '\x40'));
  const std::string bytes = rich_model().SerializeAsString();
  expect_comes_back(*import_bytes(bytes_of(bytes), folder.path()), "as it is");
}

TEST(OnnxFields, RecordedAnswersToEveryFieldChanged) {
  set_log_level("off");  // models with warnings are imported
  const TemporaryDirectory folder;
  write_file(folder / "part.bin", std::string(32, '\x40'));
  write_file(folder / "x", std::string(32, '\x41'));
  std::map<std::string, test::MessageCounts> messages;
  std::set<std::string> graphs, hashes;
  pb::ModelProto model = rich_model();
  Alterer([&](const std::string& field) {
    const std::string bytes = model.SerializeAsString();
    try {
      const auto graph = import_bytes(bytes_of(bytes), folder.path());
      const std::string text = ir::to_text(*graph);
      graphs.insert(text);
      messages[field].add(fmt::format("taken: {} nodes, {} values, {} characters",
                                      graph->node_count(), graph->values().size(), text.size()));
      expect_comes_back(*graph, field);
    } catch (const Error& e) {
      messages[field].add(std::string(error_code_name(e.code())) + ": " + e.message());
    }
    try {
      hashes.insert(hash_bytes(bytes_of(bytes), folder.path()));
    } catch (const Error&) {
      messages[field].add("not hashed");
    }
  }).walk(model, "model");
  set_log_level("warn");
  test::RecordedLines found;
  for (const auto& [field, counts] : messages) counts.write(found[field]);
  found["all"].insert(fmt::format("{} graphs, {} hashes", graphs.size(), hashes.size()));
  // Compares only the last part of a message, because those before it name nested functions and
  // nodes.
  const auto message_of = [](const std::string& line) {
    const std::string message = test::counted_message_of(line);
    const size_t at = message.rfind(": ");
    return at == message.npos ? message : message.substr(at + 2);
  };
  test::expect_digests(found, POPRT_TEST_DATA "/onnx_fields.txt",
                       "Messages of the import for models with a field changed: onnx_test.cpp.",
                       message_of);
}

}  // namespace
}  // namespace poprt::onnx
