// Names of the classes that a classifier tells apart.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace poprt::inspector {

// Text with one name a line, in the order of the model's classes; empty lines at the end do not
// count. Throws what reading throws, and invalid_argument for a file that is no such text.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

// A file beside the model that is called as such lists are (MODEL.labels.txt, labels.txt,
// classes.txt, imagenet_classes.txt, synset.txt); empty: none.
std::filesystem::path class_names_beside(const std::filesystem::path& model);

}  // namespace poprt::inspector
