// Lets a Gather read the panels of the product that multiplies with the transpose of its table.
// Example: language models embed tokens with a table [tokens, width], and multiply the last hidden
// state by the transpose of the same table.
//
//   Gather(table, ids)                      poprt.Gather(table, ids)
//   poprt.Linear(x, transpose of table)     poprt.Linear(x, table) {transB = 1}
//
// Exporters transpose the table with a node, which folding has replaced by a constant, or store
// both matrices. Therefore constants are compared by their contents.
//
// If the table contains integers of 2 to 8 bits, the Gather selects rows of bytes (of
// GatherBlockQuantized; other nodes apply the scales), and the weights of the product are the same
// bytes (of MatMulNBits).
#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/axes.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::tied_embeddings_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// A smaller table is not worth the slower reading of its rows.
constexpr int64_t kLeastElements = 4096;

bool is_integers(DType dtype) { return is_integer(dtype) && dtype_bits(dtype) <= 8; }

bool is_matrix(const Value* v) {
  return v && v->is_constant() && v->shape().size() == 2 &&
         (v->dtype() == DType::f32 || v->dtype() == DType::f16 || v->dtype() == DType::bf16 ||
          is_integers(v->dtype())) &&
         v->constant().count() >= kLeastElements;
}

// Whether the node selects rows of a constant matrix at places that are computed.
bool selects_rows(const Node& n) {
  if (!n.is("Gather") || !is_matrix(n.input(0)) ||
      (is_integer(n.input(0)->dtype()) && n.input(0)->dtype() != DType::u8))
    return false;
  return !n.input(1)->is_constant() && n.output()->type.is_static() &&
         ops::carried(ops::axis_map(n), {0, 1}).has_value();
}

bool is_product(const Node& n) { return n.is("Linear", "poprt") && is_matrix(n.input(1)); }

// Whether b [columns, rows] is the transpose of a [rows, columns]. Blocks stay in the cache.
template <class Word>
bool is_transpose(const Word* a, const Word* b, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (int64_t r = r0; r < std::min(rows, r0 + kBlock); r++)
        for (int64_t c = c0; c < std::min(columns, c0 + kBlock); c++)
          if (a[r * columns + c] != b[c * rows + r]) return false;
  return true;
}

// Whether the product multiplies with the transpose of `table`, bit for bit.
bool multiplies_transpose(const Node& product, const Tensor& table) {
  const Tensor& w = product.input(1)->constant();
  if (is_integers(w.dtype()))
    return product.int_attr("transB", 0) != 0 && table.dtype() == DType::u8 &&
           w.shape()[0] == table.shape()[0] && w.bytes() == table.bytes() &&
           w.shape()[1] * dtype_bits(w.dtype()) == table.shape()[1] * 8 &&
           table.shape()[1] % 4 == 0 && std::memcmp(w.data(), table.data(), w.bytes()) == 0;
  if (w.dtype() != table.dtype() || w.count() != table.count()) return false;
  if (product.int_attr("transB", 0) != 0)
    return w.shape() == table.shape() &&
           (w.data() == table.data() || std::memcmp(w.data(), table.data(), w.bytes()) == 0);
  const int64_t rows = table.shape()[0], columns = table.shape()[1];
  if (w.shape() != Shape{columns, rows}) return false;
  if (dtype_bits(w.dtype()) == 16)
    return is_transpose(static_cast<const uint16_t*>(table.data()),
                        static_cast<const uint16_t*>(w.data()), rows, columns);
  return is_transpose(static_cast<const uint32_t*>(table.data()),
                      static_cast<const uint32_t*>(w.data()), rows, columns);
}

// Whether all readers of the table can read its panels. If one needed the rows, the file would
// contain both.
bool only_selected_or_multiplied(const Value* table) {
  return std::ranges::all_of(table->uses(), [](const ir::Use& use) {
    const Node& n = *use.node;
    return use.input == 0 ? selects_rows(n) || n.is("Gather", "poprt")
                          : use.input == 1 && is_product(n);
  });
}

void share(Node& gather, const std::vector<Node*>& products, PassContext& context) {
  Value* table = gather.input(0);
  std::vector<Node*> tied;
  for (Node* product : products)
    if (multiplies_transpose(*product, table->constant())) tied.push_back(product);
  if (tied.empty() || !only_selected_or_multiplied(table) || !context.allow()) return;
  const bool integers = is_integers(table->dtype());
  if (integers) {
    // The table of the Gather has the type u8; the weights of the product have the type of the
    // integers in it.
    const Tensor numbers = tied[0]->input(1)->constant();
    table = gather.graph().add_constant(table->name() + "_tied", numbers);
  }
  for (Node* product : tied) {
    if (integers || product->input(1) == table) continue;
    Graph& g = product->graph();
    product->set_input(1, &g == &gather.graph()
                              ? table
                              : g.add_constant(table->name() + "_tied", table->constant()));
    product->attributes["transB"] = int64_t{1};
  }
  Node* rows = insert_node(gather, "Gather", "poprt", {table, gather.input(1)});
  rows->name = gather.name;
  replace_node(gather, rows->output());
}

void run(Graph& graph, PassContext& context) {
  std::vector<Node*> products, gathers;
  for_each_node(graph, [&](Node& n) {
    if (is_product(n)) products.push_back(&n);
    if (selects_rows(n)) gathers.push_back(&n);
  });
  for (Node* gather : gathers) share(*gather, products, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "tied_embeddings",
    .summary = "stores a table once that Gather reads and a product multiplies with",
    .condition = "constants of equal contents; all readers are Gather over axis 0 and poprt.Linear",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::tied_embeddings_pass
