// The payload of an executable: a program and its weight bytes, laid out so that a reader uses the
// weights where they lie (popef/FORMAT.md has the bytes).
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

// Weights begin at a multiple of this from the start of the payload; PopEF puts the payload at such
// a multiple of the file.
inline constexpr uint64_t kWeightsAlignment = 4096;

// The package of this library, for example "poprt 0.1.0": what write_executable() notes.
std::string_view package();

// Texts that belong to a program, by name of the opaque blob that they are in a PopEF file: what
// the model says about itself, labels of its classes.
using Notes = std::map<std::string, std::string>;

using Sink = std::function<void(std::span<const std::byte>)>;

// Writes the payload front to back. The calling thread and one more make weights, each in a buffer
// that grows to its largest; they take turns to call `sink`. Gaps between weights are zeros. What
// `narrow` names is stored in the type that it says; it names whole records. The same program and
// weights give the same bytes. Throws invalid_argument when weight records overlap or lie outside
// `program.weights_bytes`, data_loss when the program does not verify, and what `sink` and the fill
// functions throw.
void write_executable(const Sink& sink, const Program& program, std::span<const Weight> weights,
                      const Notes& notes = {}, std::span<const NarrowWeights> narrow = {});
void write_executable(std::ostream& stream, const Program& program,
                      std::span<const Weight> weights);

struct LoadedProgram {
  Program program;
  std::span<const std::byte> weights;  // 64-byte aligned, program.weights_bytes long
  std::shared_ptr<const void> owner;   // keeps `weights`
  std::string package;                 // of whoever wrote it
  Notes notes;
  std::vector<NarrowWeights> narrow;  // what the payload has in fewer bytes; `weights` are wide
};

// Reads a payload; `owner` keeps its bytes. Weights are not touched, unless the payload is not
// 64-byte aligned, then they are copied, or has some in a narrower type, then they are widened into
// memory of their own. Everything is checked (verify() included). Throws
// data_loss for broken bytes and failed_precondition for the format of a newer library.
LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::shared_ptr<const void> owner);
// Same for a payload that without_weights() made: `weights` are those that it lacks (what
// weights_of() gave, else data_loss), kept by `owner` too. Empty for a payload that has its own.
LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::span<const std::byte> weights,
                              std::shared_ptr<const void> owner);

// The package that wrote a payload, of which the first kPackageBytes are enough; of programs that
// this library cannot read, too. Throws data_loss for something else.
inline constexpr uint64_t kPackageBytes = 128;
std::string package_of(std::span<const std::byte> payload);

// The payload without its weights, which are then kept in a place of their own, and these as the
// payload stores them. Throws data_loss.
std::span<const std::byte> weights_of(std::span<const std::byte> payload);
std::vector<std::byte> without_weights(std::span<const std::byte> payload);

// As writing and reading again, without the bytes between.
LoadedProgram load_in_memory(Program program, std::span<const Weight> weights);

}  // namespace poprt::program
