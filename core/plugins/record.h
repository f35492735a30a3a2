// A custom operator as a program file has it: who it is of, and the node's attributes.
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

// Bytes; the same for the same record. core/popef/FORMAT.md says what they are.
std::string encode(const Record& record);
// Throws invalid_argument for anything else.
Record decode(std::string_view bytes);

// The operator that a record names. Throws failed_precondition saying what is missing and how to
// get it.
OperatorRef operator_of(const Record& record);

}  // namespace poprt::plugins
