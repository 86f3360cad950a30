// What can be registered is decided when the program is compiled.
#include <flor/state.h>

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace flor {
namespace {

struct Stream {
  void save(std::ostream&) const {}
  void load(std::istream&) {}
};
struct Pieces {
  void save(const StateWriter&) const {}
  void load(const StateReader&) {}
};
struct Nothing {};
struct SavesOnly {
  void save(std::ostream&) const {}
};

static_assert(Checkpointable<int> && Checkpointable<bool> && Checkpointable<float>);
static_assert(Checkpointable<std::string> && Checkpointable<std::vector<std::string>>);
static_assert(Checkpointable<std::vector<bool>> && Checkpointable<std::deque<std::vector<double>>>);
static_assert(Checkpointable<std::map<std::string, std::vector<int>>>);
static_assert(Checkpointable<std::unordered_map<int, double>> && Checkpointable<std::set<int>>);
static_assert(Checkpointable<std::pair<int, std::string>> && Checkpointable<std::tuple<int, bool>>);
static_assert(Checkpointable<std::array<double, 3>> && Checkpointable<std::optional<int>>);
static_assert(Checkpointable<std::unique_ptr<int>> && Checkpointable<std::shared_ptr<Stream>>);
static_assert(Checkpointable<std::mt19937> && Checkpointable<std::ranlux48>);
static_assert(Checkpointable<std::normal_distribution<float>>);
static_assert(Checkpointable<Stream> && Checkpointable<Pieces>);
static_assert(Checkpointable<std::vector<Stream>>);
static_assert(!Checkpointable<Nothing> && !Checkpointable<SavesOnly>);
static_assert(!Checkpointable<int*> && !Checkpointable<std::thread>);
static_assert(!Checkpointable<std::vector<Nothing>> && !Checkpointable<std::optional<Nothing>>);

TEST(State, NamesOfPartsAreJoinedBySlashes) {
  EXPECT_EQ(detail::join_names("model", "fc.weight"), "model/fc.weight");
  EXPECT_EQ(detail::join_names("", "x"), "x");
  EXPECT_EQ(detail::join_names("x", ""), "x");
}

TEST(State, ElementTypesAreThoseOfTheNumbers) {
  enum class Small : std::int8_t { one };
  EXPECT_EQ(detail::element_type_of<float>(), ElementType::f32);
  EXPECT_EQ(detail::element_type_of<double>(), ElementType::f64);
  EXPECT_EQ(detail::element_type_of<bool>(), ElementType::boolean);
  EXPECT_EQ(detail::element_type_of<std::int64_t>(), ElementType::i64);
  EXPECT_EQ(detail::element_type_of<std::uint8_t>(), ElementType::u8);
  EXPECT_EQ(detail::element_type_of<Small>(), ElementType::i8);
}

}  // namespace
}  // namespace flor
