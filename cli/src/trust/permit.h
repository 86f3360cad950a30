// Permission to execute what a run recorded. A run from another machine may have been written by
// anyone, so its program, command, recipe, directory and environment are used in nothing that is
// executed without the user's consent. docs/security.md has the rules.
#pragma once

#include <flor/store/catalog.h>

#include <set>
#include <string>
#include <string_view>

namespace flor::cli {

class Context;

/// Proof that a program may be executed, or a version built, with the reason. Launch (starts a
/// program) and BuildPlan (builds one) require a Permit, and only a Gate makes one.
class Permit {
 public:
  enum class Reason {
    recorded_here,  ///< the run was recorded in this store
    same_as_here,   ///< a run recorded here has exactly the same facts
    named,          ///< the user wrote the program on the command line
    trusted,        ///< the user gave --trust
    confirmed,      ///< the user saw the command on the terminal and agreed
    ordered,        ///< for a seat, whose replay already has a permit
  };
  Reason reason() const { return reason_; }
  /// Whether the run's facts are known to be of this machine, so that its paths and tools exist
  /// here.
  bool is_ours() const {
    return reason_ == Reason::recorded_here || reason_ == Reason::same_as_here;
  }

 private:
  friend class Gate;
  explicit Permit(Reason reason) : reason_(reason) {}
  Reason reason_;
};

/// Decides for each run whether its program may be executed or built.
class Gate {
 public:
  /// The purpose of the permit: it decides which command a refusal suggests.
  enum class Use { replay, build };

  /// `trust`: whether the user gave --trust.
  Gate(Context& context, Use use, bool trust) : context_(context), use_(use), trust_(trust) {}

  /// Permits a run that was recorded here. For another run, shows its command on the terminal and
  /// asks the user, once for all runs with the same facts. Throws UsageError, with what to type, if
  /// there is no terminal, and Error if the user says no.
  Permit pass(const store::Run& run);

  /// The permit for a program that the user wrote on the command line.
  static Permit named() { return Permit(Permit::Reason::named); }
  /// The permit for work from the file of a session, which only this user can write.
  static Permit ordered() { return Permit(Permit::Reason::ordered); }

 private:
  Permit ask(const store::Run& run);
  [[noreturn]] void refuse(const store::Run& run) const;

  Context& context_;
  Use use_;
  bool trust_;
  std::set<std::string> confirmed_;  ///< the facts that the user confirmed
};

/// Throws NotFound if the run names no program to execute.
void require_program(const store::Run& run);

/// Where the run came from, safe to print: "fetched from s3://flor/runs 3 days ago", "imported from
/// model.safetensors 2 min ago", "recorded here".
std::string origin_text(const store::RunOrigin& origin, std::int64_t now_us);

}  // namespace flor::cli
