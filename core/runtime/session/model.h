// A model in the runtime: a program, its weights, and the owner of their memory.
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

// Immutable after construction; sessions share it.
struct Model {
  std::string name;  // name of the executable blob
  device::Image image;
  // The bytes from which the model was read, which image.owner keeps alive and save_model() uses: a
  // whole PopEF file, or the payload of an executable. Both are empty if the model was not read
  // from either.
  std::span<const std::byte> file;
  std::span<const std::byte> payload;
  // The number of compiled-in copies, each of which needs a device, and how often the device runs
  // the main program for one call of the host. Both are from the metadata.
  uint32_t replication_factor = 1;
  uint32_t batches_per_step = 1;
  uint32_t ipus = 1;    // of one copy
  uint32_t stages = 1;  // number of stages of a pipelined model that work at the same time
  // For each input: the bytes that the model has for it, so that callers need not provide them.
  // image.owner keeps them alive. A tensor is one value; a feed is several values in sequence.
  // Empty if callers provide the input.
  std::vector<std::span<const std::byte>> input_data;
  // Opaque blobs by name.
  std::map<std::string, std::string> opaque;
  // The metadata, with the anchors. If it was made from the program, anchors of types that PopEF
  // does not have are missing.
  popef::Metadata metadata;
  // The PopEF model that it was opened from; null if it was not opened from PopEF.
  std::shared_ptr<const popef::Model> blobs;
  // The metadata of the ONNX model (compiler/onnx_metadata.h), from the opaque blob kOnnxMetadata.
  std::vector<std::pair<std::string, std::string>> onnx_metadata;
  // The description of its variants, from the opaque blob kVariants (session/variants.h); null if
  // it has only one.
  std::shared_ptr<const Variants> variants;
  // The weights that its payload stores in a narrow type. A saved model stores them in this type
  // again.
  std::vector<program::NarrowWeights> narrow;
  // Whether it was compiled with I/O tiles: batches are transferred while another one is computed.
  bool overlap_io = false;
  // Whether it was compiled with `reproducible`: device::LoadOptions::reproducible.
  bool reproducible = false;

  // Whether the input is the random seed and the file has no value for it; then sessions generate
  // one.
  bool is_seed(size_t input) const;

  const program::Program& program() const { return *image.program; }
  const std::vector<program::Anchor>& inputs() const { return image.program->inputs; }
  const std::vector<program::Anchor>& outputs() const { return image.program->outputs; }
};

inline constexpr const char* kOnnxMetadata = "onnx_metadata";

// Fills Model::onnx_metadata from the blob, if there is one. Throws data_loss unless the blob is a
// JSON object of strings.
void read_onnx_metadata(Model& model);

// The requirements for a device that can run the model.
device::Constraints constraints_of(const Model& model);

// Whether the anchor is a weight that a session may change: an input that only load programs use,
// and not the seed.
bool is_variable(const popef::Metadata& metadata, const popef::Anchor& anchor);

// The metadata that describes a program to any PopEF reader: program 0 loads, 1 is main, 2 saves.
// Inputs with data belong to the load program. For each of them, unless the program has an output
// of the same name, the save program has an output of this name, with the handle `weight_d2h_NAME`,
// at which the session returns its value. Throws invalid_argument for anchors of a type that PopEF
// does not have.
popef::Metadata make_metadata(const std::string& name, const program::Program& program);

// Sets the options of a compilation, and the metadata fields that follow from them: option
// `batches_per_step` sets deviceIterations, and `ipu_version` the version of the IPU.
void set_engine_options(popef::Metadata& metadata, std::vector<popef::Option> options);
// The same for a model, including its batches_per_step, overlap_io (`num_io_tiles`) and
// reproducible.
void set_engine_options(Model& model, std::vector<popef::Option> options);

// Data of one input that replaces the program's value.
struct InputData {
  std::string name;
  std::span<const std::byte> bytes;
};

// Checks the properties that sessions rely on: the program itself, at least one output, unique
// names of anchors in each direction, load programs without memory of the caller, input data of
// whole values, data for every variable, and the numbers of replicas, IPUs and batches per step. If
// no metadata is given, it is made from the program. Throws data_loss or unimplemented.
std::shared_ptr<const Model> make_model(std::string name, device::Image image,
                                        std::span<const std::byte> file = {},
                                        std::span<const std::byte> payload = {},
                                        std::optional<popef::Metadata> metadata = std::nullopt,
                                        std::span<const InputData> input_data = {});

}  // namespace poprt::runtime
