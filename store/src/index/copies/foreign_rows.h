// Bounds of what the rows of a catalog may say. A stranger may have written those of a bucket's
// catalog, and an older Flor has let such rows into homes.
#pragma once

#include "database/sqlite.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace flor::store {

/// The form of a text that readers take apart.
enum class TextForm : unsigned char {
  list,    ///< a JSON list of texts
  map,     ///< a JSON object whose members are texts
  object,  ///< a JSON object of any members
};

/// A column whose texts have a form.
struct FormedText {
  const char* table;
  const char* column;
  TextForm form;
  const char* what;  ///< "its command", in messages
  const char* sql;   ///< selects the key of the run and the text
};
std::span<const FormedText> formed_texts();

/// Calls `found` with the key of the run and a description, "its command is no list of words (x)",
/// for each text in the catalog that cannot be read.
void find_unreadable_texts(
    Connection& catalog,
    const std::function<void(std::string_view key, const std::string& flaw)>& found);

/// Describes a row that cannot be in the catalog of one run from elsewhere: a text that cannot be
/// read, a number beyond what a run can count or measure, or texts that would take much more memory
/// than the `received` bytes in which the catalog came. Which columns there are, and of which type,
/// the schema says. Epochs are counted against the rows there are, so that nothing which goes
/// through them takes more than was sent. Any number may have been logged. Of users' words about
/// runs only the length is looked at: `merge_labels` chooses among them. Empty if there is none;
/// throws Damaged where a text alone is too long.
std::string flaw_of_rows(Connection& catalog, std::uint64_t received);

}  // namespace flor::store
