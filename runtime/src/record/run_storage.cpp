#include "record/run_storage.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "machine/machine_reader.h"
#include "protocol/printed_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace flor::detail {

RunStorage::RunStorage(Parts parts)
    : parts_(std::move(parts)),
      rows_(
          parts_.store, parts_.run,
          {.flush_journal = parts_.flush_journal,
           .write_content =
               [this](const LoggedContent& logged) { return checkpoints_.write_content(logged); }}),
      checkpoints_({.store = parts_.store,
                    .run = parts_.run,
                    .priority = parts_.priority,
                    .rows = rows_,
                    .group = parts_.group,
                    .saved = saved_,
                    .flush_progress = [this] { flush_progress(); }}) {}

void RunStorage::take_over(std::map<std::string, store::SavedCheckpoint> saved, bool with_steps) {
  const store::Catalog& catalog = parts_.store->catalog();
  rows_.health().set_gaps(catalog.gaps(parts_.run.id));
  saved_.know(std::move(saved));
  if (!with_steps) return;
  std::vector<store::CheckpointKey> steps;
  for (const store::CheckpointInfo& info : catalog.checkpoints(parts_.run.id)) {
    if (info.key.kind == store::CheckpointKind::step) steps.push_back(info.key);
  }
  checkpoints_.know_steps(std::move(steps));
}

void RunStorage::open(const std::filesystem::path& repository) {
  const store::Store& store = *parts_.store;
  home_ = store.home();
  if (!repository.empty()) outputs_.emplace(repository, home_);
  checkpoints_.open();
  // Without locks, `flor gc` could not tell that this process uses its packs and journals.
  says_in_journal_ = store.why_locks_fail().empty();
  if (says_in_journal_) parts_.store->catalog().say_in_journal(parts_.run.id);
}

void RunStorage::keep_printed(std::uint64_t limit, bool is_asked) {
  if (limit == 0) return;
  try {
    const auto known = store::read_printed(parts_.store->catalog(), parts_.run.id);
    printed_ = PrintedOutput::make({.limit = limit,
                                    .rest = printed_rest_file(home_, parts_.run.key),
                                    .first_number = known.empty() ? 0 : known.back().number + 1,
                                    .is_asked = is_asked,
                                    .is_rank = parts_.group.ranks().has_value()});
  } catch (const std::exception& error) {
    say(Level::warn, fmt::format("what run {} prints is not kept: {}", parts_.run.key.substr(0, 8),
                                 error.what()));
  }
}

void RunStorage::sample_machine(double seconds, double epsilon) {
  if (seconds <= 0) return;
  constexpr double kShare = 0.01, kLeastEpsilon = 0.01;
  machine_ = std::make_unique<MachineSampler>(MachineSampler::Options{
      .pause = seconds,
      .share = kShare * std::max(epsilon, kLeastEpsilon),
      .read = [reader = std::make_shared<MachineReader>(home_)] { return reader->read(); },
      .used = thread_cpu_seconds,
      .start = recorder_clock(),
      .run_seconds = 1e-6 * static_cast<double>(now_us() - parts_.run.start.started_us)});
}

void RunStorage::forget_in_child() noexcept {
  if (lock_) lock_->forget_in_child();
}

// ---------------------------------------------------------------------------------------------
// While the program runs.

void RunStorage::flush_outputs() noexcept {
  if (!outputs_) return;
  try {
    outputs_->enter(parts_.store->catalog(), parts_.run.id);
  } catch (const std::exception&) {  // the next commit then has some files more
  }
}

void RunStorage::flush_printed() noexcept {
  if (!printed_) return;
  try {
    printed_->watch();
    for (store::Printed& piece : printed_->take(rows_.is_ending())) {
      rows_.add(store::value_of(std::move(piece)), nullptr);
    }
    rows_.flush_values();
    if (!rows_.has_values()) printed_->written();
  } catch (const std::exception& error) {  // no memory for the pieces
    say(Level::debug, fmt::format("not kept of what is printed: {}", error.what()));
  }
}

void RunStorage::flush_samples() noexcept {
  if (!machine_) return;
  try {
    const bool ends = rows_.is_ending();
    if (const auto epoch = parts_.epoch()) machine_->tick(recorder_clock(), *epoch, ends);
    // None of them waits with the values in a store that does not work: that these are missing
    // would be said.
    if (rows_.health().lasts()) return;
    for (store::Value& sample : machine_->take(ends)) rows_.add(std::move(sample), nullptr);
  } catch (const std::exception& error) {  // no memory for it
    say(Level::debug, fmt::format("the machine is not sampled now: {}", error.what()));
  }
}

void RunStorage::flush_progress() noexcept {
  flush_outputs();
  checkpoints_.drop_steps();
  rows_.flush_progress();
}

