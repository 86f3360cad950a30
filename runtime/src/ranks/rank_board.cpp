#include "ranks/rank_board.h"

#include "file/home_files.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace flor::detail {
namespace {

/// Opens the file. Every attempt makes a new one, since ranks of an earlier attempt may still have
/// theirs mapped.
int open_board(const std::filesystem::path& path, bool create, std::size_t bytes) {
  if (create) ::unlink(path.c_str());
  const int flags = O_RDWR | (create ? O_CREAT | O_EXCL : 0);
  const int descriptor = store::open_in_home(path, flags);
  if (descriptor < 0 || !create) return descriptor;
  // All of its space is allocated: a write into a hole would kill every rank if the disk is full.
  int error = 0;
  do error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  if (error == 0) return descriptor;
  ::close(descriptor);
  ::unlink(path.c_str());
  errno = error;
  return -1;
}

}  // namespace

RankBoard::RankBoard(std::filesystem::path path, Mode mode)
    : path_(std::move(path)), owner_(mode == Mode::create) {
  const int descriptor = open_board(path_, owner_, sizeof(Page));
  void* memory = MAP_FAILED;
  if (descriptor >= 0) {
    memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (memory == MAP_FAILED) {
    throw Error(fmt::format("{} cannot be shared between the ranks: {}", path_.string(),
                            std::strerror(error)));
  }
  page_ = static_cast<Page*>(memory);  // an empty board consists of zeros
}

RankBoard::~RankBoard() {
  close();
  ::munmap(page_, sizeof(Page));
}

void RankBoard::close() noexcept {
  if (std::exchange(owner_, false)) ::unlink(path_.c_str());
}

bool RankBoard::agree(std::int64_t main_loop, std::int64_t iteration, bool own) {
  return settle(page_->stored, main_loop, iteration, own && !anyone_spent());
}

bool RankBoard::force(std::int64_t main_loop, std::int64_t iteration, bool own) {
  return settle(page_->forced, main_loop, iteration, own);
}

bool RankBoard::settle(Answers& answers, std::int64_t main_loop, std::int64_t iteration, bool own) {
  // Grows from question to question, so that a later one can be distinguished from an earlier one.
  const std::uint64_t question =
      (static_cast<std::uint64_t>(main_loop) + 1) << 40 | static_cast<std::uint64_t>(iteration);
  auto& answer = answers[static_cast<std::size_t>(iteration) % kAnswers];
  const std::uint64_t ours = question << 1 | (own ? 1 : 0);
  std::uint64_t known = answer.load();
  while (known >> 1 < question) {
    if (answer.compare_exchange_weak(known, ours)) return (ours & 1) != 0;
  }
  return known >> 1 == question && (known & 1) != 0;
}

bool RankBoard::anyone_spent() const {
  return std::ranges::any_of(page_->spent, [](const auto& spent) { return spent.load() != 0; });
}

void RankBoard::set_spent(std::int64_t rank, bool spent) {
  const auto index = static_cast<std::size_t>(rank);
  if (index < kRanks) page_->spent[index].store(spent ? 1 : 0);
}

bool RankBoard::stops(std::uint64_t position, bool asked) {
  constexpr std::uint64_t kApart = 2;
  std::uint64_t none = 0;
  if (asked) page_->stop.compare_exchange_strong(none, position + kApart);
  const std::uint64_t stop = page_->stop.load(std::memory_order_relaxed);
  return stop != 0 && position >= stop;
}

}  // namespace flor::detail
