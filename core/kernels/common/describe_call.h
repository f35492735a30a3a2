// The numbers of an instruction as text, with the names of their fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace poprt::kernels {

// Returns " NAME=VALUE NAME=[VALUE,...] ..." for a call of the kernel, in the order of the file.
// Fields of the same name that follow each other form one list. If this library does not know the
// kernel or refuses its numbers, the result is " ints [...] floats [...]". It is empty if there are
// no numbers.
std::string describe_call(std::string_view kernel, std::span<const int64_t> ints,
                          std::span<const float> floats);

}  // namespace poprt::kernels
