// Facts of each run beside its values: the columns of -c where a command prints values.
#pragma once

#include "output/json.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The names in "A,B"; empty ones are left out.
std::vector<std::string> split_columns(std::string_view text);
/// In -c stands for the arguments that differ among the runs.
inline constexpr std::string_view kDifferingArguments = "arguments";

/// Columns of `flor list` for runs that were chosen, each run's read once.
class ColumnsBesideValues {
 public:
  struct Cell {
    std::string shown;  ///< empty: the run has no such thing
    std::string exact;  ///< with every digit; a time as RFC 3339
    Json json;          ///< with its own type; null for nothing
  };

  /// None.
  ColumnsBesideValues() = default;
  /// `text`: "lr,tag". Throws NotFound for a name that none of the runs has.
  ColumnsBesideValues(const store::Catalog& catalog, std::span<const store::Run> runs,
                      std::string_view text, std::int64_t now_us);

  const std::vector<std::string>& titles() const { return titles_; }
  /// One for each title.
  const std::vector<Cell>& of(std::int64_t run) const;
  /// {"lr": 0.1, "tag": null}
  Json json_of(std::int64_t run) const;

 private:
  std::vector<std::string> titles_;
  std::map<std::int64_t, std::vector<Cell>> cells_;
};

}  // namespace flor::cli
