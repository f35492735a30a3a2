/* Loads plug-ins: libraries with operators, passes, patterns and transforms (poprt/plugin.h).
 *
 * Example:
 *     poprt_string* plugins = NULL;
 *     check(poprt_plugin_load("./libleaky_relu.so"));
 *     check(poprt_plugin_list(&plugins));
 *     puts(poprt_string_data(plugins));
 *     poprt_string_free(plugins);
 */
#ifndef POPRT_PLUGINS_H
#define POPRT_PLUGINS_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a library for all compilers and runners of the process, until the process ends. Loading
 * it again has no effect. Compile option custom_library_so_paths also loads libraries, and so
 * does environment variable POPRT_PLUGINS (paths, separated by `:`) when a compiler is created
 * or a program needs an operator. Loading a library runs its code. A library with passes loads the
 * compiler, too, if it is installed, because the compiler checks their names. Any thread. Errors:
 * not_found (no such file), failed_precondition (not a shared library, not a plug-in, built for
 * another plug-in ABI or a newer poprt, an invalid registration), already_exists (a name is in
 * use), and the errors and exceptions of its init. After an error, nothing of the library is
 * registered. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_plugin_load(const char* path);

/* Returns the loaded plug-ins, after loading those of POPRT_PLUGINS, as a JSON array of objects:
 * name, version, path, operators (domain, name, version), passes, patterns and transforms (names).
 * Later versions may add keys. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_plugin_list(poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
