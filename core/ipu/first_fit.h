// Addresses by first fit for blocks of memory that exist during an interval of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace poprt::ipu {

// Example: blocks of 8 bytes at operations 0-1, 1-2 and 2-3 get the addresses 0, 8 and 0.
//
// A tree over the operations, whose nodes are ranges of them, finds the bytes that are taken during
// an interval: a block is added to a logarithmic number of tree nodes, and a search visits as many
// and skips taken bytes by runs, in which adjacent blocks are one.
class FirstFit {
 public:
  // For blocks whose operations are below `operations`.
  explicit FirstFit(size_t operations);

  // Takes the lowest address at which `bytes` are free from operation `first` to `last`, inclusive.
  // Returns it. Later blocks begin at a multiple of 8 bytes.
  int64_t place(size_t first, size_t last, int64_t bytes);

 private:
  using Runs = std::map<int64_t, int64_t>;  // the end of each run of taken bytes, by its beginning

  static void add(Runs& runs, int64_t begin, int64_t end);
  // `parts` are the tree nodes with the largest ranges whose union is the interval, and `edges` the
  // inner nodes whose ranges contain its first or its last operation.
  struct Nodes {
    std::vector<size_t> parts, edges;
  };
  Nodes nodes_of(size_t first, size_t last) const;

  size_t leaves_ = 1;
  // By tree node: the bytes of blocks that were added for the whole range, and those of all blocks
  // that exist during the range or a part of it.
  std::vector<Runs> whole_, part_;
};

}  // namespace poprt::ipu
