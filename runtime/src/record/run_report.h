// Lines for the user about a recording: how to follow it, what it has, and what it lacks.
#pragma once

#include <flor/store/store.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// For example "follow it with: flor plot 1234abcd --follow".
std::string how_to_follow(const store::Run& run);
/// The line when the first loop begins. `named`: the user has given a name; `forked`: see
/// Continuation.
std::string print_begun(const store::Run& run, bool named, std::string_view forked);
/// The line when a run continues.
std::string print_resumed(const store::Run& run, const store::ResumePoint& point);

/// The line at the end. It has the numbers of the catalog, so `flor show` and `flor list` print the
/// same.
std::string print_recorded(const store::Run& run, const store::Recording& recording,
                           const std::vector<store::Gap>& gaps);
std::string print_failed(const store::Run& run, const std::vector<store::Gap>& gaps);

}  // namespace flor::detail
