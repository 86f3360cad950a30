#include "ask/question.h"
#include "base/process_facts.h"
#include "base/text.h"
#include "load/query_call.h"
#include "load/rows_text.h"
#include "session/runtime.h"

#include <flor/query.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

namespace flor {
namespace detail {
namespace {

constexpr std::int64_t kValuesMax = 2'000'000;
constexpr std::size_t kRowsBytesMax = std::size_t{64} << 20;

/// The question as it would be typed behind `flor query`.
std::string words_of(const std::vector<std::string>& names, const QueryOptions& options) {
  std::string words;
  const auto word = [&](const std::string& text) {
    words += (words.empty() ? "" : " ") + store::shell_word(text);
  };
  const auto option = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    word(name);
    word(value);
  };
  const auto flag = [&](const char* name, bool given) {
    if (given) word(name);
  };
  for (const std::string& name : names) word(name);
  for (const std::string& run : options.run) option("--run", run);
  option("--experiment", options.experiment);
  for (const std::string& condition : options.where) option("--where", condition);
  option("--epochs", options.epochs);
  option("--rows", options.rows);
  flag("--latest", options.latest);
  flag("--recorded", options.recorded);
  flag("--hindsight", options.hindsight);
  flag("--evaluated", options.evaluated);
  flag("--all", options.all);
  return words;
}

Rows::Cell cell_of(store::ValueType type, const store::Scalar& value, const std::string& name) {
  if (type == store::ValueType::tensor || type == store::ValueType::image) {
    throw UsageError(
        fmt::format("flor::query: '{}' is a {}, which no row holds: ask for numbers "
                    "and texts",
                    name, store::to_string(type)));
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (type == store::ValueType::boolean) return *integer != 0;
    return *integer;
  }
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::get<std::string>(value);
}

Rows::Cell index_cell(std::int64_t index) { return index < 0 ? Rows::Cell() : Rows::Cell(index); }

/// The names of the columns. A value that is called as one of the others is `value:epoch`.
std::vector<std::string> titles_of(const ask::Answer& answer) {
  std::vector<std::string> titles{"run", "experiment", "loop", "epoch", "step"};
  const auto& loops = answer.loops().titles();
  titles.insert(titles.end(), loops.begin(), loops.end());
  titles.emplace_back("ordinal");
  std::set<std::string> taken(titles.begin(), titles.end());
  taken.insert({"origin", "verdict"});
  const std::set<std::string> names(answer.metrics().begin(), answer.metrics().end());
  for (const std::string& name : answer.metrics()) {
    std::string title = name;
    while (taken.contains(title) || (title != name && names.contains(title))) {
      title.insert(0, "value:");
    }
    taken.insert(title);
    titles.push_back(std::move(title));
  }
  titles.insert(titles.end(), {"origin", "verdict"});
  return titles;
}

/// The rows in which one of the metrics has a value.
Rows rows_of(const ask::Answer& answer) {
  std::vector<Rows::Cell> cells;
  for (const ask::RunRows& rows : answer.runs()) {
    for (const std::size_t i : rows.shown) {
      const auto& row = rows.rows().row(i);
      const auto values = rows.rows().cells(i);
      if (std::ranges::count(values, nullptr) == std::ssize(values)) continue;
      cells.insert(cells.end(),
                   {rows.run.key, rows.run.start.experiment, ask::loop_text(row.place->path),
                    index_cell(row.place->epoch), index_cell(row.place->step)});
      for (const auto& cell : answer.loops().of(rows.run.id, *row.place)) {
        cells.push_back(cell ? cell_of(cell->type, cell->value, "an iteration") : Rows::Cell());
      }
      cells.emplace_back(row.ordinal);
      for (const store::Value* value : values) {
        cells.push_back(value ? cell_of(value->type, value->value, value->name) : Rows::Cell());
      }
      cells.emplace_back(ask::origin_of(values));
      cells.emplace_back(ask::verdict_of(values));
    }
  }
  return {titles_of(answer), std::move(cells)};
}

Rows answered(const store::Store& store, const std::vector<std::string>& names,
              const QueryOptions& options, std::vector<std::string> without) {
  ask::Question question{.metrics = names,
                         .runs = options.run,
                         .where = options.where,
                         .experiment = options.experiment,
                         .epochs = options.epochs,
                         .rows = options.rows,
                         .latest = options.latest,
                         .recorded = options.recorded,
                         .hindsight = options.hindsight,
                         .evaluated = options.evaluated,
                         .all = options.all,
                         .doubtful = options.all,
                         .without = std::move(without),
                         .values_max = kValuesMax};
  question.check();
  const auto parse = [&](const std::string& text) { return ask::parse_run(store, text); };
  ask::Answer answer(store, question, ask::choose(store, question, parse, now_us()),
                     "flor::query({NAME...})");
  answer.choose_rows(question, [](std::int64_t) { return std::vector<std::string>(); });
  answer.read_loops(store, ask::LoopColumns::Form::whole);
  return rows_of(answer);
}

/// The texts of the rows, which are no secrets of the program that logged them.
void refuse_secrets(const QueryCall& call, const Rows& rows) {
  const std::size_t columns = rows.columns().size();
  std::vector<const std::string*> last(columns,
                                       nullptr);  // most come many times, one after another
  for (std::size_t i = 0; i < rows.cells().size(); ++i) {
    const auto* text = std::get_if<std::string>(&rows.cells()[i]);
    const std::string*& before = last[i % columns];
    if (!text || (before && *before == *text)) continue;
    call.refuse_secret(rows.columns()[i % columns], *text);
    before = text;
  }
}

std::vector<std::string> runs_in(const Rows& rows) {
  std::vector<std::string> keys;
  for (const auto row : rows) {
    const std::string& key = row.text("run");
    if (keys.empty() || (keys.back() != key && std::ranges::find(keys, key) == keys.end())) {
      keys.push_back(key);
    }
  }
  return keys;
}

/// Asks, and keeps what is said, be it an error that the program may come past.
std::string ask_and_keep(QueryCall& call, const std::vector<std::string>& names,
                         const QueryOptions& options) {
  call.begin();
  try {
    Runtime& session = *runtime();
    (void)session.store().catalog().follow();
    const Rows rows = answered(session.store(), names, options, QueryCall::own_runs());
    refuse_secrets(call, rows);
    std::string answer = encode_rows(rows, kRowsBytesMax);
    call.keep(answer);
    return answer;
  } catch (const Error& error) {
    call.keep_error(error.status(), error.what());
    throw;
  } catch (const std::exception& error) {
    call.keep_error(ExitStatus::failed, error.what());
    throw;
  } catch (...) {
    call.end();
    throw;
  }
}

Rows ask_store(const std::vector<std::string>& names, const QueryOptions& options) {
  QueryCall call(words_of(names, options));
  if (!call.keeps()) {
    const auto store = store::Store::open(home_without_session(), store::OpenMode::read_only);
    Rows rows = answered(*store, names, options, {});
    (void)encode_rows(rows, kRowsBytesMax);  // the bound is that of a recorded program
    return rows;
  }
  std::optional<std::string> answer = call.recorded();
  if (!answer) answer = ask_and_keep(call, names, options);
  Rows rows = decode_rows(*answer);
  call.entered(*answer, static_cast<std::int64_t>(rows.size()), runs_in(rows));
  return rows;
}

}  // namespace
}  // namespace detail

Rows query(const std::vector<std::string>& names, const QueryOptions& options) {
  return detail::run_inside([&] { return detail::ask_store(names, options); });
}

}  // namespace flor
