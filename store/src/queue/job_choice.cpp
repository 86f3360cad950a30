#include "queue/job_choice.h"

#include <algorithm>

namespace flor::store {
namespace {

/// Returns for each place the distance to the nearest job that is running or done; 0 at such a job.
/// Before the first such job and after the last the distance counts double, so that the ends of the
/// sequence are tried before the middles of its gaps.
std::vector<std::size_t> distances(std::span<const JobPlace> places) {
  const std::size_t size = places.size();
  const std::size_t far = 2 * size + 1;
  std::vector<std::size_t> left(size, far), result(size, far);
  for (std::size_t i = 0; i < size; ++i) {
    if (!places[i].open) {
      left[i] = 0;
    } else if (i > 0 && left[i - 1] != far) {
      left[i] = left[i - 1] + 1;
    }
  }
  std::size_t right = far;
  for (std::size_t i = size; i-- > 0;) {
    if (!places[i].open) {
      right = 0;
    } else if (right != far) {
      ++right;
    }
    const bool at_an_end = left[i] == far || right == far;
    result[i] = std::min(left[i], right) * (at_an_end ? 2 : 1);
    if (left[i] == far && right == far) result[i] = far;
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> bisect(std::span<const JobPlace> places, std::size_t count) {
  std::vector<JobPlace> rest(places.begin(), places.end());
  std::vector<std::int64_t> chosen;
  while (chosen.size() < count) {
    const std::vector<std::size_t> distance = distances(rest);
    std::size_t best = rest.size();
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (!rest[i].open) continue;
      if (best == rest.size() || rest[i].priority > rest[best].priority ||
          (rest[i].priority == rest[best].priority && distance[i] > distance[best])) {
        best = i;
      }
    }
    if (best == rest.size()) break;
    rest[best].open = false;
    chosen.push_back(rest[best].id);
  }
  return chosen;
}

}  // namespace flor::store
