// Connections that have not shown the token yet: few at once, and none for long.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// Decides which connections of strangers are dropped. A user's request arrives right after its
/// connection was made, so the oldest stranger is the one that has nothing to say. Not thread-safe.
class Strangers {
 public:
  using Id = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  /// At most `most` at once, each for at most `patience`.
  Strangers(std::size_t most, std::chrono::steady_clock::duration patience)
      : most_(most), patience_(patience) {}

  /// Adds a connection that was made now, later than all others.
  void add(Id id, Time now);
  /// Forgets a connection that was closed, or has shown the token. It may be unknown.
  void forget(Id id);
  /// Removes and returns the connections to drop now.
  std::vector<Id> take_excess(Time now);
  std::size_t size() const { return places_.size(); }

 private:
  struct Stranger {
    Id id;
    Time since;
  };

  std::size_t most_;
  std::chrono::steady_clock::duration patience_;
  std::list<Stranger> by_age_;
  std::unordered_map<Id, std::list<Stranger>::iterator> places_;
};

}  // namespace flor::cli
