// The interpreter's rules for If, Loop and Scan.
#include "support/sized_graph/value.h"

namespace poprt::test::sized {
namespace {

using ir::Node;

const ir::Graph& graph_attr(const Node& n, const char* name) {
  return *std::get<std::shared_ptr<ir::Graph>>(n.attributes.at(name));
}

constexpr int64_t kMostRounds = 64;

// Returns a scan output that consists of these rows. `sample` has the type and shape of a row.
Val stacked(const std::vector<Val>& rows, const Val& sample) {
  Val out;
  out.dtype = sample.dtype;
  out.shape = sample.shape;
  for (const Val& row : rows) {
    if (row.shape != rows[0].shape) throw Invalid("rows of several shapes");
    out.shape = row.shape;
    for (size_t i = 0; i < row.v.size(); i++) append(out, row, i);
  }
  out.shape.insert(out.shape.begin(), static_cast<int64_t>(rows.size()));
  return out;
}

Outputs branch(const Node& n, const Inputs& in, const Scope& outer, const Rounding& r) {
  if (in.at(0).v.size() != 1) throw Invalid("one condition expected");
  Scope scope{{}, &outer};
  return interpret(graph_attr(n, in[0].v[0] != 0 ? "then_branch" : "else_branch"), scope, r);
}

// Returns a row of the declared shape of a body's output, for a scan output without rows.
Val declared_row(const ir::Value& v) {
  if (!v.type.is_static()) throw Invalid("no row and no declared shape");
  return make_val(v.dtype(), v.shape());
}

Outputs loop(const Node& n, const Inputs& in, const Scope& outer, const Rounding& r) {
  const ir::Graph& body = graph_attr(n, "body");
  const int64_t trips = in.at(0).given() ? int_of(in[0]) : kMostRounds;
  bool go = !in.at(1).given() || in[1].v.at(0) != 0;
  std::vector<Val> states(in.begin() + 2, in.end());
  std::vector<std::vector<Val>> rows(body.outputs().size() - 1 - states.size());
  if (trips > kMostRounds) throw Invalid("a loop that is too long");
  int64_t round = 0;
  for (; go && round < trips; round++) {
    Scope scope{{}, &outer};
    Val i = make_val(DType::s64, {}), condition = make_val(DType::boolean, {});
    i.v[0] = static_cast<double>(round);
    condition.v[0] = 1;
    scope.values[body.inputs()[0]] = i;
    scope.values[body.inputs()[1]] = condition;
    for (size_t s = 0; s < states.size(); s++) scope.values[body.inputs()[s + 2]] = states[s];
    Outputs out = interpret(body, scope, r);
    go = out.at(0).v.at(0) != 0;
    for (size_t s = 0; s < states.size(); s++) states[s] = out[s + 1];
    for (size_t k = 0; k < rows.size(); k++) rows[k].push_back(out[1 + states.size() + k]);
  }
  if (go && round == kMostRounds && !in[0].given()) throw Invalid("a loop that does not end");
  Outputs results = states;
  for (size_t k = 0; k < rows.size(); k++)
    results.push_back(stacked(rows[k], rows[k].empty()
                                           ? declared_row(*body.outputs()[1 + states.size() + k])
                                           : rows[k][0]));
  return results;
}

// Supports only scans forward along the first axis.
Outputs scan(const Node& n, const Inputs& in, const Scope& outer, const Rounding& r) {
  const ir::Graph& body = graph_attr(n, "body");
  const auto scanned = static_cast<size_t>(n.int_attr("num_scan_inputs", 1));
  const size_t count = in.size() - scanned;
  std::vector<Val> states(in.begin(), in.begin() + static_cast<int64_t>(count));
  std::vector<std::vector<Val>> rows(body.outputs().size() - count);
  const int64_t rounds = in.at(count).shape.at(0);
  for (int64_t round = 0; round < rounds; round++) {
    Scope scope{{}, &outer};
    for (size_t s = 0; s < count; s++) scope.values[body.inputs()[s]] = states[s];
    for (size_t k = count; k < in.size(); k++) {
      if (in[k].shape.at(0) != rounds) throw Invalid("scanned inputs of two lengths");
      Val row;
      row.dtype = in[k].dtype;
      row.shape.assign(in[k].shape.begin() + 1, in[k].shape.end());
      const int64_t size = element_count(row.shape);
      for (int64_t j = 0; j < size; j++) append(row, in[k], static_cast<size_t>(round * size + j));
      scope.values[body.inputs()[k]] = row;
    }
    Outputs out = interpret(body, scope, r);
    for (size_t s = 0; s < count; s++) states[s] = out[s];
    for (size_t k = 0; k < rows.size(); k++) rows[k].push_back(out[count + k]);
  }
  Outputs results = states;
  for (size_t k = 0; k < rows.size(); k++)
    results.push_back(
        stacked(rows[k], rows[k].empty() ? declared_row(*body.outputs()[count + k]) : rows[k][0]));
  return results;
}

}  // namespace

Outputs interpret_control(const Node& n, const Inputs& in, const Scope& outer, const Rounding& r) {
  return n.is("If")     ? branch(n, in, outer, r)
         : n.is("Loop") ? loop(n, in, outer, r)
                        : scan(n, in, outer, r);
}

}  // namespace poprt::test::sized
