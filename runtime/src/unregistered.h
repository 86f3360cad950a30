// Tells at the start of a recording what it will not keep although the program uses it.
#pragma once

#include <string>

namespace flor::detail {

/// A line that names variables which a loop changes, which code after it reads, and which are not
/// registered; empty where there are none, or where the sources of the program are not at hand.
std::string print_unregistered();

}  // namespace flor::detail
