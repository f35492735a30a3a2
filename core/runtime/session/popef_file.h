// Reads models from PopEF, and writes them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popef/types.h"
#include "program/serialize.h"
#include "runtime/session/model.h"

namespace poprt::runtime {

struct OpenOptions {
  // Whether an executable of another version of this library is refused with failed_precondition.
  // The message contains both versions and a hint for the user.
  bool check_package_hash = true;
  std::string executable;  // selects one if the files have several; empty: the only one
};

// Opens several files, in any order, that together are one model, such as the files of
// save_parts(). Throws as below, and invalid_argument if there are no paths.
std::shared_ptr<const Model> open_popef(std::span<const std::filesystem::path> paths,
                                        const OpenOptions& options = {});

// Maps the file; weights are used in place, unless the executable is compressed. Throws not_found,
// permission_denied, data_loss and failed_precondition (made by another version, or several models
// in one file), with the path in the message. If the environment has
// POPART_PRELOAD_POPEF=full-preload, files are read sequentially first, which is much faster than
// single page faults on network file systems.
std::shared_ptr<const Model> open_popef(const std::filesystem::path& path,
                                        const OpenOptions& options = {});
// The same from memory that `owner` keeps alive, preferably aligned to 4096 bytes.
std::shared_ptr<const Model> open_popef(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner,
                                        const OpenOptions& options = {});
// The same for the blobs of a PopEF model, which may be in several files. Throws as above.
std::shared_ptr<const Model> open_popef(const std::shared_ptr<const popef::Model>& model,
                                        const OpenOptions& options = {});
// Returns the blobs from which a model was opened, or else the blobs that save_model() would write.
// Anchors of types that PopEF does not have are then missing in the metadata, as in
// Model::metadata.
std::shared_ptr<const popef::Model> popef_model(const Model& model);
// Returns a model with the same program whose weights and input data are in memory, so that runs do
// not depend on its file, which only save_model() and save_parts() still read. A model that was not
// opened from PopEF is returned unchanged. Throws data_loss if the file was truncated, and
// resource_exhausted.
std::shared_ptr<const Model> copied_model(const std::shared_ptr<const Model>& model);
// Checks the checksums of the blobs of a model that was opened from PopEF; logs a warning if blobs
// have none. Throws data_loss with the file and the blob in the message.
void verify_model(const Model& model);
// Opens the payload of an executable blob (program/serialize.h).
std::shared_ptr<const Model> open_payload(std::string name, std::span<const std::byte> payload,
                                          std::shared_ptr<const void> owner);

// For example "resnet50" for "models/resnet50.onnx"; never empty.
std::string executable_name(const std::filesystem::path& path);

// Writes the metadata, the executable, the data of inputs as tensor blobs, and opaque blobs by
// name. The file is written completely or not at all. An executable with weights of at most 8 bits
// is compressed: they are converted when it is loaded, so mapping them would have no advantage. If
// `late_options` is given, it is called last and returns the engine options of the file, with
// values of the same lengths as `engine_options`.
void write_popef(const std::filesystem::path& path, const std::string& name,
                 const program::Program& program, std::span<const program::Weight> weights,
                 const std::map<std::string, std::string>& opaque = {},
                 std::vector<popef::Option> engine_options = {},
                 std::span<const program::NarrowWeights> narrow = {},
                 const std::function<std::vector<popef::Option>()>& late_options = {});

// Writes a model that was opened from a PopEF file with equal bytes, and a model that was opened
// from a payload or from the blobs of several files as a new file. Throws failed_precondition for
// any other model, invalid_argument if PopEF does not have the type of an anchor, and the errors of
// a file that cannot be written.
void save_model(const Model& model, const std::filesystem::path& path);
// The same for a stream in binary mode.
void save_model(const Model& model, std::ostream& stream);

// The name of the tensor blob with constants that are stored separately, and of its anchor. The
// anchor has the type UNKNOWN because its data has no stream.
inline constexpr std::string_view kWeightsName = "poprt.weights";

// Writes the executable and its variables as two files, each completely or not at all: the program
// with its metadata, and the tensors. The tensors are the variables by name; for a model without
// variables, they are all constants as tensor blob kWeightsName. The file of the tensors can be
// replaced by that of another model with the same program. Throws like save_model().
void save_parts(const Model& model, const std::filesystem::path& executable,
                const std::filesystem::path& variables);

}  // namespace poprt::runtime
