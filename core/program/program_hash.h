// A hash of a program, for names of files that are derived from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "program/program.h"

namespace poprt::program {

// Returns the SHA-256 of all fields of a program and of `texts`, as 64 hexadecimal digits. It does
// not read the bytes of the weights, which are not part of a program.
std::string program_hash(const Program& program, std::span<const std::string> texts);

}  // namespace poprt::program
