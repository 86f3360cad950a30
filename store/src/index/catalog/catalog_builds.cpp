// Functions of Catalog about how the programs of runs are built.
#include "database/database.h"
#include "database/rows.h"
#include "index/writing.h"

#include <flor/store/catalog.h>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

void insert_build(Connection& connection, std::int64_t run, const RunBuild& build) {
  connection("INSERT INTO build (run, recipe, remark) VALUES (?1, ?2, ?3)", run,
             intern(connection, "recipe", "json", build.recipe), build.remark)
      ->run();
}

std::optional<RunBuild> Catalog::build(std::int64_t run) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT recipe.json, build.remark FROM build JOIN recipe ON recipe.id = build.recipe "
      "WHERE build.run = ?1",
      run);
  if (!row->step()) return std::nullopt;
  return RunBuild{.recipe = row->text(0), .remark = row->text(1)};
}

void Catalog::remember_build_command(std::int64_t run, std::string_view repository,
                                     std::string_view program, std::string_view command) {
  if (masked(command) != command) return;
  write(*database_, run,
        BuildCommandEvent{std::string(repository), std::string(program), std::string(command)});
}

void apply(Database& database, std::int64_t, const BuildCommandEvent& event) {
  database
      .connection(
          "INSERT OR REPLACE INTO build_command (root, program, command) VALUES (?1, ?2, ?3)",
          event.repository, event.program, event.command)
      ->run();
}

std::optional<std::string> Catalog::build_command(std::string_view repository,
                                                  std::string_view program) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT command FROM build_command WHERE root = ?1 AND program = ?2", repository, program);
  if (!row->step()) return std::nullopt;
  return row->text(0);
}

void Catalog::remember_outputs(std::int64_t run, std::string_view repository,
                               std::string_view program, std::span<const std::string> paths) {
  write(*database_, run,
        OutputsEvent{std::string(repository), std::string(program), {paths.begin(), paths.end()}});
}

void apply(Database& database, std::int64_t, const OutputsEvent& event) {
  for (const std::string& path : event.paths) {
    database
        .connection("INSERT OR IGNORE INTO output (root, program, path) VALUES (?1, ?2, ?3)",
                    event.repository, event.program, path)
        ->run();
  }
}

std::vector<std::string> Catalog::outputs(std::string_view repository,
                                          std::string_view program) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT path FROM output WHERE root = ?1 AND program = ?2 ORDER BY path", repository,
      program);
  std::vector<std::string> paths;
  while (row->step()) paths.push_back(row->text(0));
  return paths;
}

}  // namespace flor::store
