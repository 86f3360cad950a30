#include "state/sharing.h"

#include <flor/state/state_traits.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <locale>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

namespace flor::detail {
namespace {

std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// Returns for each piece the first address of its block. Overlapping blocks count as one, as when
/// a program wraps a part of its own memory in a tensor.
std::vector<std::uintptr_t> merged_blocks(const std::vector<PlacedPiece>& pieces) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> extents;
  for (const PlacedPiece& piece : pieces) {
    const std::uintptr_t begin = address(piece.place.block);
    extents.emplace_back(begin, begin + std::max<std::uint64_t>(piece.place.block_bytes, 1));
  }
  std::ranges::sort(extents);
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> merged;
  for (const auto& [begin, end] : extents) {
    if (!merged.empty() && begin < merged.back().second) {
      merged.back().second = std::max(merged.back().second, end);
    } else {
      merged.emplace_back(begin, end);
    }
  }
  std::vector<std::uintptr_t> blocks;
  for (const PlacedPiece& piece : pieces) {
    const auto after = std::ranges::upper_bound(
        merged, std::pair(address(piece.place.block), std::numeric_limits<std::uintptr_t>::max()));
    blocks.push_back(std::prev(after)->first);
  }
  return blocks;
}

/// Whether the tensor shares memory with itself, by a dimension of stride 0.
bool overlaps_itself(const Place& place) {
  return std::ranges::find(place.strides, 0) != place.strides.end();
}

auto shape_of(const Place& place) { return std::tie(place.type, place.bytes, place.strides); }

}  // namespace

bool SharedPiece::operator==(const SharedPiece& other) const {
  return std::tie(name, block, object, base, place.offset, place.firmness,
                  place.lineage.standing) ==
             std::tie(other.name, other.block, other.object, other.base, other.place.offset,
                      other.place.firmness, other.place.lineage.standing) &&
         shape_of(place) == shape_of(other.place);
}

namespace {

/// Finds the objects of which pieces are views. A view whose base is no piece in the same block is
/// restored as an ordinary tensor.
void find_bases(std::vector<SharedPiece>& pieces,
                const std::map<const void*, std::size_t>& objects) {
  std::map<std::size_t, std::size_t> block_of;  // by object
  for (const SharedPiece& piece : pieces) block_of.emplace(piece.object, piece.block);
  for (SharedPiece& piece : pieces) {
    Lineage& lineage = piece.place.lineage;
    const auto base = lineage.base ? objects.find(lineage.base) : objects.end();
    if (base != objects.end() && block_of.at(base->second) == piece.block) {
      piece.base = base->second;
    } else {
      const bool tracked = lineage.standing >= Standing::tracked_view;
      lineage.standing = tracked ? Standing::computed : Standing::plain;
    }
    lineage = {.standing = lineage.standing};
  }
}

}  // namespace

std::vector<SharedPiece> find_sharing(const std::vector<PlacedPiece>& pieces) {
  const std::vector<std::uintptr_t> blocks = merged_blocks(pieces);
  std::map<std::uintptr_t, std::vector<std::size_t>> by_block;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].place.block && pieces[i].place.bytes > 0) by_block[blocks[i]].push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;  // in the order of their first pieces
  for (auto& [block, group] : by_block) {
    const Place& first = pieces[group.front()].place;
    if (group.size() > 1 || first.firmness == 1 || overlaps_itself(first)) {
      groups.push_back(std::move(group));
    }
  }
  std::ranges::sort(groups);
  std::vector<SharedPiece> found;
  std::map<const void*, std::size_t> objects;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::uintptr_t begin = std::numeric_limits<std::uintptr_t>::max();
    const auto first_byte = [&](std::size_t i) {
      return address(pieces[i].place.block) + pieces[i].place.offset;
    };
    for (const std::size_t i : groups[g]) begin = std::min(begin, first_byte(i));
    for (const std::size_t i : groups[g]) {
      SharedPiece piece{pieces[i].name, g, 0, pieces[i].place};
      piece.object = objects.try_emplace(piece.place.object, objects.size()).first->second;
      piece.place.offset = first_byte(i) - begin;
      piece.place.block = piece.place.object = nullptr;
      piece.place.block_bytes = 0;
      piece.place.handle.reset();
      found.push_back(std::move(piece));
    }
  }
  find_bases(found, objects);
  return found;
}

