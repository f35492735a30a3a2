// Prints the contents of a PopEF file, for users and for programs.
#pragma once

#include <string>

#include "popef/reader.h"

namespace poprt::popef {

enum class DumpFormat {
  summary,       // executables, models with the anchors that the caller must connect, other blobs
  metadata,      // every field of the metadata, and every anchor
  all,           // summary and metadata, and every blob with its position in the file
  json,          // everything, as one JSON object
  user_anchors,  // the anchors that the caller must connect, with handles and programs
  verify,        // whether the checksums of all blobs are right; reads the whole file
};

// Reads the headers and metadata of the file, and of other payloads only the metadata of the ONNX
// model (at most 1 MiB), the estimate (16 MiB), and class labels and the distribution over IPUs (64
// KiB each), so huge files need little memory. DumpFormat::verify reads all payloads, in pieces.
// The text ends with a newline; control characters in names are escaped. Throws like
// Reader::parseFile() and Reader::verify().
std::string dump(const std::string& path, DumpFormat format = DumpFormat::summary);

// The same for the files that a reader has parsed; `title` replaces the file name.
std::string dump(const std::shared_ptr<Reader>& reader, const std::string& title,
                 DumpFormat format = DumpFormat::summary);

}  // namespace poprt::popef
