// Answers of replays. An answer is all that one replay found under one name and path in one epoch,
// or at one place outside the loops. At most one answer to each of these is current; the values of
// the others are set apart. Answers to questions of chosen steps that differ in the steps alone
// count as one.
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

/// Why values are set apart. Stored on disk: append only.
enum class Apart : std::uint8_t {
  doubtful = 1,
  other = 2,  ///< another answer is current: a newer one, or one with a better verdict
};

/// Returns the name of values that are set apart. They form a series of their own, so that readers
/// of the original series do not take them for its values.
std::string apart_name(std::string_view name, Apart why, std::int64_t replay);

/// The verdicts on values that replays of a run found, loaded for the epochs of a query.
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
/// Returns the series with these names (empty: all) and with doubtful values of these names,
/// ordered by id. `others`: also series of answers that are not current.
std::vector<SeriesToRead> series_to_read(Connection& connection, std::int64_t run,
                                         std::span<const std::string> names, bool others);

/// Decides which answers are current, inside a transaction of the caller.
class Answers {
 public:
  /// `removed` is called with each value that ceases to count under its name.
  Answers(Connection& connection, std::int64_t run,
          std::function<void(const std::string&, const Value&)> removed)
      : connection_(connection), blocks_(connection), run_(run), removed_(std::move(removed)) {}

  void put_verdict(std::int64_t replay, std::int64_t epoch, ValueVerdict verdict) {
    put_verdict(replay, {epoch, epoch}, verdict);
  }
  /// A range of epochs, both included.
  struct Epochs {
    std::int64_t first = 0, last = 0;
  };
  void put_verdict(std::int64_t replay, Epochs epochs, ValueVerdict verdict);
  /// Call it before `place` is called for these values. If one name has values in many consecutive
  /// epochs, sets apart what they replace in one step; `place` would do it epoch by epoch.
  void expect(std::int64_t replay, std::span<const Value> values);
  /// `place` returns the name of the series that a value of a replay belongs to, and sets apart the
  /// values that it replaces. A current answer is never replaced by one with a worse verdict.
  struct Place {
    std::string name;
    bool counts = true;  ///< whether it counts in the summary of `name`
  };
  const Place& place(const Value& value);
  /// Sets apart all values of the replay as doubtful; answers that it had replaced become current.
  void doubt(std::int64_t replay);
  /// Notes that an execution found the same values as the replay in this epoch.
  void verify(std::int64_t replay, std::int64_t epoch);

  /// Names whose values changed series without a call of `removed`.
  const std::set<std::string>& touched() const { return touched_; }

 private:
  /// The part of a series that an answer belongs to: an epoch, or a place outside the loops.
  struct Unit {
    std::int64_t epoch = 0;
    /// Outside the loops: the value's ordinal, because different parts of a replay, executed by
    /// different processes, find different values there. Otherwise 0.
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
  /// The question of a replay. `whole`: the same question of all steps.
  struct Question {
    std::string text, whole;
    bool of_steps() const { return text != whole; }
  };
  const Question& question(std::int64_t replay);
  /// Whether both answer chosen steps of one question, and not the same ones.
  bool are_siblings(std::int64_t a, std::int64_t b);
  /// Whether `one` answers all steps of the question of which `other` answers some.
  bool covers(std::int64_t one, std::int64_t other);
  bool is_answered_by_sibling(std::int64_t series, const Value& value);
  std::int64_t series(const std::string& name, const std::string& path);
  std::int64_t set_apart(const std::string& name, const std::string& path, Apart why,
                         std::int64_t replay);
  void move(std::int64_t from, Unit unit, std::int64_t replay, std::int64_t to);
  std::vector<std::int64_t> others_standing(std::int64_t series, Unit unit, std::int64_t replay);
  void supersede(const std::string& name, const std::string& path, Unit unit, std::int64_t by,
                 std::span<const std::int64_t> others);
  bool stands(std::int64_t series, Unit unit);
  void stand_again(const std::string& name, const std::string& path, Unit unit);
  void forget_repeated(const std::string& name, const std::string& path, Unit unit,
                       std::int64_t replay);

  Connection& connection_;
  SeriesBlocks blocks_;
  std::int64_t run_;
  std::function<void(const std::string&, const Value&)> removed_;
  // Caches of facts that stay the same within a transaction.
  std::map<std::pair<std::string, std::string>, std::int64_t> series_;
  std::map<std::int64_t, Question> questions_;
  std::map<std::int64_t, bool> fetched_;
  std::map<std::pair<std::int64_t, std::int64_t>, ValueVerdict> verdicts_;  // incomplete
  using Key =
      std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, Place> places_;
  std::set<std::string> touched_;
};

}  // namespace flor::store
