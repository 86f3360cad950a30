// How the containers of the standard library are saved: all elements as one item if they are plain
// data, else one item for each, in the order in which the program iterates them. A restore keeps
// the addresses of elements that were there already.
#pragma once

#include <flor/state/state_traits.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flor {
namespace detail {

// ---------------------------------------------------------------------------------------------
// Elements in a row.

/// Numbers of a type that the store has: several of them are stored as a tensor of one dimension.
template <typename T>
concept Plottable = Number<T> && element_type_of<T>() != ElementType::bytes && Packed<T>;

inline constexpr std::string_view kValuesItem = "values", kSizeItem = "size";

template <typename T>
void write_numbers(const T* values, std::size_t count, const StateWriter& writer) {
  writer.tensor(kValuesItem, {.type = element_type_of<T>(),
                              .sizes = {static_cast<std::int64_t>(count)},
                              .bytes = count * sizeof(T),
                              .host = reinterpret_cast<const std::byte*>(values),
                              .copy = {}});
}

/// The bytes of the numbers in `element` if it is a container of numbers, else 0.
template <typename T>
std::size_t number_bytes(const T& element) {
  if constexpr (requires { typename T::value_type; std::size(element); }) {
    if constexpr (Plottable<typename T::value_type>) {
      return std::size(element) * sizeof(typename T::value_type);
    }
  }
  return 0;
}

/// True if the elements are long rows of numbers, as in a matrix. Each row then becomes an item of
/// its own: the store sees it as numbers, and the rows need not be copied together.
template <typename Range, typename Get>
bool has_long_rows(const Range& range, std::size_t count, Get&& get) {
  constexpr std::size_t kLong = 1024;
  std::size_t bytes = 0;
  for (const auto& element : range) bytes += number_bytes(get(element));
  return count > 0 && bytes / count >= kLong;
}

/// Saves the elements of a range; `get` returns what to save of each.
template <typename T, typename Range, typename Get>
void save_row(const Range& range, const StateWriter& writer, Get&& get) {
  const auto count = static_cast<std::size_t>(std::distance(std::begin(range), std::end(range)));
  if constexpr (Plottable<T>) {
    const auto row = std::make_unique<T[]>(count);
    std::size_t index = 0;
    for (const auto& element : range) row[index++] = get(element);
    return write_numbers(row.get(), count, writer);
  } else if constexpr (Packed<T>) {
    if (!has_long_rows(range, count, get)) {
      std::string content = concat(std::to_string(count), " ", StateTraits<T>::form(), "\n");
      for (const auto& element : range) StateTraits<T>::pack(get(element), content);
      return writer.bytes(kValuesItem, content);
    }
  }
  if constexpr (!Plottable<T>) {
    writer.number(kSizeItem, static_cast<std::uint64_t>(count));
    std::size_t index = 0;
    for (const auto& element : range) {
      StateTraits<T>::save(get(element), writer.within(std::to_string(index++)));
    }
  }
}

/// Restores the elements that save_row() saved, in order.
template <typename T>
class Row {
 public:
  explicit Row(const StateReader& reader)
      : reader_(reader), in_({}, reader.full_name("")), packed_(Packed<T> && !reader.has(kSizeItem)) {
    if constexpr (Plottable<T>) {
      content_ = reader.numbers(kValuesItem, element_type_of<T>());
      size_ = content_.size() / sizeof(T);
      in_ = Unpacker(content_, reader.full_name(""));
    } else if (packed_) {
      take_packed();
    } else {
      std::uint64_t count = 0;
      reader.number(kSizeItem, count);
      size_ = static_cast<std::size_t>(count);
    }
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  std::size_t size() const { return size_; }

  void next(T& value) {
    if constexpr (Packed<T>) {
      if (packed_) return StateTraits<T>::unpack(value, in_);
    }
    StateTraits<T>::load(value, reader_.within(std::to_string(index_++)));
  }

 private:
  void take_packed() {
    if constexpr (Packed<T>) {
      content_ = reader_.bytes(kValuesItem);
      const std::size_t space = std::min(content_.find(' '), content_.size());
      size_ = space == content_.size() ? 0 : std::strtoull(content_.c_str(), nullptr, 10);
      const auto after = std::string_view(content_).substr(std::min(space + 1, content_.size()));
      in_ = Unpacker(check_form(after, StateTraits<T>::form(), reader_), reader_.full_name(""));
      if (size_ > content_.size() && size_ > 0 && !may_be_empty()) in_.refuse();
    }
  }
  /// True if an element takes no bytes when it is packed. Only then may there be more elements than
  /// bytes of content.
  static bool may_be_empty() {
    if constexpr (Packed<T> && std::default_initializable<T>) {
      std::string content;
      StateTraits<T>::pack(T(), content);
      return content.empty();
    }
    return false;
  }

  StateReader reader_;
  std::string content_;
  Unpacker in_;
  bool packed_;
  std::size_t size_ = 0, index_ = 0;
};

inline constexpr auto kItself = [](const auto& element) -> const auto& { return element; };

/// Packs a row that lies inside another container: the number of its elements, then the elements.
template <typename T, typename Range>
void pack_row(const Range& range, std::string& out) {
  const std::uint64_t count =
      static_cast<std::uint64_t>(std::distance(std::begin(range), std::end(range)));
  pack_bytes(out, &count, sizeof count);
  for (const auto& element : range) StateTraits<T>::pack(element, out);
}

[[noreturn]] inline void refuse_size(const std::string& name, std::size_t recorded,
                                     std::size_t here) {
  throw Error("'" + name + "' was recorded with " + std::to_string(recorded) +
              (recorded == 1 ? " element" : " elements") + ", but has " + std::to_string(here) +
              " here");
}

// ---------------------------------------------------------------------------------------------
// Concepts for the kinds of containers.

/// std::vector, std::deque, std::list, std::forward_list, std::valarray.
template <typename T>
concept Sequence = !SavesItself<T> && !is_string<T> && requires(T& value, std::size_t count) {
  typename T::value_type;
  value.resize(count);
  std::begin(value);
};
template <typename T>
concept Associative = !SavesItself<T> && requires(T& value) {
  typename T::key_type;
  typename T::value_type;
  value.erase(value.begin(), value.end());
};
template <typename T>
concept Mapping = requires { typename T::mapped_type; };
template <typename T>
concept Ordered = requires(T& value) { value.key_comp(); };
template <typename T>
concept Hashed = requires(T& value) {
  value.hash_function();
  value.rehash(value.bucket_count());
};

template <typename T>
struct MappedOf {
  using type = bool;  // a set has only keys
};
template <Mapping T>
struct MappedOf<T> {
  using type = typename T::mapped_type;
};

}  // namespace detail

// ---------------------------------------------------------------------------------------------
// Sequences.

template <detail::Sequence T>
  requires(Checkpointable<typename T::value_type> && !detail::Associative<T>)
struct StateTraits<T> {
  using Element = typename T::value_type;
  static constexpr std::string_view kind = "values";
  static void save(const T& value, const StateWriter& writer) {
    if constexpr (detail::Plottable<Element> && requires {
                    { value.data() } -> std::same_as<const Element*>;
                  }) {
      detail::write_numbers(value.data(), value.size(), writer);
    } else {
      detail::save_row<Element>(value, writer, detail::kItself);
    }
  }
  static void load(T& value, const StateReader& reader) {
    detail::Row<Element> row(reader);
    resize(value, row.size(), reader.full_name(""));
    each(value, [&](Element& element) { row.next(element); });
  }
  static std::string form()
    requires detail::Packed<Element>
  {
    return detail::concat("[", StateTraits<Element>::form(), "]");
  }
  static void pack(const T& value, std::string& out)
    requires detail::Packed<Element>
  {
    detail::pack_row<Element>(value, out);
  }
  static void unpack(T& value, detail::Unpacker& in)
    requires detail::Packed<Element>
  {
    resize(value, static_cast<std::size_t>(in.number<std::uint64_t>()), in.name());
    each(value, [&](Element& element) { StateTraits<Element>::unpack(element, in); });
  }

