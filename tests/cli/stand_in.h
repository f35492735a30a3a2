// A program that replaces Python: it records its arguments and runs a line of sh.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/command_line.h"

namespace poprt::cli {

class StandIn {
 public:
  // In `act`, $1, $2 ... are the arguments of the program, $* all of them, and $here its folder.
  explicit StandIn(const std::string& act) {
    const std::string program = write_file(folder, "python",
                                           "#!/bin/sh\nhere=$(dirname \"$0\")\n"
                                           "echo \"$*\" >> \"$here/calls\"\n" +
                                               act + "\n")
                                    .string();
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("POPRT_PYTHON", program.c_str(), 1);
  }
  ~StandIn() { ::unsetenv("POPRT_PYTHON"); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  std::string file(const std::string& name) const { return (folder.path() / name).string(); }
  std::string calls() const { return read_file(file("calls")); }

  const TemporaryFolder folder;
};

}  // namespace poprt::cli
