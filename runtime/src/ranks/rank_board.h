// Messages between the ranks of a group while they record, without waiting: a piece of memory that
// those on one machine share. No exact result depends on it; it makes the ranks store the same
// epochs and stop at the same step, so that a group that is resumed loses little.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>

namespace flor::detail {

/// Lives as long as a process has it mapped; the file is only the way to it. Every function may be
/// called by all ranks at once.
class RankBoard {
 public:
  enum class Mode {
    create,  ///< of rank 0: a new board in place of any other; removed with the object
    join,
  };
  /// Throws Error where it cannot be mapped.
  RankBoard(std::filesystem::path path, Mode mode);
  ~RankBoard();
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  /// Called by rank 0 when it is done: no rank joins any more. Those that did keep the memory.
  void close() noexcept;

  /// Whether this iteration is stored: the answer of the first rank that asks holds for all. A rank
  /// that comes so late that the answer was overwritten gets no.
  bool agree(std::int64_t main_loop, std::int64_t iteration, bool own);

  /// The same for an iteration that is not stored by itself: whether its boundary is stored because
  /// the last state that was kept is too old. The clocks of ranks do not say so at the same moment.
  bool force(std::int64_t main_loop, std::int64_t iteration, bool own);

  /// This rank has spent on recording what it may. While one has, the first rank to call `agree`
  /// gets no.
  void set_spent(std::int64_t rank, bool spent);

  /// Counted in steps and epochs that this process has done since it began, which are the same in
  /// all ranks. True: it is to stop here. `asked`: it was asked to. All stop together a little
  /// later than the first that is asked: ranks that meet in every step are at most one apart.
  bool stops(std::uint64_t position, bool asked);

 private:
  static constexpr std::size_t kAnswers = 256, kRanks = 2048;
  using Answers = std::array<std::atomic<std::uint64_t>, kAnswers>;
  struct Page {
    std::atomic<std::uint64_t> stop;
    Answers stored, forced;
    std::array<std::atomic<std::uint8_t>, kRanks> spent;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  static bool settle(Answers& answers, std::int64_t main_loop, std::int64_t iteration, bool own);
  bool anyone_spent() const;

  std::filesystem::path path_;
  bool owner_;
  Page* page_ = nullptr;
};

}  // namespace flor::detail
