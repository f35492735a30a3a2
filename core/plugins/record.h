// The record of a custom operator in a program file: its plug-in, the operator, and the node's
// attributes.
#pragma once

#include <string>
#include <string_view>

#include "plugins/op_call.h"

namespace poprt::plugins {

struct Record {
  std::string domain, name;
  int32_t version = 0;
  std::string plugin, plugin_version;
  std::string node;
  Attributes attributes;
};

// Equal records give equal bytes. core/popef/FORMAT.md describes them.
std::string encode(const Record& record);
// Throws invalid_argument for invalid bytes, and out_of_range for a tensor whose size overflows.
Record decode(std::string_view bytes);

// The operator that a record refers to. Loads the plug-ins of POPRT_PLUGINS first, and throws like
// load_environment(). Throws failed_precondition, with the plug-in and how to load it, if no
// plug-in has the operator in this version.
OperatorRef operator_of(const Record& record);

}  // namespace poprt::plugins