void RunStorage::write_waiting() noexcept {
  if (!parts_.store) return;
  rows_.flush_logged();
  flush_printed();
  flush_samples();
  rows_.flush_values();
  flush_progress();
  checkpoints_.retry();
}

void RunStorage::set_strategy(const store::CheckpointStrategy& strategy) {
  rows_.update([this, strategy](store::Catalog& catalog) {
    catalog.put_strategy(parts_.run.id, strategy);
    saved_.set_strategy(strategy);
  });
}

void RunStorage::enter(const store::SavedCheckpoint& saved) {
  rows_.update([this, saved](store::Catalog& catalog) {
    if (saved_.enter(saved, catalog, parts_.run.id)) checkpoints_.delete_others();
  });
}

void RunStorage::enter(const store::UsedFile& file) {
  rows_.update(
      [this, file](store::Catalog&) { store::add_file(*parts_.store, parts_.run.id, file); });
}

void RunStorage::score(std::string_view name, const std::map<std::string, double>& scores) {
  rows_.update([this, name = std::string(name), scores](store::Catalog& catalog) {
    if (saved_.score(name, scores, catalog, parts_.run.id)) checkpoints_.delete_others();
  });
}

std::optional<store::FoundCheckpoint> RunStorage::find(bool best) {
  store::Store& store = *parts_.store;
  // The training continues whatever happens to the index, and waits long for it only once. In an
  // outage the user has been told already that nothing can be stored.
  const bool outage = rows_.health().lasts();
  store.set_patience(index_follows_ && !outage ? lock_patience.usual : lock_patience.in_outage);
  const bool follows = store.catalog().follow();
  if (!follows && !outage && index_follows_) {
    say(Level::warn,
        fmt::format("the catalog of {} cannot be written now: of run {} the {} checkpoint that it "
                    "knows is given, which may be an older one",
                    home_.string(), parts_.run.key.substr(0, 8), best ? "best" : "latest"));
  }
  index_follows_ = follows || outage;
  return best ? store::best_checkpoint(store, parts_.run.id, saved_.strategy())
              : store::latest_checkpoint(store, parts_.run.id, saved_.strategy());
}

// ---------------------------------------------------------------------------------------------
// The end.

void RunStorage::write_rest() noexcept {
  try {
    rows_.begin_end(says_in_journal_);
    for (const store::UsedFile& file : parts_.written_files()) enter(file);
    write_waiting();
    checkpoints_.give_up();
    rows_.give_up_rest();
    flush_progress();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

void RunStorage::end(bool failed, const std::string& message,
                     const std::function<void()>& report) noexcept {
  const store::Run& run = parts_.run;
  write_rest();
  try {
    rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
      // The run will not be resumed.
      if (!failed) catalog.drop_checkpoints(run.id, checkpoints_.steps());
      catalog.finish_run(run.id, now_us(), failed, message, rest);
    });
    end_is_written_ = true;
    if (!failed) {
      // The latest checkpoint of a finished run ranks like the others.
      checkpoints_.delete_others(/*at_end=*/true);
    }
    report();
  } catch (const std::exception& error) {
    say(Level::error,
        end_is_written_
            ? fmt::format("run {} has ended: {}", run.key.substr(0, 8), error.what())
            : fmt::format("the end of run {} could not be recorded: {}; it counts as interrupted, "
                          "and --flor {} --flor_resume computes again what is not stored of it",
                          run.key.substr(0, 8), error.what(), run.start.experiment));
  }
  close();
}

void RunStorage::interrupt(const std::string& why, Steps steps) {
  write_rest();
  rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
    if (steps == Steps::dropped) catalog.drop_checkpoints(parts_.run.id, checkpoints_.steps());
    catalog.interrupt_run(parts_.run.id, why, rest);
  });
}

void RunStorage::drop() noexcept {
  if (printed_) printed_->drop();
  try {
    parts_.store->catalog().drop_run(parts_.run.id);
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
  close();
}

void RunStorage::close() noexcept {
  checkpoints_.close();
  parts_.group.forget_first_rank();
  parts_.store.reset();
  lock_.reset();
}

void RunStorage::fail_after_end(std::string_view why) noexcept {
  if (!end_is_written_) return;  // the run does not count as finished, as the user was told
  const store::Run& run = parts_.run;
  try {
    const auto store = store::Store::open(home_, store::OpenMode::create);
    store->catalog().finish_run(run.id, now_us(), true, why);
    say(Level::warn, fmt::format("{}: run {} counts as failed; --flor {} --flor_resume goes on "
                                 "with it",
                                 why, run.key.substr(0, 8), run.start.experiment));
  } catch (const std::exception& error) {
    say(Level::error,
        fmt::format("the end of run {} could not be recorded: {}", run.key, error.what()));
  }
}

}  // namespace flor::detail
