// What the options of command poprt ask for, and warnings about those that do nothing.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

bool exports_popef(const GivenOptions& given);

// Whether only errors are said.
bool is_quiet(const GivenOptions& given);

// Whether the models are only printed; warns of options that do nothing then.
bool shows(const GivenOptions& given);

// Of a model that was only converted: warns of the options that nothing has looked at.
void warn_of_executable(const GivenOptions& given);

// Warns of what is accepted, but not all of it acts.
void warn_of_options(const GivenOptions& given);

// Throws Usage for names of the executable that are none.
void check_popef_names(const GivenOptions& given);

}  // namespace poprt::cli
