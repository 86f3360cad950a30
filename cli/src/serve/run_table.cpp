#include "serve/run_table.h"

#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/telling_arguments.h"
#include "index/values/overview.h"
#include "output/table.h"
#include "output/time.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <future>
#include <map>
#include <set>
#include <span>

namespace flor::cli {
namespace {

/// Reading all runs again takes at most a tenth of the time, however fast they change.
constexpr int kRunsShare = 10;
/// Between two readings of all runs, only this many of the newest are read again.
constexpr std::size_t kNewest = 50;
/// At most so many columns of metrics and of arguments are shown by default.
constexpr std::size_t kUsualMetrics = 4, kUsualArguments = 3;
constexpr std::size_t kRowsMax = 1000;
/// If there are many runs, the first answer has the newest tenth of `many_`.
constexpr std::size_t kAtFirst = 10;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string searched_text(const ListedRun& facts) {
  std::string text = fmt::format("{} {} {} {} {}", facts.run.key, facts.run.start.experiment,
                                 status_text(facts.run), facts.run.start.commit, facts.run.message);
  for (const auto& argument : facts.arguments) {
    text += fmt::format(" {}={}", argument.name, argument.value);
  }
  text += fmt::format(" {} {}", fmt::join(facts.run.tags, " "), facts.run.note);
  return lower(text);
}

bool is_condition(std::string_view search) {
  return search.find_first_of("=<>~") != std::string_view::npos;
}

std::vector<std::string> words_of(std::string_view search) {
  std::vector<std::string> words(1);
  for (const char c : lower(search)) {
    if (c != ' ') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

const char* kind_of(std::string_view column) {
  if (column.starts_with("metric:")) return "metric";
  return column.starts_with("arg:") ? "argument" : "run";
}

/// The column's title: its name without "metric:" or "arg:", unless a built-in column has that name
/// (an argument may be called "epochs").
std::string title_of(std::string_view column) {
  if (kind_of(column) == std::string_view("run")) return std::string(column);
  const std::string_view name = column.substr(column.find(':') + 1);
  return builtin_column(name) ? fmt::format("{} ({})", name, kind_of(column)) : std::string(name);
}

/// The columns shown by default: built-in ones, arguments in which runs differ, and metrics that
/// most runs have.
std::vector<std::string> usual_columns(std::span<const ListedRun> runs) {
  std::vector<std::string> metrics;  // in the order in which they occur first
  std::map<std::string, std::size_t> having;
  TellingArguments seen;
  for (const ListedRun& facts : runs) {
    for (const auto& metric : facts.metrics) {
      if (metric.doubtful || !number(metric.type, metric.last)) continue;
      if (having[metric.name]++ == 0) metrics.push_back(metric.name);
    }
    seen.add(facts.run.start.experiment, facts.arguments);
  }
  std::ranges::stable_sort(metrics, std::greater(), [&](const auto& name) { return having[name]; });
  if (metrics.size() > kUsualMetrics) metrics.resize(kUsualMetrics);
  std::vector<TellingArguments::Argument> arguments = seen.telling();
  if (arguments.size() > kUsualArguments) arguments.resize(kUsualArguments);
  std::vector<std::string> names{"run", "experiment", "when", "status", "epochs"};
  const auto has_tags = [](const ListedRun& facts) { return !facts.run.tags.empty(); };
  if (std::ranges::any_of(runs, has_tags)) names.insert(names.begin() + 2, "tag");
  for (const auto& argument : arguments) names.push_back("arg:" + argument.name);
  for (const std::string& name : metrics) names.push_back("metric:" + name);
  names.emplace_back("size");
  return names;
}

/// The columns of arguments whose value is a text in some run.
std::set<std::string> text_arguments_of(std::span<const ListedRun> runs) {
  std::set<std::string> names;
  for (const ListedRun& facts : runs) {
    for (const auto& argument : facts.arguments) {
      if (argument.type == "text") names.insert("arg:" + argument.name);
    }
  }
  return names;
}

}  // namespace

bool RunTable::has_died() const {
  return std::ranges::any_of(shown_.runs, [&](const ListedRun& facts) {
    if (facts.run.state != store::RunState::running) return false;
    const auto now = store_.catalog().run(facts.run.id);
    return !now || now->state != store::RunState::running;
  });
}

RunTable::~RunTable() { stop_.request_stop(); }

RunTable::Contents RunTable::read(const store::Store& store, std::size_t limit,
                                  const std::stop_token& stop) {
  const auto begin = Clock::now();
  Contents contents;
  contents.seen = store::change_mark(store);
  each_listed(store, {.limit = limit, .metrics = true, .arguments = true}, now_us(),
              [&](ListedRun& facts) {
                if (stop.stop_requested()) throw Error("the runs are not needed any more");
                contents.texts.push_back(searched_text(facts));
                contents.runs.push_back(std::move(facts));
              });
  contents.usual = usual_columns(contents.runs);
  contents.text_arguments = text_arguments_of(contents.runs);
  contents.is_whole = contents.runs.size() < limit;
  contents.took = Clock::now() - begin;
  return contents;
}

bool RunTable::are_many() const { return store_.catalog().count_runs({}, many_ + 1) > many_; }

void RunTable::take(Contents contents) {
  next_whole_ = Clock::now();
  if (contents.is_whole) next_whole_ += kRunsShare * contents.took;
  shown_ = std::move(contents);
}

/// Begins to read all runs in the background. Opens the store again, because a listing locks the
/// catalog.
void RunTable::begin_reading_all() {
  whole_ = std::async(std::launch::async, [home = store_.home(), stop = stop_.get_token()] {
    return read(*store::Store::open(home, store::OpenMode::read_only), SIZE_MAX, stop);
  });
}

/// Reads the runs that change all the time: the newest runs, and those that are being recorded.
void RunTable::read_running() {
  const auto newest =
      read_listing(store_, {.limit = kNewest, .metrics = true, .arguments = true}, now_us());
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < shown_.runs.size(); ++i) places[shown_.runs[i].run.id] = i;
  std::vector<ListedRun> added;
  const auto put = [&](ListedRun facts) {
    const auto place = places.find(facts.run.id);
    if (place == places.end()) {
      added.push_back(std::move(facts));
    } else {
      shown_.texts[place->second] = searched_text(facts);
      shown_.runs[place->second] = std::move(facts);
    }
  };
  for (const ListedRun& facts : newest) put(facts);
  for (ListedRun& facts : shown_.runs) {
    if (facts.run.state != store::RunState::running) continue;
    auto run = store_.catalog().run(facts.run.id);
    if (!run) continue;
    stand_for_group(store_.catalog(), *run);
    facts.run = *std::move(run);
    facts.metrics = store_.catalog().metrics(facts.run.id);
  }
  for (auto facts = added.rbegin(); facts != added.rend(); ++facts) {
    shown_.texts.insert(shown_.texts.begin(), searched_text(*facts));
    shown_.runs.insert(shown_.runs.begin(), std::move(*facts));
  }
  shown_.is_whole = false;
}

void RunTable::refresh() {
  if (whole_.valid() && whole_.wait_for(Clock::duration::zero()) == std::future_status::ready) {
    take(whole_.get());
    ++generation_;
  }
  const std::int64_t mark = store::change_mark(store_);
  const bool has_changed = mark != shown_.seen || has_died();
  const bool may_read_all = !whole_.valid() && Clock::now() >= next_whole_;
  if (!has_changed && (shown_.is_whole || !may_read_all)) return;
  const bool is_first = shown_.seen < 0;
  if ((is_first || may_read_all) && !are_many()) {
    take(read(store_, SIZE_MAX, stop_.get_token()));
  } else if (is_first) {
    take(read(store_, many_ / kAtFirst, stop_.get_token()));
  } else {
    if (may_read_all) begin_reading_all();
    if (!has_changed) return;
    read_running();
    shown_.seen = mark;
  }
  ++generation_;
}

const std::vector<std::size_t>& RunTable::order(const TableQuestion& question) {
  const bool same = ordered_.generation == generation_ && ordered_.sort == question.sort &&
                    ordered_.search == question.search && ordered_.falling == question.falling;
  if (same) return ordered_.indices;
  const std::int64_t now = now_us();
  std::vector<std::size_t> indices;
  if (question.sort.empty()) {
    for (std::size_t i = 0; i < shown_.runs.size(); ++i) indices.push_back(i);
    if (question.falling) std::ranges::reverse(indices);
  } else if (!shown_.runs.empty()) {
    indices = listing_order(shown_.runs, find_column(question.sort, shown_.runs),
                            question.falling ? Order::falling : Order::rising, now);
  }
  if (is_condition(question.search)) {
    const auto holds = run_filter(shown_.runs, {question.search}, now);
    std::erase_if(indices, [&](std::size_t i) { return !holds(shown_.runs[i]); });
  } else {
    for (const std::string& word : words_of(question.search)) {
      std::erase_if(indices,
                    [&](std::size_t i) { return shown_.texts[i].find(word) == std::string::npos; });
    }
  }
  ordered_ = {generation_, question.sort, question.search, question.falling, std::move(indices)};
  return ordered_.indices;
}

Json RunTable::rows(const TableQuestion& question) {
  const std::lock_guard lock(mutex_);
  refresh();
  const std::vector<std::size_t>& indices = order(question);
  const std::size_t begin = std::min(question.offset, indices.size());
  const std::size_t end = begin + std::min({question.limit, kRowsMax, indices.size() - begin});
  Json columns = Json::array(), rows = Json::array();
  std::vector<RunColumn> shown;
  for (const std::string& name : question.columns.empty() ? shown_.usual : question.columns) {
    try {
      shown.push_back(find_column(name, shown_.runs));
    } catch (const NotFound&) {
      continue;
    }
    const bool is_right =
        shown.back().align == Align::right && !shown_.text_arguments.contains(name);
    columns.push_back({{"name", name},
                       {"title", title_of(name)},
                       {"align", is_right ? "right" : "left"},
                       {"kind", kind_of(name)}});
  }
  const std::int64_t now = now_us();
  for (std::size_t i = begin; i < end; ++i) {
    const ListedRun& facts = shown_.runs[indices[i]];
    Json cells = Json::array();
    for (const RunColumn& column : shown) cells.push_back(column.field(facts, now).text);
    rows.push_back({{"id", facts.run.key},
                    {"state", std::string(store::to_string(facts.run.state))},
                    {"cells", std::move(cells)}});
  }
  return {{"runs", shown_.runs.size()},
          {"found", indices.size()},
          {"offset", begin},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json RunTable::columns() {
  const std::lock_guard lock(mutex_);
  refresh();
  std::set<std::string> metrics, arguments;
  for (const ListedRun& facts : shown_.runs) {
    for (const auto& metric : facts.metrics) {
      if (number(metric.type, metric.last)) metrics.insert("metric:" + metric.name);
    }
    for (const auto& argument : facts.arguments) arguments.insert("arg:" + argument.name);
  }
  Json columns = Json::array();
  const auto put = [&](const std::string& name) {
    columns.push_back({{"name", name}, {"title", title_of(name)}, {"kind", kind_of(name)}});
  };
  for (const std::string& name : builtin_column_names()) put(name);
  for (const char* label : {"tag", "note"}) put(label);
  for (const std::string& name : arguments) put(name);
  for (const std::string& name : metrics) put(name);
  for (const std::string& name : metrics) {
    for (const char* what : {":min", ":max"}) put(name + what);
  }
  return {{"columns", std::move(columns)}, {"usual", shown_.usual}};
}

std::string RunTable::mark() {
  const std::lock_guard lock(mutex_);
  refresh();
  return fmt::format("{}", generation_);
}

}  // namespace flor::cli
