#include "poprt/plugins.h"

#include "compiler_loader.h"
#include "guard.h"
#include "plugins/registry.h"

using namespace poprt;

poprt_error* poprt_plugin_load(const char* path) {
  return capi::guard([&] { capi::load_plugin(&capi::required(path, "path")); });
}

poprt_error* poprt_plugin_list(poprt_string** out_text) {
  return capi::guard([&] {
    auto& out = capi::required(out_text, "out_text");
    plugins::load_environment();
    out = capi::make_string(plugins::to_json());
  });
}
