#include "watch/evaluators/seat_protocol.h"

#include "file/new_file.h"
#include "seats/seat.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace flor::cli {
namespace {

using nlohmann::json;

std::filesystem::path plan_file(const std::filesystem::path& directory) {
  return directory / "plan.json";
}

}  // namespace

std::string seat::line(const char* name, const json& value) {
  return json{{name, value}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string watch_job_name(const std::string& owner) { return "flor-watch-" + owner; }

void Pace::looked(bool something) {
  const auto now = Clock::now();
  if (something) since_ = now;
  const double silence = std::chrono::duration<double>(now - since_).count();
  next_ = now + std::chrono::milliseconds(look_after_ms(silence));
}

void write_seat_plan(const std::filesystem::path& directory, const SeatPlan& plan) {
  const EvaluatorSpec& spec = plan.group.evaluator;
  const json all{{"kind", static_cast<int>(spec.kind)},
                 {"file", spec.file.string()},
                 {"function", spec.function},
                 {"module", spec.module},
                 {"words", spec.words},
                 {"fresh", spec.fresh},
                 {"timeout_ms", plan.group.timeout.value_or(std::chrono::milliseconds(0)).count()},
                 {"logs", plan.logs.string()},
                 {"beat_ms", plan.beat.count()}};
  const std::string text = all.dump();
  store::write_file(plan_file(directory), std::as_bytes(std::span(text)));
}

SeatPlan read_seat_plan(const std::filesystem::path& directory) {
  std::ifstream in(plan_file(directory), std::ios::binary);
  const json all = json::parse(in, nullptr, false);
  try {
    SeatPlan plan;
    EvaluatorSpec& spec = plan.group.evaluator;
    spec.kind = static_cast<EvaluatorSpec::Kind>(all.at("kind").get<int>());
    spec.file = all.at("file").get<std::string>();
    spec.fresh = all.at("fresh").get<bool>();
    spec.function = all.at("function").get<std::string>();
    spec.module = all.at("module").get<std::string>();
    spec.words = all.at("words").get<std::vector<std::string>>();
    if (const auto timeout = all.at("timeout_ms").get<std::int64_t>(); timeout > 0) {
      plan.group.timeout = std::chrono::milliseconds(timeout);
    }
    plan.logs = all.at("logs").get<std::string>();
    plan.beat = std::chrono::milliseconds(all.at("beat_ms").get<std::int64_t>());
    return plan;
  } catch (const json::exception&) {
    throw Error(
        fmt::format("{} cannot be read: is the store on a file system that all nodes see "
                    "under the same path?",
                    plan_file(directory).string()));
  }
}

}  // namespace flor::cli
