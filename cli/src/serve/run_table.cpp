#include "serve/run_table.h"

#include "choose/condition.h"
#include "choose/run_spec.h"
#include "index/values/overview.h"
#include "output/time.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace flor::cli {
namespace {

/// Reading all runs anew takes no more than this share of the time, however fast they change.
constexpr int kRunsShare = 10;
/// So many of the newest runs are looked at in between.
constexpr std::size_t kNewest = 50;
/// Columns of metrics and of arguments that are shown unasked.
constexpr std::size_t kUsualMetrics = 4, kUsualArguments = 3;
constexpr std::size_t kRowsMax = 1000;

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

/// Without what says which of two is meant, unless there are two: an argument may be called
/// "epochs".
std::string title_of(std::string_view column) {
  if (kind_of(column) == std::string_view("run")) return std::string(column);
  const std::string_view name = column.substr(column.find(':') + 1);
  return builtin_column(name) ? fmt::format("{} ({})", name, kind_of(column)) : std::string(name);
}

}  // namespace

bool RunTable::has_died() const {
  return std::ranges::any_of(runs_, [&](const ListedRun& facts) {
    if (facts.run.state != store::RunState::running) return false;
    const auto now = store_.catalog().run(facts.run.id);
    return !now || now->state != store::RunState::running;
  });
}

void RunTable::read_all() {
  const auto begin = Clock::now();
  runs_ = read_listing(store_, {.metrics = true, .arguments = true});
  texts_.clear();
  for (const ListedRun& facts : runs_) texts_.push_back(searched_text(facts));
  usual_ = usual_columns();
  find_texts();
  is_whole_ = true;
  next_whole_ = Clock::now() + kRunsShare * (Clock::now() - begin);
}

/// What changes all the time are the newest runs, and those that go on.
void RunTable::read_running() {
  const auto newest = read_listing(store_, {.limit = kNewest, .metrics = true, .arguments = true});
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < runs_.size(); ++i) places[runs_[i].run.id] = i;
  std::vector<ListedRun> added;
  const auto put = [&](ListedRun facts) {
    const auto place = places.find(facts.run.id);
    if (place == places.end()) {
      added.push_back(std::move(facts));
    } else {
      texts_[place->second] = searched_text(facts);
      runs_[place->second] = std::move(facts);
    }
  };
  for (const ListedRun& facts : newest) put(facts);
  for (ListedRun& facts : runs_) {
    if (facts.run.state != store::RunState::running) continue;
    auto run = store_.catalog().run(facts.run.id);
    if (!run) continue;
    stand_for_group(store_.catalog(), *run);
    facts.run = *std::move(run);
    facts.metrics = store_.catalog().metrics(facts.run.id);
  }
  for (auto facts = added.rbegin(); facts != added.rend(); ++facts) {
    texts_.insert(texts_.begin(), searched_text(*facts));
    runs_.insert(runs_.begin(), std::move(*facts));
  }
  is_whole_ = false;
}

void RunTable::find_texts() {
  text_arguments_.clear();
  for (const ListedRun& facts : runs_) {
    for (const auto& argument : facts.arguments) {
      if (argument.type == "text") text_arguments_.insert("arg:" + argument.name);
    }
  }
}

void RunTable::refresh() {
  const std::int64_t mark = store::change_mark(store_);
  const bool died = has_died();
  const bool may_read_all = Clock::now() >= next_whole_;
  if (mark == seen_ && !died && (is_whole_ || !may_read_all)) return;
  if (seen_ < 0 || may_read_all) {
    read_all();
  } else {
    read_running();
  }
  seen_ = mark;
  ++generation_;
}

