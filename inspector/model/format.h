// How numbers read in every view and on the command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace poprt::inspector {

std::string bytes_text(uint64_t bytes);                  // "1.5 MiB", "12 B"
std::string duration_text(double nanoseconds);           // "1.50 ms"
std::string rate_text(double per_second);                // "12.3 k/s"
std::string number_text(double value);                   // at most six significant digits
std::string counted(uint64_t n, std::string_view noun);  // "1 node", "2 nodes"
std::string dimensions_text(
    std::span<const int64_t> shape);  // "1×3×224×224"; "scalar"; ? is unknown
// `text` in at most `most` characters, the middle left out.
std::string shortened(std::string_view text, size_t most);
// One line of valid UTF-8: control characters and broken sequences become \xHH.
std::string printable(std::string_view text);
// Case-insensitive (ASCII); an empty needle is contained in everything.
bool contains_text(std::string_view text, std::string_view needle);

}  // namespace poprt::inspector
