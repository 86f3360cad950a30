// Everything of the standard library that registers comes back as it was, down to its bits and to
// the order in which the program sees it, whatever the object held before.
#include "support/memory_state.h"

#include <flor/state.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <cstring>
#include <forward_list>
#include <list>
#include <map>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <valarray>

namespace flor::testing {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

enum class Phase : std::int16_t { warm, hot, cold };
struct Meter {
  int count = 0;
  std::string note;
  void save(std::ostream& out) const { out << count << ' ' << note; }
  void load(std::istream& in) {
    in >> count;
    in.get();
    note.assign(std::istreambuf_iterator<char>(in), {});
  }
};
struct DrawnPieces {
  int a = 0;
  std::string b;
  void save(const StateWriter& writer) const {
    writer.number("a", a);
    writer.bytes("b", b);
  }
  void load(const StateReader& reader) {
    reader.number("a", a);
    b = reader.bytes("b");
  }
};
/// Keys that it takes for equal may differ.
struct ByLastDigit {
  bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct Crowded {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key % 3); }
};

// What is in an object, for the test alone, and what it is filled with. ---------------------------

template <typename T>
concept Range = requires(const T& value) {
  std::begin(value);
  std::end(value);
};
template <typename T>
concept Engine = requires(T& engine) { engine.discard(1); };
template <typename T>
concept Distribution = requires { typename T::param_type; };

template <typename T>
std::string print(const T& value);
template <typename T>
T make(Random& random);

template <typename... T>
std::string print_all(const T&... parts) {
  return "(" + (std::string() + ... + print(parts)) + ")";
}

template <typename T>
std::string print(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    const std::size_t bytes = std::is_same_v<T, long double> ? 10 : sizeof(T);
    std::string text(reinterpret_cast<const char*>(&value), bytes);
    return text + ";";
  } else if constexpr (requires { value.count, value.note; }) {
    return print_all(value.count, value.note);
  } else if constexpr (requires { value.a, value.b; }) {
    return print_all(value.a, value.b);
  } else if constexpr (requires { value.time_since_epoch(); }) {
    return print(value.time_since_epoch());
  } else if constexpr (requires { value.native(); }) {
    return print(value.native());
  } else if constexpr (requires { value.to_string(); }) {
    return value.to_string();
  } else if constexpr (requires { value.real(), value.imag(); }) {
    return print_all(value.real(), value.imag());
  } else if constexpr (requires { value.is_lock_free(); }) {
    return print(value.load());
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    return std::to_string(value.index()) +
           std::visit([](const auto& held) { return print(held); }, value);
  } else if constexpr (requires { value.get(), !value; } || requires { value.has_value(); }) {
    return value ? "*" + print(*value) : "-";
  } else if constexpr (requires { value.first, value.second; }) {
    return print_all(value.first, value.second);
  } else if constexpr (Range<T>) {
    std::string text = "[";
    for (const auto& element : value) {
      text += print(static_cast<const std::remove_cvref_t<decltype(element)>&>(element));
    }
    if constexpr (requires { value.bucket_count(); }) text += print(value.bucket_count());
    return text + "]";
  } else if constexpr (requires { typename T::container_type; }) {
    T copy = value;
    std::string text = "<";
    for (; !copy.empty(); copy.pop()) {
      if constexpr (requires { copy.front(); }) {
        text += print(copy.front());
      } else {
        text += print(copy.top());
      }
    }
    return text + ">";
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    return "m";
  } else if constexpr (Engine<T>) {
    T copy = value;
    return print_all(static_cast<std::uint64_t>(copy()), static_cast<std::uint64_t>(copy()));
  } else if constexpr (Distribution<T>) {
    T copy = value;
    std::mt19937 engine(7);
    return print_all(copy(engine), copy(engine), copy(engine));
  } else if constexpr (requires { typename T::rep; }) {
    return print(value.count());
  } else {
    return std::apply([](const auto&... parts) { return print_all(parts...); }, value);
  }
}

template <typename T>
void fill(T& value, Random& random);

template <typename T>
T make(Random& random) {
  T value{};
  fill(value, random);
  return value;
}

