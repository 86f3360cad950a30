#include "replay/replay_coordinator.h"

#include "output/terminal_text.h"
#include "output/time.h"
#include "replay/launch_facts.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace flor::cli {
namespace {

constexpr int kAttempts = 3;
constexpr int kSignalled = 128;  // a greater status means: killed by the signal status - 128

/// Whether a signal killed the process. SIGABRT does not count: it is how an uncaught exception
/// ends a program, which is a failure like an exit status.
bool was_killed(int status) { return status > kSignalled && status != kSignalled + SIGABRT; }

/// A worker's name for the user, "worker 0".
std::string title_of(std::string name) {
  std::ranges::replace(name, '-', ' ');
  return name;
}

std::string how_it_ended(int status) {
  if (status == ReplayProcess::kLost) return "was lost";
  return status > kSignalled ? fmt::format("was ended by signal {}", status - kSignalled)
                             : fmt::format("ended with status {}", status);
}

/// Whether the exit status of a process is an error with which `flor replay` must end, too.
bool is_verdict_on_the_question(int status) {
  using enum ExitStatus;
  return status == static_cast<int>(usage) || status == static_cast<int>(not_found) ||
         status == static_cast<int>(damaged) || status == static_cast<int>(busy);
}

/// Adds up what all ranks found in a part; nullopt if one of them has not completed it.
std::optional<store::ReplayedPart> found_by_all(std::int64_t number, const ReplayRequest& request,
                                                const std::vector<RankOutcome>& ranks) {
  store::ReplayedPart sum;
  sum.part = number;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto found = ranks[i].parts.find(number);
    if (found == ranks[i].parts.end()) return std::nullopt;
    const store::ReplayedPart& part = found->second;
    store::ReplayResult result = part.result;
    const auto& place = request.ranks[i].run.start.rank;
    if (!result.first_difference.empty() && place) {
      result.first_difference = fmt::format("rank {}: {}", place->rank, result.first_difference);
    }
    add(sum.result, result);
    sum.seconds = std::max(sum.seconds, part.seconds);
    sum.found = i == 0 ? part.found : std::max(sum.found, part.found);
  }
  return sum;
}

/// The line that tells when the first wave is done. Its answers are stored by then.
std::string first_answers(const store::Run& run, std::int64_t done, std::int64_t all) {
  return fmt::format(
      "{} of {} epochs, spread over the run, are answered: `flor plot {}` draws what "
      "they found; the others follow",
      done, all, run.key.substr(0, 8));
}

}  // namespace

Coordinator::Coordinator(store::Store& store, ReplayRequest request, Engine& engine,
                         Progress& progress, Beside* beside)
    : store_(store),
      request_(std::move(request)),
      engine_(engine),
      progress_(progress),
      beside_(beside) {}

bool Coordinator::Slot::running() const {
  return std::ranges::any_of(members,
                             [](const Member& member) { return member.process != nullptr; });
}

bool Coordinator::Slot::starting() const {
  return running() && (members.empty() || members.front().starting);
}

/// Begins the replay. `digest` is that of the running program as it reports itself; until a worker
/// has reported, that of the executable. The latter tells nothing about a program that a wrapper
/// starts, nor about libraries.
void Coordinator::begin(const std::string& digest) {
  digest_ = digest;
  to_do_ = request_.asked;
  outcome_.earlier.clear();
  outcome_.ranks.assign(request_.ranks.size(), {});
  if (!request_.again) {
    for (std::size_t i = 0; i < request_.ranks.size(); ++i) {
      const std::string question =
          detail::question_of(digest, request_.ranks[i].launch.arguments, request_.order);
      for (store::ReplayedPart& part :
           store_.catalog().replayed(request_.ranks[i].run.id, question)) {
        if (request_.asked.contains(part.part)) {
          outcome_.ranks[i].parts[part.part] = std::move(part);
        }
      }
    }
    for (const std::int64_t part : request_.asked) {
      if (auto all = found_by_all(part, request_, outcome_.ranks)) {
        outcome_.earlier[part] = *std::move(all);
        to_do_.erase(part);
      }
    }
  }
  epochs_.to_do = std::distance(to_do_.lower_bound(0), to_do_.end());
  pool_.emplace(request_.facts, to_do_, request_.workers, request_.epoch_order);
  const auto waves =
      waves_of(request_.facts, {to_do_.lower_bound(0), to_do_.end()}, request_.epoch_order);
  epochs_.first_wave = waves.size() > 1 ? waves.front() : std::set<std::int64_t>();
}