 private:
  static void resize(T& value, std::size_t count, const std::string& name) {
    const auto present =
        static_cast<std::size_t>(std::distance(std::begin(value), std::end(value)));
    if (present == count) return;
    if constexpr (detail::Makeable<Element> && std::move_constructible<Element>) {
      value.resize(count);
    } else {
      detail::refuse_size(name, count, present);
    }
  }
  template <typename Body>
  static void each(T& value, Body&& body) {
    for (auto&& element : value) {
      if constexpr (std::same_as<decltype(element), Element&>) {
        body(element);
      } else {  // a vector<bool> has proxies instead of elements
        Element content{};
        body(content);
        element = content;
      }
    }
  }
};

/// Containers whose number of elements is fixed.
namespace detail {
template <typename T, typename Element>
struct FixedTraits {
  static constexpr std::string_view kind = "values";
  static void save(const T& value, const StateWriter& writer) {
    save_row<Element>(std::span(value), writer, kItself);
  }
  static void load(T& value, const StateReader& reader) {
    Row<Element> row(reader);
    check(value, row.size(), reader.full_name(""));
    for (Element& element : value) row.next(element);
  }
  static std::string form()
    requires Packed<Element>
  {
    return detail::concat("[", StateTraits<Element>::form(), "]");
  }
  static void pack(const T& value, std::string& out)
    requires Packed<Element>
  {
    pack_row<Element>(std::span(value), out);
  }
  static void unpack(T& value, Unpacker& in)
    requires Packed<Element>
  {
    check(value, static_cast<std::size_t>(in.number<std::uint64_t>()), in.name());
    for (Element& element : value) StateTraits<Element>::unpack(element, in);
  }

