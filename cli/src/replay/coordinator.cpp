#include "replay/coordinator.h"

#include "output/text.h"
#include "output/time.h"
#include "replay/facts.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace flor::cli {
namespace {

constexpr int kAttempts = 3;

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

std::string how_it_ended(int status) {
  return status > 128 ? fmt::format("was ended by signal {}", status - 128)
                      : fmt::format("ended with status {}", status);
}

/// The error that a status stands for, so that this process ends with it, too.
bool is_verdict_on_the_question(int status) {
  using enum ExitStatus;
  return status == static_cast<int>(usage) || status == static_cast<int>(not_found) ||
         status == static_cast<int>(damaged) || status == static_cast<int>(busy);
}

}  // namespace

Coordinator::Coordinator(store::Store& store, ReplayRequest request, Progress& progress)
    : store_(store), request_(std::move(request)), progress_(progress) {
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Coordinator::~Coordinator() {
  slots_.clear();
  if (signals_ >= 0) ::close(signals_);
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

/// `digest`: of the program that runs, as it says itself; before it has said so, of the executable.
/// A wrapper's own says nothing about what it starts, nor does a program's about its libraries.
void Coordinator::begin(const std::string& digest) {
  digest_ = digest;
  const std::string question =
      detail::question_of(digest, request_.launch.arguments, request_.order);
  to_do_ = request_.asked;
  outcome_.earlier.clear();
  if (!request_.again) {
    for (store::ReplayedPart& part : store_.catalog().replayed(request_.run.id, question)) {
      if (to_do_.erase(part.part) > 0) outcome_.earlier[part.part] = std::move(part);
    }
  }
  pool_.emplace(request_.facts, to_do_, request_.workers);
}

void Coordinator::add_replay() {
  const auto first = request_.asked.lower_bound(0);
  outcome_.replay = store_.catalog().add_replay(
      {.run = request_.run.id,
       .started_us = now_us(),
       .segment = 0,
       .segments = 1,
       .first_epoch = first == request_.asked.end() ? 0 : *first,
       .last_epoch = first == request_.asked.end() ? -1 : *request_.asked.rbegin(),
       .strong = request_.order.strong,
       .probes = fmt::format("{}", fmt::join(request_.order.probes, ",")),
       .program_digest = request_.launch.digest,
       .command = request_.launch.command,
       .question = detail::question_of(digest_, request_.launch.arguments, request_.order)});
}

ReplayOutcome Coordinator::run() {
  begin(request_.launch.digest);
  slots_.resize(static_cast<std::size_t>(request_.workers));
  std::filesystem::create_directories(request_.logs);
  fill_slots();
  while (!over()) {
    wait();
    if (outcome_.interrupted) {
      stop();
      break;
    }
    fill_slots();
    show_progress();
  }
  progress_.clear();
  for (Slot& slot : slots_) outcome_.work.add(slot.work);
  for (const std::int64_t part : to_do_) {
    if (!outcome_.done.contains(part) && !outcome_.failed.contains(part)) {
      outcome_.missing.insert(part);
    }
  }
  outcome_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return std::move(outcome_);
}

bool Coordinator::over() const { return known_ && pool_->done() && running() == 0; }

int Coordinator::running() const {
  return static_cast<int>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.process != nullptr; }));
}

void Coordinator::start(int number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  detail::WorkDone work = std::move(slot.work);
  outcome_.work.add(work);
  const std::size_t shown = slot.shown;
  slot = {};
  slot.shown = shown;
  slot.log = request_.logs / fmt::format("worker-{}.log", number);
  detail::WorkerOrder order = request_.order;
  const auto index = static_cast<std::size_t>(number);
  if (index < request_.cores.size()) order.cores = request_.cores[index];
  std::map<std::string, std::string> variables;
  if (!request_.gpus.empty()) {
    variables["CUDA_VISIBLE_DEVICES"] = request_.gpus[index % request_.gpus.size()];
  }
  slot.process = std::make_unique<WorkerProcess>(request_.launch, order, variables, slot.log);
}

/// Where there is work that nobody who runs can do, a fresh process can. What seems to be answered
/// takes one process, too: only the program knows whether it is still the same.
void Coordinator::fill_slots() {
  if (!pool_->has_open() && known_) return;
  std::int64_t useful = pool_->has_open() ? pool_->pieces_at_most() : 1;
  for (const Slot& slot : slots_) useful -= slot.process && slot.starting ? 1 : 0;
  for (std::size_t i = 0; i < slots_.size() && useful > 0; ++i) {
    if (slots_[i].process) continue;
    start(static_cast<int>(i));
    --useful;
  }
}

void Coordinator::wait() {
  std::vector<pollfd> events{{signals_, POLLIN, 0}};
  for (const Slot& slot : slots_) {
    if (!slot.process) continue;
    events.push_back({slot.process->socket(), POLLIN, 0});
    events.push_back({slot.process->pidfd(), POLLIN, 0});
  }
  ::poll(events.data(), events.size(), 200);
  signalfd_siginfo signal;
  if (::read(signals_, &signal, sizeof signal) == sizeof signal) outcome_.interrupted = true;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].process) look_after(static_cast<int>(i));
  }
  answer_waiting();
}

void Coordinator::look_after(int number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  // First whether it has ended, then what it said: nothing that it said before is lost.
  const std::optional<int> status = slot.process->ended();
  listen(number);
  if (request_.verbose) pass_on(slot, number);
  if (!status) return;
  slot.process.reset();
  slot.waiting.reset();
  note_death(number, *status);
}

