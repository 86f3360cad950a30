// Common parts of the catalog's rows. Lists and maps are written as JSON, so that users can query
// them.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

std::string to_json(const std::vector<std::string>& list);
std::string to_json(const std::map<std::string, std::string>& map);

/// Nothing if the text is not one that `to_json` writes.
std::optional<std::vector<std::string>> list_from_json(std::string_view text);
std::optional<std::map<std::string, std::string>> map_from_json(std::string_view text);
/// "its command cannot be read (x)" for such a text, with its beginning.
std::string unreadable(std::string_view what, std::string_view text);

/// Id of the row of `table` whose `column` is `text`; inserts the row if there is none.
std::int64_t intern(Connection& connection, const char* table, const char* column,
                    std::string_view text);

/// Call these inside the transaction that adds the run.
void put_origin(Connection& connection, std::int64_t run, const RunOrigin& origin);
/// Remembers the name of the run as the one last used in its repository.
void remember_name(Connection& connection, std::int64_t run);
/// The repository whose last used name is that of the run; nothing if that is another's.
std::optional<std::string> repository_named_by(Connection& connection, std::int64_t run);
/// Remembers the name of the latest run there, and none if there is no run any more.
void name_again(Connection& connection, const std::string& root);
void insert_build(Connection& connection, std::int64_t run, const RunBuild& build);

}  // namespace flor::store