 private:
  static void check(T& value, std::size_t count, const std::string& name) {
    if (std::size(value) != count) refuse_size(name, count, std::size(value));
  }
};
}  // namespace detail

template <Checkpointable T, std::size_t N>
struct StateTraits<std::array<T, N>> : detail::FixedTraits<std::array<T, N>, T> {};
template <Checkpointable T, std::size_t N>
struct StateTraits<T[N]> : detail::FixedTraits<T[N], T> {};
/// A span saves the elements it refers to; a restore needs a span with the same number of elements.
template <Checkpointable T, std::size_t N>
  requires(!std::is_const_v<T>)
struct StateTraits<std::span<T, N>> : detail::FixedTraits<std::span<T, N>, T> {};

// ---------------------------------------------------------------------------------------------
// Sets and maps, also those that allow equal keys.

namespace detail {

template <typename T>
bool same_content(const T& a, const T& b) {
  if constexpr (Packed<T>) {
    std::string left, right;
    StateTraits<T>::pack(a, left);
    StateTraits<T>::pack(b, right);
    return left == right;
  }
  return true;  // the container has found them equal
}

/// The recorded entries of a set or map, in the order in which the program iterated them.
template <typename T>
class Entries {
 public:
  using Key = typename T::key_type;
  using Mapped = typename MappedOf<T>::type;

  explicit Entries(const StateReader& reader) : keys_(reader.within("keys")) {
    if constexpr (Mapping<T>) {
      values_.emplace(reader.within("values"));
      if (values_->size() != keys_.size()) {
        throw Error("'" + reader.full_name("") + "' has more keys than values: it is damaged");
      }
    }
  }
  std::size_t size() const { return keys_.size(); }
  void next_key(Key& key) { keys_.next(key); }
  /// To be called in the order of the keys.
  void next_value(Mapped& value) { values_->next(value); }

 private:
  Row<Key> keys_;
  std::optional<Row<Mapped>> values_;
};

/// The recorded entries of a set or map that lies inside another container.
template <typename T>
class PackedEntries {
 public:
  using Key = typename T::key_type;
  using Mapped = typename MappedOf<T>::type;

