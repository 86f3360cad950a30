#include "index/journal_writing.h"

#include "index/announcements.h"
#include "index/refresh.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace flor::store {

bool says_in_journal(const Database& database, std::int64_t run) {
  return database.said.contains(run);
}

bool is_ahead(const Database& database) {
  return std::ranges::any_of(database.said, [](const auto& said) { return said.second.is_ahead; });
}

void index_has_it(Database& database) {
  for (auto& [run, said] : database.said) said.is_ahead = false;
}

RunJournal& journal_of(Database& database, std::int64_t run, const std::string& key,
                       const std::function<bool(const RunJournal&)>& is_known,
                       const std::function<std::vector<std::byte>(const RunJournal&)>& begin) {
  const auto open = database.journals.find(run);
  if (open != database.journals.end()) {
    // The id may have belonged to another run, whose addition was rolled back.
    RunJournal& known = *open->second;
    if (!known.is_lost() && known.run() == key) return known;
    known.give_up(is_known(known));
    database.journals.erase(open);
  }
  auto opened = std::make_unique<RunJournal>(database.files, database.paths, key);
  opened->begin(begin(*opened));
  return *database.journals.emplace(run, std::move(opened)).first->second;
}

namespace {

/// Asks the index, which is needed only after a disk has failed.
bool may_be_known(Database& database, const RunJournal& journal) {
  try {
    return has_position(database.connection, journal.run(), journal.number());
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

JournalWriting::JournalWriting(Database& database, std::int64_t run)
    : lock_(database.mutex),
      database_(database),
      run_(run),
      said_(database.said.at(run)),
      at_us_(std::max(now_us(), said_.last_us + 1)) {}

/// Also forgets layouts that `knows_layout` has noted for events that were never written.
JournalWriting::~JournalWriting() {
  if (committed_) return;
  const auto open = database_.journals.find(run_);
  if (open != database_.journals.end()) open->second->take_back();
}

void JournalWriting::enter(EventKind kind, std::vector<std::byte> payload) {
  noted_.emplace_back(kind, std::move(payload));
}

void JournalWriting::add_values(std::span<const Value> values) {
  for (const ValuesEvent& event : encode_values(values, {})) note(event);
}

void JournalWriting::add_rest(const UnwrittenRest& rest) {
  if (!rest.values.empty()) add_values(rest.values);
  if (!rest.progress.empty()) note(ProgressEvent{rest.progress});
  if (rest.gaps) note(GapsEvent{*rest.gaps});
}

bool JournalWriting::knows_layout(const Digest& layout) {
  const auto open = database_.journals.find(run_);
  return open != database_.journals.end() && !open->second->is_lost() &&
         open->second->knows_layout(layout);
}

void JournalWriting::commit(bool& uncertain) {
  RunJournal& to = journal_of(
      database_, run_, said_.key,
      [&](const RunJournal& known) { return may_be_known(database_, known); },
      [&](const RunJournal& journal) {
        return encode_event(at_us_, this_writer(said_.key, journal.number()));
      });
  try {
    for (const auto& [kind, payload] : noted_) to.append(kind, payload);
    to.flush();
    to.sync();
  } catch (...) {
    // If an index has already entered the events, it notices that the journal is shorter. The
    // journal must not grow again, or the index would take new events for the old ones.
    const bool seen = to.shows_more();
    to.take_back();
    if (seen) to.lose();
    uncertain = seen;
    throw;
  }
  to.keep();
  committed_ = true;
  said_.last_us = at_us_;
  said_.is_ahead = true;
  ring(database_);
}

}  // namespace flor::store
