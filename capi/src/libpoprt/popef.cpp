#include "poprt/popef.h"

#include "distinct_files.h"
#include "guard.h"
#include "popef/dump.h"
#include "popef/export_npy.h"

using namespace poprt;

poprt_error* poprt_popef_dump(const char* path, poprt_popef_format format,
                              poprt_string** out_text) {
  return capi::guard([&] {
    capi::required(path, "path");
    auto& out = capi::required(out_text, "out_text");
    auto as = popef::DumpFormat::summary;
    switch (format) {
      case POPRT_POPEF_SUMMARY: break;
      case POPRT_POPEF_METADATA: as = popef::DumpFormat::metadata; break;
      case POPRT_POPEF_ALL: as = popef::DumpFormat::all; break;
      case POPRT_POPEF_JSON: as = popef::DumpFormat::json; break;
      case POPRT_POPEF_USER_ANCHORS: as = popef::DumpFormat::user_anchors; break;
      case POPRT_POPEF_VERIFY: as = popef::DumpFormat::verify; break;
      default: fail(ErrorCode::invalid_argument, "PopEF dump format {} is unknown", format);
    }
    out = capi::make_string(popef::dump(path, as));
  });
}

poprt_error* poprt_popef_export_tensor(const char* path, const char* name, const char* executable,
                                       const char* npy_path) {
  return capi::guard([&] {
    capi::require_distinct(&capi::required(path, "path"), &capi::required(npy_path, "npy_path"));
    popef::export_tensor(path, &capi::required(name, "name"), executable ? executable : "",
                         npy_path);
  });
}

poprt_error* poprt_popef_export_feed(const char* path, const char* name, const char* executable,
                                     const char* npy_path) {
  return capi::guard([&] {
    capi::require_distinct(&capi::required(path, "path"), &capi::required(npy_path, "npy_path"));
    popef::export_feed(path, &capi::required(name, "name"), executable ? executable : "", npy_path);
  });
}
