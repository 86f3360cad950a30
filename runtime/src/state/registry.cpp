#include "state/registry.h"

#include "state/sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <sstream>

namespace flor::detail {

namespace {

/// Never given twice in a process: what was registered with one session may outlive it, and must
/// not end what is registered with the next.
std::atomic<std::uint64_t> next_ticket{1};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

std::string item_title(std::string_view item) {
  constexpr std::string_view kGenerator = "@rng/", kCuda = "cuda", kStructure = "/.layout";
  if (item == kSlotsItem) return "the list of registered objects";
  if (item == kThreadsItem) return "the number of threads";
  if (item == "@sharing") return "the memory that tensors share";
  if (item == "@elapsed") return "the time that was used";
  if (item.starts_with(kGenerator)) {
    const std::string_view device = item.substr(kGenerator.size());
    return device == "cpu" ? "the random generator of the CPU"
           : device.starts_with(kCuda)
               ? fmt::format("the random generator of GPU {}", device.substr(kCuda.size()))
               : fmt::format("the random generator {}", device);
  }
  if (item.ends_with(kStructure)) {
    return fmt::format("the structure of {}", item.substr(0, item.size() - kStructure.size()));
  }
  return std::string(item.substr(0, item.find("/.")));
}

std::string SlotNames::assign(const Slot& slot) {
  std::string name = slot.name;
  if (name.empty()) {
    const std::string kind(slot.kind);
    std::size_t& number = below_.try_emplace(kind, 1).first->second;
    const auto numbered = [&] { return number == 1 ? kind : kind + std::to_string(number); };
    for (name = numbered(); taken_.contains(name); name = numbered()) ++number;
  } else if (name.front() == '@' || name.starts_with(kAttachedPrefix) ||
             name.find_first_of("/\n") != name.npos) {
    throw UsageError(fmt::format(
        "flor::named(\"{}\"): a name cannot begin with '@' or 'with:' nor contain '/'", name));
  } else if (taken_.contains(name)) {
    throw UsageError(
        fmt::format("two registered objects are named '{}': give them different names", name));
  }
  taken_.insert(name);
  return name;
}

void SlotNames::release(const std::string& name) {
  taken_.erase(name);
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto found = below_.find(name.substr(0, digits));
  if (found == below_.end() || name.size() - digits > 9) return;
  const std::size_t number = digits == name.size() ? 1 : std::stoull(name.substr(digits));
  found->second = std::min(found->second, std::max<std::size_t>(number, 1));
}

std::vector<std::uint64_t> Registry::add(std::vector<Slot> slots) {
  std::vector<std::string> names;
  try {
    for (const Slot& slot : slots) names.push_back(names_.assign(slot));
  } catch (...) {
    for (const std::string& name : names) names_.release(name);
    throw;
  }
  list_.clear();
  std::vector<std::uint64_t> tickets;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    tickets.push_back(next_ticket++);
    entries_.emplace_hint(entries_.end(), tickets.back(),
                          Entry{std::move(names[i]), std::move(slots[i])});
  }
  return tickets;
}

void Registry::drop(const std::vector<std::uint64_t>& tickets) noexcept {
  list_.clear();
  for (const std::uint64_t ticket : tickets) {
    const auto found = entries_.find(ticket);
    if (found == entries_.end()) continue;
    names_.release(found->second.name);
    entries_.erase(found);
  }
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [ticket, entry] : entries_) names.push_back(entry.name);
  return names;
}

const std::string& Registry::list() const {
  if (list_.empty()) list_ = fmt::format("{}", fmt::join(names(), "\n"));
  return list_;
}

std::vector<std::string> attached_names(const std::vector<Slot>& attached) {
  SlotNames names;
  std::vector<std::string> result;
  for (const Slot& slot : attached) {
    result.push_back(std::string(kAttachedPrefix) + names.assign(slot));
  }
  return result;
}

namespace {

void visit_attached(StateSink& sink, const std::vector<Slot>& attached) {
  const std::vector<std::string> names = attached_names(attached);
  for (std::size_t i = 0; i < attached.size(); ++i) {
    attached[i].save(StateWriter(sink, names[i]));
  }
}

void read_attached(StateSource& source, const std::vector<Slot>& attached) {
  const std::vector<std::string> names = attached_names(attached);
  for (std::size_t i = 0; i < attached.size(); ++i) {
    attached[i].load(StateReader(source, names[i]));
  }
}

bool is_attached(const std::string& name) { return name.starts_with(kAttachedPrefix); }

}  // namespace

