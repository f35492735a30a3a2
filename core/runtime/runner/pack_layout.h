// Where variable-length items go in a batch of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace poprt::runtime {

enum class PackAlgorithm : uint8_t {
  next_fit,   // the row of the previous item, else the next one
  first_fit,  // the first row with room
};

// `rows` rows of `length` places, numbered row by row. With across_rows items lie one after the
// other and may cross from a row into the next; the algorithm is then of no account.
class PackLayout {
 public:
  struct Place {
    uint64_t offset = 0;  // place of the first element
    uint64_t row = 0;
    uint64_t number = 0;  // of the item in its row, from 1 (in all of the batch with across_rows)
  };

  // `delimiter`: unused places between two items, none before a row's first.
  PackLayout(uint64_t rows, uint64_t length, PackAlgorithm algorithm, bool across_rows,
             uint64_t delimiter);

  // Nothing: it does not fit behind what is there.
  std::optional<Place> place(uint64_t items_length);
  void clear();
  uint64_t places() const { return rows_ * length_; }
  uint64_t rows() const { return rows_; }
  // The longest item that fits an empty batch.
  uint64_t longest() const { return across_rows_ ? places() : length_; }

 private:
  struct Row {
    uint64_t used = 0, items = 0;
  };
  uint64_t rows_, length_;
  PackAlgorithm algorithm_;
  bool across_rows_;
  uint64_t delimiter_;
  std::vector<Row> row_;
  uint64_t current_ = 0;
};

}  // namespace poprt::runtime
