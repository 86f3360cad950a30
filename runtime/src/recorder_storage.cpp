// The recorder when the store cannot be written: what waits, what is tried again, what is a gap.
#include "notice.h"
#include "process.h"
#include "recorder.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace flor::detail {

using Part = StorageHealth::Part;

void Recorder::trouble(Part part, std::string_view why) noexcept {
  try {
    const bool begins = health_.failed(part, why);
    // The training thread would have to wait for the present call.
    if (!own_thread()) store_->set_patience(lock_patience.in_outage);
    if (!begins) return say(Level::debug, fmt::format("still not stored: {}", why));
    say(Level::error,
        fmt::format("RUN {} CANNOT BE STORED NOW: {}; the training goes on, values wait in memory, "
                    "and recording goes on when it can",
                    run_.key.substr(0, 8), why));
  } catch (const std::exception&) {  // it was to be said, no more
  }
}

void Recorder::works(Part part) noexcept {
  if (!health_.lasts(part)) return;
  try {
    const auto seconds = health_.succeeded(part);
    if (!health_.lasts() && !ending_) store_->set_patience(lock_patience.usual);
    if (!seconds || ending_) return;
    const std::string missing = store::print_gaps(health_.gaps());
    say(Level::warn, fmt::format("run {} is stored again, after {}: {}", run_.key.substr(0, 8),
                                 print_seconds(*seconds),
                                 missing.empty() ? "nothing of it is missing" : missing));
  } catch (const std::exception&) {
  }
}

void Recorder::update(UpdateOutbox::Update change) {
  background_->post([this, change = std::move(change)]() mutable {
    if (!store_) return;
    if (!updates_.add(std::move(change))) health_.miss(-1, true);
    flush_values();
  });
}

void Recorder::write_rows(const std::function<bool(store::Catalog&)>& write) noexcept {
  if (!store_ || (!ending_ && !health_.may_try(Part::rows))) return;
  try {
    if (write(store_->catalog())) works(Part::rows);
  } catch (const std::exception& error) {
    trouble(Part::rows, error.what());
  }
}

void Recorder::flush_values() noexcept {
  if (store_ && (ending_ || health_.may_try(Part::content))) {
    try {
      const bool wrote = values_.flush_contents([this](const LoggedContent& logged) {
        return writer_->write_object(logged.item, logged.content);
      });
      if (wrote) works(Part::content);
    } catch (const std::exception& error) {
      trouble(Part::content, error.what());
    }
  }
  write_rows([this](store::Catalog& catalog) {
    const bool wrote = updates_.flush(catalog);
    return values_.flush([&](std::span<const store::Value> values) {
             catalog.add_values(run_.id, values);
           }) ||
           wrote;
  });
}

void Recorder::flush_progress() noexcept {
  flush_outputs();
  write_rows([this](store::Catalog& catalog) {
    const bool wrote = progress_.flush(catalog, run_.id);
    const auto gaps = health_.unwritten_gaps();
    // While one grows it need not be written again and again.
    if (!gaps || (health_.lasts() && !ending_)) return wrote;
    catalog.put_gaps(run_.id, *gaps);
    health_.written(*gaps);
    return true;
  });
}

void Recorder::pass_over(Taken taken) noexcept {
  try {
    const bool boundary = taken.key.kind == store::CheckpointKind::boundary;
    const bool later = boundary && (!held_ || held_->epoch <= taken.epoch);
    if (!later) return health_.miss(taken.epoch);
    if (held_ && held_->key != taken.key) health_.miss(held_->epoch);
    held_ = std::move(taken);
  } catch (const std::exception&) {  // no memory for a gap
  }
}

void Recorder::retry_held() noexcept {
  if (!held_ || !health_.may_try(Part::content)) return;
  write_checkpoint(std::move(*std::exchange(held_, std::nullopt)));
}

void Recorder::write_waiting() noexcept {
  if (!store_) return;
  try {
    flush_journal();
  } catch (const std::exception& error) {
    trouble(Part::rows, error.what());
  }
  flush_values();
  flush_progress();
  retry_held();
}

void Recorder::write_rest() noexcept {
  try {
    ending_ = true;
    // Another process that holds the catalog is waited for; locks that fail are not.
    const bool locks = store_->why_locks_fail().empty();
    store_->set_patience(locks ? lock_patience.at_end : lock_patience.in_outage);
    flush_journal();
    flush_values();
    if (held_) write_checkpoint(std::move(*std::exchange(held_, std::nullopt)));
    if (held_) health_.miss(held_->epoch);
    for (const std::int64_t epoch : values_.epochs()) health_.miss(epoch, true);
    if (!updates_.empty()) health_.miss(-1, true);
    flush_progress();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

void Recorder::close_store() noexcept {
  held_.reset();
  writer_.reset();
  entry_writer_.reset();
  step_writer_.reset();
  first_rank_.reset();
  use_.reset();
  store_.reset();
  lock_.reset();
}

}  // namespace flor::detail
