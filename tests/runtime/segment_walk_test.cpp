// The walk of a replay through main loops, with a program in memory: its state is the number of
// epochs that it has executed, so a wrong state shows at the next epoch.
#include "replay/segment_walk.h"

#include "base/notice.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// Hands out pieces in any order that the program's position allows.
class Dealer final : public Assignment {
 public:
  Dealer(std::vector<Epochs> pieces, std::set<std::int64_t> kept,
         std::vector<store::MainLoop> loops, bool ends)
      : open_(pieces.begin(), pieces.end()),
        kept_(std::move(kept)),
        loops_(std::move(loops)),
        ends_(ends) {}

  Epochs next(const Position& position) override {
    for (auto piece = open_.begin(); piece != open_.end(); ++piece) {
      if (!is_ahead(piece->first, position)) continue;
      const Epochs found = *piece;
      open_.erase(piece);
      for (std::int64_t epoch = found.first; epoch < found.end; ++epoch) dealt.insert(epoch);
      return found;
    }
    finished_ = true;
    return {};
  }
  bool keeps(std::int64_t section) const override { return kept_.contains(section); }
  bool keeps_from(std::int64_t section) const override {
    return kept_.lower_bound(section) != kept_.end();
  }
  bool may_end(std::int64_t section) const override {
    return ends_ && finished_ && !keeps_from(section);
  }
  void completed(const std::vector<store::ReplayedPart>&) override {}
  void report(const WorkDone&) override {}
  bool called_off() const override { return false; }

  std::set<std::int64_t> dealt;

 private:
  bool is_ahead(std::int64_t epoch, const Position& position) const {
    for (const store::MainLoop& loop : loops_) {
      if (epoch < loop.first_epoch || epoch >= loop.first_epoch + loop.iterations) continue;
      if (loop.ordinal != position.main_loop) return loop.ordinal > position.main_loop;
      return position.reach == Reach::any || epoch - loop.first_epoch >= position.iteration;
    }
    return false;
  }

  std::deque<Epochs> open_;
  std::set<std::int64_t> kept_;
  std::vector<store::MainLoop> loops_;
  bool ends_, finished_ = false;
};

/// A recorded run of main loops "a", "b", ..., with the epochs that each has.
struct Recorded {
  explicit Recorded(const std::vector<std::int64_t>& lengths) {
    for (const std::int64_t length : lengths) {
      const auto ordinal = static_cast<std::int64_t>(loops.size());
      loops.push_back({.ordinal = ordinal,
                       .name = std::string(1, static_cast<char>('a' + ordinal)),
                       .first_epoch = epochs,
                       .iterations = length,
                       .ended = true});
      for (std::int64_t i = 0; i <= length; ++i) boundaries[ordinal].insert(i);
      epochs += length;
    }
  }
  /// Of loop `ordinal`, these alone.
  Recorded& stores(std::int64_t ordinal, std::set<std::int64_t> iterations) {
    boundaries[ordinal] = std::move(iterations);
    return *this;
  }

  std::vector<store::MainLoop> loops;
  std::map<std::int64_t, std::set<std::int64_t>> boundaries;
  std::int64_t epochs = 0;
  bool finished = true;
};

class Program final : private WalkHost {
 public:
  struct Way {
    bool random_access = true, strong = false;
    std::int64_t grows_at = -1;            ///< the epoch that registers one more object
    std::int64_t breaks_at = -1;           ///< the epoch in which it leaves the loop by itself
    std::set<std::int64_t> answered = {};  ///< epochs that the store answers for
    bool early = false;                    ///< it asks inside each epoch whether there is more work
  };

  Program(const Recorded& recorded, Assignment& assignment, Way way)
      : recorded_(recorded),
        assignment_(assignment),
        way_(std::move(way)),
        walk_({.loops = recorded_.loops,
               .boundaries = recorded_.boundaries,
               .epochs = recorded_.epochs,
               .finished = recorded_.finished},
              assignment_.next({}), assignment_, registry_, comparison,
              static_cast<WalkHost&>(*this), way_.strong) {}

  void run() {
    set_shown_level("off");
    for (const store::MainLoop& loop : recorded_.loops) {
      if (!execute(loop)) {
        ended = true;
        return;
      }
      states.push_back(state_);
      sections.push_back(walk_.section());
    }
  }

