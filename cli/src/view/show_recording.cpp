#include "view/show_recording.h"

#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

using store::Recording, store::StorageDecision, store::StorageReason;

std::string rule_text(const Recording& recording) {
  if (recording.every == 1) return "every epoch is stored (--flor_every 1)";
  if (recording.every > 1) {
    return fmt::format("every {} epochs (--flor_every)", recording.every);
  }
  return fmt::format("adaptive, at most {:.3g} % of the computing time", 100 * recording.epsilon);
}

std::string late_text(const Recording& recording) {
  const auto times = [](std::int64_t count) {
    return count == 1 ? std::string("once") : fmt::format("{} times", count);
  };
  return fmt::format("hurried {}, cheaper codec {}, no codec {}; the training waited {}",
                     times(recording.hurried), times(recording.fast), times(recording.raw),
                     times(recording.waits));
}

/// The epochs of a decision, counted over all main loops: "12..40".
std::string epochs_text(const ShownRun& shown, const StorageDecision& decision) {
  const std::int64_t first = shown.epoch_of(decision.main_loop, decision.first);
  const std::int64_t last = shown.epoch_of(decision.main_loop, decision.last);
  return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
}

}  // namespace

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.2f} %", 100 * part / whole) : std::string("-");
}

std::string reason_text(StorageReason reason) {
  switch (reason) {
    case StorageReason::worthwhile:
      return "stored: within the overhead budget";
    case StorageReason::last:
      return "stored: the last";
    case StorageReason::end:
      return "stored, its end only: it turned out to be the last";
    case StorageReason::every:
      return "stored: forced by --flor_every";
    case StorageReason::forced:
      return "stored: asked for while it ran";
    case StorageReason::budget:
      return "not stored: budget";
    case StorageReason::gain:
      return "not stored: costs more than replays gain";
    case StorageReason::spread:
      return "not stored: the budget is spread over the run";
    case StorageReason::late:
      return "not stored: an earlier one was still being written";
    case StorageReason::unmeasured:
      return "not stored: the cost was not known yet";
    case StorageReason::ranks:
      return "not stored: another rank decided so";
    case StorageReason::not_every:
      return "not stored: --flor_every";
    case StorageReason::measured:
      return "stored: the first since it was resumed";
    case StorageReason::degraded:
      return "not stored: the store could not be written";
  }
  return fmt::format("reason {}", static_cast<int>(reason));
}

void print_recording(Context& context, const ShownRun& shown) {
  if (!shown.recording) return;
  const Recording& recording = *shown.recording;
  context.out().write(fmt::format("\n{}\n", context.style().paint(Tone::strong, "recording")));
  Table table({{""}, {""}}, Table::Header::hidden);
  const auto row = [&](std::string_view name, const std::string& text) {
    table.add(name);
    table.add(text);
  };
  row("rule", rule_text(recording));
  row("stored", fmt::format("{} of {} epochs", recording.stored, recording.iterations));
  row("cost",
      fmt::format("{} of {} computing ({})", duration(recording.cost), duration(recording.computed),
                  percent(recording.cost, recording.computed)));
  row("apart", fmt::format("forced checkpoints {}, start-up {}", duration(recording.forced),
                           duration(recording.startup)));
  row("measured", fmt::format("M {} to store an epoch, C {} to compute one, c {:.2g} (restoring "
                              "takes c * M)",
                              duration(recording.materialization), duration(recording.computation),
                              recording.restore_factor));
  if (recording.hurried + recording.waits > 0) row("writer late", late_text(recording));
  table.print(context.out(), context.style(), 2);
}

void print_decisions(Context& context, const ShownRun& shown) {
  const auto& decisions = shown.decisions;
  if (decisions.empty()) return;
  context.out().write(
      fmt::format("\n{}\n", context.style().paint(Tone::strong, "why epochs are stored")));
  Table table({{"epochs", Align::right},
               {"because", Align::left, true},
               {"cost so far", Align::right},
               {"of", Align::right}});
  for (const StorageDecision& decision : decisions) {
    table.add(epochs_text(shown, decision));
    table.add(reason_text(decision.reason),
              store::is_stored(decision.reason) ? Tone::good : Tone::plain);
    table.add(percent(decision.cost, decision.computed));
    table.add(duration(decision.computed));
  }
  table.print(context.out(), context.style(), 2);
}

Json recording_json(const ShownRun& shown) {
  if (!shown.recording) return nullptr;
  const Recording& recording = *shown.recording;
  return {{"every", recording.every > 0 ? Json(recording.every) : Json(nullptr)},
          {"epsilon", recording.every > 0 ? Json(nullptr) : json_number(recording.epsilon)},
          {"iterations", recording.iterations},
          {"stored", recording.stored},
          {"cost_seconds", json_number(recording.cost)},
          {"computed_seconds", json_number(recording.computed)},
          {"forced_seconds", json_number(recording.forced)},
          {"startup_seconds", json_number(recording.startup)},
          {"materialization_seconds", json_number(recording.materialization)},
          {"computation_seconds", json_number(recording.computation)},
          {"restore_factor", json_number(recording.restore_factor)},
          {"waits", recording.waits},
          {"hurried", recording.hurried},
          {"fast", recording.fast},
          {"raw", recording.raw}};
}

Json decisions_json(const ShownRun& shown) {
  Json list = Json::array();
  for (const StorageDecision& decision : shown.decisions) {
    list.push_back({{"first_epoch", shown.epoch_of(decision.main_loop, decision.first)},
                    {"last_epoch", shown.epoch_of(decision.main_loop, decision.last)},
                    {"stored", store::is_stored(decision.reason)},
                    {"reason", reason_text(decision.reason)},
                    {"cost_seconds", json_number(decision.cost)},
                    {"computed_seconds", json_number(decision.computed)}});
  }
  return list;
}

}  // namespace flor::cli