void Coordinator::add_replay() {
  const auto first = request_.asked.lower_bound(0);
  for (std::size_t i = 0; i < request_.ranks.size(); ++i) {
    const auto& [run, launch] = request_.ranks[i];
    outcome_.ranks[i].replay = store_.catalog().add_replay(
        {.run = run.id,
         .started_us = now_us(),
         .segment = 0,
         .segments = 1,
         .first_epoch = first == request_.asked.end() ? 0 : *first,
         .last_epoch = first == request_.asked.end() ? -1 : *request_.asked.rbegin(),
         .strong = request_.order.strong,
         .probes = detail::described_probes(request_.order.probes, request_.order.plugin,
                                            request_.order.instead, request_.order.steps),
         .program_digest = launch.digest,
         .command = launch.command,
         .question = detail::question_of(digest_, launch.arguments, request_.order)});
  }
  outcome_.replay = outcome_.ranks.front().replay;
  std::vector<std::int64_t> replays;
  for (std::size_t i = 0; i < request_.ranks.size(); ++i) {
    replays.push_back(outcome_.ranks[i].replay);
    mergers_.emplace_back(store_, request_.ranks[i].run.id, replays.back());
  }
  engine_.note_replays(replays);
}

ReplayOutcome Coordinator::run() {
  begin(request_.launch.digest);
  slots_.resize(static_cast<std::size_t>(request_.workers));
  fill_slots();
  while (!over()) {
    wait();
    if (outcome_.interrupted) {
      stop();
      break;
    }
    if (auto why = engine_.look(); why && running() == 0) {
      outcome_.gave_up = *std::move(why);
      break;
    }
    fill_slots();
    offer_free_place();
    show_progress();
  }
  progress_.clear();
  engine_.finish();
  for (const Slot& slot : slots_) {
    for (const Member& member : slot.members) outcome_.work.add(member.work);
  }
  for (const std::int64_t part : to_do_) {
    if (!outcome_.done.contains(part) && !outcome_.failed.contains(part)) {
      outcome_.missing.insert(part);
    }
  }
  outcome_.digest = digest_;
  outcome_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return std::move(outcome_);
}

/// Whether the replay is over. When everything is computed, waits only 5 s for processes on other
/// machines, because they may have vanished.
bool Coordinator::over() {
  if (!known_ || !pool_->done()) return false;
  if (running() == 0) return true;
  if (!pool_done_) pool_done_ = Clock::now();
  return engine_.is_elsewhere() && Clock::now() - *pool_done_ > std::chrono::seconds(5);
}

int Coordinator::running() const {
  return static_cast<int>(std::ranges::count_if(slots_, &Slot::running));
}

/// Starts the worker of a slot. Returns false if the engine has no free place.
bool Coordinator::start(int number) {
  Engine::Processes processes = engine_.start(number);
  if (processes.empty()) return false;
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  std::vector<std::size_t> shown;
  for (const Member& member : slot.members) {
    outcome_.work.add(member.work);
    shown.push_back(member.shown);
  }
  slot = {};
  slot.members.resize(processes.size());
  shown.resize(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    slot.members[i].shown = shown[i];
    slot.members[i].process = std::move(processes[i]);
  }
  return true;
}

/// Starts workers where they are useful: a new process can do parts that no running one can reach
/// any more. Even if all parts seem to be answered one worker is started, because only the program
/// can tell that it is still the same.
void Coordinator::fill_slots() {
  if (!pool_->has_open() && known_) return;
  std::int64_t useful = pool_->has_open() ? pool_->pieces_at_most() : 1;
  for (const Slot& slot : slots_) useful -= slot.starting() ? 1 : 0;
  for (std::size_t i = 0; i < slots_.size() && useful > 0; ++i) {
    if (slots_[i].running()) continue;
    if (!start(static_cast<int>(i))) break;
    --useful;
  }
}

