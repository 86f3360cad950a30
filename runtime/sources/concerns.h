// The loops that a change of a program's sources concerns: the interface for every language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

/// Where a loop stands, as the compiler or interpreter reports it.
struct ReportedPlace {
  std::string_view file;
  std::uint32_t line = 0, column = 0;
};

/// Whether code may leave a function. Unknown: the loop's source is missing, or not the one that
/// runs.
enum class Leaving { impossible, possible, unknown };

/// Whether the sources prove that a replay restores everything that new log statements read.
struct Proof {
  bool proven = false;
  std::string why_not;  ///< the first read that is not proven; empty if `proven`
};

/// A loop that a change concerns.
struct TouchedLoop {
  std::string loop;
  std::string why;  ///< `train.cpp:57 logs "norm"`
  /// E.g. `"norm"`, if the change only reads values that the loop leaves; else empty.
  std::string question;
  bool operator==(const TouchedLoop&) const = default;
};

class Concerns {
 public:
  virtual ~Concerns() = default;

  /// Whether skipped loops leave everything right that new values depend on. If it is not proven,
  /// only an execution can tell.
  virtual Proof proof() const = 0;
  /// The recorded nested loops that the change concerns, each once, if the text shows their names.
  virtual const std::vector<TouchedLoop>& touched() const = 0;
  /// Why the loop with that name at that place is concerned; nothing if it is not.
  virtual std::optional<TouchedLoop> touched(const ReportedPlace& place,
                                             std::string_view name) const = 0;
  /// Whether a `return` or `goto` in the loop at that place may leave the function around it.
  virtual Leaving leaving(const ReportedPlace& place) const = 0;
  /// Changes of the computation itself. `loop` is the nested loop around the change; empty if none
  /// is.
  virtual const std::vector<TouchedLoop>& computation() const = 0;
  /// Changes outside the nested loops that only look at the computation (log or print).
  virtual const std::vector<std::string>& looking() const = 0;
  virtual bool nothing_changed() const = 0;
  /// Why a replay has to begin with the first epoch: changed code uses values that earlier epochs
  /// leave in unregistered variables. Empty if it need not.
  virtual const std::string& walk() const = 0;
};

}  // namespace flor::sources
