#include "commands/commands.h"

namespace flor::cli {

CommandSet looking_commands() {
  return {.groups = {{"Look at runs and their values",
                      {make_list, make_top, make_show, make_query, make_best, make_plot, make_diff,
                       make_sql}}},
          .missing = "this build has the commands that look at runs; `cmake --preset release` "
                     "configures one that has all"};
}

}  // namespace flor::cli
