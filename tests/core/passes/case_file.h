// A pass's cases as a text file, tests/data/passes/PASS.txt:
//
//   # A comment.
//   opset 13            of the graphs below (17)
//   argument NAME=TEXT  of the pass; \n in it is a line feed
//   tolerance 1e-3      of results (1e-5)
//   none                forgets the arguments
//   unmeasured WHY      results of the cases below are compared by another test
//   --- before
//   IR of a graph, with or without types
//   --- after
//   the result of the pass, compared as text, with inferred types
//   --- stays
//   IR of a graph that it leaves alone
//   --- says
//   IR of a graph that it leaves alone and reports about
//   --- text
//   its report, line for line
//   --- fails PART OF THE MESSAGE
//   IR of a graph that it refuses, or a text that is no graph
//
// Each `before` graph and the result of the pass are computed with the same random inputs: an
// output of the result must be equal, within the tolerance, to the value of the same name in the
// `before` graph. Inputs whose type the pass changes get the same numbers. If the pass only
// inspects, this is also done for `stays` and `says`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/passes/pass_case.h"

namespace poprt::test {

struct FileCase {
  enum class Kind { rewrites, stays, says, fails } kind = Kind::rewrites;
  int line = 0;
  int opset = 17;
  double tolerance = 1e-5;
  bool measured = true;
  passes::Arguments arguments;
  std::string before, after, message;
};

// Throws invalid_argument with the number of a line that is not valid.
std::vector<FileCase> read_cases(const std::string& path);

// The passes that have cases.
std::vector<std::string> case_names();

}  // namespace poprt::test
