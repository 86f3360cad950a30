// The manual, made from the help of the commands.
#pragma once

#include "shell/pages.h"

#include <map>
#include <string>

namespace flor::cli {

/// Pages of section 1 as man reads them, by the names of their files: flor.1, flor-list.1, ...
std::map<std::string, std::string> manual(const Pages& pages, const std::string& version);

}  // namespace flor::cli
