// What a process leaves that was killed when its journal had more than the index.
#pragma once

#include "database/database.h"
#include "index/refresh.h"
#include "journal/run_journal.h"

#include <filesystem>
#include <string>

namespace flor::store {

/// The run has an argument of that name, and the index does not say so.
inline void leave_argument_in_journal(const std::filesystem::path& home, const std::string& run,
                                      const std::string& name) {
  RunJournal journal(Filesystem::system(), Paths{home}, run);
  journal.begin(encode_event(now_us(), this_writer(run, journal.number())));
  const ArgumentEvent event{.argument = {name, "int", "1"}};
  journal.append(EventKind::argument, encode_event(now_us(), event));
  journal.sync();
}

}  // namespace flor::store
