// Converts logged values to text and JSON.
#pragma once

#include "ask/words.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

using ask::exact;
using ask::number;
using ask::readable;

/// A value as JSON, as docs/cli.md specifies it.
Json to_json(store::ValueType type, const store::Scalar& value);

}  // namespace flor::cli
