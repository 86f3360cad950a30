// The way of logged values from the threads that log to the recorder or replayer: appending is
// cheap, and the background thread takes the values in batches.
#pragma once

#include <flor/store/catalog.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::detail {

/// Where the session's thread is in the loops. That thread writes it, and every thread that logs
/// reads it. So the parts that change at every step are atomic; path, epoch and depth only change
/// under the journal's mutex.
struct CurrentPlace {
  static constexpr std::size_t kInnerLoops = 14;

  std::uint32_t path = 0;  // id from Journal::intern
  std::int64_t epoch = -1;
  std::int64_t part = -1;       // unit of a replay: an epoch, or store::part_outside(n)
  bool nested = false;          // the place is in a nested loop
  std::size_t inner_depth = 0;  // number of loops below the nested one
  std::atomic<std::int64_t> step{-1};
  std::array<std::atomic<std::int64_t>, kInnerLoops> inner{};
  /// Values are not kept at this place: a replay is catching up, or another process replays it.
  bool suppressed = false;
  bool plugged = false;  ///< a plug-in logs, not the program

  /// Indices of the deeper loops, such as "4,0"; empty if there are none.
  std::string inner_text() const;
};

/// A logged value whose content is not in the store yet.
struct LoggedContent {
  store::Item item;
  std::vector<std::byte> content;
};

struct LogRecord {
  std::uint32_t name = 0, path = 0;
  std::int64_t epoch = -1, step = -1;
  std::int64_t part = -1;
  std::uint32_t inner = 0;  // index into LogBatch::texts; 0: none
  store::ValueType type = store::ValueType::real;
  bool suppressed = false, plugged = false;
  bool named = false;      // in an iteration that the program named itself, and may name again
  std::uint64_t bits = 0;  // the number, or an index into texts or contents
};

struct LogBatch {
  std::vector<LogRecord> records;
  std::vector<std::string> texts{std::string()};
  std::vector<LoggedContent> contents;
  bool empty() const { return records.empty(); }
};

/// Numbers the values that have one name and one place, in the order of logging.
class Ordinals {
 public:
  std::int64_t next(const LogRecord& record, std::string_view inner);

 private:
  struct Last {
    std::int64_t epoch = -2, step = -2;
    std::string inner;
    std::int64_t ordinal = 0;
  };
  std::unordered_map<std::uint64_t, Last> last_;  // by ids of name and path
  /// The next ordinals in iterations that the program names, which come again in any order.
  std::unordered_map<std::string, std::int64_t> next_;
};

class Journal {
 public:
  /// If more values than this are pending, a logging thread waits for the background thread.
  static constexpr std::size_t kPendingMax = std::size_t{1} << 20;
  /// The limit for the bytes of texts and contents, including those that are being written.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{256} << 20;

  CurrentPlace& place() { return place_; }
  /// Changes parts of the place that need the mutex.
  void move(const std::function<void(CurrentPlace&)>& change);
  /// With true, drops values that are logged from now on; with false, keeps them again.
  void suppress(bool suppressed) {
    move([suppressed](CurrentPlace& place) { place.suppressed = suppressed; });
  }

  std::uint32_t intern(std::string_view text);
  /// The text with this id. Valid as long as the journal exists.
  const std::string& text_of(std::uint32_t id) const;

  void add_number(std::string_view name, store::ValueType type, std::uint64_t bits);
  void add_text(std::string_view name, store::ValueType type, std::string text);
  void add_content(std::string_view name, store::ValueType type, LoggedContent content);
  /// The value of the current iteration, which is a value of a series of Flor's own.
  void add_iteration(store::ValueType type, std::uint64_t bits);
  void add_iteration(std::string text);

  /// Returns the values logged since the last call.
  LogBatch take();
  /// Tells that the taken values are written, so that their memory no longer counts.
  void written();
  /// `wake` is called from a logging thread when a batch is worth taking. If that thread has to
  /// wait, it calls `wait`, which must make the background thread hurry and then call its argument.
  void on_full(std::function<void()> wake, std::function<void(const std::function<void()>&)> wait) {
    wake_ = std::move(wake);
    wait_ = std::move(wait);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  LogRecord& append(std::string_view name, store::ValueType type);
  LogRecord& append_any(std::string_view name, store::ValueType type);
  void keep_text(std::unique_lock<std::mutex>& lock, LogRecord& record, std::string text);
  std::uint32_t intern_locked(std::string_view text);
  void after_append(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  bool full() const {
    return batch_.records.size() >= kPendingMax || bytes_ + taken_bytes_ >= kBytesMax;
  }

  mutable std::mutex mutex_;
  std::condition_variable taken_;
  CurrentPlace place_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_{{std::string(), 0}};
  // A deque, since references to its elements stay valid.
  std::deque<std::string> names_{std::string()};
  LogBatch batch_;
  std::uint64_t bytes_ = 0;        // bytes of the texts and contents in `batch_`
  std::uint64_t taken_bytes_ = 0;  // bytes of those that were taken and are not written yet
  std::function<void()> wake_;
  std::function<void(const std::function<void()>&)> wait_;
};

/// Passes each value of a batch of `journal` to `take` in the form of the catalog; contents are
/// stored by `store_content`. Suppressed values go to `pass`, without their contents.
void for_each_value(const Journal& journal, const LogBatch& batch, Ordinals& ordinals,
                    const std::function<std::string(const LoggedContent&)>& store_content,
                    const std::function<void(const LogRecord&, store::Value)>& take,
                    const std::function<void(const store::Value&)>& pass = {});

}  // namespace flor::detail
