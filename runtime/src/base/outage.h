// Faults of the store while a run is recorded: when it is tried again, and what is missing since.
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

/// The epochs of which something is missing. What touches is one gap.
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

/// What the recorder asks before it writes, and is told afterwards. Thread-safe.
class StorageHealth {
 public:
  using Now = std::function<Outage::Time()>;
  /// Rows may be written where content cannot be, since they are small; content needs its rows.
  enum class Part { rows, content };
  /// A kill in an outage loses what is known of its gaps since then.
  static constexpr std::chrono::seconds kGapPause{10};

  explicit StorageHealth(Now now = std::chrono::steady_clock::now) : now_(std::move(now)) {}

  /// It is worth while to write now.
  bool may_try(Part part) const;
  bool lasts() const;
  bool lasts(Part part) const;
  /// True: an outage begins that is to be said; one that comes back soon was said already.
  bool failed(Part part, std::string_view why);
  /// Seconds that an outage had lasted which was said, if all parts work again by this.
  std::optional<double> succeeded(Part part);

  void set_gaps(std::vector<store::Gap> known);  ///< of a run that is resumed
  /// The epoch is not whole, because of the latest failure if nothing else is said.
  void miss(std::int64_t epoch, bool values = false, std::string_view why = {});
  std::vector<store::Gap> gaps() const;
  /// The gaps, if they have changed since `written` was last called with them.
  std::optional<std::vector<store::Gap>> unwritten_gaps() const;
  /// They have, and while an outage lasts, in which they grow, not a moment ago.
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
  bool to_end_ = false;  // the end of what was said is to be said, too
  Gaps gaps_;
  std::vector<store::Gap> written_;
  std::optional<Outage::Time> written_at_;
};

/// How long a call of the recorder waits for locks of other processes: longer in the background
/// would make the training wait for it.
struct LockPatience {
  std::chrono::milliseconds usual{5000}, in_outage{250}, at_end{30'000};
};

// What tests of whole programs replace before flor::init.
inline Outage::Time (*recorder_clock)() = std::chrono::steady_clock::now;
inline LockPatience lock_patience;

}  // namespace flor::detail
