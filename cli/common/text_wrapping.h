// Wraps text at the width of the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace poprt::cli {

// Columns of the terminal: the variable COLUMNS, else the width of the standard output if it is a
// terminal, else 80. The result is from 40 to 120.
size_t text_width();

// Columns of the screen for tables: like text_width() without the upper limit.
size_t screen_width();

// Breaks `text` at blanks into lines of at most `width` columns, without a final line feed. The
// first line begins at column `first`, which the caller has printed; the others get `indent`
// blanks.
std::string wrapped(std::string_view text, size_t width, size_t first, size_t indent);

}  // namespace poprt::cli
