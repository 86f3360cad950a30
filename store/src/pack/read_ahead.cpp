#include "pack/read_ahead.h"

#include <flor/store/error.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace flor::store {
namespace {

/// The records in a batch of this many bytes are sorted, merged and requested together.
constexpr std::uint64_t kTogetherBytes = std::uint64_t{4} << 20;
/// How far to read ahead of the decoding threads: much more than a disk has in flight, and little
/// compared with the page cache.
constexpr std::uint64_t kAheadBytes = std::uint64_t{64} << 20;
/// Gaps up to this size are read, because that is cheaper than another request.
constexpr std::uint64_t kGapBytes = std::uint64_t{64} << 10;

struct Stretch {
  std::int64_t pack = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

}  // namespace

ReadAhead::ReadAhead(const ChunkReader& chunks, const DecodePlan& plan,
                     const std::atomic<std::size_t>& next)
    : chunks_(chunks), plan_(plan), next_(next), thread_([this] { run(); }) {}

ReadAhead::~ReadAhead() { thread_.join(); }

void ReadAhead::run() const {
  const auto trees = plan_.trees();
  std::uint64_t asked = 0;
  std::uint64_t taken = 0;
  std::size_t taken_trees = 0;
  for (std::size_t begin = 0; begin < trees.size();) {
    std::size_t now = next_;
    const auto count_taken = [&] {
      for (; taken_trees < std::min(now, trees.size()); ++taken_trees) {
        taken += trees[taken_trees].stored_bytes;
      }
    };
    count_taken();
    while (asked > taken + kAheadBytes) {
      next_.wait(now);
      now = next_;
      count_taken();
    }
    begin = std::max(begin, now);
    std::size_t end = begin;
    for (std::uint64_t bytes = 0; end < trees.size() && bytes < kTogetherBytes; ++end) {
      bytes += trees[end].stored_bytes;
    }
    for (std::size_t i = begin; i < end; ++i) asked += trees[i].stored_bytes;
    ask_for(begin, end);
    begin = end;
  }
}

void ReadAhead::ask_for(std::size_t first_tree, std::size_t last_tree) const {
  std::vector<Stretch> stretches;
  for (std::size_t tree = first_tree; tree < last_tree; ++tree) {
    for (std::size_t i = plan_.trees()[tree].begin; i < plan_.trees()[tree].end; ++i) {
      const ChunkRow& row = *plan_.steps()[i].row;
      stretches.push_back(
          {row.pack, row.offset, row.offset + kRecordHeaderBytes + row.stored_bytes});
    }
  }
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.pack, a.begin) < std::tie(b.pack, b.begin);
  });
  try {
    for (std::size_t i = 0; i < stretches.size();) {
      Stretch stretch = stretches[i];
      for (++i; i < stretches.size() && stretches[i].pack == stretch.pack &&
                stretches[i].begin <= stretch.end + kGapBytes;
           ++i) {
        stretch.end = std::max(stretch.end, stretches[i].end);
      }
      chunks_.open(stretch.pack).will_need(stretch.begin, stretch.end - stretch.begin);
    }
  } catch (const Error&) {
    // The thread that decodes records of that pack will meet the error and report it.
  }
}

}  // namespace flor::store
