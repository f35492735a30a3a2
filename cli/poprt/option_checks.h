// Interprets the options of command poprt and warns about those that have no effect.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

bool exports_popef(const GivenOptions& given);

// Whether only errors are printed.
bool is_quiet(const GivenOptions& given);

// Whether the models are only printed. Warns about options that have no effect in that case.
bool only_prints(const GivenOptions& given);

// Called if a model was only converted: warns about options of the executable.
void warn_of_executable(const GivenOptions& given);

// Warns about options that are given several times with different values, and about those that are
// accepted without their full effect.
void warn_of_options(const GivenOptions& given);

// Adds --batch_axis 0 if only --batch_size is given.
void set_batch_axis(GivenOptions& given);

// Whether the converted model is written. PopRT always writes it, and so does the command unless
// only an executable (--output) or a measurement (--run) is requested.
bool writes_converted(const GivenOptions& given);

// Throws Usage if a calibration has no precision to calibrate.
void check_calibration(const GivenOptions& given);

// Throws Usage for invalid names of the executable.
void check_popef_names(const GivenOptions& given);

}  // namespace poprt::cli
