// What the catalog's rows have in common. Lists and maps are written as JSON, so that people can
// query them.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

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

/// Id of the row of `table` whose `column` is `text`, which is inserted if there is none.
std::int64_t intern(Connection& connection, const char* table, const char* column,
                    std::string_view text);

/// Both inside the transaction that adds the run.
void put_origin(Connection& connection, std::int64_t run, const RunOrigin& origin);
/// The name of the run is the one last used in its repository.
void remember_name(Connection& connection, std::int64_t run);
void insert_build(Connection& connection, std::int64_t run, const RunBuild& build);

}  // namespace flor::store
