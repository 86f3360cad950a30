// Which loops of a program a change of its sources concerns, whatever language it is written in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

/// Where a loop stands, as the compiler or the interpreter knows it.
struct LoopPlace {
  std::string_view file;
  std::uint32_t line = 0, column = 0;
};

/// Unknown: the source that holds the loop is not there, or not the one that runs.
enum class Leaving { impossible, possible, unknown };

/// Whether the sources show that all which new log statements read comes back as it was.
struct Proof {
  bool proven = false;
  std::string why_not;  ///< the first read that they do not show; empty where `proven`
};

/// A loop that a change concerns.
struct TouchedLoop {
  std::string loop;
  std::string why;       ///< `train.cpp:57 logs "norm"`
  std::string question;  ///< `"norm"`, where it only reads values that the loop leaves
  bool operator==(const TouchedLoop&) const = default;
};

class Concerns {
 public:
  virtual ~Concerns() = default;

  /// For values that the replay finds: where this is not proven, only an execution can tell.
  virtual Proof proof() const = 0;
  /// The recorded nested loops that are concerned, as far as the text tells their names; each once.
  virtual const std::vector<TouchedLoop>& touched() const = 0;
  /// Why the loop of that name at that place is concerned; nothing if it is not.
  virtual std::optional<TouchedLoop> touched(const LoopPlace& place, std::string_view name) const = 0;
  /// Whether a `return` or `goto` in the loop at that place may leave the function that holds it.
  virtual Leaving leaving(const LoopPlace& place) const = 0;
  /// Changes of the computation itself: inside the nested loop `loop`, or outside of all (empty).
  virtual const std::vector<TouchedLoop>& computation() const = 0;
  /// Changes outside the nested loops that only look at the computation.
  virtual const std::vector<std::string>& looking() const = 0;
  virtual bool nothing_changed() const = 0;
  /// Why a replay has to begin with the first epoch: changed code uses values that earlier epochs
  /// leave in unregistered variables. Empty: it need not.
  virtual const std::string& walk() const = 0;
};

}  // namespace flor::sources
