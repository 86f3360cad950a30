#include "index/catalog/labels.h"

#include "database/manifest.h"
#include "database/rows.h"
#include "database/store_impl.h"
#include "index/copies/fetched_replays.h"
#include "index/writing.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace flor::store {
namespace {

/// The label with this name holds the experiment under which a renamed run was recorded.
constexpr std::string_view kFirstName = "was";

/// Limit of the number of labels of a run that are read from elsewhere.
constexpr std::int64_t kForeignLabelsMax = 1000;
/// The largest difference that is assumed between clocks of machines, in microseconds.
constexpr std::int64_t kClockErrorMax = std::int64_t{24 * 3600} * 1'000'000;

void put_label(Connection& connection, std::int64_t run, const LabelEvent& label) {
  connection(
      "INSERT INTO label (run, kind, name, value, said_us) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT "
      "DO UPDATE SET value = excluded.value, said_us = excluded.said_us WHERE excluded.said_us > "
      "said_us OR (excluded.said_us = said_us AND excluded.value > value)",
      run, static_cast<std::int64_t>(label.kind), label.name, label.value, label.said_us)
      ->run();
}

/// Returns the runs that carry the labels of this run's group (or of the run itself).
std::vector<std::int64_t> labelled_runs(Connection& connection, std::int64_t run) {
  std::vector<std::int64_t> ranks;
  const auto rows = connection(
      "SELECT run, run = leader FROM rank_run WHERE leader = (SELECT leader FROM rank_run WHERE "
      "run = ?1) ORDER BY rank",
      run);
  while (rows->step()) {
    if (rows->integer(1) != 0) return {rows->integer(0)};
    ranks.push_back(rows->integer(0));
  }
  if (ranks.empty()) ranks.push_back(run);
  return ranks;
}

/// True if the run has a nonempty label of this kind and name.
bool has_label(Connection& connection, std::int64_t run, LabelKind kind, std::string_view name) {
  return connection(
             "SELECT 1 FROM label WHERE run = ?1 AND kind = ?2 AND name = ?3 AND value <> ''", run,
             static_cast<std::int64_t>(kind), name)
      ->step();
}

/// A tag must not contain characters that conditions (`--where`) or tables use.
bool is_tag(std::string_view tag) {
  constexpr std::string_view kSpecial = "<>=!~()'\",;|";
  const bool plain = std::ranges::none_of(tag, [&](unsigned char c) {
    return c <= ' ' || c == 0x7F || kSpecial.find(static_cast<char>(c)) != kSpecial.npos;
  });
  const bool keyword = tag == "and" || tag == "or" || tag == "not";
  return !tag.empty() && tag.size() <= kTagBytesMax && plain && !keyword;
}

bool is_name(std::string_view experiment) {
  return !experiment.empty() && experiment.size() <= kNameBytesMax && experiment.front() != '-';
}

void check_tag(const std::string& tag) {
  if (is_tag(tag)) return;
  throw UsageError(fmt::format(
      "{} is not a tag: a tag is one word of at most {} bytes without blanks, quotes, brackets and "
      "<>=!~,;|, as in flor tag RUN good",
      tag.size() > kTagBytesMax ? "a text so long" : fmt::format("'{}'", tag), kTagBytesMax));
}

std::size_t count_tags(Connection& connection, std::int64_t run) {
  const auto row =
      connection("SELECT count(*) FROM label WHERE run = ?1 AND kind = 0 AND value <> ''", run);
  row->step();
  return static_cast<std::size_t>(row->integer(0));
}

void check_known(Connection& connection, std::int64_t run) {
  if (connection("SELECT 1 FROM run WHERE id = ?1", run)->step()) return;
  throw NotFound("the run is not in the store any more: `flor list` shows what there is");
}

/// True if a command in this home could have set this label on the run.
bool can_be_said(Connection& connection, std::int64_t run, const LabelEvent& label) {
  switch (label.kind) {
    case LabelKind::tag:
      return is_tag(label.name) && (label.value.empty() ||
                                    (label.value == "1" && count_tags(connection, run) < kTagsMax));
    case LabelKind::note:
      return label.name.empty() && label.value.size() <= kNoteBytesMax;
    case LabelKind::name:
      return label.name.empty() ? is_name(label.value)
                                : label.name == kFirstName && label.value.size() <= kNoteBytesMax;
    case LabelKind::removed:
      break;
  }
  return false;
}

/// Moves a run to an experiment, and deletes the previous experiment if it has no more runs.
void move_to(Connection& connection, std::int64_t run, std::string_view experiment) {
  const std::int64_t id = intern(connection, "experiment", "name", experiment);
  std::int64_t before = 0;
  {
    const auto row = connection("SELECT experiment FROM run WHERE id = ?1", run);
    if (row->step()) before = row->integer(0);
  }
  if (before == id) return;
  connection("UPDATE run SET experiment = ?2 WHERE id = ?1", run, id)->run();
  connection(
      "DELETE FROM experiment WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM run WHERE experiment = "
      "?1)",
      before)
      ->run();
}

/// Moves the run, and the runs of a group that it leads, to the experiment that its label names.
void settle_name(Connection& connection, std::int64_t run) {
  std::string name;
  {
    const auto row =
        connection("SELECT value FROM label WHERE run = ?1 AND kind = ?2 AND name = ''", run,
                   static_cast<std::int64_t>(LabelKind::name));
    if (!row->step() || row->text_view(0).empty()) return;
    name = row->text(0);
  }
  std::vector<std::int64_t> runs{run};
  {
    const auto rows = connection("SELECT run FROM rank_run WHERE leader = ?1 AND run <> ?1", run);
    while (rows->step()) runs.push_back(rows->integer(0));
  }
  for (const std::int64_t one : runs) move_to(connection, one, name);
}

}  // namespace

