// The ONNX model in a PopEF file (option `embed_source`), for compiling the file at other shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "poprt/compiler.h"
#include "recorded_compile_options.h"
#include "runtime/session/model.h"
#include "shape_compiler.h"

namespace poprt::capi {

// Returns the source. Its external data is in a temporary folder, which exists as long as
// Source::owner. Throws failed_precondition if the file has no source; data_loss for a location
// that is outside of the folder or cannot be written; resource_exhausted for more bytes than an
// embedded source may have; and the errors of TemporaryFolder.
ShapeCompiler::Source embedded_source(const runtime::Model& model, const std::string& path);

// Returns the names of the given options that only a compilation uses, which have no effect on a
// PopEF file that is opened as it is. The options are checked.
std::vector<std::string> options_of_compilation(const poprt_compile_options& given);

// The options with which the executable was compiled, for compiling it at other shapes.
class OptionsOfFile {
 public:
  // `given` has the options for the cache, callbacks and the way files are read. Throws
  // invalid_argument if it has one of options_of_compilation(), and failed_precondition if the
  // recorded options concern several models or shapes, files of the computer that compiled it, or
  // another version.
  OptionsOfFile(const runtime::Model& model, const poprt_compile_options& given,
                const std::string& path);

  // Points into this object and into `given`.
  const poprt_compile_options& options() const { return options_; }
  const std::string& source_hash() const { return recorded_.source_hash; }

 private:
  const RecordedCompileOptions recorded_;
  std::vector<poprt_option> named_;
  poprt_compile_options options_;
};

}  // namespace poprt::capi