std::string to_text(const std::vector<SharedPiece>& pieces) {
  std::string text;
  for (const SharedPiece& piece : pieces) {
    const Place& place = piece.place;
    text += fmt::format("{} {} {} {} {} {} {} {} [{}] {}\n", piece.block, piece.object, place.type,
                        place.offset, place.bytes, place.firmness,
                        static_cast<int>(place.lineage.standing),
                        piece.base ? static_cast<std::int64_t>(*piece.base) : -1,
                        fmt::join(place.strides, ","), piece.name);
  }
  return text;
}

std::vector<SharedPiece> parse_sharing(const std::string& text) {
  std::vector<SharedPiece> pieces;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    in.imbue(std::locale::classic());
    SharedPiece piece;
    std::string strides;
    int standing = 0;
    std::int64_t base = -1;
    in >> piece.block >> piece.object >> piece.place.type >> piece.place.offset >>
        piece.place.bytes >> piece.place.firmness >> standing >> base >> strides;
    if (in.fail() || in.get() != ' ' || strides.size() < 2) {
      throw Damaged(
          fmt::format("what a checkpoint says of {} is damaged", item_title(kSharingItem)));
    }
    std::getline(in, piece.name);
    piece.place.lineage.standing = static_cast<Standing>(standing);
    if (base >= 0) piece.base = static_cast<std::size_t>(base);
    std::istringstream numbers(strides.substr(1, strides.size() - 2));
    for (std::string number; std::getline(numbers, number, ',');) {
      piece.place.strides.push_back(std::stoll(number));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

namespace {

/// Assigns blocks of the present memory to recorded blocks.
class Planner {
 public:
  Planner(const std::vector<PlacedPiece>& present, const std::vector<SharedPiece>& recorded)
      : present_(present), recorded_(recorded), blocks_(merged_blocks(present)) {
    for (std::size_t i = 0; i < recorded.size(); ++i) by_name_.emplace(recorded[i].name, i);
    for (std::size_t i = 0; i < present.size(); ++i) present_by_name_.emplace(present[i].name, i);
    for (const PlacedPiece& piece : present) {
      const SharedPiece* then = this->recorded(piece.name);
      if (piece.place.firmness > 1) leaves_.emplace(piece.place.object, then);
      if (then) blocks_by_object_.emplace(piece.place.object, then->block);
    }
    for (const SharedPiece& piece : recorded) {
      if (piece.base) has_views_.insert(*piece.base);
      Group& group = groups_[piece.block];
      group.bytes = std::max(group.bytes, piece.place.offset + piece.place.bytes);
      ++group.pieces;
    }
  }

  Placements plan() {
    for (const std::size_t i : claiming()) claim(i);
    for (const std::size_t i : placing()) place(recorded_[i]);
    for (const std::string& name : parted_) placements_[name].in_place = false;
    return std::move(placements_);
  }

 private:
  struct Group {
    std::uint64_t bytes = 0;
    std::size_t pieces = 0;
    bool has_memory = false;
    std::uintptr_t begin = 0;  // address of its first byte at present, if it has memory
    std::uint64_t base = 0;    // offset of that byte in the present block
    std::shared_ptr<std::shared_ptr<void>> block = std::make_shared<std::shared_ptr<void>>();
    std::map<std::size_t, std::shared_ptr<std::shared_ptr<void>>> objects;
  };

  const SharedPiece* recorded(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &recorded_[found->second];
  }

  const Place* present(const std::string& name) const {
    const auto found = present_by_name_.find(name);
    return found == present_by_name_.end() ? nullptr : &present_[found->second].place;
  }

  /// The firmness of a piece. A parameter is one in any case; whether a tensor was trained is in
  /// the record.
  static int firmness(const Place* now, const SharedPiece* then) {
    if (now && (now->firmness > 1 || now->firmness < 0)) return now->firmness;
    return then ? then->place.firmness : 0;
  }

  /// The pieces that have memory at present, firmer ones first.
  std::vector<std::size_t> claiming() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      if (present_[i].place.firmness >= 0 && present_[i].place.block) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
      return std::pair(present_[i].has_content,
                       firmness(&present_[i].place, recorded(present_[i].name)));
    });
    return order;
  }
  std::vector<std::size_t> placing() const {
    std::vector<std::size_t> order(recorded_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Pieces of which others are views come before those views.
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
      const int firm = firmness(present(recorded_[i].name), &recorded_[i]);
      return std::tuple(firm > 1, !recorded_[i].base, firm);
    });
    return order;
  }

  void claim(std::size_t i) {
    const PlacedPiece& piece = present_[i];
    const SharedPiece* then = recorded(piece.name);
    const bool is_taken = taken_.contains(blocks_[i]) || is_of_leaf(piece.place, then);
    if (!then) {
      if (is_taken) {
        parted_.push_back(piece.name);
      } else {
        taken_.insert_or_assign(blocks_[i], &piece);
      }
      return;
    }
    Group& group = groups_.at(then->block);
    if (group.has_memory || is_taken || !fits(piece.place, *then, group)) return;
    group.has_memory = true;
    group.begin = address(piece.place.block) + piece.place.offset - then->place.offset;
    group.base = group.begin - address(piece.place.block);
    *group.block = piece.place.handle;
    taken_.insert_or_assign(blocks_[i], &piece);
  }

  /// Whether the handle refers to a parameter at present but did not in the recording. Then it
  /// changes together with the parameter.
  bool is_of_leaf(const Place& now, const SharedPiece* then) const {
    if (now.firmness > 1) return false;
    const auto leaf = leaves_.find(now.object);
    return leaf != leaves_.end() && !(then && leaf->second && leaf->second->object == then->object);
  }

  static bool is_alone(const SharedPiece& piece, const Group& group) {
    return group.pieces == 1 && !overlaps_itself(piece.place);
  }

  /// Whether the block of the piece has room for the group's other pieces at their recorded
  /// offsets.
  static bool fits(const Place& now, const SharedPiece& then, const Group& group) {
    if (is_alone(then, group)) return true;
    if (shape_of(now) != shape_of(then.place) || now.offset < then.place.offset) return false;
    return now.offset - then.place.offset + group.bytes <= now.block_bytes;
  }

  void place(const SharedPiece& piece) {
    Group& group = groups_.at(piece.block);
    const Place* now = present(piece.name);
    const bool stays = now && now->firmness >= 0 && group.has_memory &&
                       !is_of_leaf(*now, &piece) &&
                       address(now->block) + now->offset == group.begin + piece.place.offset &&
                       (is_alone(piece, group) || shape_of(*now) == shape_of(piece.place));
    if (stays && is_alone(piece, group)) return;
    auto& object = group.objects[piece.object];
    if (!object) object = std::make_shared<std::shared_ptr<void>>();
    const bool keeps = now && (now->firmness > 1 || (stays && stands_as(*now, piece))) &&
                       keeps_object(*now, piece.object, *object);
    Placement& placement = placements_[piece.name];
    placement = {.in_place = stays && keeps,
                 .type = piece.place.type,
                 .offset = group.base + piece.place.offset,
                 .strides = piece.place.strides,
                 .block_bytes = group.bytes,
                 .block = group.block,
                 .object = object,
                 .standing = piece.place.lineage.standing};
    if (piece.base) placement.base = bases_[*piece.base];
    bases_.try_emplace(piece.object, std::make_shared<const Placement>(placement));
  }

  /// Whether the present object is a view of the same object as the recorded one, if that one is a
  /// view.
  bool stands_as(const Place& now, const SharedPiece& then) const {
    const Standing standing = then.place.lineage.standing;
    if (!then.base) {
      return now.lineage.fits(standing == Standing::computed) &&
             !will_share(now.lineage.base, then.block) &&
             !(now.lineage.is_view() && has_views_.contains(then.object));
    }
    const auto base = present_object_.find(*then.base);
    return now.lineage.standing == standing && base != present_object_.end() &&
           base->second == now.lineage.base;
  }

  /// Whether base and view will be in one block again. A view whose base gets other memory is no
  /// view until then.
  bool will_share(const void* base, std::size_t block) const {
    return base && blocks_by_object_.contains({base, block});
  }

  /// Whether one present object corresponds to exactly one recorded object, in both directions. A
  /// piece that cannot get another object keeps its own, and then only shares memory.
  bool keeps_object(const Place& now, std::size_t recorded, std::shared_ptr<void>& handle) {
    const auto now_is = recorded_object_.find(now.object);
    const auto then_is = present_object_.find(recorded);
    if (now_is == recorded_object_.end() && then_is == present_object_.end()) {
      recorded_object_.emplace(now.object, recorded);
      present_object_.emplace(recorded, now.object);
      handle = now.handle;
      return true;
    }
    const bool same = now_is != recorded_object_.end() && now_is->second == recorded;
    return same || now.firmness > 1;
  }

  const std::vector<PlacedPiece>& present_;
  const std::vector<SharedPiece>& recorded_;
  std::vector<std::uintptr_t> blocks_;
  std::unordered_map<std::string, std::size_t> by_name_, present_by_name_;
  std::map<std::size_t, Group> groups_;
  std::map<std::uintptr_t, const PlacedPiece*> taken_;  // present blocks
  std::map<const void*, const SharedPiece*> leaves_;    // by object; null: not recorded
  // Present object, recorded block.
  std::set<std::pair<const void*, std::size_t>> blocks_by_object_;
  // The recorded objects that have views. A view of a view counts as one of the first object.
  std::set<std::size_t> has_views_;
  std::map<const void*, std::size_t> recorded_object_;
  std::map<std::size_t, const void*> present_object_;
  std::map<std::size_t, std::shared_ptr<const Placement>> bases_;  // by recorded object
  std::vector<std::string> parted_;
  Placements placements_;
};

}  // namespace

