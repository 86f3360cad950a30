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
Number number_in(const HttpRequest& ask, const std::string& name, Number otherwise) {
  const std::string_view text = ask[name];
  if (text.empty()) return otherwise;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}={} is no number", name, printable(text)));
  }
  return value;
}

/// Splits the parameter `name` at a separator, which must not occur in names of columns or runs.
std::vector<std::string> list_in(const HttpRequest& ask, const std::string& name, char separator) {
  std::vector<std::string> parts;
  std::string_view rest = ask[name];
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

TableQuestion table_question(const HttpRequest& ask) {
  return {.columns = list_in(ask, "columns", '\n'),
          .sort = std::string(ask["sort"]),
          .falling = ask["falling"] == "1",
          .search = std::string(ask["search"]),
          .offset = number_in<std::size_t>(ask, "offset", 0),
          .limit = number_in<std::size_t>(ask, "limit", 100)};
}

CurveQuestion curve_question(const HttpRequest& ask) {
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

HttpResponse json_answer(const Json& body) { return {.body = compact(body)}; }

}  // namespace

PageApi::View::View(const std::filesystem::path& home, int its_number)
    : number(its_number),
      store(store::Store::open(home, store::OpenMode::read_only)),
      table(*store),
      curves(home) {}

PageApi::PageApi(const std::filesystem::path& home, std::string queue)
    : home_(home), queue_(std::move(queue)), view_(std::make_shared<View>(home, 0)) {}

std::shared_ptr<PageApi::View> PageApi::view() {
  const std::lock_guard lock(mutex_);
  if (view_->store->is_outdated()) view_ = std::make_shared<View>(home_, view_->number + 1);
  return view_;
}

void PageApi::warm_up() { view()->table.mark(); }

/// The mark begins with the number of the view, because each view counts its changes from 0.
Json PageApi::pulse(View& view) {
  return {{"mark", fmt::format("{}.{}.{}", view.number, store::change_mark(*view.store),
                               view.table.mark())},
          {"now", json_time(now_us())}};
}

Json PageApi::tell(const std::string& path, const std::map<std::string, std::string>& parameters) {
  const HttpRequest ask{.path = path, .parameters = parameters};
  const std::string_view run = ask["run"];
  const std::shared_ptr<View> shown = view();
  const store::Store& store = *shown->store;
  if (path == "pulse") return pulse(*shown);
  if (path == "runs") return shown->table.rows(table_question(ask));
  if (path == "columns") return shown->table.columns();
  if (path == "run") return run_answer(store, run);
  if (path == "epochs") return epochs_answer(store, run);
  if (path == "checkpoints") return checkpoints_answer(store, run);
  if (path == "curve") return shown->curves.answer(curve_question(ask));
  if (path == "logged") return logged_names(store, run);
  if (path == "values") {
    return logged_values(store, run, ask["name"], number_in<std::size_t>(ask, "limit", kLoggedMax));
  }
  if (path == "printed") {
    return printed_answer(store, run, ask["grep"],
                          number_in<std::size_t>(ask, "limit", kPrintedMax));
  }
  if (path == "machine") return machine_answer(store, run);
  if (path == "compare") return compare_answer(store, list_in(ask, "runs", ','));
  if (path == "sources") return sources_answer(store, ask["a"], ask["b"]);
  if (path == "jobs") {
    return jobs_answer(store, queue_, run, number_in<std::size_t>(ask, "limit", kJobsMax));
  }
  if (path == "log") return job_log_answer(store, queue_, number_in<std::int64_t>(ask, "id", 0));
  throw NotFound(fmt::format("nothing is known of '{}'", printable(path)));
}

Json PageApi::change(const HttpRequest& ask) {
  const std::shared_ptr<const store::Store> store = this->store();
  const auto id = number_in<std::int64_t>(ask, "id", 0);
  if (ask.path == "api/retry") return change_job(*store, queue_, id, JobAction::retry);
  if (ask.path == "api/cancel") return change_job(*store, queue_, id, JobAction::cancel);
  throw NotFound(fmt::format("'{}' does nothing", printable(ask.path)));
}

/// The page with its first rows inserted, so that the browser shows them at once.
HttpResponse PageApi::page() {
  const std::shared_ptr<View> shown = view();
  const Json start = {{"home", shown->store->home().string()},
                      {"version", FLOR_VERSION},
                      {"runs", shown->table.rows({})},
                      {"pulse", pulse(*shown)}};
  return {.type = "text/html; charset=utf-8",
          .body = page_with(start),
          .policy = std::string(page_policy())};
}

HttpResponse PageApi::answer(const HttpRequest& ask) {
  constexpr std::string_view kApi = "api/";
  if (ask.changes) return json_answer(change(ask));
  if (ask.path.empty()) return page();
  if (ask.path == "api/picture") {
    return {.type = "image/png", .body = picture_png(*store(), ask["object"])};
  }
  if (!ask.path.starts_with(kApi)) throw NotFound("there is nothing under this path");
  return json_answer(tell(ask.path.substr(kApi.size()), ask.parameters));
}

}  // namespace flor::cli