  SegmentWalk& walk() { return walk_; }

  Comparison comparison;
  std::vector<std::int64_t> visited, on_the_way, shown, restored;
  std::vector<std::int64_t> states;    // after each loop
  std::vector<std::int64_t> sections;  // the same
  std::vector<std::string> wrong;      // epochs that were executed in another state
  bool ended = false;                  // before the last loop, as nothing was left

 private:
  /// As Runtime and flor::loop tell of one.
  bool execute(const store::MainLoop& loop) {
    Frame frame(loop.name, {});
    frame.component = loop.name;
    const auto start = walk_.begin(loop, frame, way_.random_access);
    if (!start) return false;
    frame.visited = start->visit;
    bool broke = false;
    if (start->visit) {
      auto position = static_cast<std::int64_t>(start->skip);  // of the range
      if (start->skip > 0) arrive(loop, frame);
      while (frame.index < frame.limit && frame.index < loop.iterations) {
        if (position != frame.index) wrong.push_back("the range is elsewhere");
        if (iterate(frame)) return false;
        broke = loop.first_epoch + frame.index - 1 == way_.breaks_at;
        if (broke) break;
        const LoopScope::Move move = walk_.leave(frame);
        if (!move.go_on) break;
        if (move.steps < 1 && !way_.random_access) wrong.push_back("the range goes back");
        position += move.steps;
        if (move.steps != 1) arrive(loop, frame);
      }
    }
    unvisited = walk_.unvisited(frame);
    if (!walk_.end(frame)) return false;
    walk_.restore_end(frame);
    walk_.close();
    return true;
  }

  void arrive(const store::MainLoop& loop, const Frame& frame) {
    if (walk_.must_restore(frame.index)) restore_boundary(loop, frame.index);
  }

  /// Returns true if the program may end inside the epoch.
  bool iterate(Frame& frame) {
    walk_.enter(frame);
    const std::int64_t epoch = frame.first_epoch + frame.index;
    if (state_ != epoch) wrong.push_back(std::to_string(epoch) + " in " + std::to_string(state_));
    (walk_.catching_up() ? on_the_way : visited).push_back(epoch);
    parts.push_back(walk_.part_of(frame));
    ++state_;
    if (epoch == way_.grows_at && !grown_) {
      registry_.add({slot_of(object_)});
      grown_ = true;
    }
    const bool is_over =
        way_.early && !walk_.catching_up() && epoch != way_.breaks_at && walk_.is_over_in(frame);
    ++frame.index;
    return is_over;
  }

  bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration) override {
    const auto stored = recorded_.boundaries.find(loop.ordinal);
    if (stored == recorded_.boundaries.end() || !stored->second.contains(iteration)) return false;
    const std::int64_t epoch = loop.first_epoch + iteration;
    if (way_.grows_at >= 0 && (epoch > way_.grows_at) != grown_) {
      state_ = -1;  // some of it was restored
      throw Error("it does not fit");
    }
    state_ = epoch;
    restored.push_back(epoch);
    return true;
  }
  Epochs next_piece(const Position& position) override { return assignment_.next(position); }
  bool is_answered_from_store(const store::MainLoop& loop, std::int64_t iteration) const override {
    return way_.answered.contains(loop.first_epoch + iteration);
  }
  void answer_from_store(Frame& frame, std::int64_t iteration) override {
    shown.push_back(frame.first_epoch + iteration);
  }

  Recorded recorded_;
  Assignment& assignment_;
  Way way_;
  Registry registry_;
  SegmentWalk walk_;
  std::int64_t state_ = 0;
  int object_ = 0;
  bool grown_ = false;

 public:
  std::vector<std::int64_t> parts;  // that comparisons in each executed epoch counted for
  Epochs unvisited;                 // of the last loop
};

/// A program that replays this segment.
struct Replayed {
  Replayed(Recorded recorded, std::vector<Epochs> epochs, const Program::Way& way = {})
      : assignment(fixed_assignment(std::move(epochs), recorded.loops)),
        program(recorded, *assignment, way) {
    program.run();
  }
  std::unique_ptr<Assignment> assignment;
  Program program;
};

