// Answers of replays under one name: one stands, others are set apart. An answer is all that one
// replay found under a name and a path in an epoch, or outside the loops in one place.
#pragma once

#include "database/sqlite.h"
#include "database/values/series_blocks.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::store {

/// The reason why the values of a series do not stand. Stored on disk: append only.
enum class Apart : std::uint8_t {
  doubtful = 1,
  other = 2,  ///< another answer stands: a newer one, or one with a better verdict
};

/// The name of values that are set apart: they form a separate series, so that no reader of the
/// original series mistakes them for it.
std::string apart_name(std::string_view name, Apart why, std::int64_t replay);

/// The verdicts on values that replays of a run found, as far as a query asks for them.
class Verdicts {
 public:
  Verdicts(Connection& connection, const ValueQuery& query);
  ValueVerdict of(std::int64_t replay, std::int64_t epoch) const;

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, ValueVerdict> known_;
};

struct SeriesToRead {
  std::int64_t id = 0;
  std::string name, path;
};
/// Series of these names (none given: of all) and of doubtful values under them, in the order of
/// their ids; `others`: also of answers that do not stand.
std::vector<SeriesToRead> series_to_read(Connection& connection, std::int64_t run,
                                         std::span<const std::string> names, bool others);

/// Decides which answers stand, inside a transaction of its caller.
class Answers {
 public:
  /// `removed` is called with each value that a better answer replaces under a name.
  Answers(Connection& connection, std::int64_t run,
          std::function<void(const std::string&, const Value&)> removed)
      : connection_(connection), blocks_(connection), run_(run), removed_(std::move(removed)) {}

  void put_verdict(std::int64_t replay, std::int64_t epoch, ValueVerdict verdict) {
    put_verdict(replay, {epoch, epoch}, verdict);
  }
  /// A range of epochs, both ends included.
  struct Epochs {
    std::int64_t first = 0, last = 0;
  };
  void put_verdict(std::int64_t replay, Epochs epochs, ValueVerdict verdict);
  /// Prepares for placing these values. If many consecutive epochs have values of one name, sets
  /// apart the values that they replace at once, which `place` would do epoch by epoch.
  void expect(std::int64_t replay, std::span<const Value> values);
  /// The name of the series to which a value of a replay belongs. Sets apart what it replaces; an
  /// answer that stands is never replaced by one with a worse verdict.
  struct Place {
    std::string name;
    bool counts = true;  ///< in the summary of that name
  };
  const Place& place(const Value& value);
  /// Sets apart all values that the replay found; those that stood before stand again.
  void doubt(std::int64_t replay);
  /// Notes that an execution found the same values in this epoch.
  void verify(std::int64_t replay, std::int64_t epoch);

  /// Names whose values were moved without a call of `removed`.
  const std::set<std::string>& touched() const { return touched_; }

 private:
  /// The place of an answer in its series.
  struct Unit {
    std::int64_t epoch = 0;
    /// Outside the loops: the number of the value there. Parts of a replay that different processes
    /// execute find different ones.
    std::int64_t ordinal = 0;

    static Unit of(const Value& value) {
      return {value.place.epoch, value.place.epoch < 0 ? value.ordinal : 0};
    }
  };
  Place decide(const Value& value);
  using Standing = std::vector<Value>;
  Standing standing_in(std::int64_t series, Epochs epochs, std::int64_t except);
  void decide(const std::string& name, const std::string& path, Epochs epochs, std::int64_t replay);
  void replace(const std::string& name, const std::string& path, Epochs epochs, std::int64_t by,
               std::span<const Value> gone);
  void forget_parts(std::int64_t replay, Epochs epochs);
  void load_verdicts(std::int64_t replay, Epochs epochs);
  ValueVerdict verdict(std::int64_t replay, std::int64_t epoch);
  bool is_fetched(std::int64_t replay);
  bool outranks(std::int64_t one, std::int64_t other, std::int64_t epoch);
  bool same_question(std::int64_t a, std::int64_t b);
  std::int64_t series(const std::string& name, const std::string& path);
  std::int64_t set_apart(const std::string& name, const std::string& path, Apart why,
                         std::int64_t replay);
  void move(std::int64_t from, Unit unit, std::int64_t replay, std::int64_t to);
  std::vector<std::int64_t> others_standing(std::int64_t series, Unit unit, std::int64_t replay);
  void supersede(const std::string& name, const std::string& path, Unit unit, std::int64_t by,
                 std::span<const std::int64_t> others);
  void stand_again(const std::string& name, const std::string& path, Unit unit);
  void forget_repeated(const std::string& name, const std::string& path, Unit unit,
                       std::int64_t replay);

  Connection& connection_;
  SeriesBlocks blocks_;
  std::int64_t run_;
  std::function<void(const std::string&, const Value&)> removed_;
  // Caches of facts that do not change within a transaction.
  std::map<std::pair<std::string, std::string>, std::int64_t> series_;
  std::map<std::pair<std::int64_t, std::int64_t>, bool> same_questions_;
  std::map<std::int64_t, bool> fetched_;
  std::map<std::pair<std::int64_t, std::int64_t>, ValueVerdict> verdicts_;  // some of them
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, Place> places_;
  std::set<std::string> touched_;
};

}  // namespace flor::store
