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

/* Loads a library for all compilers and runners of the process, for ever; the second time nothing
 * happens. Compile option custom_library_so_paths does it, too, and so does environment variable
 * POPRT_PLUGINS (paths, separated by `:`) when a compiler is made or a program needs an operator.
 * Loading a library runs its code. Any thread.
 * Errors: not_found (no such file), failed_precondition (no shared library, no plug-in, one that
 * was built for another plug-in ABI or a newer poprt, one that adds what cannot be), already_exists
 * (a name is taken), and what its init says or throws. Then nothing of it is there. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_plugin_load(const char* path);

/* The plug-ins that are loaded as a JSON array of objects: name, version, path, operators (domain,
 * name, version), passes, patterns and transforms (names). Keys may be added. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_plugin_list(poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
