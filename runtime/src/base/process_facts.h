// Facts about this process that a run keeps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flor::detail {

std::int64_t now_us();  ///< Unix time, microseconds
std::filesystem::path executable();
/// The words of a file like /proc/self/cmdline; none where it cannot be read.
std::vector<std::string> command_line(const std::filesystem::path& file);
/// The digest of this program as it was loaded: the executable, and the shared objects that are not
/// the system's. The executable's own digest where there are none.
std::string program_digest();
/// Lets this process run on these cores only, all of its threads included. The libraries are loaded
/// by now, so that the sizes of their thread pools, on which results depend, stay as they are.
void run_on_cores(const std::vector<int>& cores);
/// Host, thread settings, library versions: the facts that an exact replay depends on.
std::map<std::string, std::string> environment();
/// The same as it was when this was first called: at `flor::init`, where recordings note it, too.
/// Programs change settings later.
const std::map<std::string, std::string>& initial_environment();
struct ChangedFact {
  std::string name, before, after;
};
/// Restores the generators, so that a program which does not seed them draws the same numbers as
/// when it was recorded.
void put_back_generators(const std::map<std::string, std::string>& environment);

/// The facts that differ, of those that both environments have and results depend on: libraries,
/// CPU, GPUs. The likeliest cause of a difference first.
std::vector<ChangedFact> changed_facts(const std::map<std::string, std::string>& then,
                                       const std::map<std::string, std::string>& now);
/// "410 ms", "3.2 s", "5 min 10 s"
std::string print_seconds(double seconds);

}  // namespace flor::detail
