// Helpers for rows of the catalog. Lists and maps are stored as JSON, so that users can query them.
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

/// Returns nullopt if the text is not what `to_json` writes.
std::optional<std::vector<std::string>> list_from_json(std::string_view text);
std::optional<std::map<std::string, std::string>> map_from_json(std::string_view text);
/// Returns "its command cannot be read (x)", with the beginning of the unreadable text.
std::string unreadable(std::string_view what, std::string_view text);

/// Returns the id of the row of `table` whose `column` is `text`; inserts the row if it is missing.
std::int64_t intern(Connection& connection, const char* table, const char* column,
                    std::string_view text);

/// The functions below must be called inside the transaction that adds the run.
void put_origin(Connection& connection, std::int64_t run, const RunOrigin& origin);
/// Stores the run's experiment name as the one last used in its repository.
void remember_name(Connection& connection, std::int64_t run);
/// Returns the run's repository if the name last used there comes from this run; otherwise nullopt.
std::optional<std::string> repository_named_by(Connection& connection, std::int64_t run);
/// Stores the name of the latest remaining run of the repository as the one last used there, or
/// none if no run remains.
void name_again(Connection& connection, const std::string& root);
void insert_build(Connection& connection, std::int64_t run, const RunBuild& build);

}  // namespace flor::store