/// The metrics that most runs have, and the arguments in which runs differ.
std::vector<std::string> RunTable::usual_columns() const {
  std::vector<std::string> metrics;  // in the order in which they were met
  std::map<std::string, std::size_t> having;
  std::vector<std::string> arguments;
  std::map<std::string, std::set<std::string>> values;
  for (const ListedRun& facts : runs_) {
    for (const auto& metric : facts.metrics) {
      if (metric.doubtful || !number(metric.type, metric.last)) continue;
      if (having[metric.name]++ == 0) metrics.push_back(metric.name);
    }
    for (const auto& argument : facts.arguments) {
      auto& seen = values[argument.name];
      if (seen.empty()) arguments.push_back(argument.name);
      if (seen.size() < 2) seen.insert(argument.value);
    }
  }
  std::ranges::stable_sort(metrics, std::greater(), [&](const auto& name) { return having[name]; });
  if (metrics.size() > kUsualMetrics) metrics.resize(kUsualMetrics);
  std::erase_if(arguments, [&](const auto& name) { return values[name].size() < 2; });
  if (arguments.size() > kUsualArguments) arguments.resize(kUsualArguments);
  std::vector<std::string> names{"run", "experiment", "when", "status", "epochs"};
  for (const std::string& name : arguments) names.push_back("arg:" + name);
  for (const std::string& name : metrics) names.push_back("metric:" + name);
  names.emplace_back("size");
  return names;
}

const std::vector<std::size_t>& RunTable::order(const TableQuestion& question) {
  const bool same = ordered_.generation == generation_ && ordered_.sort == question.sort &&
                    ordered_.search == question.search && ordered_.falling == question.falling;
  if (same) return ordered_.indices;
  const std::int64_t now = now_us();
  std::vector<std::size_t> indices;
  if (question.sort.empty()) {
    for (std::size_t i = 0; i < runs_.size(); ++i) indices.push_back(i);
    if (question.falling) std::ranges::reverse(indices);
  } else if (!runs_.empty()) {
    indices = listing_order(runs_, find_column(question.sort, runs_),
                            question.falling ? Order::falling : Order::rising, now);
  }
  if (is_condition(question.search)) {
    const auto holds = run_filter(runs_, {question.search}, now);
    std::erase_if(indices, [&](std::size_t i) { return !holds(runs_[i]); });
  } else {
    for (const std::string& word : words_of(question.search)) {
      std::erase_if(indices,
                    [&](std::size_t i) { return texts_[i].find(word) == std::string::npos; });
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
  for (const std::string& name : question.columns.empty() ? usual_ : question.columns) {
    try {
      shown.push_back(find_column(name, runs_));
    } catch (const NotFound&) {
      continue;
    }
    const bool is_right = shown.back().align == Align::right && !text_arguments_.contains(name);
    columns.push_back({{"name", name},
                       {"title", title_of(name)},
                       {"align", is_right ? "right" : "left"},
                       {"kind", kind_of(name)}});
  }
  const std::int64_t now = now_us();
  for (std::size_t i = begin; i < end; ++i) {
    const ListedRun& facts = runs_[indices[i]];
    Json cells = Json::array();
    for (const RunColumn& column : shown) cells.push_back(column.field(facts, now).text);
    rows.push_back({{"id", facts.run.key},
                    {"state", std::string(store::to_string(facts.run.state))},
                    {"cells", std::move(cells)}});
  }
  return {{"runs", runs_.size()},
          {"found", indices.size()},
          {"offset", begin},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json RunTable::columns() {
  const std::lock_guard lock(mutex_);
  refresh();
  std::set<std::string> metrics, arguments;
  for (const ListedRun& facts : runs_) {
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
  for (const std::string& name : arguments) put(name);
  for (const std::string& name : metrics) put(name);
  for (const std::string& name : metrics) {
    for (const char* what : {":min", ":max"}) put(name + what);
  }
  return {{"columns", std::move(columns)}, {"usual", usual_}};
}

std::string RunTable::mark() {
  const std::lock_guard lock(mutex_);
  refresh();
  return fmt::format("{}", generation_);
}

}  // namespace flor::cli
