#include "maintain/held_content.h"

#include "file/home_files.h"
#include "index/refresh.h"
#include "journal/events.h"
#include "journal/journal_reader.h"
#include "lock/maintenance_lock.h"

#include <flor/store/error.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

namespace flor::store {
namespace {

void find_settled_packs(Database& database, HeldContent& held) {
  for_each_pack(database.paths, [&](const std::filesystem::path& pack) {
    if (!held.why_locks_are_local.empty() && is_recent(pack)) return;
    if (const auto file = own_pack(database, pack)) {
      held.settled.emplace(pack.stem().string(), file->size());
    }
  });
}

/// Collects the content that one journal holds.
class Holding {
 public:
  Holding(HeldContent& held, JournalPosition known) : held_(held), known_(known) {}

  void read(JournalReader& reader) {
    while (const auto event = reader.next()) {
      if (event->kind == EventKind::checkpoint) {
        const auto stored = decode_event<CheckpointEvent>(event->payload);
        if (stored.stream != 0) last_[stored.stream] = stored.chunks;
        hold_new(reader, stored.chunks, stored.packs);
      } else if (event->kind == EventKind::object) {
        const auto stored = decode_event<ObjectEvent>(event->payload);
        hold_new(reader, stored.chunks, stored.packs);
      } else if (event->kind == EventKind::end || event->kind == EventKind::interrupt) {
        last_.clear();
      }
    }
    for (const auto& [stream, chunks] : last_) held_.chunks.insert(chunks.begin(), chunks.end());
  }

 private:
  void hold_new(const JournalReader& reader, const std::vector<Digest>& chunks,
                const std::vector<PackMark>& packs) {
    if (reader.position().frames <= known_.frames) return;
    held_.chunks.insert(chunks.begin(), chunks.end());
    for (const PackMark& pack : packs) held_.packs.insert(pack.name);
  }

  HeldContent& held_;
  JournalPosition known_;
  std::map<std::int64_t, std::vector<Digest>> last_;  ///< by stream: chunks of its last checkpoint
};

}  // namespace

std::vector<std::uint32_t> HeldContent::rows(Connection& connection) const {
  std::vector<std::uint32_t> ids;
  const auto add = [&](const auto& query) {
    while (query->step()) ids.push_back(static_cast<std::uint32_t>(query->integer(0)));
  };
  for (const Digest& digest : chunks) {
    add(connection("SELECT id FROM chunk WHERE digest = ?1", digest));
  }
  const auto rows = connection("SELECT id, name FROM pack");
  while (rows->step()) {
    if (!holds(rows->text(1))) continue;
    add(connection("SELECT id FROM chunk WHERE pack = ?1", rows->integer(0)));
  }
  return ids;
}

HeldContent find_held(Database& database) {
  HeldContent held;
  held.why_locks_are_local = why_locks_are_local(database);
  find_settled_packs(database, held);
  std::vector<std::filesystem::path> unlisted;
  const std::vector<std::string> runs = find_runs(database.paths, &unlisted);
  for (const auto& directory : unlisted) held.unread.push_back(cannot_list(directory));
  for (const std::string& run : runs) {
    for (const FoundJournal& found : find_journals(database.paths, run)) {
      const bool is_live = is_written(database.files, found.path) ||
                           (!held.why_locks_are_local.empty() && is_recent(found.path));
      const std::lock_guard lock(database.mutex);
      const JournalPosition known = position_of(database.connection, run, found.number);
      std::error_code error;
      const auto size = std::filesystem::file_size(found.path, error);
      const auto seen = std::max<std::uint64_t>(known.bytes, kFileHeaderBytes);
      if (!is_live && !error && size <= seen) continue;
      try {
        JournalReader reader(database.files, found.path, is_live ? JournalPosition{} : known);
        Holding(held, known).read(reader);
      } catch (const Error& failure) {
        // A damaged journal that no process writes has no events that the index lacks.
        if (is_live || may_be_readable_later(failure)) held.unread.push_back(failure.what());
      }
    }
  }
  return held;
}

}  // namespace flor::store