  explicit PackedEntries(Unpacker& in)
      : in_(&in), size_(static_cast<std::size_t>(in.number<std::uint64_t>())) {}
  std::size_t size() const { return size_; }
  void next_key(Key& key) { StateTraits<Key>::unpack(key, *in_); }
  void next_value(Mapped& value) { StateTraits<Mapped>::unpack(value, *in_); }

 private:
  Unpacker* in_;
  std::size_t size_;
};

template <typename T, typename Entry>
const typename T::key_type& key_of(const Entry& entry) {
  if constexpr (Mapping<T>) {
    return entry.first;
  } else {
    return entry;
  }
}

template <typename T>
auto insert(T& value, typename T::const_iterator hint, typename T::key_type&& key,
            const std::string& name) {
  if constexpr (!Mapping<T>) {
    return value.emplace_hint(hint, std::move(key));
  } else if constexpr (Makeable<typename T::mapped_type>) {
    return value.emplace_hint(hint, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                              std::forward_as_tuple());
  } else {
    static_cast<void>(hint);
    static_cast<void>(key);
    throw Error("'" + name + "' was recorded with an entry that is not there here");
    return value.begin();
  }
}

/// Makes the keys of `value` the recorded ones, in their order. Entries that stay keep their
/// address.
template <Ordered T>
void set_keys(T& value, auto& recorded, const std::string& name) {
  const auto less = value.key_comp();
  auto at = value.begin();
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    typename T::key_type key{};
    recorded.next_key(key);
    while (at != value.end() &&
           (less(key_of<T>(*at), key) ||
            (!less(key, key_of<T>(*at)) && !same_content(key_of<T>(*at), key)))) {
      at = value.erase(at);
    }
    if (at != value.end() && !less(key, key_of<T>(*at))) {
      ++at;
    } else {
      insert(value, at, std::move(key), name);
    }
  }
  value.erase(at, value.end());
}

/// Restores the keys of a hash table in the recorded order of iteration, which depends on how the
/// table was filled. The table is filled again from the last key to the first: in libstdc++ and
/// others this yields the recorded order if the number of buckets is the same.
template <Hashed T>
void set_keys(T& value, auto& recorded, const std::string& name, std::uint64_t buckets) {
  // A deque, since std::vector<bool> has no references to its elements.
  std::deque<typename T::key_type> keys(recorded.size());
  for (auto& key : keys) recorded.next_key(key);
  if (value.size() == keys.size() && value.bucket_count() == buckets &&
      std::equal(value.begin(), value.end(), keys.begin(), [&](const auto& entry, const auto& key) {
        return value.key_eq()(key_of<T>(entry), key) && same_content(key_of<T>(entry), key);
      })) {
    return;
  }
  T present(0, value.hash_function(), value.key_eq(), value.get_allocator());
  present.max_load_factor(value.max_load_factor());
  present.swap(value);
  if (value.bucket_count() != buckets) value.rehash(static_cast<std::size_t>(buckets));
  for (std::size_t i = keys.size(); i-- > 0;) {
    const auto found = present.find(keys[i]);
    if (found != present.end() && same_content(key_of<T>(*found), keys[i])) {
      value.insert(present.extract(found));
    } else {
      insert(value, value.begin(), std::move(keys[i]), name);
    }
  }
}

}  // namespace detail

template <detail::Associative T>
  requires((detail::Ordered<T> || detail::Hashed<T>) &&
           Checkpointable<typename T::key_type> && detail::Makeable<typename T::key_type> &&
           Checkpointable<typename detail::MappedOf<T>::type>)
struct StateTraits<T> {
  using Key = typename T::key_type;
  using Mapped = typename detail::MappedOf<T>::type;
  static constexpr std::string_view kind = "values";
  static constexpr bool packed = detail::Packed<Key> && detail::Packed<Mapped>;

