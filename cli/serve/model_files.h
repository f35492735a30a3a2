// The files that a model is read from, and whether they changed.
#pragma once

#include <string>
#include <vector>

namespace poprt::serve {

// The files of external data that an ONNX file names, sorted. They may be missing. Without reading
// the structure of the file, finds each entry `location` of a TensorProto; "" and a location that
// leads out of the folder of the file are left out. Returns none if the file cannot be read.
std::vector<std::string> external_data_of(const std::string& onnx_file);

// A text that differs if one of the files was replaced or written, if its mode changed, or if a
// file appeared or vanished.
std::string stamp_of(const std::vector<std::string>& files);

}  // namespace poprt::serve
