// Applies events of journals to the index. Call each function in a transaction.
#pragma once

#include "database/database.h"
#include "journal/events.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

/// Adds the run and returns its id. Throws NotFound if the index lacks the run of the group's rank
/// 0.
std::int64_t apply_run(Database& database, const RunEvent& event);
void apply(Database& database, std::int64_t run, const DropEvent& event);
void apply(Database& database, std::int64_t run, const OriginEvent& event);
void apply(Database& database, std::int64_t run, const EndEvent& event);
void apply(Database& database, std::int64_t run, const InterruptEvent& event);
void apply(Database& database, std::int64_t run, const ReopenEvent& event);
void apply(Database& database, std::int64_t run, const ResumeEvent& event);
void apply(Database& database, std::int64_t run, const GapsEvent& event);
void apply(Database& database, std::int64_t run, const LaunchEvent& event);
void apply(Database& database, std::int64_t run, const JoinEvent& event);
void apply(Database& database, std::int64_t run, const CloseLaunchEvent& event);
void apply(Database& database, std::int64_t run, const ArgumentEvent& event);
void apply(Database& database, std::int64_t run, const InputEvent& event);
void apply(Database& database, std::int64_t run, const OutputEvent& event);
void apply(Database& database, std::int64_t run, const ProgressEvent& event);
void apply(Database& database, std::int64_t run, const SavedEvent& event);
void apply(Database& database, std::int64_t run, const ScoreEvent& event);
void apply(Database& database, std::int64_t run, const StrategyEvent& event);
void apply(Database& database, std::int64_t run, const ForgetEvent& event);
void apply(Database& database, std::int64_t run, const ReplayEvent& event);
void apply(Database& database, std::int64_t run, const RestoringEvent& event);
void apply(Database& database, std::int64_t run, const ReplayEndEvent& event);
void apply(Database& database, std::int64_t run, const VerifyEvent& event);
void apply(Database& database, std::int64_t run, const DoubtEvent& event);
void apply(Database& database, std::int64_t run, const OutputsEvent& event);
void apply(Database& database, std::int64_t run, const BuildCommandEvent& event);
void apply(Database& database, std::int64_t run, const DiscardEvent& event);
void apply(Database& database, std::int64_t run, const ProofEvent& event);
void apply(Database& database, std::int64_t run, const UndiscardEvent& event);
void apply(Database& database, std::int64_t run, const CollectedEvent& event);
void apply(Database& database, std::int64_t run, const ArchivedEvent& event);
void apply(Database& database, std::int64_t run, const LabelEvent& event);

/// Adds values as `Catalog::add_values` does.
void insert_values(Database& database, std::int64_t run, std::span<const Value> values);
void apply_replayed(Database& database, std::int64_t run, std::int64_t replay,
                    std::span<const Value> values, std::span<const ReplayedPart> parts);

/// Return the key by which events name a replay, and the id of a replay; empty, or 0, if the index
/// lacks it.
std::string replay_key(Connection& connection, std::int64_t replay);
std::int64_t replay_id(Connection& connection, std::int64_t run, std::string_view key);

}  // namespace flor::store