  static void save(const T& value, const StateWriter& writer) {
    if constexpr (detail::Hashed<T>) writer.number("buckets", buckets_of(value));
    detail::save_row<Key>(value, writer.within("keys"), [](const auto& entry) -> const Key& {
      return detail::key_of<T>(entry);
    });
    if constexpr (detail::Mapping<T>) {
      detail::save_row<Mapped>(value, writer.within("values"),
                               [](const auto& entry) -> const Mapped& { return entry.second; });
    }
  }
  static void load(T& value, const StateReader& reader) {
    detail::Entries<T> recorded(reader);
    std::uint64_t buckets = 0;
    if constexpr (detail::Hashed<T>) reader.number("buckets", buckets);
    restore(value, recorded, reader.full_name(""), buckets);
  }
  static std::string form()
    requires packed
  {
    std::string text(detail::Hashed<T> ? "hashed {" : "{");
    text.append(StateTraits<Key>::form());
    if constexpr (detail::Mapping<T>) text.append(":").append(StateTraits<Mapped>::form());
    return text.append("}");
  }
  static void pack(const T& value, std::string& out)
    requires packed
  {
    const std::uint64_t buckets = detail::Hashed<T> ? buckets_of(value) : 0;
    detail::pack_bytes(out, &buckets, sizeof buckets);
    const std::uint64_t count = value.size();
    detail::pack_bytes(out, &count, sizeof count);
    for (const auto& entry : value) StateTraits<Key>::pack(detail::key_of<T>(entry), out);
    if constexpr (detail::Mapping<T>) {
      for (const auto& entry : value) StateTraits<Mapped>::pack(entry.second, out);
    }
  }
  static void unpack(T& value, detail::Unpacker& in)
    requires packed
  {
    const auto buckets = in.number<std::uint64_t>();
    detail::PackedEntries<T> recorded(in);
    restore(value, recorded, in.name(), buckets);
  }

 private:
  static std::uint64_t buckets_of(const T& value) {
    if constexpr (detail::Hashed<T>) return value.bucket_count();
    return 0;
  }
  static void restore(T& value, auto& recorded, const std::string& name, std::uint64_t buckets) {
    if constexpr (detail::Hashed<T>) {
      detail::set_keys(value, recorded, name, buckets);
    } else {
      detail::set_keys(value, recorded, name);
    }
    if constexpr (detail::Mapping<T>) {
      for (auto& entry : value) recorded.next_value(entry.second);
    }
  }
};

// ---------------------------------------------------------------------------------------------
// std::stack, std::queue and std::priority_queue are saved as their underlying container.

namespace detail {
template <typename T>
concept Adaptor = !SavesItself<T> && requires {
  typename T::container_type;
  typename T::value_type;
} && !requires { typename T::key_type; };

/// Reaches the protected container `c` of an adaptor: a derived class may name it.
template <typename T>
struct AdaptorAccess : T {
  static typename T::container_type& container(T& adaptor) { return adaptor.*(&AdaptorAccess::c); }
};
}  // namespace detail

template <detail::Adaptor T>
  requires Checkpointable<typename T::container_type>
struct StateTraits<T> {
  using Inner = StateTraits<typename T::container_type>;
  static constexpr std::string_view kind = "values";
  static void save(const T& value, const StateWriter& writer) {
    Inner::save(container(value), writer);
  }
  static void load(T& value, const StateReader& reader) {
    Inner::load(detail::AdaptorAccess<T>::container(value), reader);
  }
  static std::string form()
    requires detail::Packed<typename T::container_type>
  {
    return Inner::form();
  }
  static void pack(const T& value, std::string& out)
    requires detail::Packed<typename T::container_type>
  {
    Inner::pack(container(value), out);
  }
  static void unpack(T& value, detail::Unpacker& in)
    requires detail::Packed<typename T::container_type>
  {
    Inner::unpack(detail::AdaptorAccess<T>::container(value), in);
  }

 private:
  static const typename T::container_type& container(const T& value) {
    return detail::AdaptorAccess<T>::container(const_cast<T&>(value));
  }
};

}  // namespace flor
