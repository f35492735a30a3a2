// A malformed or hostile input, its expected result, and helpers to make one.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace poprt::hostile {

namespace pb = ::onnx;
namespace fs = std::filesystem;

// The folders of a case. `model` is the folder of the model. No file in `outside` may be opened.
struct Folder {
  fs::path model, outside;
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(model / name, std::ios::binary) << bytes;
  }
};

// rejected: one line with `error` on stderr, exit code 1 to 123. accepted: a valid control, which
// must run. warned: it must run, with one warning on stderr that contains `error`. either: ONNX
// does not define the result; the process must end without a signal.
enum class Outcome { rejected, accepted, warned, either };

struct Case {
  std::string name;   // letters, digits, _
  std::string error;  // part of the message
  std::function<void(const Folder&)> make;
  Outcome outcome = Outcome::rejected;
  std::vector<std::string> arguments = {"model.onnx", "--random"};  // of `poprt_exec run`
};
using Cases = std::vector<Case>;

Cases wire_cases();
Cases header_cases();
Cases graph_cases();
Cases function_cases();
Cases attribute_cases();
Cases value_cases();
Cases payload_cases();
Cases external_data_cases();
Cases bomb_cases();
Cases contrib_cases();
Cases declared_cases();
Cases place_cases();
Cases quantised_cases();
Cases file_cases();
Cases npy_cases();
Cases control_cases();
Cases popef_cases();
Cases damaged_cases();

// -- Models -------------------------------------------------------------------------------------

inline constexpr int kFloat = 1, kU8 = 2, kS8 = 3, kS32 = 6, kS64 = 7, kString = 8, kBool = 9,
                     kHalf = 10, kDouble = 11;
using Dims = std::vector<int64_t>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

inline pb::ModelProto empty_model(int64_t opset = 17) {
  pb::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(opset);
  m.mutable_graph()->set_name("g");
  return m;
}

inline void declare(pb::ValueInfoProto* v, const std::string& name, const Dims& dims,
                    int type = kFloat) {
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  t->mutable_shape();
  for (const int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
}
inline void add_input(pb::GraphProto& g, const std::string& name, const Dims& dims = {2, 3},
                      int type = kFloat) {
  declare(g.add_input(), name, dims, type);
}
// An output of unknown type.
inline void add_output(pb::GraphProto& g, const std::string& name) {
  g.add_output()->set_name(name);
}

template <class Owner>  // GraphProto or FunctionProto
pb::NodeProto& add_node(Owner& owner, const std::string& op, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, const std::string& domain = "") {
  auto* n = owner.add_node();
  n->set_op_type(op);
  n->set_domain(domain);
  for (const auto& i : in) n->add_input(i);
  for (const auto& o : out) n->add_output(o);
  return *n;
}

inline pb::TensorProto tensor(int type, const Dims& dims, const std::string& name = "") {
  pb::TensorProto t;
  if (!name.empty()) t.set_name(name);
  t.set_data_type(type);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}
template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
inline pb::TensorProto ints_tensor(const Ints& values, const std::string& name = "") {
  auto t = tensor(kS64, {static_cast<int64_t>(values.size())}, name);
  t.set_raw_data(raw(values));
  return t;
}

using Value = std::variant<int64_t, float, std::string, Ints, Floats, pb::TensorProto>;
struct Attribute {
  std::string name;
  Value value;
};

inline pb::AttributeProto& add_attribute(pb::NodeProto& n, const Attribute& a) {
  auto& out = *n.add_attribute();
  out.set_name(a.name);
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          out.set_type(pb::AttributeProto::INT);
          out.set_i(v);
        } else if constexpr (std::is_same_v<T, float>) {
          out.set_type(pb::AttributeProto::FLOAT);
          out.set_f(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.set_type(pb::AttributeProto::STRING);
          out.set_s(v);
        } else if constexpr (std::is_same_v<T, Ints>) {
          out.set_type(pb::AttributeProto::INTS);
          for (const int64_t i : v) out.add_ints(i);
        } else if constexpr (std::is_same_v<T, Floats>) {
          out.set_type(pb::AttributeProto::FLOATS);
          for (const float f : v) out.add_floats(f);
        } else {
          out.set_type(pb::AttributeProto::TENSOR);
          *out.mutable_t() = v;
        }
      },
      a.value);
  return out;
}
inline pb::GraphProto& add_subgraph(pb::NodeProto& n, const std::string& name) {
  auto& a = *n.add_attribute();
  a.set_name(name);
  a.set_type(pb::AttributeProto::GRAPH);
  a.mutable_g()->set_name(name);
  return *a.mutable_g();
}

