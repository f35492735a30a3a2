// The options of an estimate, from the options of a compilation by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler/chip_program.h"
#include "compiler/driver.h"
#include "ipu/report.h"

namespace poprt::compiler {

// Returns the value of an option by name, or null if it is not given.
using OptionText = std::function<const char*(std::string_view name)>;

// A target by name, or the JSON file of one if the word ends in ".json". Throws invalid_argument
// for an unknown name and for JSON that is not a target, and the errors of reading the file.
ipu::Target chip_target(std::string_view word);

// Parses max_size, one NAME=N on each line, as the numbers of rounds of loops
// (EstimateOptions::rounds). Throws invalid_argument for other words and for a name that is given
// twice.
std::map<std::string, int64_t> loop_rounds(std::string_view lines);

// Reads the options that change an estimate: estimate_target (else ipu_version, else c600),
// precision, max_size, num_ipus, num_io_tiles, batches_per_step, available_memory_proportion,
// partials_type, use_128bit_conv_unit_load, enable_fast_reduce, enable_multi_stage_reduce,
// enable_pipelining, enable_outlining, outline_threshold, stream_buffering_depth,
// enable_prefetch_datastreams, group_host_sync, rearrange_streams_on_host,
// rearrange_anchors_on_host, enable_non_stable_softmax and popart.replicatedGraphCount. Other
// options have no effect. Throws invalid_argument for a number outside its range, and the errors of
// chip_target().
EstimateOptions chip_options(const OptionText& option);

// Gives a conversion another batch size: it replaces the first dimension of the input shapes in
// which this is `samples`, the present size. If there are none, it sets `batch_size` and
// `batch_axis`. Returns the options that replace those of the command line.
std::string set_batch(DriverOptions& conversion, int64_t samples, int64_t batch);

// Reads, converts and estimates a model. Tensors in external files may be missing. If the model
// does not fit and `remedies` is not null, it receives the result of find_remedies().
ipu::Estimate estimate_source(const ModelSource& source, const DriverOptions& conversion,
                              const EstimateOptions& options, bool allow_links = false,
                              bool strict = false, std::vector<ipu::Remedy>* remedies = nullptr);

}  // namespace poprt::compiler
