// Programs that a command starts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace poprt::cli {

// The interpreter for what users write in Python: POPRT_PYTHON of the environment, else python3.
// The wheel's commands name the one that has the package.
std::string python();

// Runs a program with an empty standard input and waits. What it prints goes into the file
// `output`, and to where this process prints when that is empty. The exit code; -1 when it was
// killed. Throws Failure, beginning with `purpose`, when it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& purpose,
                const std::filesystem::path& output = {});

}  // namespace poprt::cli
