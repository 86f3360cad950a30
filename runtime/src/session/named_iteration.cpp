#include "session/named_iteration.h"

#include "base/notice.h"
#include "base/text.h"
#include "session/runtime.h"

#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

namespace flor {
namespace {

/// One that ends in another thread than it began in, or out of order, is only marked there.
/// Without a destructor, since destructors of the program may log when the thread has ended.
thread_local Iteration::Place* innermost = nullptr;

/// A path with a name, if an empty one, for a main loop and a nested loop.
std::string path_below(std::string_view path, std::string_view name) {
  const bool is_in_nested = path.find('/') != path.npos;
  return fmt::format("{}{}{}", path, is_in_nested ? "/" : "//", name);
}

}  // namespace

std::shared_ptr<Iteration::Place> detail::begin_iteration(Runtime& session, std::string component,
                                                          std::int64_t index) {
  auto place = std::make_shared<Iteration::Place>();
  Journal& journal = session.journal();
  place->journal = &journal;
  std::string outer;
  if (const Iteration::Place* around = named_iteration()) {
    outer = around->path_text;
    place->epoch = around->epoch;
    place->step = around->step;
    place->inner = around->inner + ",";
  } else if (session.own_thread()) {
    std::uint32_t path = 0;
    journal.move([&](CurrentPlace& here) {
      path = here.path;
      place->epoch = here.epoch;
      if (here.nested) place->step = here.step.load(std::memory_order_relaxed);
      place->inner = here.inner_text();
    });
    outer = journal.text_of(path);
    if (!place->inner.empty()) place->inner += ",";
  }
  place->path_text = path_below(outer, component);
  place->path = journal.intern(place->path_text);
  place->inner += fmt::format("{}", index);
  place->name = std::move(component);
  place->outer = innermost;
  place->self = place;
  innermost = place.get();
  return place;
}

Iteration::Iteration(std::string_view name, std::int64_t index) {
  if (index < 0) {
    throw UsageError(fmt::format(
        "flor::iteration(\"{}\", {}): iterations are counted from 0: give the number of this one",
        name, index));
  }
  detail::Runtime* session = detail::runtime();
  if (!session) return;
  const detail::Inside inside;
  place_ = detail::begin_iteration(*session, detail::safe_loop_name(name), index);
}

Iteration::~Iteration() {
  if (!place_) return;
  place_->is_over = true;
  detail::named_iteration();
}

void Iteration::note(std::int64_t value) { detail::note_iteration(value); }
void Iteration::note(double value) { detail::note_iteration(value); }
void Iteration::note(std::string_view value) { detail::note_iteration(place_->name, value); }

namespace detail {
namespace {

/// Runs `append` on the session's journal; a value that cannot be kept is reported.
template <typename Append>
void with_iteration(Append&& append) noexcept {
  Runtime* session = runtime();
  if (!session) return;
  const Inside inside;
  try {
    append(session->journal());
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

/// At most `bytes` of UTF-8, no character cut in two.
std::string_view whole_characters(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0u) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = store::first_code_point(text).length;
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace

Iteration::Place* named_iteration() noexcept {
  while (innermost && innermost->is_over) {
    const std::shared_ptr<Iteration::Place> over = std::move(innermost->self);
    innermost = over->outer;
  }
  return innermost;
}

void note_iteration(std::int64_t value) noexcept {
  with_iteration([&](Journal& journal) {
    journal.add_iteration(store::ValueType::integer, std::bit_cast<std::uint64_t>(value));
  });
}

void note_iteration(double value) noexcept {
  with_iteration([&](Journal& journal) {
    journal.add_iteration(store::ValueType::real, std::bit_cast<std::uint64_t>(value));
  });
}

void note_iteration(std::string_view name, std::string_view value) noexcept {
  with_iteration([&](Journal& journal) {
    IterationText kept = iteration_text(name, value);
    static std::atomic<bool> is_told{false};
    if (kept.is_cut && !is_told.exchange(true)) {
      say(Level::warn,
          fmt::format(
              "a value of the loop \"{}\" has more than {} bytes: what stands after them is "
              "not recorded, of this and any other",
              name, kIterationTextMax));
    }
    journal.add_iteration(std::move(kept.text));
  });
}

IterationText iteration_text(std::string_view name, std::string_view value) {
  // A secret that begins in what is kept has its end in this, too; elements may be whole documents.
  constexpr std::size_t kLookedAt = 16 * kIterationTextMax;
  const std::string text = as_utf8(store::masked_value(name, value.substr(0, kLookedAt)));
  if (text.size() <= kIterationTextMax && value.size() <= kLookedAt) return {text, false};
  constexpr std::string_view kCut = "...";
  return {std::string(whole_characters(text, kIterationTextMax - kCut.size())).append(kCut), true};
}

}  // namespace detail
}  // namespace flor
