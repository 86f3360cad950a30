// How the lists and maps of a run's row are written: JSON, so that people can query them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

std::string to_json(const std::vector<std::string>& list);
std::string to_json(const std::map<std::string, std::string>& map);

/// Damaged if the text is not what `to_json` writes.
std::vector<std::string> list_from_json(std::string_view text);
std::map<std::string, std::string> map_from_json(std::string_view text);

}  // namespace flor::store
