// Logged values other than numbers, for the page: pictures, histograms, tables, texts, tensors.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::cli {

/// {"names": [{"name", "type", "count"}]}, in the order in which they were first logged.
Json logged_names(const store::Store& store, std::string_view run);

/// {"name", "type", "total", "items": [{"epoch", "step", "loop", "inner", "where", "ordinal",
/// "origin", "value"}]}. `where` says the place in words if epoch and step do not. At most `limit` items, evenly chosen, the first and the last included. The value of
/// a picture is {"object", "height", "width", "channels"}, of a tensor {"object", "type", "sizes"},
/// or {"lost": why}.
Json logged_values(const store::Store& store, std::string_view run, std::string_view name,
                   std::size_t limit);

/// The file of a logged picture, by its reference. Throws NotFound, Damaged.
std::string picture_png(const store::Store& store, std::string_view object);

}  // namespace flor::cli
