// The payload of an executable: a program and the bytes of its weights. A reader uses the weights
// without copying them. popef/FORMAT.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/builder.h"
#include "program/narrow_weights.h"
#include "program/program.h"

namespace poprt::program {

// Weights begin at a multiple of this number from the beginning of the payload; PopEF places the
// payload at such a multiple in the file.
inline constexpr uint64_t kWeightsAlignment = 4096;

// The package of this library, for example "poprt 0.1.0". write_executable() stores it in the
// payload.
std::string_view package();

// Texts that belong to a program, by the name of their opaque blob in a PopEF file, such as
// metadata of the model, labels of its classes and descriptions of variants and shards.
using Notes = std::map<std::string, std::string>;

using Sink = std::function<void(std::span<const std::byte>)>;

// Writes the payload from beginning to end. Up to two threads, one of which is the calling thread,
// compute the weights, each in a buffer of at least the size of the largest weight that it
// computes; they take turns to call `sink`. Gaps between weights are filled with zeros. The records
// in `narrow` are stored in their narrow type; an entry has the place of exactly one record. Equal
// arguments give equal bytes. Throws invalid_argument if weight records overlap, are outside of
// `program.weights_bytes` or differ from the entry of `narrow` at their place, data_loss if the
// program or `narrow` is invalid, and the exceptions of `sink` and of the fill functions.
void write_executable(const Sink& sink, const Program& program, std::span<const Weight> weights,
                      const Notes& notes = {}, std::span<const NarrowWeights> narrow = {});
// The same into memory: after `sink` has received the header and the program, `extend` appends
// zeros to the payload and returns them. The weights are computed there, on as many CPUs as are
// useful. If `extend` is empty or `narrow` is not, the weights go through `sink` instead.
using Extend = std::function<std::span<std::byte>(uint64_t bytes)>;
void write_executable(const Sink& sink, const Extend& extend, const Program& program,
                      std::span<const Weight> weights, const Notes& notes = {},
                      std::span<const NarrowWeights> narrow = {});
void write_executable(std::ostream& stream, const Program& program,
                      std::span<const Weight> weights);

struct LoadedProgram {
  Program program;
  std::span<const std::byte> weights;  // aligned to 64, program.weights_bytes long
  std::shared_ptr<const void> owner;   // keeps `weights` alive
  std::string package;                 // the package that wrote it
  Notes notes;
  // The weights that the payload stores in a narrow type; `weights` contains them as f32.
  std::vector<NarrowWeights> narrow;
};

// Reads a payload; `owner` keeps its bytes alive. Weights are used in place, with two exceptions:
// they are copied if the payload is not aligned to 64, and converted into separate memory if it
// stores some in a narrower type. The header, the program (with verify()) and all sizes are
// checked, and the values of weights are not. Throws data_loss for invalid bytes and
// failed_precondition for a format that this library does not read.
LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::shared_ptr<const void> owner);
// The same for a payload that without_weights() returned: `weights` are the missing weights, as
// weights_of() returned them, and `owner` keeps them alive, too. Throws data_loss if they have
// another size. If the payload contains its weights, `weights` is ignored.
LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::span<const std::byte> weights,
                              std::shared_ptr<const void> owner);

// The package that wrote a payload. The first kPackageBytes of the payload are sufficient. It also
// works for programs that this library cannot read. Throws data_loss if the bytes are not a
// payload.
inline constexpr uint64_t kPackageBytes = 128;
std::string package_of(std::span<const std::byte> payload);

// without_weights() returns the payload without its weights. weights_of() returns these weights, in
// the form in which the payload stores them. Both throw data_loss and failed_precondition like
// read_executable().
std::span<const std::byte> weights_of(std::span<const std::byte> payload);
std::vector<std::byte> without_weights(std::span<const std::byte> payload);

// The same result as writing and reading without notes and narrow weights, without the bytes in
// between.
LoadedProgram load_in_memory(Program program, std::span<const Weight> weights);

}  // namespace poprt::program
