#include "record/group_member.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "session/preemption.h"

#include <flor/store/error.h>

#include <fmt/format.h>

namespace flor::detail {

void GroupMember::begin(store::Store& store, const store::Run& run, store::RankLaunch launch,
                        Schedule& schedule) {
  if (!ranks_) return;
  store::Catalog& catalog = store.catalog();
  const std::int64_t group = run.start.rank->group;
  const std::string first = is_first() ? run.key : catalog.run(group).value_or(run).key;
  if (ranks_->one_machine) {
    const auto mode = is_first() ? RankBoard::Mode::create : RankBoard::Mode::join;
    try {
      board_ = std::make_unique<RankBoard>(store.rank_board(first), mode);
    } catch (const Error& error) {
      say(Level::info, fmt::format("{}: each rank decides by itself what it stores", error.what()));
    }
  }
  if (board_) {
    schedule.set_agreement([this](std::int64_t main_loop, std::int64_t iteration, bool own) {
      return board_->agree(main_loop, iteration, own);
    });
  }
  if (!is_first()) {
    first_rank_ = std::make_unique<FirstRank>(store, first);
    catalog.join_launch(run.id);
    return;
  }
  launch.group = group;
  launch.started_us = now_us();
  catalog.open_launch(launch);
}

bool GroupMember::is_called_away() {
  const bool asked = pending_signal.load(std::memory_order_relaxed) != 0;
  return board_ ? board_->stops(++position_, asked) : asked;
}

bool GroupMember::forces(std::int64_t main_loop, std::int64_t iteration, bool own) {
  return board_ ? board_->force(main_loop, iteration, own) : own;
}

void GroupMember::set_spent(bool spent) {
  if (board_) board_->set_spent(ranks_->rank, spent);
}

void GroupMember::close() {
  if (board_) board_->close();
}

void GroupMember::let_first_rank_store(const store::CheckpointKey& key,
                                       store::CheckpointWriter& writer) {
  if (!first_rank_) return;
  first_rank_->await(key, [this] { return awaited_ > 0; });
  writer.also_stored(first_rank_->chunks_of(key));
}

}  // namespace flor::detail
