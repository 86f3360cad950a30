// Runs in an object store as people call them.
#pragma once

#include "remote/remote.h"

#include <flor/store/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

class Context;

/// NAME: all runs of it. NAME~2, or the first digits of a key: one run. In both cases with all
/// ranks of its group. The oldest first, and of a group rank 0. Throws NotFound with the nearest
/// names, or UsageError where digits are ambiguous.
std::vector<remote::RemoteRun> choose_remote(const std::vector<remote::RemoteRun>& runs,
                                             std::string_view spec, std::string_view url);

/// As above, from a place where some manifests cannot be read: those are no match for a name, and
/// an error where their digits are meant.
std::vector<remote::RemoteRun> choose_remote(const remote::RunList& there, std::string_view spec,
                                             std::string_view url);

/// What `objects` has. Throws NotFound if that is nothing.
remote::RunList runs_in(remote::ObjectStore& objects, unsigned threads);

/// Says on standard error which runs cannot be read. The status with which to end: done, damaged or
/// partly done.
ExitStatus note_unreadable(Context& context, const remote::RunList& there);

/// "3f2a91c4 (linear)", safe to print.
std::string title(const remote::RemoteRun& run);

/// The number that is meant by --threads, or the default. Throws UsageError.
unsigned parse_threads(std::optional<std::uint64_t> threads);

/// "24h", "30min", "7d", "90s", "0": in microseconds. Throws UsageError.
std::int64_t parse_grace(std::string_view text);

}  // namespace flor::cli
