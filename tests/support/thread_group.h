// A group of ranks whose members are threads of one process.
#pragma once

#include <flor/dist/group.h>
#include <flor/store/error.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace flor::testing {

class ThreadGroups {
 public:
  explicit ThreadGroups(int size, std::chrono::milliseconds deadline = std::chrono::seconds(20))
      : size_(size), deadline_(deadline), numbers_(static_cast<std::size_t>(size)) {}

  class Member final : public Group {
   public:
    using Group::all_gather;
    Member(ThreadGroups& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) override {
      return all_.gather(rank_, mine);
    }

   private:
    ThreadGroups& all_;
    int rank_;
  };

  Member member(int rank) { return {*this, rank}; }

  /// Calls `body` with each member, each in a thread of its own. Returns the messages of the
  /// exceptions by rank, "" if there was none.
  template <typename Body>
  std::vector<std::string> run(Body&& body) {
    std::vector<std::string> errors(static_cast<std::size_t>(size_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        Member own = member(rank);
        try {
          body(static_cast<Group&>(own));
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

 private:
  std::vector<std::int64_t> gather(int rank, std::span<const std::int64_t> mine) {
    std::unique_lock lock(mutex_);
    if (broken_) throw Error("the group is broken");
    numbers_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
    const int round = round_;
    if (++arrived_ == size_) {
      gathered_.clear();
      for (const auto& numbers : numbers_) {
        gathered_.insert(gathered_.end(), numbers.begin(), numbers.end());
      }
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    } else if (!all_here_.wait_for(lock, deadline_, [&] { return round_ != round || broken_; }) ||
               broken_) {
      broken_ = true;
      all_here_.notify_all();
      throw Error("not all members came in time");
    }
    return gathered_;
  }

  const int size_;
  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::vector<std::int64_t>> numbers_;
  std::vector<std::int64_t> gathered_;
  int arrived_ = 0, round_ = 0;
  bool broken_ = false;
};

}  // namespace flor::testing
