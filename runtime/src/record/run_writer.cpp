// Writing in the background, and checkpoints that the program asks for.
#include "base/notice.h"
#include "record/recorder.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <utility>

namespace flor::detail {

void Recorder::update(UpdateOutbox::Update change) {
  background_->post(
      [this, change = std::move(change)]() mutable { rows_.update(std::move(change)); });
}

void Recorder::flush_progress() noexcept {
  flush_outputs();
  checkpoints_.drop_steps();
  rows_.flush_progress();
}

void Recorder::write_waiting() noexcept {
  if (!store_) return;
  rows_.flush_logged();
  rows_.flush_values();
  flush_progress();
  checkpoints_.retry();
}

void Recorder::write_rest() noexcept {
  try {
    rows_.begin_end(says_in_journal_);
    write_waiting();
    checkpoints_.give_up();
    rows_.give_up_rest();
    flush_progress();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

void Recorder::keep(LogBatch batch) {
  if (!store_) return;
  if (checking_) return check_values(batch);
  try {
    for_each_value(
        batch, ordinals_, [](const LoggedContent&) { return std::string(); },
        [&](const LogRecord& record, store::Value value) {
          watch_for_nan(record, value);
          const bool content =
              value.type == store::ValueType::tensor || value.type == store::ValueType::image;
          LoggedContent* logged = content ? &batch.contents[record.bits] : nullptr;
          if (way_.entered() && !way_.compare(value, logged)) logged = nullptr;
          rows_.add(std::move(value), logged);
        });
  } catch (const std::exception& error) {  // no memory for them
    rows_.trouble(RowWriter::Part::rows, error.what());
    for (const LogRecord& record : batch.records) rows_.miss(record.epoch, true);
  }
  rows_.flush_values();
}

void Recorder::watch_for_nan(const LogRecord& record, const store::Value& value) {
  if (record.type != store::ValueType::real) return;
  const double number = std::get<double>(value.value);
  if (const auto news = nan_watch_.note(record.name, value.name, record.epoch, number)) {
    say(Level::warn, *news);
  }
}

void Recorder::close_store() noexcept {
  checkpoints_.close();
  group_.forget_first_rank();
  use_.reset();
  store_.reset();
  lock_.reset();
}

void Recorder::keep_checkpoints(const store::CheckpointStrategy& strategy) {
  update([this, strategy](store::Catalog& catalog) {
    catalog.put_strategy(run_.id, strategy);
    saved_.set_strategy(strategy);
  });
}

std::string Recorder::save_checkpoint(std::string_view name,
                                      const std::map<std::string, double>& scores) {
  const VisitedPlaces::Visit here = visits_.saves.next(journal_);
  const std::string place = VisitedPlaces::text(here.place, here.ordinal);
  // On the way to where the run was interrupted it is stored already.
  if (here.suppressed || checking_) return saved_.recorded_name(place);
  store::SavedCheckpoint saved;
  saved.name = name;
  saved_.identify(saved, place);
  saved.key = save_key(main_loops_);
  saved.key.loop = saved.name;
  saved.place = here.place;
  saved.ordinal = here.ordinal;
  saved.scores = scores;
  const std::string result = saved.name;
  fence();  // the state is that of now
  take_forced(saved.key, attached_here());
  update([this, saved = std::move(saved)](store::Catalog& catalog) {
    if (saved_.enter(saved, catalog, run_.id)) checkpoints_.delete_others();
  });
  return result;
}

void Recorder::score_checkpoint(std::string_view name,
                                const std::map<std::string, double>& scores) {
  update([this, name = std::string(name), scores](store::Catalog& catalog) {
    if (saved_.score(name, scores, catalog, run_.id)) checkpoints_.delete_others();
  });
}

std::optional<store::FoundCheckpoint> Recorder::find_checkpoint(bool best) {
  fence();
  background_->post([this] {
    rows_.flush_logged();
    flush_progress();  // an epoch counts once it is known to be complete
  });
  background_->drain();
  // The training continues whatever happens to the index, and waits for it at length only once. In
  // an outage the user was told already that nothing can be stored.
  const bool outage = rows_.health().lasts();
  store_->set_patience(index_follows_ && !outage ? lock_patience.usual : lock_patience.in_outage);
  const bool follows = store_->catalog().follow();
  if (!follows && !outage && index_follows_) {
    say(Level::warn,
        fmt::format("the catalog of {} cannot be written now: of run {} the {} checkpoint that it "
                    "knows is given, which may be an older one",
                    home_.string(), run_.key.substr(0, 8), best ? "best" : "latest"));
  }
  index_follows_ = follows || outage;
  return best ? store::best_checkpoint(*store_, run_.id, saved_.strategy())
              : store::latest_checkpoint(*store_, run_.id, saved_.strategy());
}

}  // namespace flor::detail
