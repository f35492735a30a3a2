// The text form of a graph: prints everything, parses back to the same graph.
//
//   graph "g" opset {"": 17} metadata {"producer_name": "me"} {
//     input %x : f32[N,3]
//     const %w : f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
//     const %zeros : f32[64,64] = fill 0.0
//     const %axes : s64[] = 1
//     %y : f32[N,2] = MatMul(%x, %w)
//     %z : f32[N,2], %z_2 : ? = com.example.Split(%y, _, %axes) {axis = 1, scale = 0.5} "node name"
//     %i : f32[*] = If(%c) {else_branch = graph "e" {...}, then_branch = graph "t" {...}}
//     output %z
//   }
//
// `#` starts a comment. Names that are not letters, digits and _ . / - are quoted: %"a b:0". In
// strings \" \\ \n \r \t \xHH are escapes. `_` is an omitted input. A dimension is a number, a
// symbol (quoted unless it is an identifier), a symbol with its known size (N=4) or `?`. A type may
// be missing, which is `?`.
// Values are defined before they are read; a name is looked up in the innermost graph first, %^name
// starts one graph further out (written only where the names are equal).
//
// Attributes tell their type: 1 is an integer, 1.0 (inf, nan) a float, "s" a string, [1, 2], [1.0],
// ["s"] lists, f32[2] [1.0, 2.0] a tensor, graph "g" {...} a graph; ints [], floats [], strings [],
// tensors [...] and graphs [...] where that would not tell.
//
// Tensor elements are a flat list in row-major order (a bare element for rank 0), `fill E` when all
// are equal, or hex"..." with the little-endian bytes. Floats print with the fewest digits that
// parse back to the same bits, a NaN that is not the standard one as nan:0x7fc00001.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

struct TextOptions {
  enum class Large { hex, elide };
  // Tensors of up to this many elements print as a list, larger ones as `large` says (or as fill).
  int64_t list_elements = 64;
  // elide prints <elided>, which is short, for people, and does not parse.
  Large large = Large::hex;
};

// Ends with a newline. The same graph gives the same text.
std::string to_text(const Graph& graph, const TextOptions& options = {});

// Parses one graph, verified. Throws Error(invalid_argument) with line and column, also on
// subgraphs nested deeper than kMaxSubgraphDepth and on `fill` of more than kMaxFillBytes in total:
// the text is not trusted.
std::unique_ptr<Graph> parse_text(std::string_view text);

inline constexpr uint64_t kMaxFillBytes = uint64_t{1} << 28;

}  // namespace poprt::ir
