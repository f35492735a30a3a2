#include "poprt/passes.h"

#include <set>
#include <span>

#include "compiler_loader.h"
#include "library_calls.h"
#include "struct_size.h"

using namespace poprt;

namespace {

void check(std::span<const poprt_pass_call> passes) {
  for (const poprt_pass_call& p : passes) {
    capi::required(p.name, "passes[].name");
    if (p.argument_count) capi::required(p.arguments, "passes[].arguments");
    for (const poprt_option& a : std::span(p.arguments, p.argument_count)) {
      capi::required(a.name, "passes[].arguments[].name");
      capi::required(a.value, "passes[].arguments[].value");
    }
  }
}

}  // namespace

poprt_error* poprt_model_apply_passes(const void* model, size_t size, const char* folder,
                                      const poprt_pass_call* passes, size_t pass_count,
                                      const poprt_apply_options* options,
                                      poprt_string** out_model) {
  return capi::guard([&] {
    const auto o = capi::read_options(options, "poprt_apply_options");
    if (pass_count) capi::required(passes, "passes");
    check({passes, pass_count});
    if (size) capi::required(static_cast<const char*>(model), "model");
    auto& out = capi::required(out_model, "out_model");
    const poprt_library_source source{nullptr, model, size, folder};
    std::string bytes;
    capi::call_with_sink(
        [&](std::span<const std::byte> b) {
          bytes.append(reinterpret_cast<const char*>(b.data()), b.size());
        },
        [&](const poprt_library_sink* sink, poprt_library_error* error) {
          capi::compiler_library().apply_passes(&source, passes, pass_count, &o, sink, error);
        });
    if (model) out = capi::make_string(std::move(bytes));
  });
}

poprt_error* poprt_compiler_list_passes_json(poprt_string** out_text) {
  return capi::text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::compiler_library().list_passes_json(sink, error);
  });
}

poprt_error* poprt_passes_sort(const char* const* names, size_t count, poprt_string** out_text) {
  return capi::text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    if (count) capi::required(names, "names");
    for (const char* name : std::span(names, count)) capi::required(name, "names[]");
    capi::compiler_library().sort_passes(names, count, sink, error);
  });
}
