// Makers of the subcommands, each in a file of its own, and the two sets that executables have.
#pragma once

#include "shell/command_set.h"

#include <memory>

namespace flor::cli {

CommandSet all_commands();
/// Those that look at runs and need no other part: for a first look, FLOR_TOOL_COMMANDS=look.
CommandSet looking_commands();

std::unique_ptr<Command> make_list();
std::unique_ptr<Command> make_top();
std::unique_ptr<Command> make_show();
std::unique_ptr<Command> make_log();
std::unique_ptr<Command> make_query();
std::unique_ptr<Command> make_best();
std::unique_ptr<Command> make_replay();
std::unique_ptr<Command> make_diff();
std::unique_ptr<Command> make_blame();
std::unique_ptr<Command> make_fsck();
std::unique_ptr<Command> make_keep();
std::unique_ptr<Command> make_gc();
std::unique_ptr<Command> make_du();
std::unique_ptr<Command> make_archive();
std::unique_ptr<Command> make_audit();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_extract();
std::unique_ptr<Command> make_import();
std::unique_ptr<Command> make_checkout();
std::unique_ptr<Command> make_build();
std::unique_ptr<Command> make_sweep();
std::unique_ptr<Command> make_put();
std::unique_ptr<Command> make_instrument();
std::unique_ptr<Command> make_watch();
std::unique_ptr<Command> make_jobs();
std::unique_ptr<Command> make_plot();
std::unique_ptr<Command> make_sql();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_spool();
std::unique_ptr<Command> make_fetch();
std::unique_ptr<Command> make_remote();
std::unique_ptr<Command> make_tag();
std::unique_ptr<Command> make_note();
std::unique_ptr<Command> make_rename();
std::unique_ptr<Command> make_rm();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_config();

}  // namespace flor::cli
