// Labels: words of users about runs that are recorded: tags, a note, another name, and that a run
// is removed. The labels of a group of ranks are at the run that leads it; if that is gone, at each
// of them. Of all that is said of a label, here and elsewhere, the latest counts.
#pragma once

#include "database/sqlite.h"
#include "journal/events.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flor::store {

class Store;
class Writing;

/// True of a run that is removed, by itself or with its group. Looks up one run: a list of all that
/// are removed would be made anew by each statement.
#define FLOR_IS_REMOVED(run)                             \
  "EXISTS (SELECT 1 FROM label WHERE label.run IN (" run \
  ", (SELECT leader FROM rank_run WHERE "                \
  "rank_run.run = " run ")) AND kind = 3 AND value <> '') "
/// A query for the ids of the runs that are removed.
#define FLOR_REMOVED_RUNS                                                                     \
  "(SELECT run FROM label WHERE kind = 3 AND value <> '' UNION ALL SELECT rank_run.run FROM " \
  "label JOIN rank_run ON rank_run.leader = label.run WHERE kind = 3 AND value <> '') "

constexpr std::size_t kTagBytesMax = 64, kTagsMax = 64, kNoteBytesMax = 4096, kNameBytesMax = 255;

/// Where labels that are merged come from.
enum class LabelSource {
  here,       ///< users of this store, or it has taken them already
  elsewhere,  ///< anyone who can write to the place that they come from
};

/// Adds tags to the run, and takes others away. Throws UsageError for a word that can be no tag or
/// for too many, NotFound if the run lacks one that is to go.
void change_tags(Store& store, std::int64_t run, std::span<const std::string> added,
                 std::span<const std::string> gone);
/// Replaces the note of the run; empty: takes it away. Throws UsageError for one that is too long.
void set_note(Store& store, std::int64_t run, std::string_view text);

/// Moves the run, with its group, to the experiment of this name. Throws Busy while one of them is
/// recorded, UsageError for a name that --flor does not take.
void rename_run(Store& store, std::int64_t run, std::string_view experiment);

/// Says a label later than all that was said of it, even if the clock was set back.
void say_label(Writing& writing, std::int64_t run, LabelKind kind, std::string_view name,
               std::string_view value);
/// The value of a label that has no name; empty if there is none.
std::string label_of(Connection& connection, std::int64_t run, LabelKind kind);

/// Gives a run, which has entered a group just now, the name that the group was given.
void take_name_of_group(Connection& connection, std::int64_t run);
/// Adds the labels of a run in another catalog, where they were said later than those in `to`.
/// From elsewhere come only those that a command here could have said: none that removes, and no
/// more tags than a run can have. One that is said to come from the future counts as the earliest.
/// Within a transaction of the caller.
void merge_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                  LabelSource source);
/// The same from elsewhere, unless the run was recorded here: then it takes none.
void take_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target);
/// Brings back a run that was removed here, with its group: a user who fetches it wants it.
void bring_back_fetched(Writing& writing, std::int64_t run);

/// A number that changes when a run is removed, comes back or belongs to another experiment.
std::int64_t membership_mark(const Store& store);

}  // namespace flor::store
