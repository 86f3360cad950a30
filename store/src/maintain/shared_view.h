// Helpers for processes on other machines that work with the store of one process: a snapshot of it
// that is read without locks, and the references of objects that they would store.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace flor::store {

class Store;

/// True if the path is on a network file system (NFS, SMB, Lustre, GPFS, BeeGFS, Ceph, FUSE, ...),
/// where a catalog cannot have a write-ahead log. $FLOR_FILESYSTEM overrides the result with
/// "network", or with "local" for a file system that only looks like a network one. Throws
/// UsageError for another value.
bool is_on_network(const std::filesystem::path& path);

/// Returns the path of the index file: in the home, or on a local disk of this machine.
std::filesystem::path index_of(const Store& store);

/// Creates `directory`, which must not exist, as a read-only store with the current content of
/// `store`. Several machines can read it at once; no process locks or writes anything in it. It has
/// a copy of the catalog and refers to the packs of `store`, so the caller must keep its runs in
/// use (`use_run`) as long as the snapshot is needed. Durable when the call returns.
void write_snapshot(const Store& store, const std::filesystem::path& directory);

/// Returns the reference that CheckpointWriter::write_object would return for this object.
std::string object_reference(const Item& item, std::span<const std::byte> content);

}  // namespace flor::store
