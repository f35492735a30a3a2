// Formats numbers for the views and the command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace poprt::inspector {

std::string bytes_text(uint64_t bytes);                  // "1.50 MiB", "12 B"
std::string duration_text(double nanoseconds);           // "1.50 ms"
std::string rate_text(double per_second);                // "12.30 k/s"
std::string number_text(double value);                   // at most six significant digits
std::string counted(uint64_t n, std::string_view noun);  // "1 node", "2 nodes"
std::string dimensions_text(
    std::span<const int64_t> shape);  // "1×3×224×224"; "scalar"; ? for an unknown dimension
// Returns at most `most` characters of `text`; the middle is omitted if necessary.
std::string shortened(std::string_view text, size_t most);
// Returns one line of valid UTF-8. Control characters and invalid sequences become \xHH.
std::string printable(std::string_view text);
// Case-insensitive (ASCII). Every text contains an empty needle.
bool contains_text(std::string_view text, std::string_view needle);

// Orders names as people read them: digits compare as numbers, so "n_11" is before "n_103".
// Different texts are never equal, so that it also orders the keys of a map.
bool natural_less(std::string_view a, std::string_view b);
struct NaturalLess {
  bool operator()(std::string_view a, std::string_view b) const { return natural_less(a, b); }
};

}  // namespace poprt::inspector
