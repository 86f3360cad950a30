// All that a run has recorded, as text, so that two runs can be compared.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace flor::testing {

struct WholeRecord {
  std::vector<std::string> values;  ///< recorded ones, with all their bits
  std::vector<std::string> loops, iterations, executions, arguments;
  std::map<std::string, std::string> checkpoints;  ///< digest of state by place

  bool operator==(const WholeRecord&) const = default;
};

inline std::string exact_text(const store::Scalar& value) {
  std::ostringstream out;
  std::visit([&](const auto& alternative) { out << std::hexfloat << alternative; }, value);
  return out.str();
}

inline WholeRecord whole_record(const store::Store& opened, std::int64_t run) {
  const store::Catalog& catalog = opened.catalog();
  WholeRecord record;
  const auto add = [](std::vector<std::string>& lines, const auto&... parts) {
    std::ostringstream out;
    ((out << parts << ' '), ...);
    lines.push_back(out.str());
  };
  for (const auto& value : catalog.values({.run = run, .names = {}, .first_epoch = -1})) {
    add(record.values, value.name, value.place.path, value.place.epoch, value.place.step,
        value.place.inner, value.ordinal, value.replay, to_string(value.type),
        exact_text(value.value));
  }
  for (const auto& loop : catalog.main_loops(run)) {
    add(record.loops, loop.ordinal, loop.name, loop.first_epoch, loop.iterations, loop.ended,
        loop.broke);
  }
  for (const auto& iteration : catalog.iterations(run)) {
    add(record.iterations, iteration.main_loop, iteration.iteration);
  }
  for (const auto& execution : catalog.executions(run)) {
    add(record.executions, execution.main_loop, execution.iteration, execution.loop,
        execution.iterations, execution.broke);
  }
  for (const auto& argument : catalog.arguments(run)) {
    add(record.arguments, argument.name, argument.type, argument.value);
  }
  for (const auto& info : catalog.checkpoints(run)) {
    std::ostringstream key;
    key << static_cast<int>(info.key.kind) << ' ' << info.key.main_loop << ' ' << info.key.iteration
        << ' ' << info.key.loop;
    record.checkpoints[key.str()] = info.digest.hex();
  }
  return record;
}

}  // namespace flor::testing
