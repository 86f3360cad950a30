// Labels: what users attach to recorded runs: tags, a note, another name, and the mark that a run
// is removed. A group of ranks has its labels at the run of rank 0, or, if that is gone, at each of
// its runs. Of all values that a label was given, here and elsewhere, the latest is valid.
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

/// SQL condition: the run is removed, by itself or with its group. For looking up single runs; each
/// statement would compute the list of all removed runs (below) anew.
#define FLOR_IS_REMOVED(run)                             \
  "EXISTS (SELECT 1 FROM label WHERE label.run IN (" run \
  ", (SELECT leader FROM rank_run WHERE "                \
  "rank_run.run = " run ")) AND kind = 3 AND value <> '') "
/// SQL subquery: the ids of all removed runs.
#define FLOR_REMOVED_RUNS                                                                     \
  "(SELECT run FROM label WHERE kind = 3 AND value <> '' UNION ALL SELECT rank_run.run FROM " \
  "label JOIN rank_run ON rank_run.leader = label.run WHERE kind = 3 AND value <> '') "

constexpr std::size_t kTagBytesMax = 64, kTagsMax = 64, kNoteBytesMax = 4096, kNameBytesMax = 255;

/// Where labels that are to be merged come from.
enum class LabelSource {
  here,       ///< users of this store, or a place whose labels it has already taken over
  elsewhere,  ///< anyone who can write to the place that the labels come from
};

/// Adds tags to a run and removes others. Throws UsageError for a word that cannot be a tag or for
/// too many tags, NotFound if the run lacks a tag that is to be removed.
void change_tags(Store& store, std::int64_t run, std::span<const std::string> added,
                 std::span<const std::string> gone);
/// Replaces the note of a run; an empty text removes it. Throws UsageError if the text is too long.
void set_note(Store& store, std::int64_t run, std::string_view text);

/// Moves the run and its group to the experiment of this name. Throws Busy while one of the runs is
/// being recorded, UsageError if --flor would not accept the name.
void rename_run(Store& store, std::int64_t run, std::string_view experiment);

/// Sets a label, with a time later than all earlier ones of it even if the clock was set back.
void say_label(Writing& writing, std::int64_t run, LabelKind kind, std::string_view name,
               std::string_view value);
/// Returns the value of a label of a kind that has no names; empty if there is none.
std::string label_of(Connection& connection, std::int64_t run, LabelKind kind);

/// Gives a run that has just entered a group the experiment name that the group was renamed to.
void take_name_of_group(Connection& connection, std::int64_t run);
/// Merges the labels of a run in the catalog `from` into `to`, where the later one is valid. With
/// LabelSource::elsewhere takes only labels that a command here could have set: none that removes a
/// run, and no more tags than a run can have; a label with a time in the future counts as the
/// earliest. Within a transaction of the caller.
void merge_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                  LabelSource source);
/// Merges labels from elsewhere, unless the run was recorded here.
void take_labels(Connection& from, std::int64_t run, Connection& to, std::int64_t target);
/// Restores a run that was removed here, with its group, because a user fetches it again.
void bring_back_fetched(Writing& writing, std::int64_t run);

/// Returns a number that changes when a run is removed, is restored, or changes its experiment.
std::int64_t membership_mark(const Store& store);

}  // namespace flor::store