TEST(SegmentWalk, VisitsTheSegmentFromTheStateBeforeIt) {
  Replayed replayed(Recorded({6}), {{2, 4}});
  EXPECT_THAT(replayed.program.visited, ElementsAre(2, 3));
  EXPECT_THAT(replayed.program.on_the_way, IsEmpty());
  EXPECT_THAT(replayed.program.wrong, IsEmpty());
  EXPECT_TRUE(replayed.program.walk().skipped());
}

TEST(SegmentWalk, OfAWholeRunSkipsNothing) {
  Replayed replayed(Recorded({2, 3}), {{0, 5}});
  EXPECT_THAT(replayed.program.visited, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_FALSE(replayed.program.walk().skipped());
  EXPECT_THAT(replayed.program.restored, ElementsAre(0, 2)) << "only where a loop begins";
  EXPECT_THAT(replayed.program.states, ElementsAre(2, 5));
  EXPECT_THAT(replayed.program.sections, ElementsAre(1, 2));
}

TEST(SegmentWalk, StartsFromTheNearestStoredStateAndWalksFromThere) {
  Replayed replayed(Recorded({8}).stores(0, {0, 3, 8}), {{5, 6}});
  EXPECT_THAT(replayed.program.on_the_way, ElementsAre(3, 4));
  EXPECT_THAT(replayed.program.visited, ElementsAre(5));
  EXPECT_THAT(replayed.program.parts, ElementsAre(5, 5, 5)) << "what differs counts for the target";
  EXPECT_THAT(replayed.program.wrong, IsEmpty());
}

TEST(SegmentWalk, FromTheStartWalksEveryEarlierMainLoop) {
  Replayed replayed(Recorded({2, 3}), {{3, 4}}, {.strong = true});
  EXPECT_THAT(replayed.program.on_the_way, ElementsAre(0, 1, 2));
  EXPECT_THAT(replayed.program.visited, ElementsAre(3));
  EXPECT_THAT(replayed.program.wrong, IsEmpty());
}

TEST(SegmentWalk, WalksThroughALoopWhoseEndIsNotStoredIfLaterCodeNeedsIt) {
  Replayed needed(Recorded({4, 2}).stores(0, {0, 1}).stores(1, {}), {{4, 6}});
  EXPECT_THAT(needed.program.on_the_way, ElementsAre(1, 2, 3));
  EXPECT_THAT(needed.program.wrong, IsEmpty());
  Replayed not_needed(Recorded({4, 2}).stores(0, {0, 1}), {{0, 2}});
  EXPECT_THAT(not_needed.program.on_the_way, IsEmpty());
  EXPECT_THAT(not_needed.program.visited, ElementsAre(0, 1));
}

TEST(SegmentWalk, SaysThatItStartedFromTheProgramsOwnState) {
  Replayed replayed(Recorded({4}).stores(0, {}), {{2, 3}});
  EXPECT_THAT(replayed.program.comparison.lines(),
              ElementsAre(HasSubstr("no boundary before epoch 2 is stored")));
  EXPECT_EQ(replayed.program.comparison.take(2).verdict, store::Verdict::differs);
  EXPECT_THAT(replayed.program.on_the_way, ElementsAre(0, 1));
}

TEST(SegmentWalk, WalksToStatesForWhichTheProgramLacksObjectsAtFirst) {
  Replayed replayed(Recorded({8}), {{5, 7}}, {.grows_at = 3});
  EXPECT_THAT(replayed.program.on_the_way, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(replayed.program.visited, ElementsAre(5, 6));
  EXPECT_THAT(replayed.program.wrong, IsEmpty());
}

TEST(SegmentWalk, JumpsOverWhatLiesBetweenTwoTargets) {
  for (const bool random_access : {true, false}) {
    Replayed replayed(Recorded({9}), {{1, 2}, {6, 8}}, {.random_access = random_access});
    EXPECT_THAT(replayed.program.visited, ElementsAre(1, 6, 7));
    EXPECT_THAT(replayed.program.on_the_way, IsEmpty());
    EXPECT_THAT(replayed.program.wrong, IsEmpty());
  }
}

TEST(SegmentWalk, LeavesEpochsToTheStoreThatItAnswersFor) {
  Replayed replayed(Recorded({6}), {{1, 5}}, {.answered = {1, 2, 4}});
  EXPECT_THAT(replayed.program.shown, ElementsAre(1, 2, 4));
  EXPECT_THAT(replayed.program.visited, ElementsAre(3));
  EXPECT_THAT(replayed.program.wrong, IsEmpty());
}

TEST(SegmentWalk, KnowsTheEpochsThatTheProgramLeftItsLoopBefore) {
  Replayed replayed(Recorded({6}), {{2, 6}}, {.breaks_at = 3});
  EXPECT_THAT(replayed.program.visited, ElementsAre(2, 3));
  EXPECT_EQ(replayed.program.unvisited, (Epochs{4, 6}));
  EXPECT_THAT(replayed.program.states, ElementsAre(6)) << "code after the loop has its end";
}

TEST(SegmentWalk, OfANewLoopDependsOnWhetherTheRunWasFinished) {
  Recorded recorded({2});
  Dealer dealer({}, {}, recorded.loops, false);
  Frame frame("extra", {});
  frame.component = "extra";
  Program missing(recorded, dealer, {});
  EXPECT_THAT([&] { missing.walk().begin_new(frame); },
              ThrowsMessage<Error>(HasSubstr("no main loop 'extra'; its next one is 'a'")));
  Program finished(recorded, dealer, {});
  finished.run();
  EXPECT_TRUE(finished.walk().begin_new(frame).visit);
  EXPECT_EQ(frame.first_epoch, 2);
  finished.walk().count_new_epoch();
  EXPECT_TRUE(finished.walk().begin_new(frame).visit);
  EXPECT_EQ(frame.first_epoch, 3) << "after the epochs of the one before";
  recorded.finished = false;
  Program interrupted(recorded, dealer, {});
  interrupted.run();
  EXPECT_FALSE(interrupted.walk().begin_new(frame).visit);
  EXPECT_EQ(frame.ordinal, -1);
}

// ---------------------------------------------------------------------------------------------
// Random records, assignments and programs.

/// Unlike rapidcheck's own numbers, as likely large in early cases as in late ones.
std::int64_t any_number(std::int64_t first, std::int64_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(first, end));
}
bool one_in(std::int64_t count) { return any_number(0, count) == 0; }

std::vector<std::int64_t> any_lengths() {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(any_number(1, 5)));
  for (std::int64_t& length : lengths) length = any_number(0, 7);
  return lengths;
}

