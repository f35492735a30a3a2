// Converts the options of the C ABI to those of the compile driver (compiler/driver.h).
// libpoprt/named_options.cpp has already moved each option by name for which poprt_compile_options
// has a field to this field.
#pragma once

#include <vector>

#include "compiler/driver.h"
#include "compiler/ir_file.h"
#include "compiler_library.h"
#include "onnx/model_hash.h"

namespace poprt::capi {

// Returns the options of the driver. `ir` receives each lowered graph if it is not null. Throws
// invalid_argument if a value is wrong, and the errors of reading the file of calibration data.
compiler::DriverOptions make_options(const poprt_compile_options& o,
                                     const poprt_library_source& source,
                                     compiler::IrFile* ir = nullptr);

// Adds the passes that options request, and their arguments, to `to`.
void request_passes(const poprt_compile_options& o, compiler::Options& to);

// Reads the options that select patterns and transforms of plug-ins.
void take_plugins(const poprt_compile_options& o, compiler::Options& to);

// The files of the model: the ONNX file and its external data.
std::vector<onnx::ModelFile> files_of(const poprt_library_source& s,
                                      const poprt_compile_options& o);

// Throws cancelled if the callback `stop` of the caller requests it.
void throw_if_stopped(const poprt_compile_options& o);

// Calls `progress`, and then throw_if_stopped().
void report_step(const poprt_compile_options& o, double done, const char* what);

}  // namespace poprt::capi