template <typename T>
void fill_container(T& value, Random& random) {
  const std::size_t count = below(random, 5) * below(random, 5);
  if constexpr (requires { value.resize(count); }) {
    value.resize(count);
    for (auto&& element : value) element = make<typename T::value_type>(random);
  } else {
    value.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (requires { typename T::mapped_type; }) {
        auto key = make<typename T::key_type>(random);
        value.emplace(std::move(key), make<typename T::mapped_type>(random));
      } else {
        value.insert(make<typename T::key_type>(random));
      }
    }
    for (std::size_t i = below(random, 3); i > 0 && !value.empty(); --i) value.erase(value.begin());
  }
}

template <typename T>
void fill(T& value, Random& random) {
  if constexpr (std::is_same_v<T, bool>) {
    value = random() % 2 != 0;
  } else if constexpr (std::is_same_v<T, long double>) {
    value = static_cast<long double>(random()) / 7;
  } else if constexpr (std::is_same_v<T, int>) {
    value = static_cast<int>(below(random, 40)) - 5;  // so that some are equal
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    const std::uint64_t bits = random();
    std::memcpy(&value, &bits, sizeof value);
  } else if constexpr (requires { value.count, value.note; }) {
    fill(value.count, random);
    fill(value.note, random);
  } else if constexpr (requires { value.a, value.b; }) {
    fill(value.a, random);
    fill(value.b, random);
  } else if constexpr (requires { value.time_since_epoch(); }) {
    value = T(make<typename T::duration>(random));
  } else if constexpr (requires { value.native(); }) {
    value = make<std::string>(random);
  } else if constexpr (requires { value.to_string(); }) {
    value = T(random());
  } else if constexpr (requires { value.real(), value.imag(); }) {
    const auto real = make<typename T::value_type>(random);
    value = T(real, make<typename T::value_type>(random));
  } else if constexpr (requires { value.is_lock_free(); }) {
    value.store(make<typename T::value_type>(random));
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    if (random() % 2 == 0) {
      value.template emplace<0>(make<std::variant_alternative_t<0, T>>(random));
    } else {
      value.template emplace<1>(make<std::variant_alternative_t<1, T>>(random));
    }
  } else if constexpr (requires { typename T::element_type; value.reset(); }) {
    value.reset(random() % 4 == 0 ? nullptr : new typename T::element_type());
    if (value) fill(*value, random);
  } else if constexpr (requires { value.has_value(); }) {
    value.reset();
    if (random() % 3 != 0) fill(value.emplace(), random);
  } else if constexpr (requires { value.first, value.second; }) {
    fill(value.first, random);
    fill(value.second, random);
  } else if constexpr (requires { typename T::container_type; }) {
    value = T();
    for (std::size_t i = below(random, 6); i > 0; --i) {
      value.push(make<typename T::value_type>(random));
    }
  } else if constexpr (requires { value.resize(1); } || requires { typename T::key_type; }) {
    fill_container(value, random);
  } else if constexpr (Range<T>) {
    for (auto& element : value) fill(element, random);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (Engine<T>) {
    value.discard(below(random, 900));
  } else if constexpr (Distribution<T>) {
    std::mt19937 engine(static_cast<unsigned>(random()));
    for (std::size_t i = below(random, 4); i > 0; --i) value(engine);
  } else if constexpr (requires { typename T::rep; }) {
    value = T(make<typename T::rep>(random));
  } else {
    std::apply([&](auto&... parts) { (fill(parts, random), ...); }, value);
  }
}

// -------------------------------------------------------------------------------------------------

/// Assertions that are compiled once and not for each of hundreds of types.
void expect_equal(const std::string& is, const std::string& expected) { RC_ASSERT(is == expected); }
void expect_equal(const MemoryState& is, const MemoryState& expected) { RC_ASSERT(is == expected); }

template <typename T>
void comes_back(std::uint64_t seed) {
  Random random(seed);
  T recorded{}, here{};
  fill(recorded, random);
  fill(here, random);
  const std::string expected = print(recorded);
  MemoryState state;
  state.save("it", recorded);
  expect_equal(print(recorded), expected);
  state.load("it", here);
  expect_equal(print(here), expected);
  MemoryState again;
  again.save("it", here);
  expect_equal(again, state);
}

template <typename... T>
void all_come_back(std::uint64_t seed) {
  (comes_back<T>(seed), ...);
}

/// Each container of these elements. A type takes a fifth of a second to compile, so elements that
/// differ in their bytes alone, or are containers themselves, are in `in_some`.
template <typename... T>
void in_sequences(std::uint64_t seed) {
  all_come_back<std::vector<T>..., std::deque<T>..., std::list<T>..., std::forward_list<T>...,
                std::array<T, 3>..., std::optional<T>..., std::unique_ptr<T>...,
                std::shared_ptr<T>..., std::variant<std::string, T>..., std::pair<T, int>...,
                std::tuple<T, bool, T>..., std::map<int, T>..., std::multimap<int, T>...,
                std::unordered_map<int, T>..., std::unordered_multimap<int, T, Crowded>...>(seed);
}
template <typename... T>
void in_some(std::uint64_t seed) {
  all_come_back<std::vector<T>..., std::optional<T>..., std::map<int, T>...>(seed);
}
template <typename... T>
void as_keys(std::uint64_t seed) {
  all_come_back<std::set<T>..., std::multiset<T>..., std::map<T, std::string>...,
                std::multimap<T, double>...>(seed);
}
template <typename... T>
void hashed(std::uint64_t seed) {
  all_come_back<std::unordered_set<T>..., std::unordered_multiset<T>...,
                std::unordered_map<T, long>..., std::unordered_multimap<T, std::string>...>(seed);
}

RC_GTEST_PROP(StateProperty, SingleValuesComeBack, (std::uint64_t seed)) {
  all_come_back<bool, char, signed char, unsigned char, wchar_t, char8_t, char16_t, char32_t, short,
                unsigned, long, unsigned long long, float, double, long double, Phase, std::byte,
                std::complex<float>, std::complex<double>, std::complex<long double>, std::string,
                std::wstring, std::u32string, std::filesystem::path, std::bitset<1>,
                std::bitset<70>, std::chrono::nanoseconds, std::chrono::duration<double>,
                std::chrono::system_clock::time_point, std::atomic<int>, std::atomic<double>,
                std::monostate, Meter, DrawnPieces, std::tuple<>, std::valarray<double>,
                std::array<int, 0>>(seed);
}
RC_GTEST_PROP(StateProperty, EnginesAndDistributionsComeBack, (std::uint64_t seed)) {
  all_come_back<std::minstd_rand, std::mt19937, std::mt19937_64, std::ranlux24, std::ranlux48,
                std::knuth_b, std::normal_distribution<float>, std::normal_distribution<double>,
                std::uniform_int_distribution<int>, std::uniform_real_distribution<double>,
                std::bernoulli_distribution, std::binomial_distribution<int>,
                std::poisson_distribution<int>, std::gamma_distribution<double>,
                std::student_t_distribution<double>, std::lognormal_distribution<float>,
                std::negative_binomial_distribution<int>, std::discrete_distribution<int>,
                std::vector<std::mt19937>, std::map<int, std::normal_distribution<double>>>(seed);
}
RC_GTEST_PROP(StateProperty, RowsOfPlainDataComeBack, (std::uint64_t seed)) {
  in_sequences<bool, int, std::string>(seed);
  in_some<float, long double>(seed);
}
RC_GTEST_PROP(StateProperty, RowsOfOwnTypesComeBack, (std::uint64_t seed)) {
  in_sequences<Meter, DrawnPieces>(seed);
  in_some<Phase, std::complex<double>>(seed);
}
RC_GTEST_PROP(StateProperty, RowsOfContainersComeBack, (std::uint64_t seed)) {
  in_sequences<std::vector<bool>, std::optional<DrawnPieces>>(seed);
  in_some<std::multiset<int>, std::unordered_multimap<int, double>, std::shared_ptr<std::string>>(
      seed);
}
RC_GTEST_PROP(StateProperty, DeepNestingsComeBack, (std::uint64_t seed)) {
  all_come_back<
      std::map<std::string, std::vector<std::pair<int, std::optional<double>>>>,
      std::vector<std::map<int, std::multiset<std::pair<int, char>>>>,
      std::unordered_map<std::string, std::unordered_multimap<int, std::deque<bool>>>,
      std::tuple<std::variant<int, std::list<std::vector<float>>>, std::set<std::set<int>>>,
      std::optional<std::vector<std::unique_ptr<std::map<int, DrawnPieces>>>>,
      std::array<std::array<std::forward_list<long double>, 2>, 2>, std::stack<std::vector<int>>,
      std::queue<DrawnPieces>, std::priority_queue<std::pair<int, std::string>>>(seed);
}
RC_GTEST_PROP(StateProperty, KeysComeBackInTheirOrder, (std::uint64_t seed)) {
  as_keys<int, char, std::string, std::pair<int, int>, std::vector<int>>(seed);
  hashed<int, std::string, bool>(seed);
  all_come_back<std::set<int, std::greater<>>, std::set<int, ByLastDigit>,
                std::multiset<int, ByLastDigit>, std::map<int, DrawnPieces, ByLastDigit>,
                std::multimap<int, std::string, ByLastDigit>, std::unordered_set<int, Crowded>,
                std::unordered_multiset<int, Crowded>>(seed);
}

TEST(Containers, KeepTheAddressesOfWhatStays) {
  std::map<std::string, int> ordered{{"a", 1}, {"b", 2}};
  std::unordered_map<std::string, int> table{{"a", 1}, {"b", 2}, {"c", 3}};
  std::list<int> list{1, 2};
  MemoryState state;
  state.save("ordered", ordered);
  state.save("table", table);
  state.save("list", list);
  int* const in_ordered = &ordered["b"];
  const int* const in_table = &table["b"];
  const int* const in_list = &list.front();
  ordered.erase("a");
  ordered["c"] = 9;
  *in_ordered = 7;
  for (int i = 0; i < 100; ++i) table[std::to_string(i)] = i;
  table.erase("a");
  list.push_back(9);
  state.load("ordered", ordered);
  state.load("table", table);
  state.load("list", list);
  EXPECT_EQ(*in_ordered, 2);
  EXPECT_EQ(*in_table, 2);
  EXPECT_EQ(&table.at("b"), in_table);
  EXPECT_EQ(&list.front(), in_list);
}

TEST(Containers, OfAnotherTypeAreRefusedByName) {
  const auto refused = [](const auto& recorded, auto here) {
    MemoryState state;
    state.save("it", recorded);
    try {
      state.load("it", here);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("was taken");
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused(std::vector<std::pair<int, float>>{{1, 2}},
                      std::vector<std::pair<float, int>>{}),
              HasSubstr("'it' was recorded as (i32,f32), but is (f32,i32)"));
  EXPECT_THAT(refused(std::map<int, double>{{1, 2}}, std::map<int, float>{}),
              HasSubstr("'it/values/values' was recorded as f64, but is f32"));
  EXPECT_THAT(refused(std::array<int, 3>{}, std::array<int, 4>{}),
              HasSubstr("'it' was recorded with 3 elements, but has 4 here"));
}

TEST(Containers, OfAHundredThousandEntriesAreAFewItems) {
  std::map<int, double> map;
  std::map<std::string, std::vector<int>> lists;
  for (int i = 0; i < 100'000; ++i) {
    map[i] = i;
    lists[std::to_string(i)] = {i};
  }
  MemoryState state;
  state.save("map", map);
  state.save("lists", lists);
  EXPECT_THAT(state.names(), ::testing::ElementsAre("lists/keys/values", "lists/values/values",
                                                    "map/keys/values", "map/values/values"));
}

TEST(Distributions, WhoseTextRoundsAreRefused) {
  std::discrete_distribution<int> weights{0.1, 0.3, 0.7, 1e-9, 3.3};
  MemoryState state;
  try {
    state.save("weights", weights);
    std::discrete_distribution<int> here{1, 2};
    state.load("weights", here);
    EXPECT_EQ(here, weights) << "not refused, so it has to be exact";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'weights' is a random distribution whose"));
  }
}

}  // namespace
}  // namespace flor::testing
