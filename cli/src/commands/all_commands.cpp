#include "commands/commands.h"
#include "seats/seat.h"
#include "sweep/point_process.h"
#include "watch/evaluators/evaluator_process.h"
#include "watch/evaluators/judge_seat.h"

namespace flor::cli {
namespace {

std::optional<int> run_own_process(std::span<char*> words) {
  if (words.size() < 2) return std::nullopt;
  const std::string_view name = words[0];
  if (name == "__seat") return run_seat(words[1]);
  if (name == "__judge") return run_judge_seat(words[1]);
  if (name == "__point") return run_point({words.begin() + 1, words.end()});
  if (name == "__evaluator") return run_evaluator_process({words.begin() + 1, words.end()});
  return std::nullopt;
}

}  // namespace

// Each group is a folder of cli/src/commands.
CommandSet all_commands() {
  return {
      .groups = {{"Look at runs and their values",
                  {make_list, make_top, make_show, make_query, make_best, make_plot, make_diff,
                   make_serve, make_report, make_sql}},
                 {"Record many runs, and values of scripts", {make_instrument, make_sweep, make_put}},
                 {"Keep order among runs", {make_tag, make_note, make_rename, make_rm}},
                 {"Ask runs for values they did not log", {make_replay, make_extract, make_audit}},
                 {"Find and rebuild versions of the sources",
                  {make_log, make_blame, make_checkout, make_build}},
                 {"Save space", {make_du, make_keep, make_gc, make_archive}},
                 {"Evaluate checkpoints", {make_watch, make_jobs}},
                 {"Move runs elsewhere and back",
                  {make_spool, make_fetch, make_remote, make_export, make_import}},
                 {"Check the installation and the store", {make_doctor, make_fsck, make_config}}},
      .own_process = run_own_process};
}

}  // namespace flor::cli
