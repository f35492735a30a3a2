// The text form of a graph. It contains everything, and parsing it returns an equal graph.
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
// `#` starts a comment. A name with characters other than letters, digits and _ . / - is quoted:
// %"a b:0". The escapes in strings are \" \\ \n \r \t \xHH. `_` is an omitted input. A dimension is
// a number, a symbol (quoted unless it is an identifier), a symbol with its known size (N=4) or
// `?`. A missing type is `?`. Values are defined before they are read. A name is looked up in the
// innermost graph first; %^name starts in the next outer graph (printed only if an inner graph has
// the same name).
//
// The syntax of an attribute determines its type: 1 is an integer, 1.0 (inf, nan) a float, "s" a
// string, [1, 2], [1.0] and ["s"] are lists, f32[2] [1.0, 2.0] is a tensor, graph "g" {...} a
// graph. If that would be ambiguous, the type is written: ints [], floats [], strings [], tensors
// [...] and graphs [...].
//
// The elements of a tensor are a flat list in row-major order (one element without brackets for
// rank 0), `fill E` if all are equal, or hex"..." with the little-endian bytes. A float prints in a
// decimal form that parses back to the same bits, with the fewest digits if it is f32 or f64. A NaN
// with other bits than the standard one prints as nan:0x7fc00001.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

struct TextOptions {
  enum class Large { hex, elide };
  // Tensors of up to this many elements print as a list, larger ones as a fill or as `large`
  // selects. Strings always print as a list. Complex elements, and elements whose bits a list would
  // not preserve, print as hex.
  int64_t list_elements = 64;
  // `elide` prints <elided> instead of the elements of a larger tensor that is neither a fill nor
  // of strings. Such a text is for human readers and cannot be parsed.
  Large large = Large::hex;
};

// Ends with a newline. Equal graphs give equal texts.
std::string to_text(const Graph& graph, const TextOptions& options = {});

// Parses one graph and verifies it. The text is not trusted: subgraphs nested deeper than
// kMaxSubgraphDepth and `fill` of more than kMaxFillBytes in total are errors. Throws
// Error(invalid_argument) with line and column.
std::unique_ptr<Graph> parse_text(std::string_view text);

inline constexpr uint64_t kMaxFillBytes = uint64_t{1} << 28;

}  // namespace poprt::ir