void say_label(Writing& writing, std::int64_t run, LabelKind kind, std::string_view name,
               std::string_view value) {
  for (const std::int64_t labelled : labelled_runs(writing.connection(), run)) {
    std::int64_t said_us = now_us();
    {
      const auto last = writing.connection()(
          "SELECT said_us FROM label WHERE run = ?1 AND kind = ?2 AND name = ?3", labelled,
          static_cast<std::int64_t>(kind), name);
      if (last->step()) said_us = std::max(said_us, last->integer(0) + 1);
    }
    writing.add(labelled, LabelEvent{.said_us = said_us,
                                     .kind = kind,
                                     .name = std::string(name),
                                     .value = std::string(value)});
  }
}

std::string label_of(Connection& connection, std::int64_t run, LabelKind kind) {
  const auto row =
      connection("SELECT value FROM label WHERE run = ?1 AND kind = ?2 AND name = ''",
                 labelled_runs(connection, run).front(), static_cast<std::int64_t>(kind));
  return row->step() ? row->text(0) : std::string();
}

void apply(Database& database, std::int64_t run, const LabelEvent& event) {
  put_label(database.connection, run, event);
  if (event.kind == LabelKind::name) settle_name(database.connection, run);
}

void take_name_of_group(Connection& connection, std::int64_t run) {
  const std::int64_t labelled = labelled_runs(connection, run).front();
  if (labelled != run) settle_name(connection, labelled);
}

