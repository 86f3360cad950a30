// Opens the queue of evaluations that the user chose.
#pragma once

#include "queue/job_queue.h"

#include <flor/store/store.h>

#include <memory>
#include <string>

namespace flor::cli {

/// `url`: the value of `--queue`; empty: the queue in the store's home. The store must outlive the
/// queue. Throws UsageError, and what the queue's constructor throws.
std::unique_ptr<store::JobQueue> open_queue(const store::Store& store, const std::string& url,
                                            store::JobQueue::Clock clock = {});

}  // namespace flor::cli
