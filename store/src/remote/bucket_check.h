// Finds damage in the content of one run in an object store (a bucket).
#pragma once

#include "remote/remote.h"

#include <set>
#include <string>

namespace flor::remote {

class RunCatalog;

/// Reads every byte of the run's parcels (files of records), and returns the names of those that
/// are missing or damaged.
std::set<std::string> damaged_parcels(ObjectStore& objects, const RemoteRun& run,
                                      RunCatalog& catalog, const TransferOptions& options);

}  // namespace flor::remote
