// Values from outside the program, as the record has them: what was pinned is returned again.
#pragma once

#include "session/visited_places.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// A pinned value is a value of the run, of this prefix and its name; `flor::log` refuses such
/// names, since the values of one name are counted at their place.
inline constexpr std::string_view kPinnedPrefix = "pinned:";
/// The answer to a question of flor::query is pinned under this prefix and its words.
inline constexpr std::string_view kQueryPrefix = "flor.query ";
/// A call that pins, for messages: flor::pinned("rate"), flor::query loss --latest
std::string print_pinned_call(std::string_view name);
/// The key of a JSON text that stands for an exception instead of a value: {"flor:threw":
/// "std::out_of_range", "message": "..."}.
inline constexpr const char* kThrewKey = "flor:threw";
/// The class of a refused value there: the program may have caught the error, and goes on.
inline constexpr const char* kUsageError = "flor::UsageError";

/// This thread is in a function that a replay does not call: nothing that it logs is kept.
inline thread_local bool inside_pinned = false;

/// The answer of the record where the program pins a value.
struct FoundPinned {
  VisitedPlaces::Visit here;
  std::optional<store::Value> value;
  bool tells = false;  ///< the first of its name that the record should have and has not
};

/// Belongs to the session's thread.
class PinnedValues {
 public:
  /// The program pins a value of that name where the journal is now: what the first of `runs` has
  /// that has anything. No runs: the program is recorded, and has not been here before.
  FoundPinned next(const store::Catalog& catalog, const std::vector<std::int64_t>& runs,
                   std::string_view name, Journal& journal);

 private:
  using ByPlace = std::map<std::string, store::Value>;
  struct Series {
    VisitedPlaces places;
    std::int64_t epoch = INT64_MIN;          ///< to which the next belong
    std::map<std::int64_t, ByPlace> values;  ///< by run
    bool told = false;
  };
  std::map<std::string, Series> series_;
};

}  // namespace flor::detail
