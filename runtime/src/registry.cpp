#include "registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace flor::detail {

namespace {

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

std::string SlotNames::assign(const Slot& slot) {
  std::string name = slot.name;
  if (name.empty()) {
    name = std::string(slot.kind);
    for (int number = 2; std::ranges::find(taken_, name) != taken_.end(); ++number) {
      name = fmt::format("{}{}", slot.kind, number);
    }
  } else if (name.front() == '@' || name.starts_with(kAttachedPrefix) ||
             name.find_first_of("/\n") != name.npos) {
    throw UsageError(fmt::format(
        "flor::named(\"{}\"): a name cannot begin with '@' or 'with:' nor contain '/'", name));
  } else if (std::ranges::find(taken_, name) != taken_.end()) {
    throw UsageError(
        fmt::format("two registered objects are named '{}': give them different names", name));
  }
  taken_.push_back(name);
  return name;
}

std::vector<std::uint64_t> Registry::add(std::vector<Slot> slots) {
  SlotNames names;
  for (const Entry& entry : entries_) {
    Slot known = entry.slot;
    known.name = entry.name;
    names.assign(known);
  }
  std::vector<Entry> added;
  for (Slot& slot : slots) {
    std::string name = names.assign(slot);
    added.push_back({next_ticket_ + added.size(), std::move(name), std::move(slot)});
  }
  next_ticket_ += added.size();
  std::vector<std::uint64_t> tickets;
  for (Entry& entry : added) {
    tickets.push_back(entry.ticket);
    entries_.push_back(std::move(entry));
  }
  return tickets;
}

void Registry::drop(const std::vector<std::uint64_t>& tickets) noexcept {
  std::erase_if(entries_, [&](const Entry& entry) {
    return std::ranges::find(tickets, entry.ticket) != tickets.end();
  });
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

std::vector<std::string> attached_names(const std::vector<Slot>& attached) {
  SlotNames names;
  std::vector<std::string> result;
  for (const Slot& slot : attached) {
    result.push_back(std::string(kAttachedPrefix) + names.assign(slot));
  }
  return result;
}

void save_attached(StateSink& sink, const std::vector<Slot>& attached) {
  const std::vector<std::string> names = attached_names(attached);
  for (std::size_t i = 0; i < attached.size(); ++i) {
    attached[i].save(StateWriter(sink, names[i]));
  }
}

void load_attached(StateSource& source, const std::vector<Slot>& attached) {
  const std::vector<std::string> names = attached_names(attached);
  for (std::size_t i = 0; i < attached.size(); ++i) {
    attached[i].load(StateReader(source, names[i]));
  }
}

std::string entry_name(std::string_view loop) { return fmt::format("{}@begin", loop); }

void Registry::save(StateSink& sink, StateSink& overlapping,
                    const std::vector<Slot>& attached) const {
  sink.bytes(std::string(kSlotsItem), fmt::format("{}", fmt::join(names(), "\n")));
  if (adapter().threads) {
    const std::int64_t threads = adapter().threads();
    StateWriter(sink, std::string(kThreadsItem)).number("", threads);
  }
  for (const Slot& slot : adapter().ambient) slot.save(StateWriter(sink, "@" + slot.name));
  for (const Entry& entry : entries_) {
    entry.slot.save(StateWriter(entry.slot.overlapping ? overlapping : sink, entry.name));
  }
  save_attached(sink, attached);
}

void Registry::check_names(StateSource& source) const {
  const std::string recorded = source.bytes(std::string(kSlotsItem));
  const std::string present = fmt::format("{}", fmt::join(names(), "\n"));
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
  for (const Entry& entry : entries_) entry.slot.load(StateReader(source, entry.name));
  load_attached(source, attached);
  // Last, since rebuilding an object may draw random numbers.
  for (const Slot& slot : adapter().ambient) slot.load(StateReader(source, "@" + slot.name));
}

}  // namespace flor::detail
