// flor::query: values that earlier runs have logged, as rows, for a program that trains on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flor {

/// The answer to a question: rows of cells, with columns by name. The columns are those of
/// `flor query --csv`: run, experiment, loop, epoch, step, one for the number of the iteration of
/// each loop by its name and one for its value (document, document_value), ordinal, the values
/// asked for, origin and verdict. A value that is called as another column, as epoch, has the
/// column `value:epoch`. Two rows with equal columns, names and cells, to the last bit, are equal.
class Rows {
 public:
  /// Nothing, where a row has no value in the column; JSON, tables and histograms are texts.
  using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  /// A row, valid as long as the rows are that it is one of.
  class Row {
   public:
    /// Throws NotFound where there is no such column.
    const Cell& cell(std::string_view column) const;
    /// Whether there is such a column, and a value in it.
    bool has(std::string_view column) const;
    /// The value; an integer or a boolean is a number, too. Throws Error where the cell is empty or
    /// of another type.
    double number(std::string_view column) const;
    std::int64_t integer(std::string_view column) const;     ///< throws as number() does
    bool boolean(std::string_view column) const;             ///< throws as number() does
    const std::string& text(std::string_view column) const;  ///< throws as number() does

   private:
    friend class Rows;
    Row(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}
    const Rows* rows_;
    std::size_t index_;
  };

  /// Goes over the rows in their order.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;  ///< it makes its rows
    using difference_type = std::ptrdiff_t;            ///< as iterators have it
    using value_type = Row;                            ///< not a reference
    Iterator() = default;
    /// At that row of these rows.
    Iterator(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}
    Row operator*() const { return (*rows_)[index_]; }  ///< the row
    /// Goes to the next row.
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    /// Goes to the next row, and returns where it was.
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    bool operator==(const Iterator&) const = default;  ///< the same row of the same rows

   private:
    const Rows* rows_ = nullptr;
    std::size_t index_ = 0;
  };

  Rows() = default;
  /// `cells`: row by row. Throws UsageError where they do not fill whole rows, or a name comes
  /// twice.
  Rows(std::vector<std::string> columns, std::vector<Cell> cells);

  /// The number of rows.
  std::size_t size() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }
  bool empty() const { return cells_.empty(); }  ///< no row
  /// `index` is below size(). A row is valid as long as these rows are.
  Row operator[](std::size_t index) const { return {*this, index}; }
  Iterator begin() const { return {*this, 0}; }     ///< the first row
  Iterator end() const { return {*this, size()}; }  ///< behind the last row

  const std::vector<std::string>& columns() const { return columns_; }  ///< names, each once
  bool has(std::string_view column) const;  ///< whether there is such a column
  /// A whole column, as for a tensor. Throws where Row::number, Row::integer do, naming the row.
  std::vector<double> numbers(std::string_view column) const;
  std::vector<std::int64_t> integers(std::string_view column) const;  ///< as numbers()

  const std::vector<Cell>& cells() const { return cells_; }  ///< row by row

 private:
  std::size_t index_of(std::string_view column) const;

  std::vector<std::string> columns_;
  std::vector<Cell> cells_;
};

/// The options of `flor query`, which see ('flor query --help').
struct QueryOptions {
  std::vector<std::string> run = {};    ///< a run, or a checkpoint of one
  std::string experiment = {};          ///< all its runs
  std::vector<std::string> where = {};  ///< conditions on the runs, as "lr<0.01"; all must hold
  std::string epochs = {};              ///< "3..5", both included
  std::string rows = {};                ///< a condition on the rows, as "loss>10 and epoch>=2"
  bool latest = false;  ///< of rows at one place, of runs of one experiment, the newest run's alone
  bool recorded = false;   ///< what the recorded runs logged, alone
  bool hindsight = false;  ///< what replays found, alone
  bool evaluated = false;  ///< what evaluators found, alone
  bool all = false;  ///< also doubtful values and those of other questions, in columns of their
                     ///< own: "loss (doubtful, replay 3)"
};

/// Values that earlier runs have logged, a row a place:
///
///   for (const auto row : flor::query({"label"}, {.experiment = "labels", .latest = true})) {
///     labels[row.text("document_value")] = row.number("label");
///   }
///
/// The question means what it means to `flor query`; without runs, experiment and condition it is
/// about the latest run of the name last recorded in this repository; outside of repositories,
/// about the latest of all. The run that asks, and other ranks of it, are left out (the first run
/// of its name has to name another); so are doubtful values, unless `all` is set, and rows with no
/// value asked for. Rows are ordered by run, newest first within `latest` and an experiment, and by
/// place.
///
/// In a recorded session the answer is an input of the run: the rows are kept with it, `flor show`
/// lists the question with the runs that its rows came from, and a replay, a resumed or a forked
/// run is given the kept rows up to where it goes on, whatever was logged, found by replays or
/// removed since, as by flor::pinned. A program that came past the error of a question meets the
/// same one again. A question that the record does not have is asked of the store as it is now;
/// a replay is doubtful from there on. Without a session nothing is kept, and the store is
/// $FLOR_HOME, else ~/.flor. Each rank asks for itself; where one of them is given other rows than
/// another at the same place, a line says so.
///
/// With a session only for the thread of flor::init; not inside of flor::pinned or of a
/// flor::iteration, nor in the range of a main loop: ask before them. Throws NotFound where no run
/// or no value has such a name; UsageError where options exclude each other, a condition cannot be
/// read, a value is a tensor or an image, or the question or a text of the answer reads like a
/// secret; Error where the answer has more than 2 million values or 64 MiB.
Rows query(const std::vector<std::string>& names, const QueryOptions& options = {});

}  // namespace flor