void Coordinator::offer_free_place() {
  if (!beside_ || !known_ || pool_->has_open() || running() == 0) return;
  const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.running(); });
  if (free == slots_.end()) return;
  outcome_.digest = digest_;
  outcome_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  beside_->offer(outcome_, static_cast<int>(free - slots_.begin()));
}

void Coordinator::wait() {
  std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
  for (const Slot& slot : slots_) {
    for (const Member& member : slot.members) {
      if (!member.process) continue;
      for (const int event : member.process->events()) events.push_back({event, POLLIN, 0});
    }
  }
  if (beside_) {
    for (const int event : beside_->events()) events.push_back({event, POLLIN, 0});
  }
  ::poll(events.data(), events.size(), static_cast<int>(engine_.patience().count()));
  if (beside_) beside_->look_after();
  if (signals_.came()) outcome_.interrupted = true;
  for (std::size_t i = 0; i < slots_.size(); ++i) look_after(static_cast<int>(i));
  merge();
  answer_waiting();
}

void Coordinator::look_after(int number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  for (std::size_t i = 0; i < slot.members.size(); ++i) {
    Member& member = slot.members[i];
    if (!member.process) continue;
    // The status is read before the lines, so that no line which the process wrote before its end
    // is lost.
    const std::optional<int> status = end_of(member);
    listen(number, i);
    if (request_.verbose) pass_on(number, i);
    if (!status) continue;
    merge();
    member.process.reset();
    note_end(number, i, *status);
  }
}

std::optional<int> Coordinator::end_of(Member& member) const {
  const std::optional<int> status = member.process->ended();
  if (status) member.words = member.process->last_words();
  return status;
}

void Coordinator::listen(int number, std::size_t rank) {
  Member& member = slots_[static_cast<std::size_t>(number)].members[rank];
  for (const std::string& line : member.process->receive()) {
    heed(number, rank, detail::WorkerLine::decode(line));
  }
}

void Coordinator::heed(int number, std::size_t rank, const detail::WorkerLine& line) {
  using Kind = detail::WorkerLine::Kind;
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  Member& member = slot.members[rank];
  switch (line.kind) {
    case Kind::hello:
      greet(rank, member, line);
      break;
    case Kind::next:
      member.starting = false;
      failed_starts_ = 0;
      ++member.asked;
      if (rank == 0) answer(number, line.position);
      hand_on(slot);
      break;
    case Kind::done:
      take_done(number, rank, line.part);
      break;
    case Kind::work:
      member.work = line.work;
      break;
    case Kind::value:
      member.hands.take(line.value);
      break;
    case Kind::object:
      mergers_.at(rank).take(line.object);
      break;
    case Kind::restored:
      mergers_.at(rank).take(line.restored);
      break;
    case Kind::proved:
      if (request_.proved) request_.proved(outcome_.ranks[rank].replay, line.proved);
      break;
  }
}

void Coordinator::greet(std::size_t rank, Member& member, const detail::WorkerLine& hello) {
  const std::string& digest = hello.digest;
  if (hello.plugin_digest != request_.order.plugin_digest) {
    throw Error(
        fmt::format("{} was built with a Flor that knows no plug-ins: build it again with this one",
                    printable(request_.launch.program)));
  }
  if (digest != digest_) {
    if (known_) throw Error("the workers run different programs: start the replay again");
    begin(digest);
  }
  known_ = true;
  if (outcome_.replay == 0 && !to_do_.empty()) add_replay();
  member.process->send(fmt::format("replay {}", outcome_.ranks[rank].replay));
}

/// Notes a part that a rank has completed. If it was handed in, the next `merge` makes it durable.
void Coordinator::take_done(int number, std::size_t rank, const store::ReplayedPart& part) {
  if (!engine_.hands_in()) return note_done(number, rank, part);
  Member& member = slots_[static_cast<std::size_t>(number)].members[rank];
  mergers_.at(rank).complete(member.hands, part);
  handed_.push_back({number, rank, part});
}

