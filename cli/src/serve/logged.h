// Answers to the page about logged values other than numbers: pictures, histograms, tables, texts,
// tensors.
#pragma once

#include "output/json.h"

#include <flor/store/store.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::cli {

/// Returns {"names": [{"name", "type", "count"}]} in the order in which they were first logged.
Json logged_names(const store::Store& store, std::string_view run);

/// Returns {"name", "type", "total", "items": [{"epoch", "step", "loop", "inner", "where",
/// "ordinal", "origin", "value"}]}: at most `limit` items, evenly chosen, including the first and
/// the last. `where` says the place in words if epoch and step do not. The value of a picture is
/// {"object", "height", "width", "channels"}, of a tensor {"object", "type", "sizes"}; of one whose
/// content is lost, {"lost": why}.
Json logged_values(const store::Store& store, std::string_view run, std::string_view name,
                   std::size_t limit);

/// The PNG file of a logged picture; `object` is the reference in its value. Throws NotFound or
/// Damaged.
std::string picture_png(const store::Store& store, std::string_view object);

}  // namespace flor::cli
