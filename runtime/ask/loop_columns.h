// The loops around logged values as columns: of each, by its name, the number of the iteration, and
// what value that has.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::ask {

/// "epoch/train" as it is shown: without the empty names around a flor::iteration.
std::string loop_text(std::string_view path);

/// A loop `document` has the column `document`, the number of the iteration from 0, and, if its
/// iterations have values, `document_value`. A loop that has the name of another column is called
/// `loop:document`; one inside a loop of its own name `document:2`. Numbers of a main loop called
/// `epoch` and of a nested loop called `step` are in the columns of these names already.
class LoopColumns {
 public:
  struct Cell {
    store::ValueType type = store::ValueType::integer;
    store::Scalar value;
  };
  /// `brief`: without all these where the columns epoch and step say as much: no loop has values,
  /// or is deeper than a nested one.
  enum class Form { brief, whole };

  /// Reads the values of the iterations of a run, and where its main loops begin.
  void read(const store::Store& store, const store::Run& run);
  /// A place of a row has this path.
  void add(const std::string& path);
  /// All runs are read and all paths added. `taken`: titles that rows have, too.
  void settle(Form form, const std::vector<std::string>& taken);

  const std::vector<std::string>& titles() const { return titles_; }
  /// Whether a main loop, a nested loop has no column of its own.
  bool needs_epoch() const { return needs_epoch_; }
  bool needs_step() const { return needs_step_; }

  /// One for each title, nothing where the place is in no such loop; `run` 0: of any.
  std::vector<std::optional<Cell>> of(std::int64_t run, const store::Place& place) const;
  /// "document 3 (a.pdf), page 0"; empty where epoch and step say as much.
  std::string text_of(std::int64_t run, const store::Place& place) const;

 private:
  using Loop = std::pair<std::string, int>;  ///< its name, and how often the path had it before
  struct Level {
    Loop loop;
    std::size_t depth = 0;  ///< 0: a main loop, 1: nested
    std::string path;       ///< up to it
  };
  struct Titled {
    std::optional<std::size_t> number, value;  ///< columns
  };

  static std::vector<Level> levels_of(std::string_view path);
  std::string unused_title(const Loop& loop, std::string_view ending,
                           const std::vector<std::string>& taken) const;
  std::int64_t number_at(std::int64_t run, const Level& level, const store::Place& place) const;
  /// The cell of the value, also for an iteration whose value is its number.
  std::optional<Cell> value_cell(std::int64_t run, const Level& level, const store::Place& place,
                                 std::int64_t number) const;
  const Cell* value_at(std::int64_t run, const Level& level, const store::Place& place) const;

  std::map<std::string, std::vector<Level>> paths_;
  std::map<Loop, Titled> loops_;
  std::vector<std::string> titles_;
  bool needs_epoch_ = false, needs_step_ = false;
  std::map<std::int64_t, std::vector<store::MainLoop>> main_loops_;
  std::unordered_map<std::string, Cell> values_;
  /// Paths in which numbers are values: an iteration without one has its own number.
  std::map<std::pair<std::int64_t, std::string>, bool> with_values_;  ///< true: numbers
};

}  // namespace flor::ask
