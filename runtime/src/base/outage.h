// Faults of the store while a run is recorded: when to try again, and the epochs missing since.
#pragma once

#include <flor/store/catalog.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// From the first attempt that failed to the next one that did not; the pauses between them grow.
class Outage {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};

  bool lasts() const { return since_.has_value(); }
  /// None lasts, or the pause after its latest attempt is over.
  bool may_try(Time now) const { return !since_ || now >= next_; }
  void failed(Time now);
  /// Since when it lasted, if one did.
  std::optional<Time> succeeded();

 private:
  std::optional<Time> since_;
  Time next_{};
  std::chrono::milliseconds pause_{};
};

/// The epochs that miss something. Adjacent ones are one gap.
class Gaps {
 public:
  explicit Gaps(std::vector<store::Gap> known = {}) : gaps_(std::move(known)) {}
  /// `why` counts where a gap begins.
  void add(std::int64_t epoch, bool values, std::string_view why);
  const std::vector<store::Gap>& all() const { return gaps_; }

 private:
  void merge_around(std::size_t index);

  std::vector<store::Gap> gaps_;  // sorted, apart from each other or of another kind
};

/// The state of the store, which the recorder asks before it writes, and updates afterwards.
/// Thread-safe.
class StorageHealth {
 public:
  using Now = std::function<Outage::Time()>;
  /// Rows may be written where content cannot be, since they are small; content needs its rows.
  enum class Part { rows, content };
  /// A kill in an outage loses the gaps found within this time.
  static constexpr std::chrono::seconds kGapPause{10};

  explicit StorageHealth(Now now = std::chrono::steady_clock::now) : now_(std::move(now)) {}

  /// Whether it is worthwhile to write now.
  bool may_try(Part part) const;
  bool lasts() const;
  bool lasts(Part part) const;
  /// True: an outage begins that should be reported; one that recurs soon was reported already.
  bool failed(Part part, std::string_view why);
  /// The duration in seconds of a reported outage, if all parts work again by this.
  std::optional<double> succeeded(Part part);

  void set_gaps(std::vector<store::Gap> known);  ///< of a run that is resumed
  /// Notes that the epoch is incomplete, because of the latest failure unless `why` is given.
  void miss(std::int64_t epoch, bool values = false, std::string_view why = {});
  std::vector<store::Gap> gaps() const;
  /// The gaps, if they have changed since `written` was last called with them.
  std::optional<std::vector<store::Gap>> unwritten_gaps() const;
  /// Whether gaps have changed, and, while they grow in an outage, were not written a moment ago.
  bool gaps_are_due() const;
  void written(const std::vector<store::Gap>& gaps);

 private:
  Outage& of(Part part) { return part == Part::rows ? rows_ : content_; }

  Now now_;
  mutable std::mutex mutex_;
  Outage rows_, content_;
  std::string why_;
  Outage::Time began_{};
  std::optional<Outage::Time> said_;
  bool to_end_ = false;  // the end of the reported outage is to be reported, too
  Gaps gaps_;
  std::vector<store::Gap> written_;
  std::optional<Outage::Time> written_at_;
};

/// How long a call of the recorder waits for locks of other processes: longer in the background
/// would make the training wait for it.
struct LockPatience {
  std::chrono::milliseconds usual{5000}, in_outage{250}, at_end{30'000};
};

// Tests of whole programs replace these before flor::init.
inline Outage::Time (*recorder_clock)() = std::chrono::steady_clock::now;
inline LockPatience lock_patience;

}  // namespace flor::detail
