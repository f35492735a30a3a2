// Changes how the attention of a decoder for generation reads its caches (compiler/generation.h).
//
// Caches of 8 bits:
//
//   before   present = TensorScatter(past, rows, position)         [B,H,C,D]
//            y = Attention(q, present of keys, present of values, ...)
//   after    present = TensorScatter(past, poprt.QuantizeRows(rows), position)
//                                                                  s8 [B,H,C,D+4]
//            y = poprt.CacheAttention(q, present of keys, present of values, ...)
//
// A row is one token of one head. Its last four bytes are its scale, so every operation on a place
// of a cache (write, copy, save) moves numbers and scale together. The kernel of the attention
// converts the numbers to floats in registers.
//
// Written caches, of models whose caches grow by Concat:
//
//   before   keys = Concat(past, rows)                             [B,H,C+S,D]
//            y = Softmax(q * keys^T + mask) * values
//   after    present = TensorScatter(past, rows, position)         [B,H,C,D]
//            y = poprt.CacheAttention(q, present of keys, present of values, mask of the C places,
//                                     position + S)
//
// So attention reads the places in use, and no step copies a cache. The mask of the C places is
// that of the old ones, into which the columns of the S new rows are written at the position.
//
// The forms of attention that exporters write are GroupQueryAttention, MultiHeadAttention and
// Attention of ONNX, with separate past keys or with the result of a Concat or TensorScatter, and
// Softmax between two products. Keys and values may be repeated for several heads of queries.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// A cache by the names of its input and output. `axis` is that of the places.
struct ByteCache {
  std::string past, present;
  size_t axis = 2;
};

// The graph is static and its constants are folded. Throws unimplemented, with the node, if a cache
// is read by another form of attention.
void store_caches_in_bytes(ir::Graph& graph, std::span<const ByteCache> caches);

// Lets each known form of attention read the f32 caches after the write at input `position`. Other
// forms, and readers of other caches, still read a joined copy. The graph is static and its
// constants are folded.
void read_written_caches(ir::Graph& graph, std::span<const ByteCache> caches,
                         const std::string& position);

}  // namespace poprt::compiler
