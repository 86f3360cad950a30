// Which pieces of the state share memory: written down with a checkpoint, and made so again when it
// is restored. A tensor that was `best = w` when a loop began may have memory of its own at the
// checkpoint, or the other way round; filling such tensors in place would write one over the other.
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

/// The item of a checkpoint that describes this; it is missing where nothing is shared.
inline constexpr std::string_view kSharingItem = "@sharing";

struct PlacedPiece {
  std::string name;
  Place place;
  bool has_content = true;  ///< in the checkpoint; a piece without content claims no memory of one
                            ///< with it
};

/// A piece as the checkpoint describes it. Numbers stand for blocks and objects.
struct SharedPiece {
  std::string name;
  std::size_t block = 0, object = 0;
  Place place;  ///< `offset` is that from the block's first piece
  std::optional<std::size_t> base = {};  ///< the object that it is a view of, if that is a piece

  bool operator==(const SharedPiece& other) const;
};

/// The pieces that share memory with others, and those that have to keep theirs where they must be
/// parted from others (alone in a block).
std::vector<SharedPiece> find_sharing(const std::vector<PlacedPiece>& pieces);

/// A line for each piece.
std::string to_text(const std::vector<SharedPiece>& pieces);
std::vector<SharedPiece> parse_sharing(const std::string& text);

/// The changes to the present pieces so that they share memory as recorded. Pieces that are just to
/// be filled are not in it.
using Placements = std::unordered_map<std::string, Placement>;
Placements plan_sharing(const std::vector<PlacedPiece>& present,
                        const std::vector<SharedPiece>& recorded);

/// Notes the places of the pieces that pass through to `to`, or to nowhere.
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
/// Empty where nothing was shared.
std::vector<SharedPiece> read_sharing(StateSource& source);

/// A source that also supplies the placements of pieces that share memory.
class PlacingSource final : public StateSource {
 public:
  PlacingSource(StateSource& source, Placements placements)
      : source_(source), placements_(std::move(placements)) {}
  /// The recorded pieces that count: all, or those alone that are present now.
  enum class Recorded : std::uint8_t { all, present };
  /// `visit` saves all that is restored, as it is now, into the sink.
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
