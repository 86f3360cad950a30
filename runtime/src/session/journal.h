// The path of logged values from the training thread to the recorder or replayer: cheap to append
// to, taken in batches by the background thread.
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

/// Where the session's thread is in the loops. Written by that thread, read by every thread that
/// logs, so the parts that change at every step are atomic; path, epoch and depth change only under
/// the journal's mutex.
struct CurrentPlace {
  static constexpr std::size_t kInnerLoops = 14;

  std::uint32_t path = 0;  // interned
  std::int64_t epoch = -1;
  std::int64_t part = -1;       // an epoch, or store::part_outside(n): the unit of a replay
  bool nested = false;          // a step is current
  std::size_t inner_depth = 0;  // loops below the nested one
  std::atomic<std::int64_t> step{-1};
  std::array<std::atomic<std::int64_t>, kInnerLoops> inner{};
  /// Values are not kept here (a replay is catching up, or the place is another segment's).
  bool suppressed = false;
  bool plugged = false;  ///< a plug-in logs, not the program

  /// Indices of the deeper loops, "4,0"; empty if there are none.
  std::string inner_text() const;
};

/// A logged value with its content still outside the store.
struct LoggedContent {
  store::Item item;
  std::vector<std::byte> content;
};

struct LogRecord {
  std::uint32_t name = 0, path = 0;
  std::int64_t epoch = -1, step = -1;
  std::int64_t part = -1;
  std::uint32_t inner = 0;  // index into LogBatch::texts, 0: none
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

/// Numbers the values of one name at one place. Fed in the order of logging.
class Ordinals {
 public:
  std::int64_t next(const LogRecord& record, std::string_view inner);

 private:
  struct Last {
    std::int64_t epoch = -2, step = -2;
    std::string inner;
    std::int64_t ordinal = 0;
  };
  std::unordered_map<std::uint64_t, Last> last_;  // by name and path
  /// Of iterations that the program named, which come again in any order.
  std::unordered_map<std::string, std::int64_t> next_;
};

class Journal {
 public:
  /// More pending values than this make the logging thread wait for the background thread.
  static constexpr std::size_t kPendingMax = std::size_t{1} << 20;
  /// The same for the bytes of texts and contents, those that are being written included.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{256} << 20;

  CurrentPlace& place() { return place_; }
  /// Changes the parts of the place that need the mutex.
  void move(const std::function<void(CurrentPlace&)>& change);
  /// Drops values that are logged from now on, or keeps them again.
  void suppress(bool suppressed) {
    move([suppressed](CurrentPlace& place) { place.suppressed = suppressed; });
  }

  std::uint32_t intern(std::string_view text);
  /// Valid as long as the journal.
  const std::string& text_of(std::uint32_t id) const;

  void add_number(std::string_view name, store::ValueType type, std::uint64_t bits);
  void add_text(std::string_view name, store::ValueType type, std::string text);
  void add_content(std::string_view name, store::ValueType type, LoggedContent content);
  /// The value of the current iteration, which is a value of a series of Flor's own.
  void add_iteration(store::ValueType type, std::uint64_t bits);
  void add_iteration(std::string text);

  /// Takes the values logged since the last call.
  LogBatch take();
  /// Reports that the taken values are written: their memory no longer counts.
  void written();
  /// `wake` is called from a logging thread when a batch is worth taking. Where the thread has to
  /// wait for that, it calls `wait`, which must call its argument after hurrying the taker.
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
  std::deque<std::string> names_{std::string()};  // each stays where it is
  LogBatch batch_;
  std::uint64_t bytes_ = 0;        // of the texts and contents in it
  std::uint64_t taken_bytes_ = 0;  // of those that were taken and are not written yet
  std::function<void()> wake_;
  std::function<void(const std::function<void()>&)> wait_;
};

/// Hands the values of a batch of `journal` on as the catalog has them; contents are stored through
/// `store_content`. Those that are suppressed go to `pass`, without their contents.
void for_each_value(const Journal& journal, const LogBatch& batch, Ordinals& ordinals,
                    const std::function<std::string(const LoggedContent&)>& store_content,
                    const std::function<void(const LogRecord&, store::Value)>& take,
                    const std::function<void(const store::Value&)>& pass = {});

}  // namespace flor::detail
