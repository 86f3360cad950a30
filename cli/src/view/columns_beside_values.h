// Columns with facts of each run, for commands that print values (option -c).
#pragma once

#include "output/json.h"

#include <flor/store/catalog.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Splits "A,B" at commas; empty names are left out.
std::vector<std::string> split_columns(std::string_view text);
/// A word of -c that stands for all arguments that differ among the runs.
inline constexpr std::string_view kDifferingArguments = "arguments";

/// Columns of `flor list` for chosen runs. Each run's facts are read once.
class ColumnsBesideValues {
 public:
  struct Cell {
    std::string shown;  ///< empty: the run has nothing in this column
    std::string exact;  ///< with all digits; a time in RFC 3339
    Json json;          ///< with the value's own type; null if the run has none
  };

  /// No columns.
  ColumnsBesideValues() = default;
  /// `text`: names such as "lr,tag". Throws NotFound for a name that none of the runs has.
  ColumnsBesideValues(const store::Catalog& catalog, std::span<const store::Run> runs,
                      std::string_view text, std::int64_t now_us);

  const std::vector<std::string>& titles() const { return titles_; }
  /// The run's cells, one for each title.
  const std::vector<Cell>& of(std::int64_t run) const;
  /// The run's cells as an object: {"lr": 0.1, "tag": null}
  Json json_of(std::int64_t run) const;

 private:
  std::vector<std::string> titles_;
  std::map<std::int64_t, std::vector<Cell>> cells_;
};

}  // namespace flor::cli
