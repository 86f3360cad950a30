// Limits connections that have not shown the token yet, in number and in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// Decides which connections without a token are dropped. A real user sends a request right after
/// connecting, so the oldest such connection is dropped first. Not thread-safe.
class Strangers {
 public:
  using Id = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  /// Allows at most `most` connections at once, each for at most `patience`.
  Strangers(std::size_t most, std::chrono::steady_clock::duration patience)
      : most_(most), patience_(patience) {}

  /// Adds a new connection. `now` must not be earlier than in previous calls.
  void add(Id id, Time now);
  /// Forgets a connection that was closed or has shown the token. `id` may be unknown.
  void forget(Id id);
  /// Removes and returns the connections that must be dropped.
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
