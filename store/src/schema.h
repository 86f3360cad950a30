// The tables of the catalog, as docs/format.md describes them, and the version of the whole format.
#pragma once

namespace flor::store {

/// Version of the catalog and the packs together. A store with a higher one is refused.
inline constexpr int kFormat = 1;

/// SQLite's application_id: "FLOR".
inline constexpr int kApplicationId = 0x464C4F52;

/// Creates the tables of format 1 in an empty database.
extern const char* const kSchema;

}  // namespace flor::store
