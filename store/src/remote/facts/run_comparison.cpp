#include "remote/facts/run_comparison.h"

#include "base/text.h"
#include "database/database.h"
#include "database/manifest.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::remote {
namespace {

using store::Connection;
using store::Query;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// The point from which one side alone resumed the run; later facts were recorded again there.
struct Cut {
  std::int64_t main_loop = kNever, iteration = kNever, epoch = kNever;
  bool is_none() const { return epoch == kNever; }
};

/// How to compare the rows of one table. Both sides are read in the order of the key columns, in
/// parallel.
struct Facts {
  const char* what;  ///< for messages, with placeholders for the key columns: "argument '{0}'"
  /// Parameters: ?1 the run, ?2 to ?4 main loop, iteration and epoch of the cut. Ordered by the
  /// keys.
  const char* sql;
  int keys;
  std::vector<const char*> columns;  ///< names of the columns after the keys, for messages
};

/// Returns the order of values of different types in SQLite.
int rank_of(int type) {
  switch (type) {
    case SQLITE_NULL:
      return 0;
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return 1;
    case SQLITE_TEXT:
      return 2;
    default:
      return 3;
  }
}

std::strong_ordering order(const Query& a, const Query& b, int column) {
  const int left = rank_of(a.type(column)), right = rank_of(b.type(column));
  if (left != right || left == 0) return left <=> right;
  if (left == 1) {
    if (a.type(column) == SQLITE_INTEGER && b.type(column) == SQLITE_INTEGER) {
      return a.integer(column) <=> b.integer(column);
    }
    // SQLite stores no NaN. An integer and a real number may be equal, as in SQLite's own
    // comparison.
    const long double x = a.type(column) == SQLITE_INTEGER
                              ? static_cast<long double>(a.integer(column))
                              : static_cast<long double>(a.real(column));
    const long double y = b.type(column) == SQLITE_INTEGER
                              ? static_cast<long double>(b.integer(column))
                              : static_cast<long double>(b.real(column));
    return x < y   ? std::strong_ordering::less
           : x > y ? std::strong_ordering::greater
                   : std::strong_ordering::equal;
  }
  if (left == 2) return a.text_view(column) <=> b.text_view(column);
  const store::Bytes x = a.blob(column), y = b.blob(column);
  return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
}

std::strong_ordering order_of_keys(const Query& a, const Query& b, int keys) {
  for (int i = 0; i < keys; ++i) {
    if (const auto result = order(a, b, i); result != 0) return result;
  }
  return std::strong_ordering::equal;
}

/// Returns the beginning of a text, as much as fits into a message.
std::string beginning_of(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return store::printable(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
}

std::string text_of(const Query& row, int column) {
  switch (row.type(column)) {
    case SQLITE_NULL:
      return "nothing";
    case SQLITE_INTEGER:
      return fmt::format("{}", row.integer(column));
    case SQLITE_FLOAT:
      return fmt::format("{}", row.real(column));
    case SQLITE_BLOB:
      return fmt::format("{} bytes", row.blob(column).size());
    default:
      return beginning_of(row.text_view(column));
  }
}

/// Returns the name of a row for messages, as "argument 'lr'": `what` with the keys inserted.
std::string name_of(const Facts& facts, const Query& row) {
  std::string text = facts.what;
  for (int i = 0; i < facts.keys; ++i) {
    const std::string mark = fmt::format("{{{}}}", i);
    const std::size_t at = text.find(mark);
    if (at != text.npos) text.replace(at, mark.size(), text_of(row, i));
  }
  return text;
}

/// Which side may have rows that the other one lacks.
struct Allowed {
  bool more_here = true;
  bool more_there = true;
};

class Comparison {
 public:
  Comparison(const RunPlace& here, const RunPlace& there) : here_(here), there_(there) {}

  void cut(const Cut& cut) { cut_ = cut; }
  const Cut& cut() const { return cut_; }

  /// Returns a description of the first difference; empty if there is none.
  std::string operator()(const Facts& facts, Allowed allowed) const {
    const auto here = rows(here_, facts), there = rows(there_, facts);
    bool more_here = here->step(), more_there = there->step();
    while (more_here || more_there) {
      const auto which = !more_here    ? std::strong_ordering::greater
                         : !more_there ? std::strong_ordering::less
                                       : order_of_keys(*here, *there, facts.keys);
      if (which < 0) {
        if (!allowed.more_here) return name_of(facts, *here) + " is here and not there";
        more_here = here->step();
      } else if (which > 0) {
        if (!allowed.more_there) {
          return name_of(facts, *there) + " is there and not here, where the run has ended";
        }
        more_there = there->step();
      } else {
        if (const std::string found = differ(facts, *here, *there); !found.empty()) return found;
        more_here = here->step();
        more_there = there->step();
      }
    }
    return {};
  }

 private:
  std::unique_ptr<Query> rows(const RunPlace& place, const Facts& facts) const {
    return place.connection(facts.sql, place.run, cut_.main_loop, cut_.iteration, cut_.epoch);
  }

  static std::string differ(const Facts& facts, const Query& here, const Query& there) {
    for (std::size_t i = 0; i < facts.columns.size(); ++i) {
      const int column = facts.keys + static_cast<int>(i);
      if (order(here, there, column) == 0) continue;
      const std::string_view of = facts.columns[i];
      return fmt::format("{}{}{} is {} here and {} there", of, of.empty() ? "" : " of ",
                         name_of(facts, here), text_of(here, column), text_of(there, column));
    }
    return {};
  }

  const RunPlace& here_;
  const RunPlace& there_;
  Cut cut_;
};

// The facts of the run's start, with the name from before it was renamed.
const Facts kRunStart = {
    "the run",
    "SELECT 0, coalesce((SELECT value FROM label WHERE label.run IN (run.id, (SELECT leader FROM "
    "rank_run WHERE rank_run.run = run.id)) AND kind = 2 AND label.name = 'was'), "
    "experiment.name), started_us, version, repository, directory, program, "
    "program_digest, command, json FROM run JOIN experiment ON experiment.id = "
    "experiment JOIN environment ON environment.id = environment WHERE run.id = ?1",
    1,
    {"the name", "the start", "the version", "the repository", "the directory", "the program",
     "the digest of the program", "the command", "the environment"}};
const Facts kRunEnd = {
    "the run",
    "SELECT 0, finished_us, failed, message, degraded, epochs FROM run WHERE id = ?1 "
    "AND finished_us IS NOT NULL",
    1,
    {"the end", "the failure", "the message", "the gap", "the number of epochs"}};
const Facts kResumptions = {
    "resumption {0}",
    "SELECT ordinal, resumed_us, main_loop, iteration, epoch, boundary, "
    "loop, step, version, program_digest, command FROM resumption WHERE run "
    "= ?1 ORDER BY ordinal",
    1,
    {"the time", "the main loop", "the iteration", "the epoch", "the boundary", "the loop",
     "the step", "the version", "the digest of the program", "the command"}};

#define FLOR_BEFORE_CUT " AND (main_loop < ?2 OR (main_loop = ?2 AND iteration < ?3)) "

// Facts of which more are added, but which never change, while a run is recorded.
const std::array kGrowing = {
    Facts{"argument '{0}'",
          "SELECT name, type, value FROM argument WHERE run = ?1 ORDER BY name",
          1,
          {"the type", ""}},
    Facts{"input '{0}'",
          "SELECT name, digest, source, kind, place, bytes, files, epoch FROM used_file WHERE run "
          "= ?1 AND use = 0 AND epoch < ?4 ORDER BY name, digest, source",
          3,
          {"the kind", "the place", "the size", "the number of files", "the epoch"}},
    Facts{"main loop {0}",
          "SELECT ordinal, name, first_epoch FROM main_loop WHERE run = ?1 AND ordinal <= ?2 ORDER "
          "BY ordinal",
          1,
          {"the name", "the first epoch"}},
    Facts{
        "'{0}' in epoch {2}",
        "SELECT name, path, epoch, step, inner, one.ordinal, one.type, one.value FROM series JOIN "
        "every_value AS one ON one.series = series.id WHERE run = ?1 AND replay = 0 AND epoch < ?4 "
        "AND series.id NOT IN (SELECT series FROM apart) ORDER BY name, path, epoch, step, inner, "
        "one.ordinal",
        6,
        {"the type", ""}},
    Facts{"saved checkpoint {0}",
          "SELECT number, name, main_loop, iteration, path, epoch, step, inner, ordinal FROM saved "
          "WHERE run = ?1" FLOR_BEFORE_CUT "ORDER BY number",
          1,
          {"the name", "the main loop", "the iteration", "the path", "the epoch", "the step",
           "the place", "the place"}},
    Facts{"score '{1}' of saved checkpoint {0}",
          "SELECT number, score.name, value FROM score JOIN saved USING (run, number) WHERE run = "
          "?1" FLOR_BEFORE_CUT "ORDER BY number, score.name",
          2,
          {""}},
};
// Facts about loops of which more are added; the latest rows may change while a loop runs.
const std::array kLoops = {
    Facts{"iteration {1} of main loop {0}",
          "SELECT main_loop, iteration, seconds, record_seconds FROM iteration WHERE run = "
          "?1" FLOR_BEFORE_CUT "ORDER BY main_loop, iteration",
          2,
          {"the duration", "the cost of recording"}},
    Facts{"loop '{2}' in iteration {1} of main loop {0}",
          "SELECT main_loop, iteration, loop, ordinal, iterations, broke, seconds FROM execution "
          "WHERE run = ?1" FLOR_BEFORE_CUT "ORDER BY main_loop, iteration, loop",
          3,
          {"the place", "the number of steps", "the end", "the duration"}},
};
// Facts that change until the run has ended.
const std::array kAtEnd = {
    Facts{"main loop {0}",
          "SELECT ordinal, iterations, ended, broke FROM main_loop WHERE run = ?1 ORDER BY ordinal",
          1,
          {"the number of iterations", "the end", "the end"}},
    Facts{"output '{0}'",
          "SELECT name, digest, kind, place, bytes, files FROM used_file WHERE run = ?1 AND use = "
          "1 ORDER BY name",
          1,
          {"the content", "the kind", "the place", "the size", "the number of files"}},
    Facts{
        "the decision from iteration {1} on",
        "SELECT main_loop, first, last, reason, cost, computed FROM decision WHERE run = ?1 ORDER "
        "BY main_loop, first",
        2,
        {"the last iteration", "the reason", "the cost", "the computing time"}},
    Facts{"recording",
          "SELECT 0, every, epsilon, materialization, computation, restore_factor, cost, computed, "
          "forced, startup, iterations, stored, waits, hurried, fast, raw FROM recording WHERE run "
          "= ?1",
          1,
          {"the interval", "the tolerance", "the cost", "the computing time", "the restore factor",
           "the cost", "the computing time", "the forced cost", "the start", "the iterations",
           "the number", "the waits", "the hurried", "the fast", "the size"}},
};
// Facts that a run has at most once.
const std::array kOnce = {
    Facts{"the strategy",
          "SELECT 0, num_to_keep, attribute, score_order, tie FROM strategy WHERE run = ?1",
          1,
          {"the number", "the score", "the order", "the rule for ties"}},
    Facts{"the build",
          "SELECT 0, json, remark FROM build JOIN recipe ON recipe.id = recipe WHERE run = ?1",
          1,
          {"the recipe", "the remark"}},
    Facts{"the group", "SELECT 0, rank FROM rank_run WHERE run = ?1", 1, {"the rank"}},
};

// Two rows are the same replay if the same process of the same command made it.
const Facts kReplays = {
    "the replay of epochs {2} and later",
    "SELECT started_us, segment, first_epoch, segments, last_epoch, strong, "
    "probes, program_digest, command, finished_us, verdict, values_compared, "
    "values_different, states_compared, states_different, values_found, "
    "first_difference FROM replay WHERE run = ?1 AND finished_us IS NOT NULL "
    "ORDER BY started_us, segment, first_epoch",
    3,
    {"the number of segments", "the last epoch", "the initialization", "the probes",
     "the digest of the program", "the command", "the end", "the verdict", "the values compared",
     "the values different", "the states compared", "the states different", "the values found",
     "the first difference"}};
// Values of replays. Later replays change which answer is current, and repeated answers are
// deleted. So each value of an answer must exist on the other side, from whichever replay.
const Facts kFound = {"'{0}' in epoch {2}, found by a replay,",
                      "SELECT DISTINCT coalesce(of, name) AS called, path, epoch, step, inner, "
                      "value.ordinal, value.type, value FROM series JOIN value ON value.series = "
                      "series.id LEFT JOIN apart ON apart.series = series.id WHERE run = ?1 AND "
                      "value.replay <> 0 AND epoch < ?4 ORDER BY called, path, epoch, step, inner, "
                      "value.ordinal, value.type, value",
                      8,
                      {}};
// A later execution may verify what a replay found; if it is doubted, that is a contradiction.
const Facts kDoubts = {"what the replay of epochs {2} and later found in epoch {3}",
                       "SELECT started_us, segment, first_epoch, epoch, answer.verdict = 4 FROM "
                       "answer JOIN replay ON replay.id = answer.replay WHERE run = ?1 AND "
                       "finished_us IS NOT NULL ORDER BY started_us, segment, first_epoch, epoch",
                       4,
                       {"the doubt"}};

// SQL condition for states before the cut. A boundary is the state before its iteration.
#define FLOR_STATE_BEFORE_CUT                                                                  \
  " AND (main_loop < ?2 OR (main_loop = ?2 AND (iteration < ?3 OR (iteration = ?3 AND kind = " \
  "0)))) "

constexpr const char* kStates =
    "SELECT kind, main_loop, iteration, loop, digest, 1 FROM checkpoint WHERE run = "
    "?1" FLOR_STATE_BEFORE_CUT
    "UNION ALL SELECT kind, main_loop, iteration, loop, digest, 0 FROM discarded WHERE run = "
    "?1" FLOR_STATE_BEFORE_CUT;

/// The states that checkpoints at one place of a run have had: several, if the run was resumed
/// before it.
struct States {
  std::optional<store::Digest> stored;
  std::set<store::Digest> deleted;

  bool knows(const store::Digest& digest) const {
    return stored == digest || deleted.contains(digest);
  }
};
using Place = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;

std::map<Place, States> states_of(const RunPlace& place, const Cut& cut) {
  std::map<Place, States> found;
  const auto rows = place.connection(kStates, place.run, cut.main_loop, cut.iteration);
  while (rows->step()) {
    States& states = found[{rows->integer(0), rows->integer(1), rows->integer(2), rows->text(3)}];
    if (rows->integer(5) != 0) {
      states.stored = rows->digest(4);
    } else {
      states.deleted.insert(rows->digest(4));
    }
  }
  return found;
}

/// True if every state that is stored on one side is the one that the other side has or had.
bool agree(const States& here, const States& there) {
  if (here.stored && there.stored) return *here.stored == *there.stored;
  if (here.stored) return there.knows(*here.stored);
  return !there.stored || here.knows(*there.stored);
}

static_assert(static_cast<int>(store::CheckpointKind::boundary) == 0);
static_assert(static_cast<int>(store::ValueVerdict::doubtful) == 4);

class RunComparison {
 public:
  RunComparison(const RunPlace& here, const RunPlace& there, bool replaces)
      : here_(here), there_(there), replaces_(replaces), compare_(here, there) {}

  std::string operator()() {
    if (auto found = compare_(kRunStart, {}); !found.empty()) return found;
    if (auto found = compare_(kResumptions, {}); !found.empty()) return found;
    const std::int64_t mine = resumptions(here_), theirs = resumptions(there_);
    if (theirs > mine && is_complete() && !is_from_elsewhere()) {
      return "the run is complete here and was resumed there";
    }
    const Cut cut = first_cut(std::min(mine, theirs));
    if (theirs <= mine || may_be_forgotten(cut)) compare_.cut(cut);
    // After a run has ended, only replays and evaluations add facts.
    const bool ended_here = mine == theirs && is_finished(here_);
    const bool ended_on_both = ended_here && is_finished(there_);
    if (auto found = recorded(ended_on_both, {!replaces_, !ended_here}, cut); !found.empty()) {
      return found;
    }
    if (auto found = states(); !found.empty()) return found;
    return replayed();
  }

 private:
  static std::int64_t count(const RunPlace& place, const char* sql) {
    const auto row = place.connection(sql, place.run);
    return row->step() ? row->integer(0) : 0;
  }
  static std::int64_t resumptions(const RunPlace& place) {
    return count(place, "SELECT count(*) FROM resumption WHERE run = ?1");
  }
  /// True if the run has finished here without failing, so that it cannot be resumed.
  bool is_complete() const {
    return is_finished(here_) && count(here_, "SELECT failed = 0 FROM run WHERE id = ?1") != 0;
  }
  static bool is_finished(const RunPlace& place) {
    return count(place, "SELECT finished_us IS NOT NULL FROM run WHERE id = ?1") != 0;
  }

  /// Returns the earliest point of those resumptions that only one side knows.
  Cut first_cut(std::int64_t common) const {
    Cut cut;
    for (const RunPlace& place : {here_, there_}) {
      const auto rows = place.connection(
          "SELECT main_loop, iteration, epoch FROM resumption WHERE run = ?1 AND ordinal >= ?2",
          place.run, common);
      while (rows->step()) {
        if (rows->integer(2) >= cut.epoch) continue;
        cut = {rows->integer(0), rows->integer(1), rows->integer(2)};
      }
    }
    return cut;
  }

  /// True if what this store has recorded after `cut` may be replaced by what another machine
  /// recorded after it.
  bool may_be_forgotten(const Cut& cut) const {
    if (is_from_elsewhere()) return true;
    return !here_
                .connection(
                    "SELECT 1 FROM checkpoint WHERE run = ?1 AND kind = 0 AND (main_loop > ?2 OR "
                    "(main_loop = ?2 AND iteration > ?3))",
                    here_.run, cut.main_loop, cut.iteration)
                ->step();
  }

  /// True if the run was fetched, from this object store or another one.
  bool is_from_elsewhere() const {
    constexpr int kFetchedKind = 1;
    return here_
        .connection("SELECT 1 FROM origin WHERE run = ?1 AND kind = ?2", here_.run, kFetchedKind)
        ->step();
  }

  std::string recorded(bool ended_on_both, Allowed allowed, const Cut& cut) {
    if (ended_on_both) {
      if (auto found = compare_(kRunEnd, allowed); !found.empty()) return found;
      for (const Facts& facts : kAtEnd) {
        if (auto found = compare_(facts, allowed); !found.empty()) return found;
      }
    }
    for (const Facts& facts : kOnce) {
      if (auto found = compare_(facts, allowed); !found.empty()) return found;
    }
    for (const Facts& facts : kGrowing) {
      if (auto found = compare_(facts, allowed); !found.empty()) return found;
    }
    if (!ended_on_both && cut.is_none()) compare_.cut(latest_iteration());
    for (const Facts& facts : kLoops) {
      if (auto found = compare_(facts, allowed); !found.empty()) return found;
    }
    if (!ended_on_both && cut.is_none()) compare_.cut({});
    return {};
  }

  /// Returns the earlier of the last iterations of both sides.
  Cut latest_iteration() const {
    Cut latest;
    for (const RunPlace& place : {here_, there_}) {
      const auto row = place.connection(
          "SELECT main_loop, iteration FROM iteration WHERE run = ?1 ORDER BY main_loop DESC, "
          "iteration DESC LIMIT 1",
          place.run);
      const Cut found = row->step() ? Cut{row->integer(0), row->integer(1), 0} : Cut{0, 0, 0};
      if (std::pair(found.main_loop, found.iteration) <
          std::pair(latest.main_loop, latest.iteration)) {
        latest = found;
      }
    }
    return latest;
  }

  std::string states() const {
    const auto there = states_of(there_, compare_.cut());
    for (const auto& [place, states] : states_of(here_, compare_.cut())) {
      const auto other = there.find(place);
      const bool contradicts = other != there.end() && !agree(states, other->second);
      const bool lacks = replaces_ && states.stored && other == there.end();
      if (!contradicts && !lacks) continue;
      const auto& [kind, main_loop, iteration, loop] = place;
      return fmt::format("{} is {}",
                         store::describe({static_cast<store::CheckpointKind>(kind), main_loop,
                                          iteration, beginning_of(loop)}),
                         lacks ? "here and not there" : "another state here than there");
    }
    return {};
  }

  std::string replayed() const {
    const Allowed any{};
    if (auto found = compare_(kReplays, any); !found.empty()) return found;
    if (!replaces_) return {};
    if (auto found = compare_(kFound, {false, true}); !found.empty()) return found;
    return compare_(kDoubts, {true, true});
  }

  const RunPlace& here_;
  const RunPlace& there_;
  bool replaces_;
  Comparison compare_;
};

}  // namespace

std::string contradiction(const RunPlace& here, const RunPlace& there, bool replaces) {
  return RunComparison(here, there, replaces)();
}

}  // namespace flor::remote
