// Finds damage in the content of one run in an object store.
#pragma once

#include "remote/remote.h"

#include <set>
#include <string>

namespace flor::remote {

class RunCatalog;

/// Names of the parcels of the run that are missing or damaged: every byte of them is read.
std::set<std::string> damaged_parcels(ObjectStore& objects, const RemoteRun& run,
                                      RunCatalog& catalog, const TransferOptions& options);

}  // namespace flor::remote
