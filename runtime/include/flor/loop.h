// flor::loop wraps the range of a range-for. This header has what depends on the element type; what
// happens before and after iterations and loops is compiled into the runtime.
#pragma once

#include <flor/iteration.h>
#include <flor/state.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#if !defined(__clang__)
#include <source_location>
#endif
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {

/// Makes a replay execute a nested loop even if the checkpoint at its end could be loaded instead:
/// `flor::loop("train", *loader, flor::probed)`. Without effect while recording.
struct Probed {};
inline constexpr Probed probed{};

namespace detail {

/// True from flor::init with one of Flor's modes until the end of that session.
inline std::atomic<bool> session_active{false};

struct LoopSettings {
  bool probed = false;
  std::vector<Slot> attached;

  void add(Probed) { probed = true; }
  void add(With with) {
    for (Slot& slot : with.slots) attached.push_back(std::move(slot));
  }
};

/// Where a loop stands in the sources: a position inside the header of its `for`, or the position
/// of a macro that expands to it.
struct LoopPlace {
  const char* file = "";
  unsigned line = 0, column = 0;

#if defined(__clang__)  // clang up to version 15 has no std::source_location
  static constexpr LoopPlace current(const char* file = __builtin_FILE(),
                                     unsigned line = __builtin_LINE(),
                                     unsigned column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static constexpr LoopPlace current(std::source_location at = std::source_location::current()) {
    return {at.file_name(), at.line(), at.column()};
  }
#endif
};

/// One execution of a wrapped loop, without what depends on the element type. Its destructor marks
/// the end of the loop, also when the loop is left by `break` or an exception.
class LoopScope {
 public:
  LoopScope(std::string_view name, LoopSettings settings);
  ~LoopScope();
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

  struct Start {
    bool visit = true;       ///< false: do not touch the range at all
    /// How many elements to step over first. `arrive` is to be called before the last of these
    /// steps.
    std::uint64_t skip = 0;
  };
  /// To be called before the range is touched. `random_access`: stepping over elements has no
  /// effects.
  Start begin(bool random_access, const LoopPlace& place);
  /// Tells the number of elements, if it is known once the range is open.
  void count(std::uint64_t elements);
  /// To be called before the last step over skipped elements, or with `gone` if the range ended
  /// earlier.
  void arrive(bool gone);
  /// To be called before an iteration. Returns false if the loop ends here although the range has
  /// more elements.
  bool enter();
  struct Move {
    /// False: the loop ends here although the range may have more elements.
    bool go_on = true;
    /// How far to move to the next iteration. If not 1, `arrive` is to be called as with
    /// `Start::skip`.
    std::int64_t steps = 1;
  };
  /// To be called after an iteration. Asks for a backward step only if `begin` got `random_access`.
  Move leave();
  void exhaust();
  /// The value of the iteration that was entered. An integer that is its index is kept by that.
  void note(std::int64_t value);
  void note(double value);
  void note(std::string_view value);

  struct Frame;

 private:
  std::unique_ptr<Frame> frame_;  // null in a thread that is not the session's
};

std::unique_ptr<LoopScope> open_scope(std::string_view name, LoopSettings settings);

/// The operations that range-for needs of an iterator, and no more: the iterator of libtorch's
/// DataLoader has no post-increment, so that loader is not a std::ranges::input_range.
template <typename I>
concept Cursor = requires(I& cursor) {
  ++cursor;
  *cursor;
};
template <typename R>
concept Iterable = requires(std::remove_reference_t<R>& range) {
  { std::begin(range) } -> Cursor;
  std::begin(range) != std::end(range);
};
template <typename T>
concept LoopOption =
    std::same_as<std::remove_cvref_t<T>, With> || std::same_as<std::remove_cvref_t<T>, Probed>;

/// The integers first, first + step, ... that come before `last`. `plain`: from 0 by 1, so that
/// each integer is the index of its iteration.
template <std::integral Int, bool plain = false>
class Counter {
 public:
  class iterator {
   public:
    iterator(Int first, std::int64_t step, std::ptrdiff_t index)
        : first_(first), step_(step), index_(index) {}
    Int operator*() const {
      // Unsigned, since near the limits an intermediate product may overflow although the result
      // fits.
      return static_cast<Int>(static_cast<std::uint64_t>(first_) +
                              static_cast<std::uint64_t>(step_) *
                                  static_cast<std::uint64_t>(index_));
    }
    iterator& operator++() { return *this += 1; }
    iterator& operator+=(std::ptrdiff_t steps) {
      index_ += steps;
      return *this;
    }
    friend std::ptrdiff_t operator-(iterator a, iterator b) { return a.index_ - b.index_; }
    bool operator==(const iterator& other) const { return index_ == other.index_; }

   private:
    Int first_;
    std::int64_t step_;
    std::ptrdiff_t index_;
  };

  explicit Counter(Int count) : Counter(0, count) {}
  Counter(Int first, Int last, std::int64_t step = 1)
      : first_(first), step_(step), count_(count(first, last, step)) {}
  iterator begin() const { return {first_, step_, 0}; }
  iterator end() const { return {first_, step_, count_}; }

 private:
  static std::ptrdiff_t count(Int first, Int last, std::int64_t step) {
    if (step > 0 ? last <= first : first <= last) return 0;
    const auto low = static_cast<std::uint64_t>(step > 0 ? first : last);
    const auto high = static_cast<std::uint64_t>(step > 0 ? last : first);
    const auto size = static_cast<std::uint64_t>(step);
    return static_cast<std::ptrdiff_t>((high - low - 1) / (step > 0 ? size : ~size + 1) + 1);
  }

  Int first_;
  std::int64_t step_;
  std::ptrdiff_t count_;
};

/// The integers from 0 on.
class Endless {
 public:
  struct sentinel {};
  class iterator {
   public:
    std::int64_t operator*() const { return index_; }
    iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(sentinel) const { return true; }

   private:
    std::int64_t index_ = 0;
  };

  iterator begin() const { return {}; }
  sentinel end() const { return {}; }
};

template <typename Range>
inline constexpr bool is_plain_counter = false;
template <std::integral Int>
inline constexpr bool is_plain_counter<Counter<Int, true>> = true;
template <>
inline constexpr bool is_plain_counter<Endless> = true;

/// The integer type that holds the values of both types: signed if one of them is.
template <std::integral A, std::integral B>
using EitherInteger =
    std::conditional_t<std::signed_integral<A> == std::signed_integral<B>, std::common_type_t<A, B>,
                       std::conditional_t<(sizeof(A) < 4 && sizeof(B) < 4), int, std::int64_t>>;

/// The range that range-for iterates. `R` is an lvalue reference for a range that the user keeps.
/// For a temporary it is a value that the loop owns, since range-for extends the life of the Loop,
/// but not of the temporaries that the Loop was made from.
template <typename R>
class [[nodiscard("iterate it: for (auto& x : flor::loop(...))")]] Loop {
  using Range = std::remove_reference_t<R>;
  using Iterator = decltype(std::begin(std::declval<Range&>()));
  using Sentinel = decltype(std::end(std::declval<Range&>()));
  using Reference = decltype(*std::declval<Iterator&>());
  static constexpr bool kHasValues =
      IterationValue<std::remove_cvref_t<Reference>> && !is_plain_counter<Range>;
  static constexpr bool kRandomAccess =
      requires(Iterator& it, Sentinel& last, std::ptrdiff_t steps) {
        it += steps;
        { last - it } -> std::convertible_to<std::ptrdiff_t>;
      };

 public:
  struct sentinel {};

  class iterator {
   public:
    explicit iterator(Loop* loop) : loop_(loop) {}
    Reference operator*() const { return loop_->element(); }
    iterator& operator++() {
      loop_->advance();
      return *this;
    }
    bool operator!=(sentinel) const { return !loop_->over_; }

   private:
    Loop* loop_;
  };

  Loop(std::unique_ptr<LoopScope> scope, R&& range)
      : scope_(std::move(scope)), range_(std::forward<R>(range)) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  iterator begin(LoopPlace place = LoopPlace::current()) {
    if (ended_) {
      throw Error("a flor::loop was iterated twice: write flor::loop(...) into the for statement");
    }
    if (scope_) {
      start(place);
    } else {
      open();
    }
    return iterator(this);
  }
  sentinel end() { return {}; }

 private:
  /// A range that computes its elements is asked for each once, as without Flor.
  Reference element() {
    if constexpr (kHasValues && !std::is_lvalue_reference_v<Reference>) {
      if (value_is_due_) [[unlikely]] {
        value_is_due_ = false;
        Reference element = **position_;
        note(element);
        return static_cast<Reference&&>(element);
      }
    }
    return **position_;
  }
  void note(const std::remove_reference_t<Reference>& element) {
    as_iteration_value(element, [this](auto value) { scope_->note(value); });
  }

  void open() {
    position_.emplace(std::begin(range_));
    last_.emplace(std::end(range_));
    over_ = !(*position_ != *last_);
  }

  void start(const LoopPlace& place) {
    // A skipped loop must not even call begin(): a DataLoader then starts its workers, and draws
    // the epoch's permutation from the random generator.
    const LoopScope::Start start = scope_->begin(kRandomAccess, place);
    if (!start.visit) return finish();
    open();
    if constexpr (kRandomAccess) {
      const auto count = static_cast<std::ptrdiff_t>(*last_ - *position_);
      scope_->count(static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(count, 0)));
    }
    if (start.skip > 0) {
      step_over(start.skip - 1);
      scope_->arrive(over_);
      step_over(1);
    }
    settle();
  }

  void step_over(std::uint64_t steps) {
    if constexpr (kRandomAccess) {
      const auto left = static_cast<std::uint64_t>(*last_ - *position_);
      *position_ += static_cast<std::ptrdiff_t>(std::min(steps, left));
      over_ = !(*position_ != *last_);
    } else {
      for (; steps > 0 && !over_; --steps) {
        ++*position_;
        over_ = !(*position_ != *last_);
      }
    }
  }

  void advance() {
    if (scope_) {
      const LoopScope::Move move = scope_->leave();
      if (!move.go_on) return finish();
      if (move.steps != 1) [[unlikely]] {
        jump(move.steps);
        return settle();
      }
    }
    ++*position_;
    over_ = !(*position_ != *last_);
    if (scope_) settle();
  }

  void jump(std::int64_t steps) {
    if constexpr (kRandomAccess) {
      const auto left = static_cast<std::int64_t>(*last_ - *position_);
      *position_ += static_cast<std::ptrdiff_t>(std::min(steps, left));
      over_ = !(*position_ != *last_);
      scope_->arrive(over_);
    } else {
      step_over(static_cast<std::uint64_t>(steps) - 1);
      scope_->arrive(over_);
      step_over(1);
    }
  }

  void settle() {
    if (over_) scope_->exhaust();
    if (over_ || !scope_->enter()) return finish();
    if constexpr (kHasValues && std::is_lvalue_reference_v<Reference>) {
      note(**position_);
    } else if constexpr (kHasValues) {
      value_is_due_ = true;
    }
  }

  /// Ends the loop at once, not when this object is destroyed: a Loop that has a name may live
  /// longer.
  void finish() {
    over_ = true;
    ended_ = true;
    value_is_due_ = false;
    last_.reset();
    position_.reset();
    scope_.reset();
  }

  std::unique_ptr<LoopScope> scope_;  // first, so that it is destroyed after the iterators
  R range_;
  std::optional<Iterator> position_;
  std::optional<Sentinel> last_;
  bool over_ = false;
  bool ended_ = false;  // set by finish(): over, and the scope is closed
  bool value_is_due_ = false;  // true until the value of the entered iteration is noted
};

/// A pointer to a range, such as torch::data::make_data_loader returns.
template <typename T>
concept PointerToRange = !Iterable<T> && requires(T& pointer) {
  { *pointer } -> Iterable;
};

template <typename... Options>
std::unique_ptr<LoopScope> scope_if_active(std::string_view name, Options&&... options) {
  if (!session_active.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  LoopSettings settings;
  (settings.add(std::forward<Options>(options)), ...);
  return open_scope(name, std::move(settings));
}

}  // namespace detail

/// The integers from `first` up to, but not including, `last`, for loops that do not begin at 0:
/// `flor::loop("epoch", flor::range(1, epochs + 1))`. `step` is the distance between them; with a
/// negative step the range counts down: `flor::range(10, 0, -1)` ends with 1. Values are still
/// logged under the index of the iteration, which begins at 0 and counts by 1. Throws UsageError if
/// `step` is 0, or if one bound may be negative and the other needs all 64 bits.
template <std::integral First, std::integral Last>
detail::Counter<detail::EitherInteger<First, Last>> range(First first, Last last,
                                                          std::int64_t step = 1) {
  using Int = detail::EitherInteger<First, Last>;
  if (step == 0) throw UsageError("flor::range: a step of 0 never ends; give another");
  if (!std::in_range<Int>(first) || !std::in_range<Int>(last)) {
    throw UsageError("flor::range: a limit does not fit the type of the other: cast one of them");
  }
  return {static_cast<Int>(first), static_cast<Int>(last), step};
}

/// The integers from 0 on, for loops that end by `break`, such as one that was `while (more)`:
///
///   for ([[maybe_unused]] auto step : flor::loop("step", flor::endless())) {
///     if (!more) break;
inline detail::Endless endless() { return {}; }

/// Wraps the range of a range-for:
///
///   for (int epoch : flor::loop("epoch", epochs))
///     for (auto& batch : flor::loop("train", *loader, flor::with(running_loss))) { ... }
///
/// The outermost wrapped loop is the main loop: its iterations are the epochs, which are
/// checkpointed, and shared out among processes on replay. A loop directly inside it is nested: it
/// is checkpointed when it ends, and a replay loads that checkpoint instead of executing the loop,
/// unless the loop is probed. Deeper loops only add their index to what is logged inside them. The
/// loop variable has the type it would have without flor::loop (references included). In threads
/// other than the one that called flor::init, loops are plain loops.
///
/// Elements that are texts, paths or numbers are kept as the values of their iterations, unless
/// they equal the number of the iteration: `flor::loop("document", files)` makes `document_value` a
/// column of the values logged inside it. A text is kept up to 1 KiB, with secrets masked.
///
/// `range` is anything that range-for accepts, including temporaries and DataLoaders; an integer
/// counts from 0; a braced list is copied. Options are flor::with(locals...) for locals that the
/// loop changes, and flor::probed. A loop without a name is known by its place among the unnamed
/// loops of its parent loop.
template <detail::Iterable R, detail::LoopOption... Options>
detail::Loop<R> loop(std::string_view name, R&& range, Options&&... options) {
  return detail::Loop<R>(detail::scope_if_active(name, std::forward<Options>(options)...),
                         std::forward<R>(range));
}
template <std::integral Int, detail::LoopOption... Options>
detail::Loop<detail::Counter<Int, true>> loop(std::string_view name, Int count,
                                              Options&&... options) {
  return detail::Loop<detail::Counter<Int, true>>(
      detail::scope_if_active(name, std::forward<Options>(options)...),
      detail::Counter<Int, true>(count));
}
template <typename T, detail::LoopOption... Options>
detail::Loop<std::vector<T>> loop(std::string_view name, std::initializer_list<T> values,
                                  Options&&... options) {
  return detail::Loop<std::vector<T>>(
      detail::scope_if_active(name, std::forward<Options>(options)...), std::vector<T>(values));
}
template <detail::Iterable R, detail::LoopOption... Options>
detail::Loop<R> loop(R&& range, Options&&... options) {
  return detail::Loop<R>(detail::scope_if_active({}, std::forward<Options>(options)...),
                         std::forward<R>(range));
}
template <std::integral Int, detail::LoopOption... Options>
detail::Loop<detail::Counter<Int, true>> loop(Int count, Options&&... options) {
  return detail::Loop<detail::Counter<Int, true>>(
      detail::scope_if_active({}, std::forward<Options>(options)...),
      detail::Counter<Int, true>(count));
}
template <typename T, detail::LoopOption... Options>
detail::Loop<std::vector<T>> loop(std::initializer_list<T> values, Options&&... options) {
  return detail::Loop<std::vector<T>>(
      detail::scope_if_active({}, std::forward<Options>(options)...), std::vector<T>(values));
}

/// Rejects a call with a name alone, which has no range.
template <std::size_t N, detail::LoopOption... Options>
void loop(const char (&name)[N], Options&&... options) = delete;

/// Rejects arguments after the range that are not options.
template <typename R, typename... Options>
  requires((detail::Iterable<R> || std::integral<std::remove_cvref_t<R>>) &&
           !(detail::LoopOption<Options> && ...))
detail::Counter<int> loop(std::string_view, R&&, Options&&...) {
  static_assert(!sizeof...(Options),
                "flor::loop takes flor::with(locals...) and flor::probed after its range: write "
                "flor::with(x) for a local x that the loop changes, and flor::range(first, last) "
                "for two numbers");
  return detail::Counter<int>(0);
}

template <detail::PointerToRange P, detail::LoopOption... Options>
void loop(std::string_view, P&&, Options&&...) {
  static_assert(!sizeof(P*), "flor::loop takes a range: dereference the pointer, as in *loader");
}

}  // namespace flor