void rename_run(Store& store, std::int64_t run, std::string_view experiment) {
  if (!is_name(experiment)) {
    throw UsageError(fmt::format(
        "a name of an experiment has 1 to {} bytes and begins with no dash, as in --flor NAME",
        kNameBytesMax));
  }
  Database& database = *store.impl().database;
  std::vector<RunLock> locks;
  {
    const std::lock_guard lock(database.mutex);
    check_known(database.connection, run);
    const auto rows = database.connection(
        "SELECT key FROM run WHERE id = ?1 OR id IN (SELECT run FROM rank_run WHERE leader = "
        "(SELECT leader FROM rank_run WHERE run = ?1))",
        run);
    while (rows->step()) {
      auto own = store.lock_run(rows->text_view(0));
      if (!own) {
        throw Busy(fmt::format("run {} is being recorded, and keeps its name until it has ended",
                               rows->text(0).substr(0, 8)));
      }
      locks.push_back(*std::move(own));
    }
  }
  Writing writing(database);
  // Other stores recognise the run by its first name.
  const std::int64_t labelled = labelled_runs(writing.connection(), run).front();
  if (!has_label(writing.connection(), labelled, LabelKind::name, kFirstName)) {
    const auto row = writing.connection()(
        "SELECT name FROM experiment JOIN run ON run.experiment = experiment.id WHERE run.id = ?1",
        labelled);
    const std::string before = row->step() ? row->text(0) : std::string();
    say_label(writing, run, LabelKind::name, kFirstName, before);
  }
  say_label(writing, run, LabelKind::name, "", experiment);
  writing.commit();
}

void change_tags(Store& store, std::int64_t run, std::span<const std::string> added,
                 std::span<const std::string> gone) {
  std::ranges::for_each(added, check_tag);
  Writing writing(*store.impl().database);
  Connection& connection = writing.connection();
  check_known(connection, run);
  const std::int64_t labelled = labelled_runs(connection, run).front();
  for (const std::string& tag : gone) {
    if (!has_label(connection, labelled, LabelKind::tag, tag)) {
      throw NotFound(fmt::format("the run has no tag '{}': `flor tag RUN` shows what it has", tag));
    }
    say_label(writing, run, LabelKind::tag, tag, "");
  }
  for (const std::string& tag : added) {
    if (!has_label(connection, labelled, LabelKind::tag, tag)) {
      say_label(writing, run, LabelKind::tag, tag, "1");
    }
  }
  if (!added.empty() && count_tags(connection, labelled) > kTagsMax) {
    throw UsageError(
        fmt::format("a run can have at most {} tags: take some away with --remove TAG", kTagsMax));
  }
  writing.commit();
}

void set_note(Store& store, std::int64_t run, std::string_view text) {
  if (text.size() > kNoteBytesMax) {
    throw UsageError(fmt::format("a note has at most {} bytes, and this one has {}", kNoteBytesMax,
                                 text.size()));
  }
  Writing writing(*store.impl().database);
  check_known(writing.connection(), run);
  say_label(writing, run, LabelKind::note, "", text);
  writing.commit();
}

void merge_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                  LabelSource source) {
  if (!has_table(from, "label")) return;
  const bool here = source == LabelSource::here;
  const auto rows = from(
      "SELECT kind, name, value, said_us FROM label WHERE run = ?1 AND (?2 OR kind IN (0, 1, 2)) "
      "ORDER BY kind DESC, name LIMIT ?3",
      run, here, here ? std::int64_t{-1} : kForeignLabelsMax);
  const std::int64_t future = now_us() + kClockErrorMax;
  while (rows->step()) {
    LabelEvent label{.said_us = rows->integer(3),
                     .kind = static_cast<LabelKind>(rows->integer(0)),
                     .name = rows->text(1),
                     .value = rows->text(2)};
    if (!here) {
      if (!can_be_said(to, target, label)) continue;
      if (label.said_us > future) label.said_us = 0;
    }
    put_label(to, target, label);
  }
  settle_name(to, target);
  take_name_of_group(to, target);
}

void take_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  if (!is_of_here(to, target)) merge_labels(from, run, to, target, LabelSource::elsewhere);
}

void bring_back_fetched(Writing& writing, std::int64_t run) {
  if (label_of(writing.connection(), run, LabelKind::removed).empty()) return;
  say_label(writing, run, LabelKind::removed, "", "");
}

std::int64_t membership_mark(const Store& store) {
  Database& database = *store.impl().database;
  const std::lock_guard lock(database.mutex);
  const auto row = database.connection(
      "SELECT coalesce(sum(said_us & 0xFFFFFFFF), 0) FROM label WHERE kind IN (2, 3)");
  row->step();
  return row->integer(0);
}

}  // namespace flor::store
