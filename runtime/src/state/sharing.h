// Which pieces of the state share memory: recorded with a checkpoint, and established again by a
// restore. For example, after `best = w` two tensors share memory, which may be so at the
// checkpoint and not at the restore, or the reverse. Filling them in place would then overwrite one
// with the other.
#pragma once

#include <flor/state/state_io.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::detail {

/// The item of a checkpoint that describes the sharing. It is missing if nothing is shared.
inline constexpr std::string_view kSharingItem = "@sharing";

struct PlacedPiece {
  std::string name;
  Place place;
  bool has_content = true;  ///< in the checkpoint; else the piece cannot take the memory of one
                            ///< that has content
};

/// A piece as a checkpoint describes it. Blocks and objects are numbered.
struct SharedPiece {
  std::string name;
  std::size_t block = 0, object = 0;
  Place place;  ///< its `offset` counts from the block's first piece
  /// The piece that this one is a view of, if it is part of the state.
  std::optional<std::size_t> base = {};

  bool operator==(const SharedPiece& other) const;
};

/// Finds the pieces that share memory with others, and pieces that are alone in a block but must
/// keep their memory when they have to be separated from others.
std::vector<SharedPiece> find_sharing(const std::vector<PlacedPiece>& pieces);

/// The pieces as text, one line for each.
std::string to_text(const std::vector<SharedPiece>& pieces);
std::vector<SharedPiece> parse_sharing(const std::string& text);

/// How to change the present pieces so that they share memory as recorded. Pieces that only have to
/// be filled are not included.
using Placements = std::unordered_map<std::string, Placement>;
Placements plan_sharing(const std::vector<PlacedPiece>& present,
                        const std::vector<SharedPiece>& recorded);

/// Notes the places of the pieces, and passes everything on to `to`, unless that is null.
class PlaceSink final : public StateSink {
 public:
  PlaceSink(std::vector<PlacedPiece>& pieces, StateSink* to) : pieces_(pieces), to_(to) {}
  void bytes(std::string name, std::string_view content) override {
    if (to_) to_->bytes(std::move(name), content);
  }
  void tensor(std::string name, const TensorSource& source) override {
    if (to_) to_->tensor(std::move(name), source);
  }
  void place(const std::string& name, const Place& place) override {
    pieces_.push_back({name, place, true});
  }
  bool wants_content() const override { return to_ && to_->wants_content(); }

 private:
  std::vector<PlacedPiece>& pieces_;
  StateSink* to_;
};

void write_sharing(StateSink& sink, const std::vector<SharedPiece>& shared);
/// Reads the sharing; empty if nothing was shared.
std::vector<SharedPiece> read_sharing(StateSource& source);

/// A source that also supplies placements for pieces that share memory.
class PlacingSource final : public StateSource {
 public:
  PlacingSource(StateSource& source, Placements placements)
      : source_(source), placements_(std::move(placements)) {}
  /// Which recorded pieces count: all, or only those that are also present.
  enum class Recorded : std::uint8_t { all, present };
  /// `visit` saves everything that is to be restored, as it is at present, into the sink.
  PlacingSource(StateSource& source, const std::function<void(StateSink&)>& visit,
                Recorded recorded = Recorded::all);

  bool has(const std::string& name) const override { return source_.has(name); }
  const store::Item& item(const std::string& name) const override { return source_.item(name); }
  std::string bytes(const std::string& name) override { return source_.bytes(name); }
  void tensor(const std::string& name, TensorTarget target) override {
    source_.tensor(name, std::move(target));
  }
  const Placement* placement(const std::string& name) const override {
    const auto found = placements_.find(name);
    return found == placements_.end() ? nullptr : &found->second;
  }

 private:
  StateSource& source_;
  Placements placements_;
};

}  // namespace flor::detail
