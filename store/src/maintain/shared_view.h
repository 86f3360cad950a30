// What processes on other machines need of a store that one process owns: a look at it that nobody
// has to lock, and the names of what they would store.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace flor::store {

class Store;

/// The path lies on a file system of the network (NFS, SMB, Lustre, GPFS, BeeGFS, Ceph, FUSE, ...),
/// where a catalog has no write-ahead log. $FLOR_FILESYSTEM knows better: "network", or "local" for
/// one that only looks like it. Throws UsageError for another word in it.
bool is_on_network(const std::filesystem::path& path);

/// Makes `directory`, which must not exist, a store that shows what `store` holds now and can only
/// be read, from several machines at once: nobody takes a lock in it, or writes anything. It has a
/// copy of the catalog, and refers to the packs of `store`, so somebody has to keep its runs in use
/// (`use_run`) as long as it is needed. Durable when the call returns.
void write_snapshot(const Store& store, const std::filesystem::path& directory);

/// The reference that CheckpointWriter::write_object would return.
std::string object_reference(const Item& item, std::span<const std::byte> content);

}  // namespace flor::store
