// Scan, which becomes Loop.
#include "compiler/flow/specializer.h"

#include <algorithm>
#include <array>

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

// States and scan outputs of one Scan without a batch; scan outputs are stacked along axis 0.
Specializer::Items Specializer::scan(const Node& n, const Graph& body, const Items& states,
                                     const std::vector<Value*>& scanned,
                                     std::span<const int64_t> axes,
                                     std::span<const int64_t> reversed, int64_t length,
                                     size_t scans) {
  LoopSpec loop{.node = &n};
  loop.count = Item::of(integer(length));
  loop.states = states;
  loop.scans = scans;
  loop.body_nodes = node_count(body) + static_cast<int64_t>(scanned.size());
  loop.round = [&](Value* index, Value*, const Items& carried) {
    Items inputs = carried;
    for (size_t i = 0; i < scanned.size(); i++) {
      Value* at = reversed[i] ? make1("Sub", {integer(length - 1), index}) : index;
      inputs.push_back(Item::of(slice_at(scanned[i], at, axes[i])));
    }
    Items results = actual_of(run_body(body, inputs));
    results.insert(results.begin(), Item::of(constant(Tensor::scalar(true))));
    return results;
  };
  return iterate(loop);
}

void Specializer::run_scan(const Node& n) {
  const auto body = subgraph(n, "body");
  Items in = actual_of(items_of(n.inputs()));
  const bool batched = n.opset() < 9;
  Item lengths;
  if (batched && !in.empty()) {
    lengths = in[0];
    in.erase(in.begin());
  }
  const auto m = static_cast<size_t>(n.int_attr("num_scan_inputs", 0));
  if (m == 0 || m > in.size() || body->inputs().size() != in.size() ||
      body->outputs().size() != n.outputs().size() || n.outputs().size() < in.size() - m)
    fail_at(n, ErrorCode::invalid_argument, "{} scan inputs of {}, a body of {} and {}", m,
            in.size(), body->inputs().size(), body->outputs().size());
  const size_t states = in.size() - m, scans = n.outputs().size() - states;
  const auto list = [&](std::string_view key, size_t size) {
    std::vector<int64_t> v = n.ints_attr(key, std::vector<int64_t>(size, 0));
    if (v.size() != size)
      fail_at(n, ErrorCode::invalid_argument, "{} has {} entries, expected {}", key, v.size(),
              size);
    return v;
  };
  const auto reversed = list(batched ? "directions" : "scan_input_directions", m);
  std::vector<int64_t> axes = batched ? std::vector<int64_t>(m, 0) : list("scan_input_axes", m);
  std::vector<Value*> scanned;
  int64_t length = -1, batch = -1;
  for (size_t i = 0; i < m; i++) {
    const Value* v = static_tensor(n, in[states + i], "a scan input");
    const auto rank = static_cast<int64_t>(v->shape().size());
    if (rank < (batched ? 2 : 1))
      fail_at(n, ErrorCode::invalid_argument, "a scan input is a scalar");
    axes[i] = normalize_axis(axes[i], rank);
    const int64_t size = v->shape()[batched ? 1 : static_cast<size_t>(axes[i])];
    if (length >= 0 && size != length)
      fail_at(n, ErrorCode::invalid_argument, "scan inputs of length {} and {}", length, size);
    length = size;
    batch = v->shape()[0];
    scanned.push_back(const_cast<Value*>(v));
  }
  const Items initial(in.begin(), in.begin() + static_cast<ptrdiff_t>(states));
  if (!batched) {
    Items results = scan(n, *body, initial, scanned, axes, reversed, length, scans);
    const auto out_reversed = list("scan_output_directions", scans);
    const auto out_axes = list("scan_output_axes", scans);
    for (size_t i = 0; i < scans; i++) {
      Value* y = results[states + i].value;
      if (out_reversed[i]) {
        std::vector<int64_t> order(static_cast<size_t>(length));
        for (size_t t = 0; t < order.size(); t++) order[t] = length - 1 - static_cast<int64_t>(t);
        y = make1("Gather", {y, integers(order)}, {{"axis", int64_t{0}}});
      }
      const auto rank = static_cast<int64_t>(y->shape().size());
      if (const int64_t axis = normalize_axis(out_axes[i], rank); axis != 0) {
        std::vector<int64_t> perm;
        for (int64_t d = 1; d < rank; d++) perm.push_back(d);
        perm.insert(perm.begin() + axis, 0);
        y = transpose(y, std::move(perm));
      }
      results[states + i] = Item::of(y);
    }
    for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
    return;
  }
  // Opset 8: one scan for each element of the batch; shorter ones are filled up with zeros.
  std::vector<int64_t> sizes(static_cast<size_t>(batch), length);
  if (lengths.kind == Item::Kind::tensor) {
    if (!lengths.value->is_constant() || lengths.value->constant().count() != batch)
      fail_at(n, ErrorCode::unimplemented, "sequence_lens must be constant, one for each batch");
    sizes = lengths.value->constant().to_int64s();
  }
  if (batch == 0) fail_at(n, ErrorCode::unimplemented, "the batch is empty");
  std::vector<std::vector<Value*>> columns(states + scans);
  for (int64_t b = 0; b < batch; b++) {
    const int64_t size = sizes[static_cast<size_t>(b)];
    if (size < 0 || size > length)
      fail_at(n, ErrorCode::invalid_argument, "sequence_lens has {}, the inputs {}", size, length);
    Items begin;
    for (const Item& s : initial)
      begin.push_back(Item::of(slice_at(tensor(n, s, "a state"), integer(b), 0)));
    std::vector<Value*> rows;
    for (Value* v : scanned) rows.push_back(slice_at(v, integer(b), 0));
    const Items results = scan(n, *body, begin, rows, axes, reversed, size, scans);
    for (size_t i = 0; i < results.size(); i++) {
      Value* y = const_cast<Value*>(static_tensor(n, results[i], "a result"));
      if (i >= states && size < length) {
        Shape rest = y->shape();
        rest[0] = length - size;
        Value* zeros = constant(Tensor::zeros(y->dtype(), rest));
        y = make("Concat", "", std::array{y, zeros}, {{"axis", int64_t{0}}})[0];
      }
      columns[i].push_back(y);
    }
  }
  for (size_t i = 0; i < columns.size(); i++) give(n, i, Item::of(stack(columns[i], 0)));
}

}  // namespace poprt::compiler
