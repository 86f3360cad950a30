// Reads logs that are lines of JSON.
#pragma once

#include "imports/table_reader.h"

#include <string>

namespace flor::cli {

/// Reads lines with one JSON object each. Members of objects inside are columns `outer.inner`; also
/// Python's NaN and Infinity are numbers. Lines that are no object are left out, with a remark.
void read_json_lines(const store::File& file, const std::string& name, const TableColumns& columns,
                     LoggedRun& run);

}  // namespace flor::cli
