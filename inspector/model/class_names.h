// Names of the classes of a classifier.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace poprt::inspector {

// Reads a text file with one name per line, in the order of the model's classes. Empty lines at the
// end are ignored. Throws the errors of reading, and invalid_argument if the file is not such a
// text.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

// Returns a file next to the model with a usual name for such lists (MODEL.labels.txt, labels.txt,
// classes.txt, imagenet_classes.txt, synset.txt), or an empty path.
std::filesystem::path find_class_names(const std::filesystem::path& model);

}  // namespace poprt::inspector
