// Which axes of a model's inputs and outputs are made of rows that requests may share.
//
// With dynamic batching a runner puts the rows of several requests into one batch, and fills the
// rest with padding. That is right only if each row of a result is computed from the same row of
// the inputs. The compiler proves it (compiler/batch_rows.h) and notes the outcome in the
// executable; the runner reads the note.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::program {

// Opaque blob with the outcome for each axis that has more than one row.
inline constexpr const char* kBatchRows = "poprt.rows";

struct BatchRows {
  uint32_t axis = 0;
  int64_t rows = 0;                 // of a batch
  std::vector<std::string> inputs;  // that have these rows; the others are the same for all rows
  std::string
      mixed;  // why rows of several requests change each other's results; empty: they do not
};

// The text of kBatchRows, and back. read_batch_rows() throws data_loss if the text is malformed.
std::string note_of_batch_rows(const std::vector<BatchRows>& axes);
std::vector<BatchRows> read_batch_rows(std::string_view note);

}  // namespace poprt::program
