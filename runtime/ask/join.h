// Joins values of several metrics into one table: values that were logged at the same place share a
// row, and a value of an outer loop is repeated at every place inside it.
#pragma once

#include <flor/store/catalog.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::ask {

/// The first `count` of the indices of deeper loops, "4,0" of "4,0,7".
std::string_view first_indices(std::string_view inner, std::size_t count);

/// The values of one run, joined on the loop indices that they have in common.
///
/// A row is a place and an ordinal (the number of the value at that place). A value that was logged
/// further out (an accuracy per epoch) is repeated in each row inside its place (a loss per step),
/// unless its metric was also logged there, or several times in the outer place, which would be
/// ambiguous. A value that is repeated nowhere has a row of its own, so every value is in at least
/// one row. Rows are ordered by epoch, loop, step, indices of deeper loops, ordinal.
class Join {
 public:
  struct Row {
    const store::Place* place = nullptr;
    std::int64_t ordinal = 0;
  };

  /// `values` must outlive this object; those of other metrics are ignored. `names` must be
  /// distinct.
  Join(std::span<const std::string> names, std::span<const store::Value> values);

  /// Removes the rows of values that were logged outside of all loops.
  void drop_outside_loops();

  std::size_t size() const { return rows_.size(); }
  const Row& row(std::size_t index) const { return rows_[index]; }
  /// The values of a row, one for each name; null if it has none.
  std::span<const store::Value* const> cells(std::size_t index) const {
    return std::span(cells_).subspan(index * columns_, columns_);
  }

 private:
  std::size_t columns_;
  std::vector<Row> rows_;
  std::vector<const store::Value*> cells_;
};

/// "recorded", "hindsight" or "evaluated"; if several values have different origins
/// "recorded+hindsight".
std::string_view origin_of(const store::Value& value);
std::string origin_of(std::span<const store::Value* const> cells);
/// How much a value can be trusted: "recorded", "verified", ...; "evaluated" for an evaluator's
/// value.
std::string_view verdict_of(const store::Value& value);
std::string verdict_of(std::span<const store::Value* const> cells);

}  // namespace flor::ask
