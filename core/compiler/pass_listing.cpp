#include "compiler/pass_listing.h"

#include <algorithm>

#include "base/json.h"
#include "compiler/pipeline.h"
#include "passes/common/custom.h"

namespace poprt::compiler {
namespace {

nlohmann::ordered_json parameter_json(const passes::Parameter& p) {
  return {{"name", p.name},
          {"kind", passes::parameter_kind_name(p.kind)},
          {"default",
           p.required ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(p.standard)},
          {"required", p.required},
          {"summary", p.summary}};
}

}  // namespace

std::string_view stage_of(const passes::PassDef& pass) {
  const auto in = [&](const std::vector<const passes::PassDef*>& pipeline) {
    return std::find(pipeline.begin(), pipeline.end(), &pass) != pipeline.end();
  };
  const bool converts = in(converter_pipeline({}));
  const bool compiles = in(compile_pipeline({}));
  return converts && compiles ? "convert, compile"
         : converts           ? "convert"
         : compiles           ? "compile"
                              : "on request";
}

std::string passes_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto own = passes::all_passes();
  std::vector<const passes::PassDef*> listed(own.begin(), own.end());
  const auto custom = passes::custom_passes();
  listed.insert(listed.end(), custom.begin(), custom.end());
  for (const passes::PassDef* p : listed) {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
    for (const passes::Parameter& parameter : p->parameters)
      parameters.push_back(parameter_json(parameter));
    all.push_back({{"name", p->name},
                   {"alias", p->alias},
                   {"kind", passes::kind_name(p->kind)},
                   {"summary", p->summary},
                   {"condition", p->condition},
                   {"numerics", passes::numerics_name(p->numerics)},
                   {"stage", stage_of(*p)},
                   {"parameters", parameters},
                   {"depend", p->depend},
                   {"before", p->before},
                   {"against", p->against}});
  }
  return json_text(all, 2) + "\n";
}

}  // namespace poprt::compiler