void Coordinator::listen(int number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  for (const std::string& line : slot.process->receive()) {
    heed(number, detail::WorkerLine::decode(line));
  }
}

void Coordinator::heed(int number, const detail::WorkerLine& line) {
  using Kind = detail::WorkerLine::Kind;
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  switch (line.kind) {
    case Kind::hello: {
      if (line.digest != digest_) {
        if (known_) throw Error("the workers run different programs: start the replay again");
        begin(line.digest);
      }
      known_ = true;
      if (outcome_.replay == 0 && !to_do_.empty()) add_replay();
      slot.process->send(fmt::format("replay {}", outcome_.replay));
      break;
    }
    case Kind::next:
      slot.starting = false;
      failed_starts_ = 0;
      answer(number, line.position);
      break;
    case Kind::done:
      pool_->completed(number, line.part.part);
      if (outcome_.done.emplace(line.part.part, line.part).second) {
        done_cost_ += pool_->cost_of(line.part.part);
      }
      break;
    case Kind::work:
      slot.work = line.work;
      break;
  }
}

void Coordinator::answer(int number, const Position& position) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const ReplayPool::Answer answer = pool_->next(number, position);
  slot.waiting.reset();
  if (answer.kind == ReplayPool::Answer::Kind::wait) {
    slot.waiting = position;
    return;
  }
  for (const std::int64_t section : answer.keep) {
    slot.process->send(fmt::format("keep {}", section));
  }
  if (answer.kind == ReplayPool::Answer::Kind::finish) {
    slot.process->send("finish");
  } else {
    slot.process->send(fmt::format("epochs {} {}", answer.piece.first, answer.piece.end));
  }
}

void Coordinator::answer_waiting() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].process && slots_[i].waiting) {
      const Position position = *slots_[i].waiting;
      answer(static_cast<int>(i), position);
    }
  }
}

void Coordinator::note_death(int number, int status) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const std::optional<std::int64_t> part = pool_->released(number);
  const std::string words = last_words(slot);
  const std::string what = fmt::format("worker {} {}{}", number, how_it_ended(status),
                                       words.empty() ? "" : ": " + words);
  if (slot.starting) {
    if (is_verdict_on_the_question(status) || ++failed_starts_ >= kAttempts) {
      const ExitStatus as =
          is_verdict_on_the_question(status) ? ExitStatus(status) : ExitStatus::failed;
      const std::string own = words.starts_with("flor: ") ? words.substr(6) : what;
      throw Error(own, as);
    }
    return;
  }
  if (!part) return;  // it had nothing left to do
  ++outcome_.restarts;
  if (++attempts_[*part] < kAttempts) {
    progress_.say(what + "; what it had not done is done again");
    return;
  }
  pool_->give_up(*part);
  outcome_.failed[*part] = what;
  progress_.say(fmt::format(
      "{} {} times; the others go on without it",
      *part < 0 ? "what is outside the loops failed" : fmt::format("epoch {} failed", *part),
      kAttempts));
}

/// Completed epochs are kept; then everybody ends, in the end by force.
void Coordinator::stop() {
  progress_.say("interrupted: keeping what was computed");
  const auto stopped = Clock::now();
  int sent = 0;
  for (Slot& slot : slots_) {
    if (slot.process) slot.process->call_off();
  }
  while (running() > 0) {
    const double seconds = std::chrono::duration<double>(Clock::now() - stopped).count();
    if (seconds > 5 && sent < 2) {
      for (Slot& slot : slots_) {
        if (slot.process) slot.process->kill(SIGKILL);
      }
      sent = 2;
    } else if (seconds > 3 && sent < 1) {
      for (Slot& slot : slots_) {
        if (slot.process) slot.process->kill(SIGTERM);
      }
      sent = 1;
    }
    ::poll(nullptr, 0, 20);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (!slot.process) continue;
      const bool ended = slot.process->ended().has_value();
      for (const std::string& text : slot.process->receive()) {
        const auto line = detail::WorkerLine::decode(text);
        if (line.kind == detail::WorkerLine::Kind::done ||
            line.kind == detail::WorkerLine::Kind::work) {
          heed(static_cast<int>(i), line);
        }
      }
      if (ended) slot.process.reset();
    }
  }
}

void Coordinator::show_progress() {
  std::int64_t done = 0, all = 0;
  for (const std::int64_t part : to_do_) all += part >= 0 ? 1 : 0;
  for (const auto& [part, result] : outcome_.done) done += part >= 0 ? 1 : 0;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  const double left = done_cost_ > 0 ? pool_->cost_left() * seconds / done_cost_ : -1;
  progress_.show(done, all, running(), left);
}

void Coordinator::pass_on(Slot& slot, int number) {
  std::ifstream log(slot.log, std::ios::binary);
  log.seekg(static_cast<std::streamoff>(slot.shown));
  for (std::string line; std::getline(log, line) && !log.eof();) {
    slot.shown += line.size() + 1;
    progress_.clear();
    fmt::print(stderr, "worker {}: {}\n", number, printable(line));
  }
}

/// The last line that it wrote: the most likely to say why it ended.
std::string Coordinator::last_words(const Slot& slot) const {
  std::ifstream log(slot.log, std::ios::binary);
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace flor::cli
