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
/// text that cannot be parsed, a number larger than a run can reach, or texts that would take much
/// more memory than the `received` bytes in which the catalog came. The columns and their types are
/// those of the schema. Numbers of epochs are compared with the rows that exist, so that loops over
/// them take time in proportion to the data received. Logged values may be any numbers. Of labels
/// only the length is checked, because `merge_labels` selects among them. Empty if all rows are
/// valid. Throws Damaged if a single text is too long.
std::string flaw_of_rows(Connection& catalog, std::uint64_t received);

}  // namespace flor::store
