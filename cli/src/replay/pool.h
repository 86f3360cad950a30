// Decides which epochs a replay gives to which worker, and when. A pure function of costs: it knows
// no processes.
#pragma once

#include "protocol/plan.h"
#include "protocol/protocol.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace flor::cli {

using detail::Epochs;
using detail::Position;
using detail::Reach;

/// The costs of an epoch, in seconds.
struct EpochCost {
  double asked = 0;    ///< executing it to answer what the replay asks
  double passed = 0;   ///< passing through it on the way to a later epoch, if the boundary before
                       ///< it was loaded
  double restore = 0;  ///< loading the boundary before it, if that is stored
};

struct LoopFacts {
  std::int64_t first_epoch = 0, iterations = 0;
  std::set<std::int64_t> boundaries;  ///< iterations before which a boundary is stored
  bool leaves = false;  ///< whether its last iteration leaves it early, by break or return
};

/// The facts of a run that planning needs. `loops` are in their order; `epochs` counts through all
/// of them.
struct RunFacts {
  std::vector<LoopFacts> loops;
  std::vector<EpochCost> epochs;
  double startup = 0;  ///< seconds that a process needs before its first loop
};

/// Which epochs a replay computes first.
enum class EpochOrder {
  fastest,  ///< in the order in which the replay ends earliest
  coarse,   ///< a tenth of the epochs, spread over the run, then a third of the rest, then the rest
  /// Each stretch between two boundaries whole, by a process of its own: as a replay walks that is
  /// asked for its last epoch alone.
  walks,
};

/// Divides `epochs` into waves, in the order in which they are computed. Of neighbouring epochs an
/// early wave takes one whose beginning is stored, so that no other epoch is executed on the way.
std::vector<std::set<std::int64_t>> waves_of(const RunFacts& facts,
                                             const std::set<std::int64_t>& epochs,
                                             EpochOrder order);

/// Chooses `count` of the epochs, spread over all. The last of them is in every sample of two or
/// more, because only its end leads to the code after the loops. Of neighbours those are chosen
/// whose end is stored, so that there is a state to compare with.
std::set<std::int64_t> sample_of(const RunFacts& facts, std::set<std::int64_t> epochs,
                                 std::int64_t count);

/// The work of a replay that is left. A *part* is an epoch or a section of the program outside the
/// main loops (store::part_outside).
///
/// Workers get pieces: consecutive epochs that begin at a stored boundary. Expensive pieces are
/// handed out first, so that those left at the end are small. Cheap neighbouring epochs are joined
/// as long as the piece is small compared with all the work left. Work between two boundaries is
/// divided only if that ends the replay earlier, because the second worker must pass through the
/// epochs of the first.
class ReplayPool {
 public:
  ReplayPool(RunFacts facts, const std::set<std::int64_t>& parts, int workers,
             EpochOrder order = EpochOrder::fastest);

  struct NextTask {
    enum class Kind { epochs, finish, wait } kind = Kind::wait;
    Epochs piece;
    std::vector<std::int64_t> keep;  ///< sections outside the loops whose values the worker is to
                                     ///< keep, see Position
  };
  /// The next work for a worker at this position. `wait`: all remaining parts are held by other
  /// workers; ask again when a part was completed or released.
  NextTask next(int worker, const Position& position);
  void completed(int worker, std::int64_t part);
  /// Reopens the parts that a lost worker held and had not completed. Returns the part it was
  /// working on, if any.
  std::optional<std::int64_t> released(int worker);
  /// Gives the part to no worker again.
  void give_up(std::int64_t part);

  bool has_open() const { return !open_.empty() || !later_.empty() || !sections_.empty(); }
  bool done() const { return !has_open() && held_count_ == 0; }
  double open_cost() const { return open_cost_; }
  /// The cost in seconds of the parts that are not completed, including those that workers hold.
  double cost_left() const { return open_cost_ + later_cost_ + held_cost_; }
  double cost_of(std::int64_t part) const;
  /// An upper bound on how many workers can be busy at once. Recomputed only if the open epochs
  /// have changed.
  std::int64_t pieces_at_most() const;

 private:
  struct Atom {
    Epochs epochs;
    double cost = 0;
  };
  std::optional<std::size_t> loop_for(const Position& position) const;
  std::vector<Atom> atoms(std::size_t loop, const Position& position) const;
  std::int64_t count_pieces() const;
  double cost(std::size_t loop, Epochs epochs, const Position& position) const;
  Epochs choose(std::size_t loop, const Position& position) const;
  void open_next_wave();
  Epochs halved(std::size_t loop, Atom atom, const Position& position) const;
  std::vector<std::int64_t> take_sections(std::int64_t first, std::int64_t last,
                                          const Position& position);
  std::int64_t interval_begin(const LoopFacts& loop, std::int64_t iteration) const;
  bool is_leaving(const LoopFacts& loop, Epochs epochs) const;

  /// Prefix sums of the epochs' costs, so that the cost of a range is one subtraction.
  class Sums {
   public:
    void add(double cost) { before_.push_back(before_.back() + cost); }
    double of(std::int64_t first, std::int64_t end) const;

   private:
    std::vector<double> before_{0};
  };

  RunFacts facts_;
  Sums asked_, passed_;
  int workers_;
  EpochOrder order_;
  std::set<std::int64_t> open_;               // epochs of the waves so far that no worker holds
  std::deque<std::set<std::int64_t>> later_;  // the waves after them, none of them empty
  std::set<std::int64_t> sections_;           // sections outside the loops that no worker holds
  // Parts by worker, in the order of work, so that a completed one is found near the front.
  std::map<int, std::deque<std::int64_t>> held_;
  std::size_t held_count_ = 0;
  double open_cost_ = 0, later_cost_ = 0, held_cost_ = 0;
  mutable std::optional<std::int64_t> pieces_;  // cached result of pieces_at_most
};

/// The simulated course of a replay in which every epoch takes exactly its cost.
struct Simulation {
  double seconds = 0;  ///< until the last worker is done
  double work = 0;     ///< seconds for the requested epochs alone, without startup, loading and
                       ///< passing
  std::vector<std::vector<Epochs>> pieces;  ///< by worker
  double efficiency() const {
    return seconds > 0 ? work / (static_cast<double>(pieces.size()) * seconds) : 1;
  }
};
/// Simulates a pool that knows `facts`, while the epochs really cost `actual`.
Simulation simulate(const RunFacts& facts, const RunFacts& actual,
                    const std::set<std::int64_t>& parts, int workers, Reach reach = Reach::any,
                    EpochOrder order = EpochOrder::fastest);

}  // namespace flor::cli
