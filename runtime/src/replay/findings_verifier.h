// Verifies the new values of a replay that has ended, by executing some of its epochs again in
// another process of the same program.
#pragma once

#include "protocol/flags.h"
#include "protocol/protocol.h"
#include "protocol/verdict_text.h"
#include "replay/recorded_run.h"
#include "verdict/verifier_process.h"

#include <flor/store/store.h>

#include <cstdint>
#include <vector>

namespace flor::detail {

/// The facts about a replay when its program has ended.
struct EndedReplay {
  store::Store& store;
  const store::Run& run;
  const Record& record;
  const Flags& flags;
  std::int64_t id = 0;     ///< id in the catalog
  WorkerOrder question;    ///< the members that define the replay's question
  ProgramStart start;      ///< how this program was started
  bool walks = false;      ///< every epoch can be reached only from the first one
  double startup = 0;      ///< seconds until the first main loop
  double seconds = 0;      ///< since the program began
};

/// Decides whether to verify (verdict/new_values.h), and executes epochs if so, which may take as
/// long as the replay did. Enters the verdicts in the catalog and in `found`; if the processes find
/// different values, `result` becomes "different". Prints what it does, and why a verification
/// failed, which is no error. Throws what the catalog throws.
void verify_findings(const EndedReplay& replay, const std::vector<store::ReplayedPart>& parts,
                     store::ReplayResult& result, FoundValues& found);

}  // namespace flor::detail
