#include "open_models.h"

#include <memory>
#include <set>
#include <string>

#include "compiler/driver.h"
#include "compiler/onnx_metadata.h"
#include "compiler/open_shapes.h"
#include "compiler/quantize/calibrate.h"
#include "driver_options.h"
#include "option_lists.h"
#include "passes.h"
#include "program/open_shapes.h"
#include "program/serialize.h"
#include "program/shared_weights.h"
#include "shapes.h"
#include "warnings.h"

namespace poprt::capi {
namespace {

// The imported model remains in memory: its tensors identify the weights that shapes share.
struct ImportedModel {
  std::unique_ptr<ir::Graph> graph;
  std::string note;             // the open shapes, or empty
  std::set<std::string> sized;  // the outputs NAME:shape, which every shape has
  program::WeightTable weights;
  // All shapes have the formats of one calibration.
  const std::shared_ptr<compiler::CalibrationResult> calibration =
      std::make_shared<compiler::CalibrationResult>();
};

// Calibrates the model at the shape of its data, which the shape of a request need not fit, unless
// it is calibrated already. The options then have the result.
void calibrate(ImportedModel& opened, compiler::DriverOptions& options) {
  if (!options.calibration) return;
  const auto own = std::make_shared<compiler::Calibration>(*options.calibration);
  own->result = opened.calibration;
  options.calibration = own;
  compiler::DriverOptions at_data = options;
  for (compiler::ShapeSet& set : at_data.shapes)
    for (const ir::Value* input : opened.graph->inputs()) {
      const auto given = set.find(input->name());
      const auto data = own->data.find(input->name());
      if (given == set.end() || data == own->data.end()) continue;
      Shape& shape = given->second;
      const Shape &declared = input->shape(), &samples = data->second.shape();
      if (declared.size() != shape.size() || samples.size() != shape.size()) continue;
      for (size_t i = 0; i < shape.size(); i++)
        if (declared[i] < 0 && (i > 0 || samples[i] < shape[i])) shape[i] = samples[i];
    }
  const bool known = [&] {
    const std::lock_guard lock(opened.calibration->mutex);
    return opened.calibration->parameters.has_value();
  }();
  if (!known && at_data.shapes != options.shapes)
    static_cast<void>(compiler::compile_model(opened.graph->clone(), at_data));
}

// Maps the driver's progress to a part of the progress of the call.
void report_compilation(const poprt_compile_options& o, compiler::DriverOptions& to) {
  constexpr double kFrom = 0.1, kPart = 0.7;
  to.progress = [&o](double done, std::string_view what) {
    if (o.progress) o.progress(kFrom + kPart * done, std::string(what).c_str(), o.user_data);
  };
  to.check_stopped = [&o] { throw_if_stopped(o); };
}

}  // namespace

void* open_model(const poprt_compile_options* o, const poprt_library_source* source,
                 const poprt_library_sink* description, int* out_complete,
                 poprt_library_error* error) {
  std::unique_ptr<ImportedModel> made;
  library_guard(error, [&] {
    const WarningFilter new_ones = skip_warnings(*o, *source, description);
    report_step(*o, 0.05, "read");  // hash() covers the part up to 0.05
    auto opened = std::make_unique<ImportedModel>();
    opened->graph = compiler::read_model(model_source(*source), o->allow_links != 0, o->strict != 0,
                                         copies_file(o->load));
    throw_if_stopped(*o);
    compiler::DriverOptions options = make_options(*o, *source);
    options.check_stopped = [o] { throw_if_stopped(*o); };
    *out_complete = 1;
    if (const auto open = compiler::open_model(*opened->graph, options)) {
      if (std::ranges::count(opened->graph->inputs(), program::kSharedWeights, &ir::Value::name))
        fail(ErrorCode::invalid_argument, "the name '{}' is reserved", program::kSharedWeights);
      opened->note = program::note_of_open_shapes(open->shapes);
      opened->sized = open->sized;
      *out_complete = open->complete ? 1 : 0;
      write(*description, opened->note + "\n");
      for (const auto& [name, text] : compiler::onnx_metadata_of(*opened->graph))
        write(*description, text);
    }
    made = std::move(opened);
  });
  return made.release();
}

void compile_open_model(void* model, const poprt_compile_options* o, int first,
                        const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    auto& opened = *static_cast<ImportedModel*>(model);
    const poprt_library_source source{};
    const WarningFilter new_ones = skip_warnings(*o, source, sink);
    compiler::DriverOptions options = make_options(*o, source);
    options.padding = paddings(*o);
    options.sized_outputs = opened.sized;
    report_compilation(*o, options);
    calibrate(opened, options);
    compiler::Executable e = compiler::compile_model(opened.graph->clone(), options);
    if (first) {
      opened.weights.assign(e.program, e.weights);
      if (!opened.note.empty()) e.notes[program::kOpenShapes] = opened.note;
    } else {
      e.narrow.clear();  // its places are those of weights that are not shared
      program::share_weights(e.program, e.weights, opened.weights);
    }
    if (!sink) return;
    report_step(*o, 0.8, "pack weights");
    program::write_executable(payload_sink(*sink), payload_memory(*sink), e.program, e.weights,
                              e.notes, e.narrow);
    if (o->progress) o->progress(1, "done", o->user_data);
  });
}

void close_open_model(void* model) { delete static_cast<ImportedModel*>(model); }

}  // namespace poprt::capi