void Coordinator::merge() {
  if (handed_.empty()) return;
  for (PartMerger& merger : mergers_) merger.flush();
  for (const Handed& handed : std::exchange(handed_, {})) {
    note_done(handed.slot, handed.rank, handed.part);
  }
}

/// Records a durable part of a rank; the part is done when all ranks have completed it.
void Coordinator::note_done(int number, std::size_t rank, const store::ReplayedPart& part) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  slot.members[rank].done[part.part] = part;
  outcome_.ranks[rank].parts[part.part] = part;
  const bool all = std::ranges::all_of(
      slot.members, [&](const Member& member) { return member.done.contains(part.part); });
  if (!all) return;
  pool_->completed(number, part.part);
  const auto sum = found_by_all(part.part, request_, outcome_.ranks);
  if (sum && outcome_.done.emplace(part.part, *sum).second) {
    done_cost_ += pool_->cost_of(part.part);
    epochs_.done += part.part >= 0 ? 1 : 0;
    if (epochs_.first_wave.erase(part.part) > 0 && epochs_.first_wave.empty() &&
        epochs_.done < epochs_.to_do) {
      progress_.say(first_answers(request_.run, epochs_.done, epochs_.to_do));
    }
  }
}

void Coordinator::answer(int number, const Position& position) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  ReplayPool::NextTask answer = pool_->next(number, position);
  slot.waiting.reset();
  if (answer.kind == ReplayPool::NextTask::Kind::wait) {
    slot.waiting = position;
  } else {
    slot.answers.push_back(std::move(answer));
  }
}

/// Sends the answers to every rank in the order in which the first rank got them.
void Coordinator::hand_on(Slot& slot) {
  for (Member& member : slot.members) {
    while (member.process && member.given < std::min(member.asked, slot.answers.size())) {
      const ReplayPool::NextTask& answer = slot.answers[member.given++];
      for (const std::int64_t section : answer.keep) {
        member.process->send(fmt::format("keep {}", section));
      }
      member.process->send(answer.kind == ReplayPool::NextTask::Kind::finish
                               ? std::string("finish")
                               : fmt::format("epochs {} {}", answer.piece.first, answer.piece.end));
    }
  }
}

void Coordinator::answer_waiting() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].running() || !slots_[i].waiting) continue;
    const Position position = *slots_[i].waiting;
    answer(static_cast<int>(i), position);
    hand_on(slots_[i]);
  }
}

/// Handles the end of a rank. If it ended well, the other ranks run to their own ends. If it died,
/// the others would wait for it in a collective operation forever, so they are killed.
void Coordinator::note_end(int number, std::size_t rank, int status) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const bool well = status == static_cast<int>(ExitStatus::done) ||
                    status == static_cast<int>(ExitStatus::differs);
  if (slot.running() && well && !slot.members[rank].starting) return;
  let_others_end(number, rank, status);
  for (std::size_t i = 0; i < slot.members.size(); ++i) {
    Member& member = slot.members[i];
    if (!member.process) continue;
    member.process->kill(SIGKILL);
    listen(number, i);
    merge();
    member.process.reset();
  }
  slot.waiting.reset();
  note_death(number, rank, status);
}

/// When a rank dies, the other ranks fail in their next collective operation, and may be seen to
/// end first. Gives them a moment to end, so that what they complete counts. Sets `rank` and
/// `status` to the cause: the rank that a signal killed, or else the first that ended.
void Coordinator::let_others_end(int number, std::size_t& rank, int& status) {
  constexpr auto kMoment = std::chrono::milliseconds(500);
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const auto until = Clock::now() + kMoment;
  while (slot.running() && Clock::now() < until) {
    ::poll(nullptr, 0, 5);
    for (std::size_t i = 0; i < slot.members.size(); ++i) {
      Member& member = slot.members[i];
      if (!member.process) continue;
      const std::optional<int> other = end_of(member);
      listen(number, i);
      merge();
      if (!other) continue;
      member.process.reset();
      if (was_killed(status) || !was_killed(*other)) continue;
      rank = i;
      status = *other;
    }
  }
}

