// Lines about a recording for the user: how to follow it, what it has, and what it lacks.
#pragma once

#include <flor/store/store.h>

#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// "follow it with: flor plot 1234abcd --follow"
std::string how_to_follow(const store::Run& run);
/// When the first loop begins. `named`: the user gave the name now; `forked`: see Continuation.
std::string print_begun(const store::Run& run, bool named, std::string_view forked);
/// When a run continues.
std::string print_resumed(const store::Run& run, const store::ResumePoint& point);

/// At the end, with the numbers of the catalog, which `flor show` and `flor list` print, too.
std::string print_recorded(const store::Run& run, const store::Recording& recording,
                           const std::vector<store::Gap>& gaps);
std::string print_failed(const store::Run& run, const std::vector<store::Gap>& gaps);

}  // namespace flor::detail
