// Recording as one of several ranks.
#include "base/notice.h"
#include "base/process_facts.h"
#include "ranks/rank_group.h"
#include "record/recorder.h"
#include "session/preemption.h"

#include <fmt/format.h>

namespace flor::detail {

/// Called when the run is in the catalog and locked. Rank 0 lets the others begin; they have been
/// let.
void Recorder::begin_in_group(const std::string& launch, const std::string& commit,
                              const std::optional<store::ResumePoint>& point) {
  store::Catalog& catalog = store_->catalog();
  const std::int64_t group = run_.start.rank->group;
  const std::string first = is_first() ? run_.key : catalog.run(group).value_or(run_).key;
  if (ranks_->one_machine) {
    const auto mode = is_first() ? RankBoard::Mode::create : RankBoard::Mode::join;
    try {
      board_ = std::make_unique<RankBoard>(store_->rank_board(first), mode);
    } catch (const Error& error) {
      say(Level::info, fmt::format("{}: each rank decides by itself what it stores", error.what()));
    }
  }
  if (board_) {
    schedule_.set_agreement([this](std::int64_t main_loop, std::int64_t iteration, bool own) {
      return board_->agree(main_loop, iteration, own);
    });
  }
  if (!is_first()) {
    first_rank_ = std::make_unique<FirstRank>(*store_, first);
    catalog.join_launch(run_.id);
    return;
  }
  catalog.open_launch(
      {.group = group, .launch = launch, .started_us = now_us(), .commit = commit, .point = point});
}

void Recorder::let_first_rank_store(const store::CheckpointKey& key,
                                    store::CheckpointWriter& writer) {
  if (!first_rank_) return;
  first_rank_->await(key, [this] { return awaited_ > 0; });
  writer.also_stored(first_rank_->chunks_of(key));
}

bool Recorder::is_called_away() {
  const bool asked = pending_signal.load(std::memory_order_relaxed) != 0;
  return board_ ? board_->stops(++position_, asked) : asked;
}

}  // namespace flor::detail
