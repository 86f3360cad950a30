#include "record/row_writer.h"

#include "base/notice.h"
#include "base/process_facts.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace flor::detail {
namespace {

constexpr int kTriesAtEnd = 8;  // then the values that wait are given up and named as lost

}  // namespace

void RowWriter::trouble(Part part, std::string_view why) noexcept {
  try {
    const bool begins = health_.failed(part, why);
    // With more patience, the training thread would have to wait for this call.
    if (!is_training() && store_) store_->set_patience(lock_patience.in_outage);
    if (!begins) return say(Level::debug, fmt::format("still not stored: {}", why));
    say(Level::error,
        fmt::format("RUN {} CANNOT BE STORED NOW: {}; the training goes on, values wait in memory, "
                    "and recording goes on when it can",
                    run_.key.substr(0, 8), why));
  } catch (const std::exception&) {  // only a notice is lost
  }
}

void RowWriter::works(Part part) noexcept {
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

void RowWriter::miss(std::int64_t epoch, bool values) noexcept {
  try {
    health_.miss(epoch, values);
  } catch (const std::exception&) {  // no memory for the gap
  }
}

void RowWriter::update(UpdateOutbox::Update change) noexcept {
  if (!store_) return;
  try {
    if (!updates_.add(std::move(change))) miss(-1, true);
  } catch (const std::exception&) {  // no memory for the update
    miss(-1, true);
  }
  flush_values();
}

void RowWriter::write(const Write& write) noexcept {
  if (!store_ || (!ending_ && !health_.may_try(Part::rows))) return;
  try {
    if (write(store_->catalog())) works(Part::rows);
  } catch (const std::exception& error) {
    trouble(Part::rows, error.what());
  }
}

void RowWriter::add(store::Value value, LoggedContent* content) {
  if (!values_.has_room() || values_.size() >= next_flush_) flush_values();
  if (!values_.has_room()) return miss(value.place.epoch, true);
  if (content) return values_.add(std::move(value), std::move(*content));
  values_.add(std::move(value));
}

void RowWriter::flush_values() noexcept {
  if (store_ && (ending_ || health_.may_try(Part::content))) {
    try {
      if (values_.flush_contents(sources_.write_content)) works(Part::content);
    } catch (const std::exception& error) {
      trouble(Part::content, error.what());
    }
  }
  write([this](store::Catalog& catalog) {
    const bool wrote = updates_.flush(catalog);
    return values_.flush([&](std::span<const store::Value> values) {
      catalog.add_values(run_.id, values);
    }) || wrote;
  });
  next_flush_ = values_.size() + ValueOutbox::kAtOnce;
}

bool RowWriter::make_durable(bool must) noexcept {
  if (!must && !ending_ && !health_.may_try(Part::content)) return false;
  flush_logged();
  const auto are_written = [this] { return values_.empty() && updates_.empty(); };
  if (!are_written()) flush_values();
  return are_written();
}

bool RowWriter::write_progress(store::Catalog& catalog) {
  struct ValuesWait {};
  bool wrote = false;
  try {
    progress_.hand_on([&](const store::Progress& progress) {
      if (progress.empty()) return;
      flush_logged();
      if (!values_.empty()) throw ValuesWait();
      catalog.add_progress(run_.id, progress);
      wrote = true;
    });
  } catch (const ValuesWait&) {  // the failure of the store is known already
  }
  return wrote;
}

void RowWriter::write_before_checkpoint(bool and_progress) {
  const auto gaps = health_.unwritten_gaps();
  if (gaps || and_progress) write_progress(store_->catalog());
  if (!gaps) return;
  store_->catalog().put_gaps(run_.id, *gaps);
  health_.written(*gaps);
}

void RowWriter::flush_progress() noexcept {
  write([this](store::Catalog& catalog) { return write_progress(catalog); });
  if (!ending_ && !health_.gaps_are_due()) return;
  write([this](store::Catalog& catalog) {
    const auto gaps = health_.unwritten_gaps();
    if (!gaps) return false;
    catalog.put_gaps(run_.id, *gaps);
    health_.written(*gaps);
    return true;
  });
}

void RowWriter::flush_logged() noexcept {
  try {
    sources_.flush_journal();
  } catch (const std::exception& error) {
    trouble(Part::rows, error.what());
  }
}

void RowWriter::begin_end(bool says_in_journal) {
  ending_ = true;
  // Waits for another process that holds the catalog, but not if locks do not work at all.
  const bool locks = store_->why_locks_fail().empty();
  const auto patience = says_in_journal ? lock_patience.usual : lock_patience.at_end;
  store_->set_patience(locks ? patience : lock_patience.in_outage);
}

void RowWriter::give_up_rest() noexcept {
  try {
    for (const std::int64_t epoch : values_.epochs_of_contents()) miss(epoch, true);
  } catch (const std::exception&) {  // no memory for the set of epochs
    miss(-1, true);
  }
  if (!updates_.empty()) miss(-1, true);
}

void RowWriter::write_end(const End& end) {
  const auto write = [&](std::span<const store::Value> values) {
    progress_.hand_on([&](const store::Progress& progress) {
      end(store_->catalog(), {values, progress, health_.unwritten_gaps()});
    });
  };
  for (int tries = 0; tries < kTriesAtEnd; ++tries) {  // the failure may be temporary
    try {
      return values_.hand_on(write);
    } catch (const Busy&) {  // other processes were waited for already
      throw;
    } catch (const std::exception&) {
    }
  }
  for (const std::int64_t epoch : values_.epochs()) miss(epoch, true);
  write({});
}

}  // namespace flor::detail
