// Models from and to PopEF.
#pragma once

#include <cstddef>
#include <filesystem>
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
  // Refuse an executable of another version of this library (failed_precondition, with what both
  // say and what to do).
  bool check_package_hash = true;
  std::string executable;  // which one, when the files hold several; empty: the only one
};

// Several files, in any order, that make one model together: for example what save_parts() wrote.
// Throws as below.
std::shared_ptr<const Model> open_popef(std::span<const std::filesystem::path> paths,
                                        const OpenOptions& options = {});

// Maps the file; weights are used where they lie. Throws not_found, permission_denied, data_loss,
// failed_precondition (made by another version, or several models in one file), all naming the
// path. POPART_PRELOAD_POPEF=full-preload in the environment reads files from front to back first,
// which network file systems do much faster than page by page.
std::shared_ptr<const Model> open_popef(const std::filesystem::path& path,
                                        const OpenOptions& options = {});
// Same from memory that `owner` keeps; best aligned to 4096 bytes.
std::shared_ptr<const Model> open_popef(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner,
                                        const OpenOptions& options = {});
// A model that was put together from any readers. Throws as above.
std::shared_ptr<const Model> open_popef(const std::shared_ptr<const popef::Model>& model,
                                        const OpenOptions& options = {});
// The blobs of a model: those it was opened from, else of what save_model() would write. Throws as
// save_model().
std::shared_ptr<const popef::Model> popef_model(const Model& model);
// From the payload of an executable blob (program/serialize.h).
std::shared_ptr<const Model> open_payload(std::string name, std::span<const std::byte> payload,
                                          std::shared_ptr<const void> owner);

// "resnet50" for "models/resnet50.onnx"; never empty.
std::string executable_name(const std::filesystem::path& path);

// What makes the weights of a model in memory: the data of inputs, what is stored in fewer bytes
// (of Winograd's weights the plain ones, too), and what lies between. The model must live.
std::vector<program::Weight> weight_records(const Model& model);

// Writes metadata, executable, the data of inputs as tensor blobs, and opaque blobs by name; the
// file appears complete, or not at all. An executable with weights in 8 bits is compressed: they
// are widened when it is loaded, so that they need not lie in the file as they are.
void write_popef(const std::filesystem::path& path, const std::string& name,
                 const program::Program& program, std::span<const program::Weight> weights,
                 const std::map<std::string, std::string>& opaque = {},
                 std::vector<popef::Option> engine_options = {},
                 std::span<const program::NarrowWeights> narrow = {});

// Writes a model that was opened: a PopEF file again byte for byte, a payload or the blobs of
// several files as a new file. Throws failed_precondition for a model made by hand.
void save_model(const Model& model, const std::filesystem::path& path);
// Same to a stream, in binary mode.
void save_model(const Model& model, std::ostream& stream);

// The tensor blob and anchor (UNKNOWN: data without a stream) of constants that are kept apart.
inline constexpr std::string_view kWeightsName = "poprt.weights";

// Executable and variables as two files, each complete or not there: the program with its metadata,
// and the tensors. Those are the variables, each by its name; of a model without variables, all
// constants as tensor blob kWeightsName. Weights made with the same program may take the place of
// others. Throws as save_model().
void save_parts(const Model& model, const std::filesystem::path& executable,
                const std::filesystem::path& variables);

}  // namespace poprt::runtime
