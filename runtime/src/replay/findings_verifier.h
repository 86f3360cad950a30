// Verifies the new values of a replay that has ended, by executing some of its epochs once more in
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

/// A replay as it is when its program has come to its end.
struct EndedReplay {
  store::Store& store;
  const store::Run& run;
  const Record& record;
  const Flags& flags;
  std::int64_t id = 0;     ///< in the catalog
  WorkerOrder question;    ///< the parts of an order that define it
  ProgramStart start;      ///< of this program
  bool walks = false;      ///< every epoch is reached from the first one
  double startup = 0;      ///< seconds until the first main loop
  double seconds = 0;      ///< since the program began
};

/// Decides (replay/new_values.h), and executes what is to be executed, which may take as long as
/// the replay did. Enters the verdicts in the catalog, and in `found`; where both processes do not
/// find the same, `result` differs. Says what it does, and why a verification failed: that is no
/// error. Throws what the catalog throws.
void verify_findings(const EndedReplay& replay, const std::vector<store::ReplayedPart>& parts,
                     store::ReplayResult& result, FoundValues& found);

}  // namespace flor::detail
