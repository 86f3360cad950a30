// Makes the manual pages from the help of the commands.
#pragma once

#include "shell/pages.h"

#include <map>
#include <string>

namespace flor::cli {

/// Returns pages of section 1 in man's format, by file name: flor.1, flor-list.1, ...
std::map<std::string, std::string> manual(const Pages& pages, const std::string& version);

}  // namespace flor::cli
