// Describes the plug-ins that an executable needs.
#pragma once

#include <string>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Name of the note and of its opaque blob in a PopEF file.
inline constexpr const char* kPluginsNote = "plugins";

// If the program has operators of plug-ins, adds a note: a JSON object with `plugins` (name,
// version) and `operators`, one for each operator of a plug-in in the program (domain, name,
// version, plugin, node, and its declared cost on a chip: cycles, flops, tile_bytes).
void note_plugins(Executable& executable);

}  // namespace poprt::compiler