/// The start of each loop is always stored, as a recording does.
Recorded any_record() {
  Recorded recorded(any_lengths());
  for (const store::MainLoop& loop : recorded.loops) {
    std::set<std::int64_t> stored{0};
    for (std::int64_t i = 1; i <= loop.iterations; ++i) {
      if (one_in(3)) stored.insert(i);
    }
    recorded.stores(loop.ordinal, std::move(stored));
  }
  return recorded;
}

/// Some of the epochs, in pieces that do not overlap; in order. `within`: each lies in one loop, as
/// `flor replay` hands them out.
std::vector<Epochs> any_pieces(const Recorded& recorded, bool within = false) {
  std::vector<Epochs> pieces;
  for (const store::MainLoop& loop : recorded.loops) {
    for (std::int64_t i = 0; i < loop.iterations; ++i) {
      const std::int64_t epoch = loop.first_epoch + i;
      if (one_in(2)) continue;
      const bool joins = !pieces.empty() && pieces.back().end == epoch && (i > 0 || !within);
      if (joins && !one_in(4)) {
        ++pieces.back().end;
      } else {
        pieces.push_back({epoch, epoch + 1});
      }
    }
  }
  return pieces;
}

std::vector<std::int64_t> epochs_of(const std::vector<Epochs>& pieces) {
  std::vector<std::int64_t> epochs;
  for (const Epochs& piece : pieces) {
    for (std::int64_t epoch = piece.first; epoch < piece.end; ++epoch) epochs.push_back(epoch);
  }
  return epochs;
}

Program::Way any_way() {
  return {.random_access = *rc::gen::arbitrary<bool>(), .strong = *rc::gen::arbitrary<bool>()};
}

/// Says of a case that failed what it was.
void log_case(const Recorded& recorded, const std::vector<Epochs>& pieces,
              const Program::Way& way) {
  std::ostringstream out;
  for (const store::MainLoop& loop : recorded.loops) {
    out << loop.name << ": " << loop.iterations << " epochs, stored"
        << rc::toString(recorded.boundaries.at(loop.ordinal)) << "; ";
  }
  for (const Epochs& piece : pieces) out << " [" << piece.first << ", " << piece.end << ")";
  out << (way.random_access ? " random access" : "") << (way.strong ? " strong" : "")
      << " grows at " << way.grows_at;
  RC_LOG(out.str());
}

