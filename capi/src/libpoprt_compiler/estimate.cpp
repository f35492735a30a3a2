#include "estimate.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "compiler/chip_options.h"
#include "driver_options.h"
#include "option_lists.h"
#include "passes.h"
#include "warnings.h"

namespace poprt::capi {
namespace {

// These options change types or need the values of weights. The estimate replaces types itself, and
// reads no value.
constexpr std::string_view kOfValues[] = {"precision",
                                          "execution_precision",
                                          "numerics",
                                          "fp8_params",
                                          "fp8_skip_op_names",
                                          "calibration_with_data",
                                          "calibration_loss_type",
                                          "num_of_layers_keep_fp16",
                                          "data_preprocess",
                                          "enable_avoid_overflow_patterns"};

// The options by name, and `precision`, which has a field.
compiler::OptionText texts_of(const poprt_compile_options& o) {
  return [&o](std::string_view name) -> const char* {
    if (name == "precision" && o.precision == POPRT_PRECISION_FP16) return "fp16";
    if (name == "precision" && o.precision == POPRT_PRECISION_FP32) return "fp32";
    return named_option(o, name);
  };
}

struct ChipEstimate {
  ipu::Estimate estimate;
  std::vector<ipu::Remedy> remedies;
};

ChipEstimate make_estimate(const poprt_compile_options& o, const poprt_library_source& source) {
  const compiler::EstimateOptions settings = compiler::chip_options(texts_of(o));
  poprt_compile_options shapes = o;
  std::vector<poprt_option> named(o.options, o.options + o.option_count);
  std::erase_if(named, [](const poprt_option& option) {
    return std::ranges::find(kOfValues, std::string_view(option.name)) != std::end(kOfValues);
  });
  shapes.options = named.data();
  shapes.option_count = named.size();
  shapes.precision = POPRT_PRECISION_KEEP;
  shapes.after_pass = nullptr;
  compiler::DriverOptions conversion = make_options(shapes, source);
  conversion.check_stopped = [&o] {
    if (o.stop && o.stop(o.user_data) != 0)
      fail(ErrorCode::cancelled, "the estimate was stopped by its caller");
  };
  ChipEstimate made;
  made.estimate = compiler::estimate_source(model_source(source), conversion, settings,
                                            o.allow_links != 0, o.strict != 0, &made.remedies);
  return made;
}

}  // namespace

void estimate(const poprt_compile_options* options, const poprt_library_source* source,
              const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const WarningFilter new_ones = new_warnings(*options, *source);
    const ChipEstimate made = make_estimate(*options, *source);
    ipu::ReportOptions report{true, true, made.remedies};
    nlohmann::ordered_json all;
    all["estimate"] = ipu::report_json(made.estimate, report);
    report.operations = report.plans = false;
    all["report"] = ipu::report_text(made.estimate, report);
    all["svg"] = ipu::report_svg(made.estimate);
    write(*sink, json_text(all));
  });
}

std::string estimate_blob(const poprt_compile_options& o, const poprt_library_source& source) {
  ChipEstimate made;
  {
    const WarningFilter none([](const std::string&) { return false; });  // the compilation warned
    made = make_estimate(o, source);
  }
  if (!made.estimate.fits())
    log().warn("the model does not fit on {} of {}; popef_dump prints the estimate",
               made.estimate.options.num_ipus == 1 ? "an IPU" : "the IPUs",
               made.estimate.target.name);
  return json_text(ipu::report_json(made.estimate, {false, false, made.remedies}));
}

}  // namespace poprt::capi
