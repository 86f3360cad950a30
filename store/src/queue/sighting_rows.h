// Rows of what watches have seen.
#pragma once

#include "database/sqlite.h"
#include "queue/sightings.h"

#include <vector>

namespace flor::store {

/// Writes sightings inside a transaction. They replace those of the same watch and path.
void put_sightings(Connection& connection, const std::vector<Sighting>& sightings);

}  // namespace flor::store
