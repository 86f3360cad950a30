#include "curves/machine_use.h"

#include "index/values/machine.h"
#include "output/time.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

using detail::MeasureKind, detail::Unit;

std::vector<store::Value> samples_of(const store::Catalog& catalog, store::ValueQuery query,
                                     std::span<const MeasureKind> measures) {
  for (const MeasureKind& kind : measures) {
    query.names.push_back(std::string(store::kMachineSeries).append(kind.name));
  }
  return catalog.values(query);
}

void add_to(MachineUse& use, const store::Value& sample) {
  const auto* number = std::get_if<double>(&sample.value);
  if (number) use.measures[sample.name.substr(store::kMachineSeries.size())].add(*number);
}

/// The most that is shown, whatever a fetched run says.
constexpr double kBytesMax = 1e18;

}  // namespace

std::int64_t MachineUse::samples() const {
  std::int64_t most = 0;
  for (const auto& [name, spread] : measures) most = std::max(most, spread.count());
  return most;
}

const Spread* MachineUse::find(const std::string& measure) const {
  const auto found = measures.find(measure);
  return found == measures.end() ? nullptr : &found->second;
}

MachineUse machine_use(const store::Catalog& catalog, std::int64_t run,
                       std::span<const MeasureKind> measures) {
  MachineUse use;
  for (const store::Value& sample : samples_of(catalog, {.run = run}, measures)) {
    add_to(use, sample);
  }
  return use;
}

std::vector<MachineUse> machine_use_by_epochs(const store::Catalog& catalog, std::int64_t run,
                                              std::int64_t first_epoch, std::int64_t last_epoch) {
  std::map<std::int64_t, MachineUse> epochs;
  for (const store::Value& sample :
       samples_of(catalog, {.run = run, .first_epoch = first_epoch, .last_epoch = last_epoch},
                  detail::measure_kinds())) {
    MachineUse& use = epochs[sample.place.epoch];
    use.epoch = sample.place.epoch;
    add_to(use, sample);
  }
  std::vector<MachineUse> result;
  for (auto& [epoch, use] : epochs) result.push_back(std::move(use));
  return result;
}

std::map<std::string, double> latest_samples(const store::Catalog& catalog, std::int64_t run,
                                             std::int64_t first_epoch) {
  std::map<std::string, std::pair<std::int64_t, double>> latest;  // with the time
  for (const store::Value& sample :
       samples_of(catalog, {.run = run, .first_epoch = first_epoch}, main_measures())) {
    const auto* const number = std::get_if<double>(&sample.value);
    if (!number) continue;
    auto& [at, value] = latest[sample.name.substr(store::kMachineSeries.size())];
    if (sample.place.step >= at) std::tie(at, value) = std::pair(sample.place.step, *number);
  }
  std::map<std::string, double> result;
  for (const auto& [name, sample] : latest) result[name] = sample.second;
  return result;
}

std::span<const MeasureKind> main_measures() {
  static const std::vector<MeasureKind> kinds = [] {
    std::vector<MeasureKind> chosen;
    std::ranges::copy_if(detail::measure_kinds(), std::back_inserter(chosen),
                         [](const MeasureKind& kind) {
                           const bool of_gpu = kind.name.starts_with("gpu");
                           return kind.name == "cpu" || kind.name == "memory" ||
                                  (of_gpu && kind.unit == Unit::percent);
                         });
    return chosen;
  }();
  return kinds;
}

std::string machine_text(const MachineUse& use, std::string_view cores) {
  std::string text;
  for (const MeasureKind& kind : main_measures()) {
    const Spread* const spread = use.find(kind.name);
    if (!spread || !spread->mean()) continue;
    const std::string number = measure_text(kind, *spread);
    text += text.empty() ? "" : ", ";
    if (kind.name == "cpu") {
      text += "CPU " + number + (cores.empty() ? "" : fmt::format(" of {} cores", cores));
    } else if (kind.name == "memory") {
      text += "memory at most " + number;
    } else {
      text += fmt::format("GPU {} {}", kind.name.substr(3), number);
    }
  }
  return text;
}

std::string measure_text(const MeasureKind& kind, const Spread& spread) {
  const bool is_peak = kind.unit == Unit::bytes || kind.unit == Unit::degrees;
  const auto number = kind.name == "disk_free" ? spread.least()
                      : is_peak                ? spread.greatest()
                                               : spread.mean();
  return number ? measure_text(kind, *number) : "-";
}

std::string measure_text(const MeasureKind& kind, double value) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(value, 0.0, kBytesMax));
  if (kind.unit == Unit::bytes) return bytes(whole);
  if (kind.unit == Unit::bytes_a_second) return bytes(whole) + "/s";
  const char* const space = kind.unit == Unit::count ? "" : " ";
  return fmt::format("{:.3g}{}{}", value, space, to_string(kind.unit));
}

Json machine_json(const MachineUse& use) {
  if (use.samples() == 0) return {};
  Json result = {{"samples", use.samples()}};
  for (const MeasureKind& kind : detail::measure_kinds()) {
    const Spread* const spread = use.find(kind.name);
    if (!spread || !spread->mean()) continue;
    result[kind.name] = {
        {"mean", *spread->mean()}, {"min", *spread->least()}, {"max", *spread->greatest()}};
  }
  return result;
}

}  // namespace flor::cli