void Coordinator::note_death(int number, std::size_t rank, int status) {
  const Member& member = slots_[static_cast<std::size_t>(number)].members[rank];
  const std::optional<std::int64_t> part = pool_->released(number);
  const std::string& words = member.words;
  const std::string what = fmt::format("{} {}{}", title_of(worker_name(request_, number, rank)),
                                       how_it_ended(status), words.empty() ? "" : ": " + words);
  if (status == ReplayProcess::kLost) {  // a lost node tells nothing about the part it was working
                                         // on
    if (!part && !member.starting) return;
    ++outcome_.restarts;
    progress_.say(what + (part ? "; what it had not done is done again" : ""));
    return;
  }
  if (member.starting) {
    if (is_verdict_on_the_question(status) || ++failed_starts_ >= kAttempts) {
      const ExitStatus as =
          is_verdict_on_the_question(status) ? ExitStatus(status) : ExitStatus::failed;
      const std::string own = words.starts_with("flor: ") ? words.substr(6) : what;
      throw Error(own, as);
    }
    return;
  }
  if (!part) return;  // the process had no work left
  // A plug-in that throws in one epoch fails in every process, and most likely in every epoch.
  if (!request_.order.plugin.empty() && status == static_cast<int>(ExitStatus::failed) &&
      words.find(plugin_failed()) != words.npos) {
    throw Error(words.substr(words.find(plugin_failed())));
  }
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

/// The beginning of the message that a program prints when the plug-in throws.
std::string Coordinator::plugin_failed() const {
  return std::filesystem::path(request_.order.plugin).filename().string() + " failed ";
}

/// Keeps the completed epochs and ends all processes, if necessary by force.
void Coordinator::stop() {
  progress_.say("interrupted: keeping what was computed");
  const auto stopped = Clock::now();
  int sent = 0;
  const auto each = [this](const auto& act) {
    for (Slot& slot : slots_) {
      for (Member& member : slot.members) {
        if (member.process) act(*member.process);
      }
    }
  };
  each([](ReplayProcess& process) { process.call_off(); });
  while (running() > 0) {
    const double seconds = std::chrono::duration<double>(Clock::now() - stopped).count();
    if (seconds > 8) break;  // the remaining processes are on other machines and do not answer
    if (seconds > 5 && sent < 2) {
      each([](ReplayProcess& process) { process.kill(SIGKILL); });
      sent = 2;
    } else if (seconds > 3 && sent < 1) {
      each([](ReplayProcess& process) { process.kill(SIGTERM); });
      sent = 1;
    }
    ::poll(nullptr, 0, 20);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      for (std::size_t rank = 0; rank < slots_[i].members.size(); ++rank) {
        take_last_words(static_cast<int>(i), rank);
      }
    }
    merge();
  }
}

void Coordinator::take_last_words(int number, std::size_t rank) {
  Member& member = slots_[static_cast<std::size_t>(number)].members[rank];
  if (!member.process) return;
  const bool ended = member.process->ended().has_value();
  for (const std::string& text : member.process->receive()) {
    const auto line = detail::WorkerLine::decode(text);
    if (line.kind != detail::WorkerLine::Kind::hello &&
        line.kind != detail::WorkerLine::Kind::next) {
      heed(number, rank, line);
    }
  }
  if (ended) member.process.reset();
}

void Coordinator::show_progress() {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  const double left = done_cost_ > 0 ? pool_->cost_left() * seconds / done_cost_ : -1;
  progress_.show(epochs_.done, epochs_.to_do, running(), left, engine_.waiting_for());
}

void Coordinator::pass_on(int number, std::size_t rank) {
  Member& member = slots_[static_cast<std::size_t>(number)].members[rank];
  std::ifstream log(engine_.log_of(number, rank), std::ios::binary);
  log.seekg(static_cast<std::streamoff>(member.shown));
  for (std::string line; std::getline(log, line) && !log.eof();) {
    member.shown += line.size() + 1;
    progress_.clear();
    fmt::print(stderr, "{}: {}\n", title_of(worker_name(request_, number, rank)), printable(line));
  }
}

}  // namespace flor::cli
