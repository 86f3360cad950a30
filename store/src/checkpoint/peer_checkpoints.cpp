#include "checkpoint/peer_checkpoints.h"

#include "database/store_impl.h"
#include "journal/events.h"
#include "journal/run_journal.h"

#include <flor/store/error.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

constexpr std::size_t kStoredMax = 64;

}  // namespace

PeerCheckpoints::PeerCheckpoints(const Store& store, std::string run)
    : database_(store.impl().database), run_(std::move(run)) {}

void PeerCheckpoints::follow() {
  for (const FoundJournal& found : find_journals(database_->paths, run_)) {
    JournalPosition& at = read_[found.number];
    std::error_code error;
    const auto size = std::filesystem::file_size(found.path, error);
    if (error || size <= std::max<std::uint64_t>(at.bytes, kFileHeaderBytes)) continue;
    try {
      JournalReader reader(database_->files, found.path, at);
      read(reader);
      at = reader.position();
    } catch (const Error&) {
      continue;
    }
  }
}

void PeerCheckpoints::forget(const CheckpointKey& key) {
  std::erase_if(stored_, [&](const Stored& stored) { return stored.key == key; });
}

/// Journals are read in order of their numbers. A resuming process begins its journal with
/// `resume`.
void PeerCheckpoints::read(JournalReader& reader) {
  while (const auto event = reader.next()) {
    if (event->kind == EventKind::resume) stored_.clear();
    if (event->kind == EventKind::forget) {
      const auto forgotten = decode_event<ForgetEvent>(event->payload);
      for (const CheckpointKey& key : forgotten.checkpoints) forget(key);
    }
    if (event->kind == EventKind::discard) {
      const auto deleted = decode_event<DiscardEvent>(event->payload);
      for (const CheckpointName& name : deleted.checkpoints) forget(name.key);
    }
    if (event->kind != EventKind::checkpoint) continue;
    auto checkpoint = decode_event<CheckpointEvent>(event->payload);
    forget(checkpoint.info.key);
    stored_.push_back({std::move(checkpoint.info.key), std::move(checkpoint.chunks)});
    if (stored_.size() > kStoredMax) stored_.pop_front();
  }
}

const PeerCheckpoints::Stored* PeerCheckpoints::find(const CheckpointKey& key) const {
  const auto found = std::ranges::find(stored_, key, &Stored::key);
  return found != stored_.end() ? &*found : nullptr;
}

}  // namespace flor::store
