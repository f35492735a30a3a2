// A table of the fields of Metadata that are a number, a flag or a text. The codec, the dumps, the
// C functions, the inspector and the tests iterate over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "popef/metadata_places.h"
#include "popef/types.h"

namespace poprt::popef {

// `Get` is a const member function of Metadata without parameters, `Set` one that has the value as
// its parameter.
template <class Get, class Set>
struct MetadataField {
  using Value = std::decay_t<std::invoke_result_t<Get, const Metadata&>>;

  std::string_view name;   // the key in dumps
  std::string_view label;  // for users
  int32_t number;          // its poprt_popef_field; 0 for a text
  uint32_t place;          // position in the message
  Get get;
  Set set;
};
template <class Get, class Set>
MetadataField(const char*, const char*, int, uint32_t, Get, Set) -> MetadataField<Get, Set>;

// tests/lint/popef_fields.py generates this from metadata.toml. <popef:fields>
inline constexpr std::tuple kMetadataFields{
    MetadataField{"executable", "executable", 0, places::metadata::kExecutable,
                  &Metadata::executable, &Metadata::setExecutable},
    MetadataField{"replication_factor", "replication factor", 1,
                  places::metadata::kReplicationFactor, &Metadata::replicationFactor,
                  &Metadata::setReplicationFactor},
    MetadataField{"num_ipus", "IPUs", 2, places::metadata::kNumIpus, &Metadata::numIpus,
                  &Metadata::setNumIpus},
    MetadataField{"ipu_version", "IPU version", 3, places::metadata::kIpuVersion,
                  &Metadata::ipuVersion, &Metadata::setIpuVersion},
    MetadataField{"is_pod", "POD", 4, places::metadata::kIsPod, &Metadata::isPOD,
                  &Metadata::setIsPOD},
    MetadataField{"num_processes", "processes", 5, places::metadata::kNumProcesses,
                  &Metadata::numProcesses, &Metadata::setNumProcesses},
    MetadataField{"is_inference", "inference", 6, places::metadata::kIsInference,
                  &Metadata::isInference, &Metadata::setIsInference},
    MetadataField{"device_iterations", "device iterations", 7, places::metadata::kDeviceIterations,
                  &Metadata::deviceIterations, &Metadata::setDeviceIterations},
    MetadataField{"seed_handle", "seed handle", 0, places::metadata::kSeedHandle,
                  &Metadata::seedHandle, &Metadata::setSeedHandle}};
// </popef:fields>

template <class Field>
using MetadataValue = typename std::remove_cvref_t<Field>::Value;
template <class Field>
inline constexpr bool kIsText = std::is_same_v<MetadataValue<Field>, std::string>;

// Calls `function(field)` for each field, in the order of dumps.
template <class Function>
void for_each_metadata_field(Function&& function) {
  std::apply([&](const auto&... field) { (function(field), ...); }, kMetadataFields);
}

}  // namespace poprt::popef
