// Where the findings of a replay go: into the store, or to `flor replay` if this process may not
// write to the store.
#pragma once

#include "worker/worker.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace flor::detail {

/// A part of a replay, and all values found in it.
struct CompletePart {
  store::ReplayedPart part;
  std::vector<store::Value> values;
};

/// The destination of a replay's findings. To be used by the background thread. All functions may
/// throw what the catalog throws.
class Findings {
 public:
  virtual ~Findings() = default;
  /// Stores a content, and returns the reference that stands for it in values.
  virtual std::string write_object(const store::Item& item, std::span<const std::byte> content) = 0;
  /// Adds values of a part that is not complete yet.
  virtual void add_values(std::int64_t part, std::vector<store::Value> values) = 0;
  /// Adds complete parts. They are durable on return, or else when the assignment's `completed` is
  /// called.
  virtual void add_complete(std::vector<CompletePart> parts) = 0;
  virtual void add_restore_time(const RestoreTime& time) = 0;
};

/// Writes findings to the store. `replay` is the replay's id in its catalog.
class StoredFindings final : public Findings {
 public:
  StoredFindings(store::Store& store, std::int64_t run, std::int64_t replay)
      : catalog_(store.catalog()), writer_(store, run), run_(run), replay_(replay) {}

  std::string write_object(const store::Item& item, std::span<const std::byte> content) override;
  void add_values(std::int64_t part, std::vector<store::Value> values) override;
  void add_complete(std::vector<CompletePart> parts) override;
  void add_restore_time(const RestoreTime& time) override;

 private:
  store::Catalog& catalog_;
  store::CheckpointWriter writer_;
  std::int64_t run_, replay_;
};

/// Sends findings to `flor replay`.
class HandedFindings final : public Findings {
 public:
  explicit HandedFindings(HandedOut& hands) : hands_(hands) {}

  std::string write_object(const store::Item& item, std::span<const std::byte> content) override;
  void add_values(std::int64_t part, std::vector<store::Value> values) override;
  void add_complete(std::vector<CompletePart> parts) override;
  void add_restore_time(const RestoreTime& time) override;

 private:
  HandedOut& hands_;
  std::set<std::string> said_;  // references of the contents that were sent
};

}  // namespace flor::detail
