// Loaded before a program (LD_PRELOAD): the system's clock jumps. FLOR_TEST_CLOCK says when and by
// how much, "READINGS:SECONDS,...": from that reading of the process on (from 0) the clock is so
// many seconds ahead of the true one, or behind. What files are dated by is the kernel's own clock.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<long> readings{0};

/// Without any memory of its own: programs read the clock before anything is initialized.
long ahead() {
  const char* text = std::getenv("FLOR_TEST_CLOCK");
  const long reading = readings++;
  long shift = 0;
  while (text && *text != '\0') {
    char* end = nullptr;
    const long from = std::strtol(text, &end, 10);
    if (*end != ':') break;
    const long seconds = std::strtol(end + 1, &end, 10);
    if (from <= reading) shift = seconds;
    text = *end == ',' ? end + 1 : end;
  }
  return shift;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long status = ::syscall(SYS_clock_gettime, clock, time);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += ahead();
  }
  return static_cast<int>(status);
}

extern "C" int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* time) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time) *time = now.tv_sec;
  return now.tv_sec;
}
