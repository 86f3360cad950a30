// Decides which epochs a replay gives to which worker, and when. Pure: it knows costs, not
// processes.
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
  double asked = 0;    ///< executing it to answer the question
  double passed = 0;   ///< passing it on the way to a later epoch, from the boundary before
  double restore = 0;  ///< loading the boundary before it, if there is one
};

struct LoopFacts {
  std::int64_t first_epoch = 0, iterations = 0;
  std::set<std::int64_t> boundaries;  ///< iterations before which the state is stored
  bool leaves = false;  ///< its last iteration leaves it by itself, by break or return
};

/// The facts of a run that planning needs. `loops` by ordinal, `epochs` counted over all of them.
struct RunFacts {
  std::vector<LoopFacts> loops;
  std::vector<EpochCost> epochs;
  double startup = 0;  ///< of a process, until its first loop
};

/// Which epochs a replay computes first.
enum class EpochOrder {
  fastest,  ///< in whatever order it ends earliest
  coarse,   ///< a tenth of them, spread over all, then a third of the rest, then the others
};

/// The epochs that come first, those that come next, and so on; each in one of the sets. Of epochs
/// beside each other the one is taken that needs no other on the way to it.
std::vector<std::set<std::int64_t>> waves_of(const RunFacts& facts,
                                             const std::set<std::int64_t>& epochs,
                                             EpochOrder order);

/// The work that is left. An epoch or a stretch outside the loops is a *part*
/// (store::part_outside).
///
/// Expensive pieces are handed out first, so that those left at the end are small. Cheap
/// consecutive epochs form one piece, as long as a piece is small against all the work that is
/// left. Pieces begin at stored boundaries; between two of them the work is divided only if it ends
/// earlier that way, although the epochs after the boundary are executed twice.
class ReplayPool {
 public:
  ReplayPool(RunFacts facts, const std::set<std::int64_t>& parts, int workers,
             EpochOrder order = EpochOrder::fastest);

  struct Answer {
    enum class Kind { epochs, finish, wait } kind = Kind::wait;
    Epochs piece;
    std::vector<std::int64_t> keep;  ///< sections, see Position
  };
  /// The next work of a worker at this position. `wait`: only parts that others hold are left; ask
  /// again when a part was completed or released.
  Answer next(int worker, const Position& position);
  void completed(int worker, std::int64_t part);
  /// The worker is gone: the parts that it held and had not completed are open again. Returns the
  /// part that it was working on, if any.
  std::optional<std::int64_t> released(int worker);
  /// Closes this part: no worker is to try it again.
  void give_up(std::int64_t part);

  bool has_open() const { return !open_.empty() || !later_.empty() || !sections_.empty(); }
  bool done() const { return !has_open() && held_count_ == 0; }
  double open_cost() const { return open_cost_; }
  /// Cost of the parts that are not completed, including those that workers hold.
  double cost_left() const { return open_cost_ + later_cost_ + held_cost_; }
  double cost_of(std::int64_t part) const;
  /// How many workers can be busy at once. Computed again only when the open epochs have changed.
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

  /// The costs of all epochs before each one, so that a range costs a subtraction.
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
  std::set<std::int64_t> open_;  // epochs that no worker has, of the waves that have begun
  std::deque<std::set<std::int64_t>> later_;  // the waves after them, none of them empty
  std::set<std::int64_t> sections_;           // the same for sections
  // Parts by worker, in the order of the work, so that completed ones are mostly in front.
  std::map<int, std::deque<std::int64_t>> held_;
  std::size_t held_count_ = 0;
  double open_cost_ = 0, later_cost_ = 0, held_cost_ = 0;
  mutable std::optional<std::int64_t> pieces_;  // see pieces_at_most
};

/// The course of a replay in which every epoch takes as long as its cost says.
struct Simulation {
  double seconds = 0;  ///< until the last worker is done
  double work = 0;     ///< of all epochs that were asked for, without starting, loading and passing
  std::vector<std::vector<Epochs>> pieces;  ///< by worker
  double efficiency() const {
    return seconds > 0 ? work / (static_cast<double>(pieces.size()) * seconds) : 1;
  }
};
/// `actual`: the real costs of the epochs; the pool only knows `facts`.
Simulation simulate(const RunFacts& facts, const RunFacts& actual,
                    const std::set<std::int64_t>& parts, int workers, Reach reach = Reach::any,
                    EpochOrder order = EpochOrder::fastest);

}  // namespace flor::cli
