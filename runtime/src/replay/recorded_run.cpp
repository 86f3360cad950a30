#include "replay/recorded_run.h"

#include "checkpoint/elsewhere.h"
#include "state/registry.h"

#include <algorithm>

namespace flor::detail {

Record::Key Record::index(const store::CheckpointKey& key) {
  return {static_cast<int>(key.kind), key.main_loop, key.iteration, key.loop};
}

Record::Record(const store::Catalog& catalog, const store::Run& run, Places places)
    : run_(run.id), main_loops_(catalog.main_loops(run.id)) {
  for (const store::CheckpointInfo& checkpoint : store::reachable_checkpoints(catalog, run.id)) {
    checkpoints_[index(checkpoint.key)] = checkpoint.id;
    if (checkpoint.key.kind == store::CheckpointKind::boundary) {
      boundaries_[checkpoint.key.main_loop].insert(checkpoint.key.iteration);
    }
  }
  const std::vector<store::LoopExecution> executions = catalog.executions(run.id);
  for (const store::LoopExecution& execution : executions) {
    executions_[index({.kind = store::CheckpointKind::loop_end,
                       .main_loop = execution.main_loop,
                       .iteration = execution.iteration,
                       .loop = execution.loop})] = execution;
    nested_.insert(execution.loop.substr(0, execution.loop.find('~')));
  }
  for (const store::MainLoop& loop : main_loops_) epochs_ += loop.iterations;
  find_last_executions(executions);
  leave_out_starts_without_entries(executions);
  if (places == Places::own || !run.start.rank) return;
  for (const store::Run& rank : catalog.ranks(run.start.rank->group)) {
    if (rank.id != run.id) keep_places_of(Record(catalog, rank));
  }
}

void Record::leave_out_copied(const store::Catalog& catalog) {
  const auto fork = catalog.fork(run_);
  if (!fork) return;
  first_epoch_ = fork->first();
  for (const store::MainLoop& loop : main_loops_) {
    std::erase_if(boundaries_[loop.ordinal], [&](std::int64_t iteration) {
      return iteration < loop.iterations && fork->is_others(loop.ordinal, iteration);
    });
  }
}

void Record::load_only(std::span<const std::pair<std::int64_t, std::int64_t>> starts) {
  const std::set<std::pair<std::int64_t, std::int64_t>> left(starts.begin(), starts.end());
  compared_ = checkpoints_;
  std::erase_if(checkpoints_, [&](const auto& entry) {
    const auto& [kind, main_loop, iteration, name] = entry.first;
    const bool at_boundary =
        kind == static_cast<int>(store::CheckpointKind::boundary) || name.ends_with(entry_name(""));
    return !at_boundary || !left.contains({main_loop, iteration});
  });
  for (auto& [main_loop, iterations] : boundaries_) {
    std::erase_if(iterations, [&, loop = main_loop](std::int64_t iteration) {
      return !left.contains({loop, iteration});
    });
  }
}

/// Leaves out ends of loops, and boundaries from which a replay can begin, that `other` does not
/// have.
void Record::keep_places_of(const Record& other) {
  const std::string begin = entry_name("");
  std::erase_if(checkpoints_, [&](const auto& entry) {
    const auto& [kind, main_loop, iteration, name] = entry.first;
    const bool end = kind == static_cast<int>(store::CheckpointKind::loop_end) ||
                     kind == static_cast<int>(store::CheckpointKind::boundary);
    return end && !name.ends_with(begin) && !other.checkpoints_.contains(entry.first);
  });
  for (auto& [main_loop, iterations] : boundaries_) {
    std::erase_if(iterations, [&, loop = main_loop](std::int64_t iteration) {
      return !other.boundaries(loop).contains(iteration);
    });
  }
}

/// Leaves out boundaries after which the attached locals of a loop were not stored: a replay from
/// there would execute the loop with other locals. At the beginning of the main loop the program
/// sets them itself.
void Record::leave_out_starts_without_entries(const std::vector<store::LoopExecution>& executions) {
  std::set<std::pair<std::int64_t, std::string>> with_locals;
  const std::string begin = entry_name("");
  for (const auto& [key, id] : checkpoints_) {
    const auto& [kind, main_loop, iteration, name] = key;
    const bool entry =
        kind == static_cast<int>(store::CheckpointKind::loop_end) && name.ends_with(begin);
    if (entry) with_locals.emplace(main_loop, name.substr(0, name.size() - begin.size()));
  }
  for (const store::LoopExecution& execution : executions) {
    if (execution.iteration == 0 || !with_locals.contains({execution.main_loop, execution.loop})) {
      continue;
    }
    const store::CheckpointKey entry{.kind = store::CheckpointKind::loop_end,
                                     .main_loop = execution.main_loop,
                                     .iteration = execution.iteration,
                                     .loop = entry_name(execution.loop)};
    if (!checkpoint(entry)) boundaries_[execution.main_loop].erase(execution.iteration);
  }
}

void Record::find_last_executions(const std::vector<store::LoopExecution>& executions) {
  for (const store::MainLoop& loop : main_loops_) {
    if (!loop.broke) continue;
    const store::LoopExecution* last = nullptr;
    for (const store::LoopExecution& execution : executions) {
      const bool inside =
          execution.main_loop == loop.ordinal && execution.iteration == loop.iterations - 1;
      if (inside) last = &execution;
    }
    if (last && last->broke) {
      left_from_.insert(index({.kind = store::CheckpointKind::loop_end,
                               .main_loop = last->main_loop,
                               .iteration = last->iteration,
                               .loop = last->loop}));
    }
  }
}

const store::MainLoop* Record::main_loop(const std::string& name) const {
  const auto found = std::ranges::find(main_loops_, name, &store::MainLoop::name);
  return found == main_loops_.end() ? nullptr : &*found;
}

std::optional<std::int64_t> Record::checkpoint(const store::CheckpointKey& key) const {
  const auto found = checkpoints_.find(index(key));
  return found == checkpoints_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> Record::compared(const store::CheckpointKey& key) const {
  const auto& all = compared_.empty() ? checkpoints_ : compared_;
  const auto found = all.find(index(key));
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

bool Record::main_loop_may_have_been_left_from(const store::CheckpointKey& key) const {
  return left_from_.contains(index(key));
}

const std::set<std::int64_t>& Record::boundaries(std::int64_t main_loop) const {
  static const std::set<std::int64_t> none;
  const auto found = boundaries_.find(main_loop);
  return found == boundaries_.end() ? none : found->second;
}

const store::LoopExecution* Record::execution(const store::CheckpointKey& key) const {
  const auto found = executions_.find(index(key));
  return found == executions_.end() ? nullptr : &found->second;
}

std::set<std::string> Record::executed_in(std::int64_t main_loop, std::int64_t iteration) const {
  std::set<std::string> loops;
  const store::CheckpointKey first{.kind = store::CheckpointKind::loop_end,
                                   .main_loop = main_loop,
                                   .iteration = iteration,
                                   .loop = {}};
  for (auto at = executions_.lower_bound(index(first)); at != executions_.end(); ++at) {
    const auto& [kind, loop, own_iteration, name] = at->first;
    if (loop != main_loop || own_iteration != iteration) break;
    loops.insert(name);
  }
  return loops;
}

bool Record::nested_left_early() const {
  return std::ranges::any_of(executions_, [](const auto& entry) { return entry.second.broke; });
}

}  // namespace flor::detail
