// Models from and to PopEF.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "popef/types.h"
#include "program/serialize.h"
#include "runtime/model.h"

namespace poprt::runtime {

// Maps the file; weights are used where they lie. Throws not_found, permission_denied, data_loss,
// failed_precondition (made by a newer version, or several models in one file), all naming the
// path.
std::shared_ptr<const Model> open_popef(const std::filesystem::path& path);
// Same from memory that `owner` keeps; best aligned to 4096 bytes.
std::shared_ptr<const Model> open_popef(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner);
// From the payload of an executable blob (program/serialize.h).
std::shared_ptr<const Model> open_payload(std::string name, std::span<const std::byte> payload,
                                          std::shared_ptr<const void> owner);

// "resnet50" for "models/resnet50.onnx"; never empty.
std::string executable_name(const std::filesystem::path& path);

// The metadata that describes a program to any PopEF reader: program 0 loads, 1 is main, 2 saves.
// Throws invalid_argument for anchors of a type that PopEF does not have.
popef::Metadata make_metadata(const std::string& name, const program::Program& program);

// Writes metadata and executable; the file appears complete, or not at all. `write_payload` gets
// the sink that takes the executable's payload.
void write_popef(const std::filesystem::path& path, const std::string& name,
                 const program::Program& program,
                 const std::function<void(const program::Sink&)>& write_payload);

// Writes a model that was opened: a PopEF file again byte for byte, a payload as a new file. Throws
// failed_precondition for a model made by hand.
void save_model(const Model& model, const std::filesystem::path& path);

}  // namespace poprt::runtime
