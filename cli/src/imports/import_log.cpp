#include "imports/import_log.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace flor::cli {
namespace {

using store::Value;

/// A fact of the run: the digest of the log.
constexpr const char* kDigestFact = "imported log";
/// Why an imported run has no end, if its log tells of none. The last thing that is written.
constexpr const char* kNoEnd = "the log does not say how it ended";

store::Place place_of(const LoggedPlace& place) {
  std::string path;
  if (place.epoch >= 0) path = kLoggedMainLoop;
  if (place.step >= 0) path.append("/").append(kLoggedNestedLoop);
  return {.path = std::move(path), .epoch = place.epoch, .step = place.step, .inner = {}};
}

/// Hands values to the catalog, many at a time: a transaction takes as long as thousands of them.
class ValueWriter {
 public:
  ValueWriter(store::Catalog& catalog, std::int64_t run) : catalog_(catalog), run_(run) {}

  void add(Value&& value) {
    constexpr std::size_t kBatch = 32'768, kBatchBytes = std::size_t{4} << 20;
    if (const auto* text = std::get_if<std::string>(&value.value)) bytes_ += text->size();
    values_.push_back(std::move(value));
    if (values_.size() >= kBatch || bytes_ >= kBatchBytes) flush();
  }
  void flush() {
    if (!values_.empty()) catalog_.add_values(run_, values_);
    values_.clear();
    bytes_ = 0;
  }

 private:
  store::Catalog& catalog_;
  std::int64_t run_;
  std::vector<Value> values_;
  std::size_t bytes_ = 0;
};

void write_values(store::Catalog& catalog, std::int64_t run, const LoggedRun& log) {
  ValueWriter writer(catalog, run);
  for (const LoggedSeries& series : log.all_series()) {
    std::int64_t ordinal = 0;
    for (std::size_t at = 0; at < series.size(); ++at) {
      ordinal = at > 0 && series.place(at) == series.place(at - 1) ? ordinal + 1 : 0;
      writer.add({.name = series.name(),
                  .place = place_of(series.place(at)),
                  .ordinal = ordinal,
                  .type = series.type(at),
                  .value = series.value(at)});
    }
  }
  for (store::Printed piece : log.printed) {
    piece.place = place_of({piece.place.epoch, -1});
    writer.add(store::value_of(std::move(piece)));
  }
  writer.flush();
}

/// The loops. Epochs have durations where the log has times; those without any share the time to
/// the next one that has. Without times durations are 0.
store::Progress progress_of(const LoggedRun& log) {
  store::Progress progress;
  if (log.epochs().empty()) return progress;
  const std::int64_t count = log.epochs().rbegin()->first + 1;
  progress.loops.push_back({.ordinal = 0,
                            .name = kLoggedMainLoop,
                            .first_epoch = 0,
                            .iterations = count,
                            .ended = log.end.has_value(),
                            .broke = false});
  constexpr double kSecond = 1e6;
  std::vector<double> seconds(static_cast<std::size_t>(count), 0.0);
  std::int64_t from = 0;
  std::int64_t from_us = log.first_us.value_or(0);
  for (const auto& [epoch, facts] : log.epochs()) {
    if (!facts.last_us) continue;
    const double each = static_cast<double>(std::max<std::int64_t>(*facts.last_us - from_us, 0)) /
                        kSecond / static_cast<double>(epoch + 1 - from);
    for (; from <= epoch; ++from) seconds[static_cast<std::size_t>(from)] = each;
    from_us = std::max(from_us, *facts.last_us);
  }
  for (std::int64_t epoch = 0; epoch < count; ++epoch) {
    progress.iterations.push_back({.main_loop = 0,
                                   .iteration = epoch,
                                   .seconds = seconds[static_cast<std::size_t>(epoch)],
                                   .record_seconds = 0});
  }
  for (const auto& [epoch, facts] : log.epochs()) {
    if (facts.steps == 0) continue;
    progress.executions.push_back({.main_loop = 0,
                                   .iteration = epoch,
                                   .loop = kLoggedNestedLoop,
                                   .iterations = facts.steps,
                                   .broke = false,
                                   .seconds = seconds[static_cast<std::size_t>(epoch)]});
  }
  return progress;
}

void fill(store::Catalog& catalog, const store::Run& run, const LoggedRun& log) {
  for (const store::Argument& argument : log.arguments) catalog.add_argument(run.id, argument);
  write_values(catalog, run.id, log);
  const store::UnwrittenRest rest{.progress = progress_of(log)};
  if (log.end) {
    catalog.finish_run(run.id, log.end->at_us, log.end->failed, "", rest);
  } else {
    catalog.interrupt_run(run.id, kNoEnd, rest);
  }
}

}  // namespace

ImportedLogs::ImportedLogs(const store::Catalog& catalog) {
  store::Run run;
  catalog.each_run(run, [&] {
    const auto digest = run.start.environment.find(kDigestFact);
    if (digest == run.start.environment.end()) return true;
    Known& known = runs_[digest->second];
    if (!known.is_whole) known = {run.key, run.finished_us.has_value() || !run.message.empty()};
    return true;
  });
}

const ImportedLogs::Known* ImportedLogs::run_of(const std::string& digest) const {
  const auto known = runs_.find(digest);
  return known == runs_.end() ? nullptr : &known->second;
}

store::Run import_log(store::Store& store, store::NewRun start, const std::filesystem::path& path,
                      const std::string& digest, const LoggedRun& log, std::int64_t now_us) {
  std::error_code unknown;
  const store::RunOrigin origin{store::RunOrigin::Kind::imported,
                                std::filesystem::absolute(path, unknown).string(), now_us};
  start.key = store::new_run_key();
  start.environment[kDigestFact] = digest;
  const auto lock = store.lock_run(start.key);
  store::Catalog& catalog = store.catalog();
  const store::Run run = catalog.add_run(start, {}, origin);
  try {
    fill(catalog, run, log);
    return *catalog.run(run.id);
  } catch (...) {
    try {
      catalog.drop_run(run.id);
    } catch (const std::exception&) {
      // The first error is the one to report.
    }
    throw;
  }
}

}  // namespace flor::cli
