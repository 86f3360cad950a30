#include "maintain/seal_journals.h"

#include "base/system_error.h"
#include "index/refresh.h"
#include "journal/journal_copy.h"
#include "journal/run_journal.h"
#include "journal/sealing.h"

#include <flor/store/error.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

using Lock = std::lock_guard<std::recursive_mutex>;

/// The smallest space that a file takes on disk; smaller savings are no savings.
constexpr std::uint64_t kBlockBytes = 4096;
/// Value of `closed` for journals that are sealed, or for which sealing would not save space.
constexpr std::int64_t kSealed = 2;

class JournalSealer {
 public:
  JournalSealer(Database& database, CollectReport& report) : database_(database), report_(report) {}

  void run() {
    // If this index was replaced, a newer one knows more.
    if (database_.is_replaced()) return;
    close_ended();
    for (const std::string& key : runs_with_unsealed()) {
      try {
        seal(key);
      } catch (const Error& error) {
        report_.remarks.push_back(error.what());
        if (is_no_space(error)) return;
        ++report_.refused;
      }
    }
  }

 private:
  void close_ended() {
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    close_ended_journals(database_, {});
    transaction.commit();
  }

  std::vector<std::string> runs_with_unsealed() {
    const Lock lock(database_.mutex);
    std::vector<std::string> keys;
    const auto rows = database_.connection(
        "SELECT key FROM run WHERE id IN (SELECT run FROM journal WHERE closed = 1) ORDER BY id");
    while (rows->step()) keys.push_back(rows->text(0));
    return keys;
  }

  void seal(const std::string& key) {
    const KnownJournals known = known_journals(database_, key);
    const std::vector<FoundJournal> journals = find_journals(database_.paths, key);
    for (const FoundJournal& found : journals) {
      const auto one = known.find(found.number);
      if (one == known.end() || one->second.closed == 0) return;
    }
    if (!came_one_after_another(journals, known)) return;
    for (const FoundJournal& found : journals) {
      const KnownJournal& one = known.at(found.number);
      if (one.closed != kSealed) seal(key, found, one);
    }
  }

  /// True if no two writers were active at the same time. Otherwise sealing would change the order
  /// of their events about loops and values.
  bool came_one_after_another(const std::vector<FoundJournal>& journals,
                              const KnownJournals& known) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const FoundJournal& found : journals) {
      const auto first = JournalReader(database_.files, found.path, {}).next();
      if (!first) return false;
      spans.emplace_back(first->at_us, known.at(found.number).last_us);
    }
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].first <= spans[i - 1].second) return false;
    }
    return true;
  }

  void seal(const std::string& key, const FoundJournal& found, const KnownJournal& known) {
    const fs::path directory = found.path.parent_path(), sealed = directory / kSealedName;
    const fs::path made = sealed.string() + ".new";
    std::error_code error;
    fs::remove(made, error);
    if (found.path == sealed) {
      JournalReader reader(database_.files, sealed, {});
      while (reader.next()) continue;
      if (reader.last_kind() != EventKind::sealed || !reader.damage().empty()) return;
      return replace(key, found.number, directory, reader.position());
    }
    if (fs::file_size(found.path, error) <= kBlockBytes || error) {
      return put(key, found.number, known.end);
    }
    const Sealed result = seal_journal(database_.files, found.path, made);
    const bool is_whole = result.read.frames == known.end.frames;
    if (!is_whole || result.end.bytes > result.bytes_read / 4 * 3) {
      fs::remove(made, error);
      if (is_whole) put(key, found.number, known.end);
      return;
    }
    // Indexes of other machines may have a position in the journal.
    if (!std::exchange(renewed_, true)) database_.renew_mark();
    fs::rename(made, sealed);
    sync_directory(database_.files, directory);
    replace(key, found.number, directory, result.end);
    ++report_.journals_sealed;
    report_.freed_by_sealing += result.bytes_read - result.end.bytes;
  }

  /// Makes the sealed journal the valid one, whatever other files exist.
  void replace(const std::string& key, std::int64_t number, const fs::path& directory,
               JournalPosition end) {
    write_copy(database_.files, directory / kSealedName);
    std::error_code error;
    fs::remove(directory / kJournalName, error);
    fs::remove(copy_path(directory / kJournalName), error);
    sync_directory(database_.files, directory);
    put(key, number, end);
  }

  void put(const std::string& key, std::int64_t number, JournalPosition end) {
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    database_
        .connection(
            "UPDATE journal SET bytes = ?3, frames = ?4, closed = ?5 WHERE writer = ?2 AND run = "
            "(SELECT id FROM run WHERE key = ?1)",
            key, number, static_cast<std::int64_t>(end.bytes),
            static_cast<std::int64_t>(end.frames), kSealed)
        ->run();
    transaction.commit();
  }

  Database& database_;
  CollectReport& report_;
  bool renewed_ = false;
};

}  // namespace

void seal_journals(Database& database, CollectReport& report) {
  JournalSealer(database, report).run();
}

}  // namespace flor::store
