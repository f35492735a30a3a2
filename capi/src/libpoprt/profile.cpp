#include "profile.h"

#include "base/json.h"
#include "guard.h"

namespace poprt::capi {

poprt_string* make_profile(const std::vector<device::InstructionProfile>& rows) {
  nlohmann::ordered_json json;
  json["runs"] = rows.empty() ? 0 : rows[0].runs;
  json["instructions"] = nlohmann::ordered_json::array();
  for (const auto& row : rows)
    json["instructions"].push_back({{"name", row.name},
                                    {"kernel", row.kernel},
                                    {"runs", row.runs},
                                    {"total_ns", row.total_ns},
                                    {"min_ns", row.min_ns},
                                    {"parallel", row.parallel}});
  // Names come from files and may be invalid UTF-8.
  return make_string(json_text(json, 2));
}

}  // namespace poprt::capi
