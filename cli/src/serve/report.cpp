#include "serve/report.h"

#include "choose/run_spec.h"
#include "output/time.h"
#include "serve/logged.h"
#include "serve/page_file.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>

namespace flor::cli {
namespace {

/// Columns of a curve: more than a screen shows, so that zooming in still reveals detail.
constexpr int kColumns = 1000;
/// Most values kept of a name whose values are not numbers.
constexpr int kValues = 100;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      bits = bits << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const bool is_there = i + digit <= bytes.size();
      text += is_there ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return text;
}

/// Asks the page's questions about the run, and keeps each answer under its question.
class Collector {
 public:
  Collector(PageApi& api, std::string run) : api_(api), run_(std::move(run)) {}

  void collect() {
    const Json run = ask("run", {{"run", run_}});
    if (run["has_epochs"] == true) ask("epochs", {{"run", run_}});
    ask("checkpoints", {{"run", run_}});
    ask("sources", {{"b", run_}});
    for (const auto& [name, metric] : run["metrics"].items()) collect_curves(name, metric);
    collect_machine();
    collect_logged();
    collect_jobs();
  }

  Json answers = Json::object();
  Json pictures = Json::object();
  std::size_t curves = 0;

 private:
  using Parameters = std::map<std::string, std::string>;

  /// `fineness`: parameters that are not part of the key, because the report has a single answer
  /// for all their values.
  Json ask(const std::string& path, const Parameters& which, const Parameters& fineness = {}) {
    Parameters all = which;
    all.insert(fineness.begin(), fineness.end());
    Json answer = api_.tell(path, all);
    std::string key = path;
    for (const auto& [name, value] : which) key += fmt::format("\n{}={}", name, value);
    answers[key] = answer;
    return answer;
  }

  void collect_curves(const std::string& name, const Json& metric) {
    const std::string type = metric["type"];
    const bool is_number = type == "real" || type == "integer" || type == "boolean";
    if (!is_number || metric["count"].get<std::int64_t>() < 2) return;
    for (const char* axis : {"epoch", "step", "time"}) {
      ask("curve", {{"run", run_}, {"metric", name}, {"axis", axis}},
          {{"columns", std::to_string(kColumns)}});
    }
    ++curves;
  }

  void collect_machine() {
    const Json machine = ask("machine", {{"run", run_}});
    for (const auto& measure : machine["measures"]) {
      ask("curve",
          {{"run", run_},
           {"metric", "machine/" + measure["name"].get<std::string>()},
           {"axis", "time"}},
          {{"columns", std::to_string(kColumns)}});
    }
  }

  void collect_logged() {
    const Json logged = ask("logged", {{"run", run_}});
    for (const auto& each : logged["names"]) {
      const Json answer = ask("values", {{"run", run_}, {"name", each["name"]}},
                              {{"limit", std::to_string(kValues)}});
      if (answer["type"] != "image") continue;
      for (const auto& item : answer["items"]) {
        if (!item["value"].contains("object")) continue;
        const std::string object = item["value"]["object"];
        if (pictures.contains(object)) continue;
        pictures[object] = "data:image/png;base64," + base64(picture_png(*api_.store(), object));
      }
    }
  }

  void collect_jobs() {
    const Json jobs = ask("jobs", {{"run", run_}});
    for (const auto& job : jobs["jobs"]) {
      ask("log", {{"id", std::to_string(job["id"].get<std::int64_t>())}});
    }
  }

  PageApi& api_;
  std::string run_;
};

}  // namespace

Report make_report(PageApi& api, std::string_view name, std::int64_t now_us) {
  const store::Run run = parse_whole_run(api.store()->catalog(), name);
  Collector collector(api, run.key);
  collector.collect();
  Report report{.curves = collector.curves, .pictures = collector.pictures.size()};
  report.html = page_as_file({{"version", FLOR_VERSION},
                              {"report",
                               {{"run", run.key},
                                {"made", json_time(now_us)},
                                {"answers", std::move(collector.answers)},
                                {"pictures", std::move(collector.pictures)}}}});
  return report;
}

}  // namespace flor::cli
