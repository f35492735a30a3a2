// What a PopEF file contains, for people and for programs.
#pragma once

#include <string>

#include "popef/reader.h"

namespace poprt::popef {

enum class DumpFormat {
  summary,       // executables, models with the anchors that the caller must serve, data blobs
  metadata,      // every field of the metadata, every anchor
  all,           // both, and every blob with its place in the file
  json,          // everything, as one JSON object
  user_anchors,  // what the caller must serve, with handles and programs
};

// Reads the file's headers and metadata, no payloads, so huge files take no memory. The text ends
// with a newline; control characters in names are escaped. Throws as Reader::parseFile().
std::string dump(const std::string& path, DumpFormat format = DumpFormat::summary);

// The same of what a reader has parsed; `title` stands for the file.
std::string dump(const std::shared_ptr<Reader>& reader, const std::string& title,
                 DumpFormat format = DumpFormat::summary);

}  // namespace poprt::popef
