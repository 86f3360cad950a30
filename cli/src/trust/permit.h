// Permission to execute what a run recorded. A run from elsewhere does what its writer wants:
// neither its program, nor its command, recipe, directory or environment is used in anything that
// is executed without the user's consent. docs/security.md has the rules.
#pragma once

#include <flor/store/catalog.h>

#include <set>
#include <string>
#include <string_view>

namespace flor::cli {

class Context;

/// Proof that a program may be executed, or a version built, with the reason. A Launch, which
/// starts a program, and a BuildPlan, which builds one, cannot be made without it, and only a Gate
/// makes it.
class Permit {
 public:
  enum class Reason {
    recorded_here,  ///< the run was recorded in this home
    same_as_here,   ///< a run recorded here has the same facts, word for word
    named,          ///< the user wrote the program into the command line
    trusted,        ///< --trust
    confirmed,      ///< the user was shown the command on the terminal, and said yes
    ordered,        ///< for a seat: its replay has a permit
  };
  Reason reason() const { return reason_; }
  /// Whether the run's facts are this machine's own, so that its paths and tools are those of this
  /// machine.
  bool is_ours() const {
    return reason_ == Reason::recorded_here || reason_ == Reason::same_as_here;
  }

 private:
  friend class Gate;
  explicit Permit(Reason reason) : reason_(reason) {}
  Reason reason_;
};

/// Examines each run whose program is to be executed or built.
class Gate {
 public:
  /// The reason of the request: it decides which command a refusal suggests.
  enum class Use { replay, build };

  /// `trust`: --trust was given.
  Gate(Context& context, Use use, bool trust) : context_(context), use_(use), trust_(trust) {}

  /// On a terminal, shows the command of a run from elsewhere and asks the user, once for all runs
  /// with the same facts. Throws UsageError, with what to type, if there is no terminal, and Error
  /// if the user says no.
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
  std::set<std::string> confirmed_;  ///< the facts that the user confirmed
};

/// Throws NotFound for a run that names no program: there is nothing to execute.
void require_program(const store::Run& run);

/// "fetched from s3://flor/runs 3 days ago", "imported from model.safetensors 2 min ago", "recorded
/// here"; safe to print.
std::string origin_text(const store::RunOrigin& origin, std::int64_t now_us);

}  // namespace flor::cli