Placements plan_sharing(const std::vector<PlacedPiece>& present,
                        const std::vector<SharedPiece>& recorded) {
  return Planner(present, recorded).plan();
}

void write_sharing(StateSink& sink, const std::vector<SharedPiece>& shared) {
  if (!shared.empty()) sink.bytes(std::string(kSharingItem), to_text(shared));
}

std::vector<SharedPiece> read_sharing(StateSource& source) {
  const std::string item(kSharingItem);
  return source.has(item) ? parse_sharing(source.bytes(item)) : std::vector<SharedPiece>();
}

namespace {

/// Leaves out pieces that are not present. Bases stay valid: they are numbers of objects, not of
/// pieces.
void leave_out_absent(std::vector<SharedPiece>& shared, const std::vector<PlacedPiece>& present) {
  std::set<std::string_view> names;
  for (const PlacedPiece& piece : present) names.insert(piece.name);
  std::erase_if(shared, [&](const SharedPiece& piece) { return !names.contains(piece.name); });
}

}  // namespace

PlacingSource::PlacingSource(StateSource& source, const std::function<void(StateSink&)>& visit,
                             Recorded recorded)
    : source_(source) {
  std::vector<PlacedPiece> pieces;
  PlaceSink places(pieces, nullptr);
  visit(places);
  for (PlacedPiece& piece : pieces) {
    piece.has_content = piece.name.ends_with(kPointerPiece) || source.has(piece.name);
  }
  std::vector<SharedPiece> shared = read_sharing(source);
  if (recorded == Recorded::present) leave_out_absent(shared, pieces);
  placements_ = plan_sharing(pieces, shared);
}

}  // namespace flor::detail
