// Starts programs, such as Python with a program that the command contains.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace poprt::cli {

// Returns the interpreter for Python files of users: the environment variable POPRT_PYTHON, else
// python3. The commands of the wheel set the variable to the interpreter that has the package.
std::string python();

// Returns the words that run a Python program with `python -c`, or a module as `python -m` does.
// More words are its arguments. Modules are not imported from the working folder, because a file
// such as json.py there would replace a module of the standard library.
std::vector<std::string> python_program(const std::string& program);
std::vector<std::string> python_module(const std::string& name);

// Runs a program with an empty standard input and waits for it. Its output goes to the file
// `output`, or to the output of this process if `output` is empty. Returns the exit code, or -1 if
// the program was killed. The program is killed when this process ends, in whatever way. Sets
// SIGCHLD to its default if it is ignored. Throws Failure, with `purpose` as prefix, if it cannot
// be started.
int run_program(const std::vector<std::string>& words, const std::string& purpose,
                const std::filesystem::path& output = {});

}  // namespace poprt::cli
