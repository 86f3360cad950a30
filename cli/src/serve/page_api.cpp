#include "serve/page_api.h"

#include "index/values/overview.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "serve/job_answers.h"
#include "serve/logged.h"
#include "serve/page_file.h"
#include "serve/run_answers.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace flor::cli {
namespace {

constexpr std::size_t kJobsMax = 500, kLoggedMax = 400, kPrintedMax = 2000;

template <typename Number>
Number number_in(const Ask& ask, const std::string& name, Number otherwise) {
  const std::string_view text = ask[name];
  if (text.empty()) return otherwise;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}={} is no number", name, printable(text)));
  }
  return value;
}

/// Parts of a list. The separator is a character that occurs in no name of a column or a run.
std::vector<std::string> list_in(const Ask& ask, const std::string& name, char separator) {
  std::vector<std::string> parts;
  std::string_view rest = ask[name];
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

TableQuestion table_question(const Ask& ask) {
  return {.columns = list_in(ask, "columns", '\n'),
          .sort = std::string(ask["sort"]),
          .falling = ask["falling"] == "1",
          .search = std::string(ask["search"]),
          .offset = number_in<std::size_t>(ask, "offset", 0),
          .limit = number_in<std::size_t>(ask, "limit", 100)};
}

CurveQuestion curve_question(const Ask& ask) {
  CurveQuestion question{.run = std::string(ask["run"]),
                         .runs = list_in(ask, "runs", ','),
                         .metric = std::string(ask["metric"])};
  if (!ask["axis"].empty()) question.axis = parse_axis(ask["axis"]);
  question.from = number_in(ask, "from", question.from);
  question.to = number_in(ask, "to", question.to);
  question.columns = number_in(ask, "columns", question.columns);
  question.smoothing = number_in(ask, "smoothing", question.smoothing);
  return question;
}

Answer json_answer(const Json& body) { return {.body = compact(body)}; }

}  // namespace

PageApi::PageApi(const std::filesystem::path& home, std::string queue)
    : store_(store::Store::open(home, store::OpenMode::read_only)),
      queue_(std::move(queue)),
      table_(*store_),
      curves_(home) {}

void PageApi::warm_up() { table_.mark(); }

Json PageApi::pulse() {
  return {{"mark", fmt::format("{}.{}", store::change_mark(*store_), table_.mark())},
          {"now", json_time(now_us())}};
}

Json PageApi::tell(const std::string& path, const std::map<std::string, std::string>& parameters) {
  const Ask ask{.path = path, .parameters = parameters};
  const std::string_view run = ask["run"];
  if (path == "pulse") return pulse();
  if (path == "runs") return table_.rows(table_question(ask));
  if (path == "columns") return table_.columns();
  if (path == "run") return run_answer(*store_, run);
  if (path == "epochs") return epochs_answer(*store_, run);
  if (path == "checkpoints") return checkpoints_answer(*store_, run);
  if (path == "curve") return curves_.answer(curve_question(ask));
  if (path == "logged") return logged_names(*store_, run);
  if (path == "values") {
    return logged_values(*store_, run, ask["name"],
                         number_in<std::size_t>(ask, "limit", kLoggedMax));
  }
  if (path == "printed") {
    return printed_answer(*store_, run, ask["grep"],
                          number_in<std::size_t>(ask, "limit", kPrintedMax));
  }
  if (path == "machine") return machine_answer(*store_, run);
  if (path == "compare") return compare_answer(*store_, list_in(ask, "runs", ','));
  if (path == "sources") return sources_answer(*store_, ask["a"], ask["b"]);
  if (path == "jobs") {
    return jobs_answer(*store_, queue_, run, number_in<std::size_t>(ask, "limit", kJobsMax));
  }
  if (path == "log") return job_log_answer(*store_, queue_, number_in<std::int64_t>(ask, "id", 0));
  throw NotFound(fmt::format("nothing is known of '{}'", printable(path)));
}

Json PageApi::change(const Ask& ask) {
  const auto id = number_in<std::int64_t>(ask, "id", 0);
  if (ask.path == "api/retry") return change_job(*store_, queue_, id, JobAction::retry);
  if (ask.path == "api/cancel") return change_job(*store_, queue_, id, JobAction::cancel);
  throw NotFound(fmt::format("'{}' does nothing", printable(ask.path)));
}

/// The page with the first rows in it, so that the browser can show them at once.
Answer PageApi::page() {
  const Json start = {{"home", store_->home().string()},
                      {"version", FLOR_VERSION},
                      {"runs", table_.rows({})},
                      {"pulse", pulse()}};
  return {.type = "text/html; charset=utf-8",
          .body = page_with(start),
          .policy = std::string(page_policy())};
}

Answer PageApi::answer(const Ask& ask) {
  constexpr std::string_view kApi = "api/";
  if (ask.changes) return json_answer(change(ask));
  if (ask.path.empty()) return page();
  if (ask.path == "api/picture") {
    return {.type = "image/png", .body = picture_png(*store_, ask["object"])};
  }
  if (!ask.path.starts_with(kApi)) throw NotFound("there is nothing under this path");
  return json_answer(tell(ask.path.substr(kApi.size()), ask.parameters));
}

}  // namespace flor::cli
