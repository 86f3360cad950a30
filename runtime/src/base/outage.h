// Failures of the store during a recording: when to try again, and which epochs miss data since
// then.
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

/// A series of failed attempts, up to the next success. The pauses between attempts grow.
class Outage {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};

  bool lasts() const { return since_.has_value(); }
  /// True if no outage lasts, or if the pause after its latest attempt has passed.
  bool may_try(Time now) const { return !since_ || now >= next_; }
  void failed(Time now);
  /// Notes a success. Returns when the outage began, if there was one.
  std::optional<Time> succeeded();

 private:
  std::optional<Time> since_;
  Time next_{};
  std::chrono::milliseconds pause_{};
};

/// The gaps of a run: epochs whose data is incomplete. Adjacent epochs form one gap.
class Gaps {
 public:
  explicit Gaps(std::vector<store::Gap> known = {}) : gaps_(std::move(known)) {}
  /// Adds an epoch. `why` is kept if it begins a gap.
  void add(std::int64_t epoch, bool values, std::string_view why);
  const std::vector<store::Gap>& all() const { return gaps_; }

 private:
  void merge_around(std::size_t index);

  std::vector<store::Gap> gaps_;  // sorted; neighbours are not adjacent, or of another kind
};

/// Whether the store works. The recorder asks before it writes, and reports the outcome afterwards.
/// Thread-safe.
class StorageHealth {
 public:
  using Now = std::function<Outage::Time()>;
  /// `rows` (values, progress) are small, and may be written while `content` cannot be. Content
  /// cannot be written without its rows.
  enum class Part { rows, content };
  /// Time between writes of the growing gaps in an outage. A kill loses the gaps found since the
  /// last one.
  static constexpr std::chrono::seconds kGapPause{10};

  explicit StorageHealth(Now now = std::chrono::steady_clock::now) : now_(std::move(now)) {}

  /// Whether an attempt to write is worthwhile at this moment.
  bool may_try(Part part) const;
  bool lasts() const;
  bool lasts(Part part) const;
  /// Notes a failure. Returns true if an outage begins that should be reported. An outage that
  /// recurs within a minute was reported already.
  bool failed(Part part, std::string_view why);
  /// Notes a success. If it ends a reported outage, returns how many seconds that lasted.
  std::optional<double> succeeded(Part part);

  void set_gaps(std::vector<store::Gap> known);  ///< for a run that is resumed
  /// Notes that the epoch is incomplete. The reason is `why`, or else the latest failure.
  void miss(std::int64_t epoch, bool values = false, std::string_view why = {});
  std::vector<store::Gap> gaps() const;
  /// The gaps, if they have changed since the last call of `written`.
  std::optional<std::vector<store::Gap>> unwritten_gaps() const;
  /// Whether gaps have changed and should be written. While they grow in an outage, this is only
  /// true some time after the last write.
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

/// How long a call of the recorder waits for locks that other processes hold. With more patience in
/// the background, the training would have to wait.
struct LockPatience {
  std::chrono::milliseconds usual{5000}, in_outage{250}, at_end{30'000};
};

// Tests that run whole programs replace these before flor::init.
inline Outage::Time (*recorder_clock)() = std::chrono::steady_clock::now;
inline LockPatience lock_patience;

}  // namespace flor::detail
