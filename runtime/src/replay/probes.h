// Chooses the nested loops that a replay executes instead of skipping them: loops that the user
// names, loops whose sources have changed since the recording, and loops that the program marks.
// Prints which and why.
#pragma once

#include "protocol/flags.h"
#include "session/runtime.h"
#include "sources/analysis.h"
#include "sources/concerns.h"

#include <flor/store/catalog.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::detail {

class Probes {
 public:
  /// `nested` and `main` are the names of the recorded loops. `left_early`: some nested loops were
  /// left before their ranges ended, and the sources have to tell how. Compares the sources of the
  /// program with the recorded commit; if that is impossible, `announce` says so.
  Probes(const Flags& flags, const store::Run& run, std::set<std::string> nested,
         std::set<std::string> main, bool left_early, const std::filesystem::path& home);

  /// Prints why each loop is executed, and what else changed, one line each.
  void announce() const;
  /// Names of the loops that were named or found, in that order.
  const std::vector<std::string>& loops() const { return loops_; }
  /// True if the sources were compared with the recorded ones and are the same.
  bool unchanged() const { return analysis_ && analysis_->nothing_changed() && older_.empty(); }
  /// True if the sources compute something else than the recorded ones.
  bool computes_otherwise() const { return analysis_ && !analysis_->computation().empty(); }
  /// True if the question needs values that earlier epochs left in variables outside checkpoints.
  /// Then those epochs are visited, too, and the found loops are executed in them.
  bool walks() const { return enabled_ && analysis_ && !analysis_->walk().empty(); }
  /// Whether the sources alone prove that the found values are right.
  const sources::Proof& proof() const { return proof_; }
  /// Whether the program may log something new outside the recorded nested loops.
  bool may_ask_outside() const;
  struct Asked {
    bool named = false, changed = false, read = false;
    std::string question;  ///< the question that reads values which the loop leaves
  };
  /// The reasons to execute this nested loop although its end could be loaded.
  Asked asked(const Frame& frame);
  /// Whether a `return` or `goto` in the loop may leave the function around it.
  sources::Leaving leaving(const Frame& frame) const {
    if (!analysis_) return sources::Leaving::unknown;
    return analysis_->leaving({frame.place.file, frame.place.line, frame.place.column});
  }

 private:
  void find(const Flags& flags, const store::Run& run, const std::filesystem::path& home);
  void warn_if_older(const std::filesystem::path& root,
                     const std::vector<sources::ChangedText>& changed);
  bool is_named(const std::string& loop) const;
  bool will_step_into(const std::string& loop) const;
  void announce_found() const;
  void announce_computation() const;

  bool enabled_, finding_, left_early_;
  std::vector<std::string> named_;
  std::set<std::string> nested_, main_;
  std::vector<std::string> loops_;
  std::unique_ptr<sources::Concerns> analysis_;
  sources::Proof proof_;  // made at once, since another thread asks for it
  std::string problem_;   // why the sources could not be compared
  std::string older_;     // a source that is newer than the program
  std::set<std::string> told_;
  std::unordered_map<std::string, Asked> known_;  // by place and name
};

}  // namespace flor::detail