RC_GTEST_PROP(SegmentWalkProperty, EveryEpochAskedForIsVisitedOnceInItsState, ()) {
  const Recorded recorded = any_record();
  const std::vector<Epochs> pieces = any_pieces(recorded);
  const Program::Way way = any_way();
  log_case(recorded, pieces, way);
  Replayed replayed(recorded, pieces, way);
  RC_ASSERT(replayed.program.wrong.empty());
  RC_ASSERT(replayed.program.visited == epochs_of(pieces));
  RC_ASSERT(replayed.program.comparison.lines().empty());
}

RC_GTEST_PROP(SegmentWalkProperty, CodeAfterALoopHasTheStateAtItsEndIfItIsKept, ()) {
  const Recorded recorded = any_record();
  const std::vector<Epochs> pieces = any_pieces(recorded);
  const Program::Way way = any_way();
  log_case(recorded, pieces, way);
  Replayed replayed(recorded, pieces, way);
  for (std::size_t i = 0; i < replayed.program.states.size(); ++i) {
    const auto section = static_cast<std::int64_t>(i) + 1;
    RC_ASSERT(replayed.program.sections[i] == section);
    if (!replayed.assignment->keeps(section)) continue;
    RC_ASSERT(replayed.program.states[i] ==
              recorded.loops[i].first_epoch + recorded.loops[i].iterations);
  }
}

RC_GTEST_PROP(SegmentWalkProperty, NoEpochIsExecutedOnTheWayWhereEveryStateIsStored, ()) {
  const Recorded recorded(any_lengths());
  const std::vector<Epochs> pieces = any_pieces(recorded);
  Replayed replayed(recorded, pieces, {.random_access = *rc::gen::arbitrary<bool>()});
  RC_ASSERT(replayed.program.on_the_way.empty());
  RC_ASSERT(replayed.program.visited == epochs_of(pieces));
}

RC_GTEST_PROP(SegmentWalkProperty, FromTheStartEveryEpochBeforeTheLastIsExecutedInOrder, ()) {
  const Recorded recorded = any_record();
  const std::vector<Epochs> pieces = any_pieces(recorded);
  RC_PRE(!pieces.empty());
  Program::Way way = any_way();
  way.strong = true;
  if (one_in(3)) way.grows_at = any_number(0, recorded.epochs);
  Replayed replayed(recorded, pieces, way);
  RC_ASSERT(replayed.program.wrong.empty());
  RC_ASSERT(replayed.program.visited == epochs_of(pieces));
  std::vector<std::int64_t> executed = replayed.program.visited;
  std::ranges::copy(replayed.program.on_the_way, std::back_inserter(executed));
  std::ranges::sort(executed);
  for (std::int64_t epoch = 0; epoch < pieces.back().end; ++epoch) {
    RC_ASSERT(executed[static_cast<std::size_t>(epoch)] == epoch);
  }
}

/// A state that does not fit a program which grows ends the replay, where no stored one leads
/// there. None is taken for another.
RC_GTEST_PROP(SegmentWalkProperty, OfAProgramThatGrowsEveryEpochHasItsStateOrTheWalkThrows, ()) {
  const Recorded recorded = any_record();
  RC_PRE(recorded.epochs > 0);
  const std::vector<Epochs> pieces = any_pieces(recorded);
  Program::Way way = any_way();
  way.grows_at = any_number(0, recorded.epochs);
  log_case(recorded, pieces, way);
  const auto assignment = fixed_assignment(pieces, recorded.loops);
  Program program(recorded, *assignment, way);
  bool throws = false;
  try {
    program.run();
  } catch (const Error&) {
    throws = true;
  }
  RC_CLASSIFY(throws);
  RC_ASSERT(program.wrong.empty());
  RC_ASSERT(throws || program.visited == epochs_of(pieces));
}