/// Also visits the registered objects, so that memory shared with them is noted.
void Registry::save_attached(StateSink& sink, const std::vector<Slot>& attached) const {
  std::vector<PlacedPiece> pieces;
  PlaceSink places(pieces, nullptr);
  visit(places, places);
  PlaceSink noting(pieces, &sink);
  visit_attached(noting, attached);
  std::vector<SharedPiece> shared = find_sharing(pieces);
  std::set<std::size_t> blocks;
  for (const SharedPiece& piece : shared) {
    if (is_attached(piece.name)) blocks.insert(piece.block);
  }
  std::erase_if(shared, [&](const SharedPiece& piece) { return !blocks.contains(piece.block); });
  write_sharing(sink, shared);
}

void Registry::load_attached(StateSource& source, const std::vector<Slot>& attached) const {
  std::vector<PlacedPiece> pieces;
  PlaceSink places(pieces, nullptr);
  visit(places, places);
  // Registered objects keep their memory.
  for (PlacedPiece& piece : pieces) piece.place.firmness = 2;
  visit_attached(places, attached);
  PlacingSource placing(source, plan_sharing(pieces, read_sharing(source)));
  read_attached(placing, attached);
}

std::string entry_name(std::string_view loop) { return fmt::format("{}@begin", loop); }

void Registry::save(StateSink& sink, StateSink& overlapping,
                    const std::vector<Slot>& attached) const {
  sink.bytes(std::string(kSlotsItem), list());
  if (adapter().threads) {
    const std::int64_t threads = adapter().threads();
    StateWriter(sink, std::string(kThreadsItem)).number("", threads);
  }
  for (const Slot& slot : adapter().ambient) slot.save(StateWriter(sink, "@" + slot.name));
  std::vector<PlacedPiece> pieces;
  PlaceSink noting(pieces, &sink), noting_overlapping(pieces, &overlapping);
  visit(noting, noting_overlapping);
  visit_attached(noting, attached);
  write_sharing(sink, find_sharing(pieces));
}

void Registry::save_objects(StateSink& sink) const {
  std::vector<PlacedPiece> pieces;
  PlaceSink noting(pieces, &sink);
  visit(noting, noting);
  write_sharing(sink, find_sharing(pieces));
}

void Registry::load_objects(StateSource& source) const {
  PlacingSource placing(
      source, [&](StateSink& places) { visit(places, places); }, PlacingSource::Recorded::present);
  for (const auto& [ticket, entry] : entries_) entry.slot.load(StateReader(placing, entry.name));
}

void Registry::visit(StateSink& sink, StateSink& overlapping) const {
  for (const auto& [ticket, entry] : entries_) {
    entry.slot.save(StateWriter(entry.slot.overlapping ? overlapping : sink, entry.name));
  }
}

void Registry::check_names(StateSource& source) const {
  const std::string recorded = source.bytes(std::string(kSlotsItem));
  const std::string& present = list();
  if (recorded == present) return;
  if (sorted_lines(recorded) == sorted_lines(present)) return;
  const auto list = [](std::string text) {
    if (text.empty()) return std::string("nothing");
    for (std::size_t at; (at = text.find('\n')) != text.npos;) text.replace(at, 1, ", ");
    return text;
  };
  throw Error(fmt::format(
      "the run registered {} with flor::checkpoints, this program registers {}: register the same "
      "objects in the same order (if they are registered while training, replay with --flor_init "
      "strong)",
      list(recorded), list(present)));
}

void Registry::load(StateSource& source, const std::vector<Slot>& attached,
                    bool set_threads) const {
  check_names(source);
  if (set_threads && adapter().set_threads && source.has(std::string(kThreadsItem))) {
    std::int64_t threads = 0;
    StateReader(source, std::string(kThreadsItem)).number("", threads);
    if (threads != adapter().threads()) adapter().set_threads(static_cast<int>(threads));
  }
  PlacingSource placing(source, [&](StateSink& places) {
    visit(places, places);
    visit_attached(places, attached);
  });
  for (const auto& [ticket, entry] : entries_) entry.slot.load(StateReader(placing, entry.name));
  read_attached(placing, attached);
  // Generators last, since rebuilding an object may draw random numbers.
  for (const Slot& slot : adapter().ambient) slot.load(StateReader(source, "@" + slot.name));
}

}  // namespace flor::detail
