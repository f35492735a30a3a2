// Small models made in the test, and the comparison of two graphs.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "ir/types_agree.h"
#include "onnx/import.h"

namespace poprt::onnx {

namespace pb = ::onnx;

inline pb::ModelProto base_model(int64_t opset = 17, int64_t ir_version = 8) {
  pb::ModelProto model;
  model.set_ir_version(ir_version);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

inline void add_value(google::protobuf::RepeatedPtrField<pb::ValueInfoProto>* list,
                      const std::string& name, std::vector<int64_t> dims = {2},
                      int32_t elem_type = pb::TensorProto::FLOAT) {
  auto* v = list->Add();
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(elem_type);
  t->mutable_shape();
  for (const int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
}
inline void add_input(pb::GraphProto& g, const std::string& name, std::vector<int64_t> dims = {2}) {
  add_value(g.mutable_input(), name, std::move(dims));
}
inline void add_output(pb::GraphProto& g, const std::string& name,
                       std::vector<int64_t> dims = {2}) {
  add_value(g.mutable_output(), name, std::move(dims));
}

template <class Owner>
pb::NodeProto& add_node(Owner& owner, const std::string& op, const std::vector<std::string>& ins,
                        const std::vector<std::string>& outs, const std::string& name = "") {
  auto* n = owner.add_node();
  n->set_op_type(op);
  if (!name.empty()) n->set_name(name);
  for (const auto& i : ins) n->add_input(i);
  for (const auto& o : outs) n->add_output(o);
  return *n;
}

inline pb::AttributeProto& add_attribute(pb::NodeProto& n, const std::string& name,
                                         pb::AttributeProto::AttributeType type) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(type);
  return *a;
}

// x -> Relu -> y.
inline pb::ModelProto relu_model() {
  pb::ModelProto model = base_model();
  add_input(*model.mutable_graph(), "x");
  add_output(*model.mutable_graph(), "y");
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"}, "relu");
  return model;
}

inline std::span<const std::byte> bytes_of(const std::string& s) {
  return std::as_bytes(std::span<const char>(s));
}

inline std::unique_ptr<ir::Graph> import_proto(const pb::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return import_bytes(bytes_of(bytes));
}

// Expects that the action throws an error of this code whose message is one line that contains
// every part.
template <class Action>
void expect_error(ErrorCode code, std::vector<std::string> parts, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with '" << (parts.empty() ? "" : parts[0]) << "'";
  } catch (const Error& e) {
    EXPECT_EQ(error_code_name(e.code()), error_code_name(code)) << e.what();
    for (const auto& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
          << "'" << part << "' is missing in: " << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "more than one line";
  }
}
inline void expect_import_error(ErrorCode code, std::vector<std::string> parts,
                                const pb::ModelProto& model) {
  expect_error(code, std::move(parts), [&] { import_proto(model); });
}

// The message of the error that the action throws, or "taken".
template <class Action>
std::string message_of_action(Action&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}
inline std::string refusal(const pb::ModelProto& model) {
  return message_of_action([&] { import_proto(model); });
}

// An empty directory, which the destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "poprt_onnx_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Returns the first difference, or "" if the graphs are equal. Values correspond by position.
// `pairs_` also contains the pairs of enclosing graphs.
class GraphDifference {
 public:
  std::string compare(const ir::Graph& a, const ir::Graph& b) {
    if (a.name != b.name) return "graph name";
    if (a.opsets != b.opsets) return "opsets";
    auto metadata = [](const ir::Graph& g) {
      auto m = g.metadata;
      m.erase("ir_version");
      // The export omits these entries.
      std::erase_if(m, [](const auto& e) { return e.first.starts_with(ir::kDeclaredContainer); });
      return m;
    };
    if (metadata(a) != metadata(b)) return "metadata";
    if (a.inputs().size() != b.inputs().size()) return "input count";
    if (a.outputs().size() != b.outputs().size()) return "output count";
    const auto na = a.nodes(), nb = b.nodes();
    if (na.size() != nb.size()) return "node count";
    for (size_t i = 0; i < a.inputs().size(); i++)
      if (auto d = pair(a.inputs()[i], b.inputs()[i]); !d.empty()) return d;
    std::vector<ir::Value*> ca, cb;
    for (ir::Value* v : a.values())
      if (v->is_constant()) ca.push_back(v);
    for (ir::Value* v : b.values())
      if (v->is_constant()) cb.push_back(v);
    if (ca.size() != cb.size()) return "constant count";
    for (size_t i = 0; i < ca.size(); i++) {
      if (auto d = pair(ca[i], cb[i]); !d.empty()) return d;
      if (!ca[i]->constant().same_as(cb[i]->constant())) return "tensor of " + ca[i]->name();
    }
    for (size_t i = 0; i < na.size(); i++)
      if (auto d = node(*na[i], *nb[i]); !d.empty()) return na[i]->describe() + ": " + d;
    for (size_t i = 0; i < a.outputs().size(); i++)
      if (!same(a.outputs()[i], b.outputs()[i])) return "output " + a.outputs()[i]->name();
    return "";
  }

 private:
  std::string pair(const ir::Value* a, const ir::Value* b) {
    pairs_[a] = b;
    if (a->name() != b->name()) return "name " + a->name() + " against " + b->name();
    if (ir::type_string(a->type) != ir::type_string(b->type) || a->type.symbols != b->type.symbols)
      return "type of " + a->name() + ": " + ir::type_string(a->type) + " against " +
             ir::type_string(b->type);
    return "";
  }
  bool same(const ir::Value* a, const ir::Value* b) {
    if (!a || !b) return !a && !b;
    const auto it = pairs_.find(a);
    return it != pairs_.end() && it->second == b;
  }
  std::string node(const ir::Node& a, const ir::Node& b) {
    if (a.op_type != b.op_type || a.domain != b.domain || a.name != b.name) return "op";
    if (a.inputs().size() != b.inputs().size()) return "input count";
    if (a.outputs().size() != b.outputs().size()) return "output count";
    for (size_t i = 0; i < a.inputs().size(); i++)
      if (!same(a.input(i), b.input(i))) return "input " + std::to_string(i);
    if (a.attributes.size() != b.attributes.size()) return "attribute count";
    for (auto x = a.attributes.begin(), y = b.attributes.begin(); x != a.attributes.end();
         ++x, ++y) {
      if (x->first != y->first || x->second.index() != y->second.index())
        return "attribute " + x->first;
      if (auto d = attribute(x->second, y->second); !d.empty()) return x->first + ": " + d;
    }
    for (size_t i = 0; i < a.outputs().size(); i++)
      if (auto d = pair(a.output(i), b.output(i)); !d.empty()) return d;
    return "";
  }
  std::string attribute(const ir::Attribute& a, const ir::Attribute& b) {
    return std::visit(
        [&](const auto& x) -> std::string {
          using T = std::decay_t<decltype(x)>;
          const T& y = std::get<T>(b);
          if constexpr (std::is_same_v<T, Tensor>) {
            return x.same_as(y) ? "" : "tensor";
          } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
            if (x.size() != y.size()) return "tensors";
            for (size_t i = 0; i < x.size(); i++)
              if (!x[i].same_as(y[i])) return "tensors";
            return "";
          } else if constexpr (std::is_same_v<T, std::shared_ptr<ir::Graph>>) {
            return compare(*x, *y);
          } else if constexpr (std::is_same_v<T, std::vector<std::shared_ptr<ir::Graph>>>) {
            if (x.size() != y.size()) return "graphs";
            for (size_t i = 0; i < x.size(); i++)
              if (auto d = compare(*x[i], *y[i]); !d.empty()) return d;
            return "";
          } else if constexpr (std::is_same_v<T, float>) {
            return std::memcmp(&x, &y, sizeof x) == 0 ? "" : "float";
          } else if constexpr (std::is_same_v<T, std::vector<float>>) {
            const bool equal = x.size() == y.size() &&
                               (x.empty() || std::memcmp(x.data(), y.data(), 4 * x.size()) == 0);
            return equal ? "" : "floats";
          } else {
            return x == y ? "" : "value";
          }
        },
        a);
  }

  std::map<const ir::Value*, const ir::Value*> pairs_;
};

inline std::string difference(const ir::Graph& a, const ir::Graph& b) {
  return GraphDifference().compare(a, b);
}

}  // namespace poprt::onnx
