// What an executable says about the plug-ins that it needs.
#pragma once

#include <string>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Name of the note, and of the opaque blob that it becomes in a PopEF file.
inline constexpr const char* kPluginsNote = "plugins";

// Adds the note when the program has operators of plug-ins: a JSON object with `plugins` (name,
// version) and `operators`, one for each that the program runs (domain, name, version, plugin,
// node, and the cost on a chip that it states: cycles, flops, tile_bytes).
void note_plugins(Executable& executable);

}  // namespace poprt::compiler
