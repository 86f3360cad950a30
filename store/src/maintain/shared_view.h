// Parts of a store that one process owns, for processes on other machines: a snapshot that is read
// without locks, and the references of objects that they would store.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace flor::store {

class Store;

/// True if the path lies on a network file system (NFS, SMB, Lustre, GPFS, BeeGFS, Ceph, FUSE,
/// ...), where a catalog cannot have a write-ahead log. $FLOR_FILESYSTEM overrides this: "network",
/// or "local" for one that only looks like a network one. Throws UsageError for another value.
bool is_on_network(const std::filesystem::path& path);

/// The file of the index: in the home, or on a local disk of this machine.
std::filesystem::path index_of(const Store& store);

/// Makes `directory`, which must not exist, a read-only store with the present content of `store`.
/// Several machines can read it at once: no process takes a lock in it, or writes anything. It has
/// a copy of the catalog, and refers to the packs of `store`, so the caller must keep its runs in
/// use (`use_run`) as long as it is needed. Durable when the call returns.
void write_snapshot(const Store& store, const std::filesystem::path& directory);

/// The reference that CheckpointWriter::write_object would return.
std::string object_reference(const Item& item, std::span<const std::byte> content);

}  // namespace flor::store