// An operand of a model with one node: an input, a constant, or an omitted input.
struct Operand {
  enum class Kind { input, constant, none } kind;
  pb::TensorProto tensor;
};
inline Operand in(const Dims& dims, int type = kFloat) {
  return {Operand::Kind::input, tensor(type, dims)};
}
inline Operand constant(pb::TensorProto t) { return {Operand::Kind::constant, std::move(t)}; }
inline Operand ints(const Ints& values) { return constant(ints_tensor(values)); }
inline Operand int_scalar(int64_t value) {
  auto t = tensor(kS64, {});
  t.set_raw_data(raw(Ints{value}));
  return constant(t);
}
inline Operand floats(const Floats& values) {
  auto t = tensor(kFloat, {static_cast<int64_t>(values.size())});
  t.set_raw_data(raw(values));
  return constant(t);
}
inline Operand float_scalar(float value) {
  auto t = tensor(kFloat, {});
  t.set_raw_data(raw(Floats{value}));
  return constant(t);
}
inline Operand none() { return {Operand::Kind::none, {}}; }

struct Op {
  std::string type;
  std::vector<Operand> operands;
  std::vector<Attribute> attributes = {};
  int64_t opset = 17;
  int outputs = 1;
  std::string domain = "";
};

// An operator of ONNX Runtime's domain, com.microsoft.
inline Op microsoft(const std::string& type, std::vector<Operand> operands,
                    std::vector<Attribute> attributes = {}, int outputs = 1) {
  return {type, std::move(operands), std::move(attributes), 17, outputs, "com.microsoft"};
}

inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

inline pb::ModelProto model_of(const Op& op) {
  pb::ModelProto m = empty_model(op.opset);
  if (!op.domain.empty()) {
    auto* import = m.add_opset_import();
    import->set_domain(op.domain);
    import->set_version(1);
  }
  std::vector<std::string> in, out;
  for (size_t i = 0; i < op.operands.size(); i++) {
    const auto& [kind, t] = op.operands[i];
    const std::string name = "in" + std::to_string(i);
    in.push_back(kind == Operand::Kind::none ? "" : name);
    if (kind == Operand::Kind::input) {
      add_input(*m.mutable_graph(), name, Dims(t.dims().begin(), t.dims().end()), t.data_type());
    } else if (kind == Operand::Kind::constant) {
      *m.mutable_graph()->add_initializer() = t;
      m.mutable_graph()->mutable_initializer()->rbegin()->set_name(name);
    }
  }
  for (int i = 0; i < op.outputs; i++) {
    out.push_back("out" + std::to_string(i));
    add_output(*m.mutable_graph(), out.back());
  }
  auto& n = add_node(*m.mutable_graph(), op.type, in, out, op.domain);
  for (const Attribute& a : op.attributes) add_attribute(n, a);
  return m;
}

inline std::string bytes_of(const pb::ModelProto& m) { return m.SerializePartialAsString(); }

// -- Cases --------------------------------------------------------------------------------------

inline Case from_bytes(std::string name, std::string error, std::string bytes,
                       Outcome outcome = Outcome::rejected) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  return {std::move(name), std::move(error),
          [shared](const Folder& f) { f.write("model.onnx", *shared); }, outcome};
}
// A long model, which `build` makes only when the case runs, because every process of the corpus
// creates the list of all cases.
inline Case from_build(std::string name, std::string error, std::function<std::string()> build,
                       Outcome outcome = Outcome::rejected) {
  return {std::move(name), std::move(error),
          [build = std::move(build)](const Folder& f) { f.write("model.onnx", build()); }, outcome};
}
inline Case reject(std::string name, std::string error, const pb::ModelProto& m) {
  return from_bytes(std::move(name), std::move(error), bytes_of(m));
}
inline Case reject(std::string name, std::string error, const Op& op) {
  return reject(std::move(name), std::move(error), model_of(op));
}
inline Case accept(std::string name, const pb::ModelProto& m) {
  return from_bytes(std::move(name), "", bytes_of(m), Outcome::accepted);
}
inline Case warn(std::string name, std::string warning, const pb::ModelProto& m) {
  return from_bytes(std::move(name), std::move(warning), bytes_of(m), Outcome::warned);
}
// A model that is rejected with --strict and accepted with a warning without it.
inline Case reject_if_strict(std::string name, std::string error, const pb::ModelProto& m) {
  Case c = reject(std::move(name), std::move(error), m);
  c.arguments.push_back("--strict");
  return c;
}
inline Case accept(std::string name, const Op& op) { return accept(std::move(name), model_of(op)); }
inline Case either(std::string name, const pb::ModelProto& m) {
  return from_bytes(std::move(name), "", bytes_of(m), Outcome::either);
}
inline Case either(std::string name, const Op& op) { return either(std::move(name), model_of(op)); }

// x -> Relu -> y, which the cases damage.
inline pb::ModelProto relu_model() {
  pb::ModelProto m = empty_model();
  add_input(*m.mutable_graph(), "x");
  add_output(*m.mutable_graph(), "y");
  add_node(*m.mutable_graph(), "Relu", {"x"}, {"y"});
  return m;
}
template <class Message, class Change>
Message changed(Message m, Change&& change) {
  change(m);
  return m;
}

}  // namespace poprt::hostile
