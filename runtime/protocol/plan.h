// Which epochs a process replays, and from which boundary it starts. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Half-open range of epochs.
struct Epochs {
  std::int64_t first = 0, end = 0;
  std::int64_t count() const { return end - first; }
  bool empty() const { return end <= first; }
  bool operator==(const Epochs&) const = default;
};

/// Cuts `epochs` epochs into `segments` contiguous segments whose sizes differ by at most one,
/// larger ones first, and returns the one with index `segment` (0-based). Segments beyond the
/// number of epochs are empty.
Epochs segment_of(std::int64_t epochs, std::int64_t segment, std::int64_t segments);

/// The part of `segment` that falls into a main loop whose iterations are the epochs
/// [first, first + iterations), counted within that loop.
Epochs part_of_loop(Epochs segment, std::int64_t first, std::int64_t iterations);

/// Reads the number of an epoch; nothing for anything else.
std::optional<std::int64_t> parse_epoch(std::string_view text);

/// Reads "3", "2..5" (both included), "7..", "..4" and lists of these, "0,4..6"; ranges are sorted,
/// and joined where they overlap or touch. An open end is INT64_MAX. Throws UsageError.
std::vector<Epochs> parse_epoch_list(std::string_view text);

/// The part of a list that a run of `epochs` epochs has. Throws UsageError where an epoch is named
/// that the run does not have.
std::vector<Epochs> within_run(std::vector<Epochs> list, std::int64_t epochs);

/// Throws UsageError where the list has an epoch before `first`, which the run has from `parent`, a
/// key of another run.
void refuse_copied(const std::vector<Epochs>& list, std::int64_t first, std::string_view parent);

std::int64_t count_of(const std::vector<Epochs>& list);

/// "epochs 3 to 5", "epoch 3", "no epoch"; "epochs 0, 4 to 6" for a list.
std::string print_epochs(Epochs epochs);
std::string print_epochs(const std::vector<Epochs>& list);

/// The boundary to start from in order to visit iteration `target` next: the nearest of the stored
/// ones that lies at or before it (weak), or the first of them (strong). Nothing if there is none.
std::optional<std::int64_t> start_boundary(const std::set<std::int64_t>& stored,
                                           std::int64_t target, bool strong);

/// The number of epochs to execute to verify the findings of a replay.
struct VerifyWish {
  /// Nothing: one, where that costs little.
  std::optional<std::int64_t> count;
  bool all = false;

  bool none() const { return count == 0; }
  /// Reads N, "all" and "none"; throws UsageError that begins with `flag`.
  static VerifyWish parse(std::string_view flag, std::string_view text);
};

}  // namespace flor::detail
