// A copy of the state of some objects in memory, to undo a change that fails halfway.
#pragma once

#include <flor/state/state_io.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::detail {

/// Takes the pieces that objects save, and returns them to objects that load. Not thread-safe.
class HeldState final : public StateSink, public StateSource {
 public:
  void bytes(std::string name, std::string_view content) override;
  void tensor(std::string name, const TensorSource& source) override;

  bool has(const std::string& name) const override;
  const store::Item& item(const std::string& name) const override;
  std::string bytes(const std::string& name) override;
  void tensor(const std::string& name, TensorTarget target) override;
  /// Fills all targets that objects have passed to `tensor`.
  void finish();

 private:
  struct Piece {
    store::Item item;
    std::vector<std::byte> content;
  };
  const Piece& piece(const std::string& name) const;

  std::unordered_map<std::string, Piece> pieces_;
  std::vector<std::pair<const Piece*, TensorTarget>> waiting_;
};

}  // namespace flor::detail
