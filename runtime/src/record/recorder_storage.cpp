// The recorder when the store cannot be written: data that waits, is retried, or becomes a gap.
#include "base/notice.h"
#include "base/process_facts.h"
#include "record/recorder.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace flor::detail {

using Part = StorageHealth::Part;

namespace {

constexpr int kTriesAtEnd = 8;  // before values that wait are named as lost

}  // namespace

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
  } catch (const std::exception&) {  // only a notice is lost
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
    if (!updates_.add(std::move(change))) miss(-1, true);
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

/// Writes the values that were logged until then first, or the progress waits with them: an epoch
/// that counts as complete has its values.
bool Recorder::write_progress(store::Catalog& catalog) {
  struct ValuesWait {};
  bool wrote = false;
  try {
    progress_.hand_on([&](const store::Progress& progress) {
      if (progress.empty()) return;
      write_logged();
      if (!values_.empty()) throw ValuesWait();
      catalog.add_progress(run_.id, progress);
      wrote = true;
    });
  } catch (const ValuesWait&) {  // the fault of the store is known already
  }
  return wrote;
}

void Recorder::flush_progress() noexcept {
  flush_outputs();
  drop_steps();
  write_rows([this](store::Catalog& catalog) { return write_progress(catalog); });
  if (!ending_ && !health_.gaps_are_due()) return;
  write_rows([this](store::Catalog& catalog) {
    const auto gaps = health_.unwritten_gaps();
    if (!gaps) return false;
    catalog.put_gaps(run_.id, *gaps);
    health_.written(*gaps);
    return true;
  });
}

void Recorder::miss(std::int64_t epoch, bool values) noexcept {
  try {
    health_.miss(epoch, values);
  } catch (const std::exception&) {  // no memory for a gap
  }
}

void Recorder::pass_over(Taken taken) noexcept {
  const bool boundary = taken.key.kind == store::CheckpointKind::boundary;
  const bool later = boundary && (!held_ || held_->epoch <= taken.epoch);
  if (!later) return miss(taken.epoch);
  drop_held_boundary();
  held_ = std::move(taken);
}

/// Drops it with the locals attached after it: those are of use only to a replay that begins there.
void Recorder::drop_held_boundary() noexcept {
  if (!held_) return;
  miss(held_->epoch);
  std::erase_if(held_entries_, [this](const Taken& entry) { return is_after_held(entry.key); });
  held_.reset();
}

bool Recorder::is_after_held(const store::CheckpointKey& entry) const {
  return held_ && held_->key.main_loop == entry.main_loop &&
         held_->key.iteration == entry.iteration;
}

/// Holds an entry; after a boundary that was dropped meanwhile it is not needed.
void Recorder::hold_entry(Taken entry) noexcept {
  const std::int64_t epoch = entry.epoch;
  if (held_ && !is_after_held(entry.key)) return;
  try {
    held_entries_.push_back(std::move(entry));
  } catch (const std::exception&) {
    miss(epoch);
  }
}

void Recorder::retry_held() noexcept {
  if (!held_ && held_entries_.empty()) return;
  if (!may_store(false)) return;
  try {
    store_held();
    works(Part::content);
  } catch (const std::exception& error) {
    trouble(Part::content, error.what());
  }
}

void Recorder::write_logged() noexcept {
  try {
    flush_journal();
  } catch (const std::exception& error) {
    trouble(Part::rows, error.what());
  }
}

void Recorder::write_waiting() noexcept {
  if (!store_) return;
  write_logged();
  flush_values();
  flush_progress();
  retry_held();
}

void Recorder::write_rest() noexcept {
  try {
    ending_ = true;
    // Waits for another process that holds the catalog, but not for locks that fail.
    const bool locks = store_->why_locks_fail().empty();
    const auto patience = says_in_journal_ ? lock_patience.usual : lock_patience.at_end;
    store_->set_patience(locks ? patience : lock_patience.in_outage);
    write_waiting();
    for (const Taken& entry : held_entries_) miss(entry.epoch);
    drop_held_boundary();
    for (const std::int64_t epoch : values_.epochs_of_contents()) miss(epoch, true);
    if (!updates_.empty()) miss(-1, true);
    flush_progress();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

void Recorder::write_end(
    const std::function<void(store::Catalog&, const store::UnwrittenRest&)>& end) {
  const auto write = [&](std::span<const store::Value> values) {
    progress_.hand_on([&](const store::Progress& progress) {
      end(store_->catalog(), {values, progress, health_.unwritten_gaps()});
    });
  };
  for (int tries = 0; tries < kTriesAtEnd; ++tries) {  // a fault may have passed
    try {
      return values_.hand_on(write);
    } catch (const Busy&) {  // it was waited for
      throw;
    } catch (const std::exception&) {
    }
  }
  for (const std::int64_t epoch : values_.epochs()) miss(epoch, true);
  write({});
}

void Recorder::keep(LogBatch batch) {
  if (!store_) return;
  if (checking_) return check_values(batch);
  try {
    std::size_t next_flush = values_.size() + ValueOutbox::kAtOnce;
    for_each_value(
        batch, ordinals_, [](const LoggedContent&) { return std::string(); },
        [&](const LogRecord& record, store::Value value) {
          watch_for_nan(record, value);
          const bool content =
              value.type == store::ValueType::tensor || value.type == store::ValueType::image;
          LoggedContent* logged = content ? &batch.contents[record.bits] : nullptr;
          if (on_the_way_ && !compare_on_way(value, logged)) logged = nullptr;
          if (!values_.has_room() || values_.size() == next_flush) {
            flush_values();
            next_flush = values_.size() + ValueOutbox::kAtOnce;
          }
          if (!values_.has_room()) return miss(value.place.epoch, true);
          if (logged) return values_.add(std::move(value), std::move(*logged));
          values_.add(std::move(value));
        });
  } catch (const std::exception& error) {  // no memory for them
    trouble(StorageHealth::Part::rows, error.what());
    for (const LogRecord& record : batch.records) miss(record.epoch, true);
  }
  flush_values();
}

void Recorder::watch_for_nan(const LogRecord& record, const store::Value& value) {
  if (record.type != store::ValueType::real) return;
  const double number = std::get<double>(value.value);
  if (const auto news = nan_watch_.note(record.name, value.name, record.epoch, number)) {
    say(Level::warn, *news);
  }
}

void Recorder::close_store() noexcept {
  held_.reset();
  held_entries_.clear();
  writer_.reset();
  entry_writer_.reset();
  step_writer_.reset();
  first_rank_.reset();
  use_.reset();
  store_.reset();
  lock_.reset();
}

}  // namespace flor::detail
