// Permission to execute what a run recorded. A run that came from elsewhere says what its writer
// wants: neither its program, nor its command, recipe, directory or environment is used for anything
// that runs without the user's word. docs/security.md has the rules.
#pragma once

#include <flor/store/catalog.h>

#include <set>
#include <string>
#include <string_view>

namespace flor::cli {

class Context;

/// The proof that a program may be executed, or a version built, with the reason. A Launch, which
/// starts a program, and a BuildPlan, which builds one, cannot be made without it, and only a Gate
/// makes it.
class Permit {
 public:
  enum class Reason {
    recorded_here,  ///< the run was, in this home
    same_as_here,   ///< a run that was recorded here says the same, word for word
    named,          ///< the user wrote the program into the command line
    trusted,        ///< --trust
    confirmed,      ///< the user was shown the command on the terminal, and said yes
    ordered,        ///< of a seat: the replay that it works for has a permit
  };
  Reason reason() const { return reason_; }
  /// The run says what this machine said, so that its paths and tools are those of this machine.
  bool is_ours() const {
    return reason_ == Reason::recorded_here || reason_ == Reason::same_as_here;
  }

 private:
  friend class Gate;
  explicit Permit(Reason reason) : reason_(reason) {}
  Reason reason_;
};

/// Looks at each run whose program is to be executed or built.
class Gate {
 public:
  /// The reason for which it is looked at: it says what the user can type instead.
  enum class Use { replay, build };

  /// `trust`: --trust was given.
  Gate(Context& context, Use use, bool trust) : context_(context), use_(use), trust_(trust) {}

  /// On a terminal the command of a run from elsewhere is shown and asked for, once for all runs
  /// that say the same. Throws UsageError where there is no terminal, with what to type, and Error
  /// where the user says no.
  Permit pass(const store::Run& run);

  /// For a program that the user wrote into the command line.
  static Permit named() { return Permit(Permit::Reason::named); }
  /// For the file of a session, which only this user can write.
  static Permit ordered() { return Permit(Permit::Reason::ordered); }

 private:
  Permit ask(const store::Run& run);
  [[noreturn]] void refuse(const store::Run& run) const;

  Context& context_;
  Use use_;
  bool trust_;
  std::set<std::string> confirmed_;  ///< what was shown
};

/// Throws NotFound for a run that names no program: there is nothing to execute.
void require_program(const store::Run& run);

/// "fetched from s3://flor/runs 3 days ago", "imported from model.safetensors 2 min ago", "recorded
/// here"; safe to print.
std::string origin_text(const store::RunOrigin& origin, std::int64_t now_us);

}  // namespace flor::cli
