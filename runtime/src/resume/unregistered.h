// Names variables that a recording does not keep although the program uses them: when it begins,
// and when a resumed run turns out to differ.
#pragma once

#include <string>
#include <vector>

namespace flor::detail {

/// A line that names variables which a loop changes, which code after it reads, and which are not
/// registered; empty where there are none, or where the sources of the program are not at hand.
std::string print_unregistered();

/// The unregistered variables that a nested loop changes, "'sum' of train (train.cpp:24), 'other'
/// of eval (train.cpp:30)": a run that is resumed inside an iteration would lack them.
/// `main_loops`: the names of the other loops. Empty likewise.
std::string print_lost_inside(const std::vector<std::string>& main_loops);

/// The same variables, as the likely cause of a difference: "'rate', which the loop epoch changes
/// and train.cpp:24 reads"; empty likewise.
std::string print_suspects();

}  // namespace flor::detail
