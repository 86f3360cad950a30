// The names of what runs have logged, and which of them a question means.
#pragma once

#include <flor/store/catalog.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::ask {

/// Whether `name` is the name under which the catalog keeps doubtful values of `metric`.
bool is_doubtful_of(std::string_view name, std::string_view metric);
/// All metrics of the runs, in the order in which they were first logged.
std::vector<std::string> metric_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs);
/// The metrics among them whose last value is a number, without doubtful values.
std::vector<std::string> number_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs);
/// Whether `metric` is a measure of the machine, such as "machine/cpu", of which one of the runs
/// has samples.
bool has_samples(const store::Catalog& catalog, std::span<const store::Run> runs,
                 const std::string& metric);
/// Throws NotFound, with the existing names, if none of the runs has one of `metrics`, and
/// UsageError if `metrics` is empty. `how`: an example of the command for the message ("flor query
/// METRIC...").
void require_metrics(const store::Catalog& catalog, std::span<const store::Run> runs,
                     std::span<const std::string> metrics, std::string_view how);

}  // namespace flor::ask
