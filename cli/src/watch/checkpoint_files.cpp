#include "watch/checkpoint_files.h"

#include "export/export_file.h"
#include "file/home_files.h"
#include "launch/left_jobs.h"
#include "output/file_name.h"
#include "output/terminal_text.h"
#include "queue/watchers.h"
#include "watch/evaluators/seat_protocol.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

fs::path scratch(const store::Store& store) { return store.home() / "scratch"; }

}  // namespace

Handover parse_handover(const std::string& text) {
  if (text == "safetensors") return Handover::safetensors;
  if (text == "pt") return Handover::pt;
  if (text == "reference") return Handover::reference;
  throw UsageError(fmt::format("--as {}: it is safetensors, pt or reference", printable(text)));
}

void remove_abandoned_files(const store::Store& store) {
  // Directories are listed before the live watches, so that a watch which makes one of them is
  // among those listed later.
  std::vector<fs::path> directories;
  std::error_code error;
  for (fs::directory_iterator walk(scratch(store), error);
       !error && walk != fs::directory_iterator(); walk.increment(error)) {
    directories.push_back(walk->path());
  }
  if (directories.empty()) return;
  const auto living = store::watchers(store);
  for (const fs::path& directory : directories) {
    if (std::ranges::find(living, directory.filename().string(), &store::Watcher::key) ==
        living.end()) {
      cancel_left_jobs(directory, watch_job_name(directory.filename().string()));
      fs::remove_all(directory, error);
    }
  }
}

CheckpointFiles::CheckpointFiles(std::shared_ptr<store::Store> store, std::string owner,
                                 Handover form)
    : store_(std::move(store)),
      owner_(std::move(owner)),
      form_(form),
      news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (news_ < 0) throw Error("no descriptors are left: raise the limit (ulimit -n)");
  remove_abandoned_files(*store_);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

CheckpointFiles::~CheckpointFiles() {
  thread_.request_stop();
  thread_.join();
  std::error_code error;
  fs::remove_all(scratch(*store_) / owner_, error);
  ::close(news_);
}

fs::path CheckpointFiles::directory(const store::Lease& lease) const {
  return scratch(*store_) / owner_ / fmt::format("{}.{}", lease.job, lease.token);
}

void CheckpointFiles::make(const store::Lease& lease, const store::NewJob& job) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({lease, job});
  changed_.notify_one();
}

std::vector<CheckpointFiles::Made> CheckpointFiles::take() {
  std::uint64_t count = 0;
  if (::read(news_, &count, sizeof count) < 0) return {};
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, {});
}

void CheckpointFiles::drop(const store::Lease& lease) {
  std::error_code error;
  fs::remove_all(directory(lease), error);
}

void CheckpointFiles::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !orders_.empty(); }) && !stop.stop_requested()) {
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    Made made = make(order, stop);
    lock.lock();
    made_.push_back(std::move(made));
    const std::uint64_t one = 1;
    if (::write(news_, &one, sizeof one) < 0) continue;  // the counter is raised already
  }
}

/// Finds the checkpoint that the job names, or another one with the same content, because jobs are
/// about contents. Throws NotFound if there is none.
CheckpointFiles::Found CheckpointFiles::find(const store::NewJob& job) const {
  const auto use = [&](const std::string& reference) {
    Found found{.use = store_->use_run(reference.substr(0, reference.find('@'))),
                .named = store::find_checkpoint(*store_, reference)};
    if (found.named.info.digest != job.content) {
      throw NotFound(fmt::format("the checkpoint {} is another one now", reference));
    }
    return found;
  };
  try {
    return use(job.path);
  } catch (const NotFound&) {
    const auto other = store::find_content(*store_, job.content);
    if (!other) throw;
    return use(other->reference);
  }
}

CheckpointFiles::Made CheckpointFiles::make(const Order& order, const std::stop_token& stop) const {
  Made made{.lease = order.lease};
  const auto end = [&](Made::End how, const std::exception& error) {
    made.end = how;
    made.failure = error.what();
  };
  try {
    const Found found = find(order.job);
    made.path = form_ == Handover::reference ? fs::path(found.named.reference)
                                             : write(order, found.named, stop);
  } catch (const NotFound& error) {
    end(Made::End::gone, error);
  } catch (const Damaged& error) {
    end(Made::End::damaged, error);
  } catch (const UsageError& error) {
    end(Made::End::damaged, error);
  } catch (const std::exception& error) {
    end(Made::End::later, error);
  }
  return made;
}

fs::path CheckpointFiles::write(const Order& order, const store::NamedCheckpoint& named,
                                const std::stop_token& stop) const {
  const fs::path below = directory(order.lease);
  std::error_code error;
  store::make_directory_in_home(below, error);
  const std::string name =
      file_name_of(named.reference) + (form_ == Handover::pt ? ".pt" : ".safetensors");
  export_checkpoint(*store_, named.info.id, below / name,
                    {.run = named.run,
                     .experiment = named.experiment,
                     .commit = named.commit,
                     .epoch = named.epoch.value_or(0),
                     .saved = named.saved,
                     .digest = named.info.digest.hex()},
                    /*object=*/{}, stop);
  return below / name;
}

}  // namespace flor::cli
