// A model as the runtime sees it: a program, its weights, and whatever keeps them alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/device_manager.h"
#include "popef/types.h"
#include "program/narrow_weights.h"
#include "program/program.h"

namespace poprt::popef {
class Model;
}

namespace poprt::runtime {

struct Variants;

// Immutable once made; shared by sessions.
struct Model {
  std::string name;  // of the executable blob
  device::Image image;
  // What save_model() writes, kept alive by image.owner: a whole PopEF file, or an executable's
  // payload. Both empty when the model was made by hand.
  std::span<const std::byte> file;
  std::span<const std::byte> payload;
  // Copies that were compiled in, each for a device of its own; and how often the device runs the
  // main program for one call of the host. From the metadata.
  uint32_t replication_factor = 1;
  uint32_t batches_per_step = 1;
  uint32_t ipus = 1;    // of one copy
  uint32_t stages = 1;  // of a pipelined model: how many work at the same time
  // Per input: the bytes that come with the model, so that callers need not give them; kept alive
  // by image.owner. A tensor is one value, a feed several, one after the other. Empty: callers give
  // it.
  std::vector<std::span<const std::byte>> input_data;
  // Opaque blobs by name.
  std::map<std::string, std::string> opaque;
  // Anchors as PopEF names them. Those of types that PopEF does not have are missing when it was
  // made from the program.
  popef::Metadata metadata;
  // What it was opened from; null when that was no PopEF.
  std::shared_ptr<const popef::Model> blobs;
  // What the ONNX model says about itself (compiler/onnx_metadata.h), from opaque blob
  // kOnnxMetadata.
  std::vector<std::pair<std::string, std::string>> onnx_metadata;
  // What its variants are, from opaque blob kVariants (session/variants.h); null: it has none.
  std::shared_ptr<const Variants> variants;
  // What of the weights its payload stores in fewer bytes, and does again when it is saved.
  std::vector<program::NarrowWeights> narrow;
  // Compiled with I/O tiles: transfers of other batches go on while one computes.
  bool overlap_io = false;

  // The random seed of a model whose file has no value for it: sessions generate it.
  bool is_seed(size_t input) const;

  const program::Program& program() const { return *image.program; }
  const std::vector<program::Anchor>& inputs() const { return image.program->inputs; }
  const std::vector<program::Anchor>& outputs() const { return image.program->outputs; }
};

inline constexpr const char* kOnnxMetadata = "onnx_metadata";

// Fills Model::onnx_metadata. Throws data_loss unless the blob is a JSON object of strings.
void read_onnx_metadata(Model& model);

// What a device must have to run it.
device::Constraints constraints_of(const Model& model);

// Weights that a session may change: an input that the load programs alone use, and no seed.
bool is_variable(const popef::Metadata& metadata, const popef::Anchor& anchor);

// The metadata that describes a program to any PopEF reader: program 0 loads, 1 is main, 2 saves.
// Inputs that have data belong to the load program, and each has an output `weight_d2h_NAME` of the
// save program, by which the session returns its value. Throws invalid_argument for anchors of a
// type that PopEF does not have.
popef::Metadata make_metadata(const std::string& name, const program::Program& program);

// The options of a compilation, and what of them is a field of the metadata: option
// `batches_per_step` is deviceIterations.
void set_engine_options(popef::Metadata& metadata, std::vector<popef::Option> options);
// Of a model, which does what they say: its batches_per_step, its overlap_io (`num_io_tiles`).
void set_engine_options(Model& model, std::vector<popef::Option> options);

// Data of one input that overrides the program's own.
struct InputData {
  std::string name;
  std::span<const std::byte> bytes;
};

// Checks what sessions rely on: the program itself, at least one output, unique anchor names per
// direction, load programs that need no caller memory, input data of whole values and some for
// every variable. Metadata is made from the program when it is not given. Throws data_loss or
// unimplemented.
std::shared_ptr<const Model> make_model(std::string name, device::Image image,
                                        std::span<const std::byte> file = {},
                                        std::span<const std::byte> payload = {},
                                        std::optional<popef::Metadata> metadata = std::nullopt,
                                        std::span<const InputData> input_data = {});

}  // namespace poprt::runtime
