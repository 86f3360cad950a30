// JSON as docs/cli.md specifies it: keys in a fixed order, a schema version, and long lists with
// one element a line.
#pragma once

#include "output/stream.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flor::cli {

using Json = nlohmann::ordered_json;

/// Version of all JSON output. Increased when a field changes its meaning or is removed, not when a
/// field is added.
inline constexpr int kSchemaVersion = 1;

/// A new document {"schema_version": 1, "command": command}, which the command fills in.
Json document(std::string_view command);

/// The value on one line; bytes that are not UTF-8 become U+FFFD.
std::string compact(const Json& value);

/// The time in RFC 3339, or null if there is none.
Json json_time(std::optional<std::int64_t> time_us);
/// The text as JSON, or null if it is empty.
Json json_text(std::string_view text);
/// The number as JSON; one that JSON cannot express as the text "NaN", "Infinity" or "-Infinity".
Json json_number(double value);

/// Prints a whole document, indented.
void print(Output& out, const Json& document);

/// Prints a document whose last field is a long list, element by element, without holding the list
/// in memory.
class JsonList {
 public:
  /// `head` is an object; `field` is the name of the list.
  JsonList(Output& out, const Json& head, std::string_view field);
  void add(const Json& element);
  void end();

 private:
  Output& out_;
  bool first_ = true;
};

}  // namespace flor::cli
