// Names variables that a program uses but a recording does not keep, for messages at the beginning
// and when a resumed run turns out to differ.
#pragma once

#include <string>
#include <vector>

namespace flor::detail {

/// A line that names variables which a loop changes, code after it reads, and the program does not
/// register. Empty if there are none, or if the sources of the program cannot be found.
std::string print_unregistered();

/// The unregistered variables that a nested loop changes, such as "'sum' of train (train.cpp:24),
/// 'other' of eval (train.cpp:30)". A run that is resumed inside an iteration would lack them.
/// `main_loops` are the names of the loops that are not nested. Empty as for print_unregistered.
std::string print_lost_inside(const std::vector<std::string>& main_loops);

/// The unregistered variables as the likely cause of a difference, such as "'rate', which the loop
/// epoch changes and train.cpp:24 reads". Empty as for print_unregistered.
std::string print_suspects();

}  // namespace flor::detail