RC_GTEST_PROP(SegmentWalkProperty, EpochsOutOfOrderAreReachedWhereTheProgramCanGoBack, ()) {
  const Recorded recorded = any_record();
  std::vector<Epochs> pieces = any_pieces(recorded, /*within=*/true);
  for (std::size_t i = pieces.size(); i > 1; --i) {
    std::swap(pieces[i - 1],
              pieces[static_cast<std::size_t>(any_number(0, static_cast<std::int64_t>(i)))]);
  }
  std::set<std::int64_t> kept;
  for (std::int64_t section = 0; section <= 4; ++section) {
    if (one_in(3)) kept.insert(section);
  }
  Dealer dealer(pieces, kept, recorded.loops, *rc::gen::arbitrary<bool>());
  const Program::Way way = any_way();
  log_case(recorded, pieces, way);
  Program program(recorded, dealer, way);
  program.run();
  RC_ASSERT(program.wrong.empty());
  const std::set<std::int64_t> visited(program.visited.begin(), program.visited.end());
  RC_ASSERT(visited.size() == program.visited.size());
  RC_ASSERT(visited == dealer.dealt);
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const store::MainLoop& loop = recorded.loops[i];
    // `flor replay` gives no section to a program that left the loop before an end not stored.
    if (!kept.contains(loop.ordinal + 1)) continue;
    if (!recorded.boundaries.at(loop.ordinal).contains(loop.iterations)) continue;
    RC_ASSERT(program.states[i] == loop.first_epoch + loop.iterations);
  }
}

RC_GTEST_PROP(SegmentWalkProperty, EpochsThatAreAnsweredEarlyAreVisitedOnceAndTheLastIsNotEnded,
              ()) {
  const Recorded recorded = any_record();
  const std::vector<Epochs> pieces = any_pieces(recorded, /*within=*/true);
  RC_PRE(!pieces.empty());
  Program::Way way{.random_access = *rc::gen::arbitrary<bool>(),
                   .strong = *rc::gen::arbitrary<bool>()};
  way.early = true;
  log_case(recorded, pieces, way);
  const auto assignment = epochs_alone(pieces);
  Program program(recorded, *assignment, way);
  program.run();
  RC_ASSERT(program.wrong.empty());
  RC_ASSERT(program.visited == epochs_of(pieces));
  RC_ASSERT(program.ended);
  const auto whole = std::ranges::count_if(recorded.loops, [&](const store::MainLoop& loop) {
    return loop.first_epoch + loop.iterations <= program.visited.back();
  });
  RC_ASSERT(std::ssize(program.states) == whole);
}

RC_GTEST_PROP(SegmentWalkProperty, EpochsOutOfOrderAreAnsweredEarlyEachOnce, ()) {
  const Recorded recorded = any_record();
  std::vector<Epochs> pieces = any_pieces(recorded, /*within=*/true);
  std::ranges::reverse(pieces);
  Dealer dealer(pieces, {}, recorded.loops, true);
  Program::Way way{.random_access = *rc::gen::arbitrary<bool>()};
  way.early = true;
  log_case(recorded, pieces, way);
  Program program(recorded, dealer, way);
  program.run();
  RC_ASSERT(program.wrong.empty());
  const std::set<std::int64_t> visited(program.visited.begin(), program.visited.end());
  RC_ASSERT(visited.size() == program.visited.size());
  RC_ASSERT(visited == dealer.dealt);
}

RC_GTEST_PROP(SegmentWalkProperty, EpochsAreAnsweredFromTheStoreOrExecutedNeverBoth, ()) {
  const Recorded recorded = any_record();
  const std::vector<Epochs> pieces = any_pieces(recorded);
  Program::Way way{.random_access = *rc::gen::arbitrary<bool>()};
  for (std::int64_t epoch = 0; epoch < recorded.epochs; ++epoch) {
    if (*rc::gen::arbitrary<bool>()) way.answered.insert(epoch);
  }
  const auto assignment = epochs_alone(pieces);
  Program program(recorded, *assignment, way);
  program.run();
  RC_ASSERT(program.wrong.empty());
  std::vector<std::int64_t> both = program.visited;
  both.insert(both.end(), program.shown.begin(), program.shown.end());
  std::ranges::sort(both);
  RC_ASSERT(both == epochs_of(pieces));
  for (const std::int64_t epoch : program.shown) RC_ASSERT(way.answered.contains(epoch));
  for (const std::int64_t epoch : program.visited) RC_ASSERT(!way.answered.contains(epoch));
}

}  // namespace
}  // namespace flor::detail
