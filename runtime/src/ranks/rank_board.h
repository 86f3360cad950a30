// Messages between the ranks of a group while they record: memory that the ranks on one machine
// share, so that none has to wait. No exact result depends on it. It makes the ranks store the same
// epochs and stop at the same step, so that resuming the group loses little.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>

namespace flor::detail {

/// The memory that the ranks share. The memory exists as long as a process has it mapped; the file
/// is only used to find it. All ranks may call any function at the same time.
class RankBoard {
 public:
  enum class Mode {
    /// For rank 0: makes a new board, which replaces an existing one and is removed with this
    /// object.
    create,
    join,
  };
  /// Throws Error if the memory cannot be mapped.
  RankBoard(std::filesystem::path path, Mode mode);
  ~RankBoard();
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  /// Called by rank 0 at its end: no further rank can join. Ranks that joined keep the memory.
  void close() noexcept;

  /// Whether this iteration is stored: `own` of the first rank that asks decides for all. A rank
  /// that asks so late that the answer has been overwritten gets false.
  bool agree(std::int64_t main_loop, std::int64_t iteration, bool own);

  /// Whether the boundary of an iteration that the schedule does not store is stored anyway,
  /// because the last stored state is too old. Decided like `agree`, since the clocks of the ranks
  /// do not agree.
  bool force(std::int64_t main_loop, std::int64_t iteration, bool own);

  /// Tells whether this rank has spent its budget for recording. While any rank has, the first rank
  /// that calls `agree` gets false.
  void set_spent(std::int64_t rank, bool spent);

  /// Whether this process is to stop at `position`, the number of steps and epochs it has done,
  /// which all ranks count alike. `asked`: this process was asked to stop. All ranks stop together,
  /// a little later than the first one that was asked; ranks that meet in every step are at most
  /// one step apart.
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
