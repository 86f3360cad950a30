// Checks rows of a catalog that another machine wrote. An attacker may have written the catalog of
// a bucket, and an older Flor has accepted such rows into homes.
#pragma once

#include "database/sqlite.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace flor::store {

/// The syntax of a text that readers parse.
enum class TextForm : unsigned char {
  list,    ///< a JSON list of texts
  map,     ///< a JSON object whose members are texts
  object,  ///< a JSON object of any members
};

/// A column whose texts must have a certain syntax.
struct FormedText {
  const char* table;
  const char* column;
  TextForm form;
  const char* what;  ///< for messages, as "its command"
  const char* sql;   ///< selects the key of the run, and the text
};
std::span<const FormedText> formed_texts();

/// Calls `found` for each text in the catalog that cannot be parsed, with the key of the run and a
/// description: "its command is no list of words (x)".
void find_unreadable_texts(
    Connection& catalog,
    const std::function<void(std::string_view key, const std::string& flaw)>& found);

/// Describes the first row that cannot be right in the catalog of a single run from elsewhere: a
/// text that cannot be parsed, or a number larger than a run can reach. Numbers of epochs are
/// compared with the rows that exist, so that loops over them take time in proportion to the data
/// received. Empty if all rows are valid. Labels are not checked, because `merge_labels` selects
/// among them.
std::string flaw_of_rows(Connection& catalog);

}  // namespace flor::store
