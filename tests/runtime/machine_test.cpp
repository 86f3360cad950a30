// The machine is sampled from what it says of itself, at a pace that its cost decides.
#include "index/values/machine.h"

#include "machine/machine_reader.h"
#include "machine/machine_sampler.h"
#include "support/temporary_directory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <variant>

namespace flor::detail::machine_test {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::map<std::string, double> by_name(const std::vector<Measure>& measures) {
  std::map<std::string, double> named;
  for (const Measure& measure : measures) named[measure.name] = measure.value;
  return named;
}

class Proc : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((directory_.path() / file).parent_path());
    std::ofstream(directory_.path() / file) << text;
  }
  std::map<std::string, double> read() const {
    return by_name(MachineReader(directory_.path(), directory_.path()).read());
  }
  /// 100 in each field from the fourth to the twentieth, 300 pages resident.
  static std::string stat(const std::string& name) {
    std::string text = "4711 (" + name + ") S";
    for (int field = 4; field <= 23; ++field) text += " 100";
    return text + " 300 0 0\n";
  }

  flor::testing::TemporaryDirectory directory_;
  const double ticks_ = static_cast<double>(::sysconf(_SC_CLK_TCK));
};

TEST_F(Proc, SaysWhatTheProcessAndTheHostUse) {
  write("self/stat", stat("a) name (b"));
  write("self/io", "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\n");
  write("stat", "cpu  100 200 300 9999 9999 10 20 30 5 5\ncpu0 1 1\ncpu1 1 1\nintr 5\n");
  write("meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  250 kB\n");
  write("pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull total=1\n");
  write("net/dev",
        "Inter-|\n face |\n    lo: 7 0 0 0 0 0 0 0 7 0\n"
        "  eth0: 500 1 0 0 0 0 0 0 600 1\n  eth1: 50 1 0 0 0 0 0 0 60 1\n");
  const auto read_now = read();
  EXPECT_THAT(read_now, Contains(Pair("cpu", DoubleNear(100 * 200 / ticks_ / 2, 1e-9))));
  EXPECT_THAT(read_now, Contains(Pair("host_cpu", DoubleNear(100 * 660 / ticks_ / 2, 1e-9))));
  EXPECT_EQ(read_now.at("memory"), 300.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(read_now.at("threads"), 100);
  EXPECT_EQ(read_now.at("read"), 4096);
  EXPECT_EQ(read_now.at("written"), 8192);
  EXPECT_EQ(read_now.at("host_memory"), 75);
  EXPECT_EQ(read_now.at("io_pressure"), 200) << "percent of a second, and two of them";
  EXPECT_EQ(read_now.at("received"), 550);
  EXPECT_EQ(read_now.at("sent"), 660);
  EXPECT_GT(read_now.at("disk_free"), 0);
  EXPECT_THAT(read_now, Not(Contains(Key("cpu_pressure"))));
}

TEST_F(Proc, ThatSaysNothingOrNonsenseGivesWhatIsLeft) {
  EXPECT_THAT(read(), UnorderedElementsAre(Key("disk_free")));
  for (const char* text : {"", "x", "cpu", "cpu \ncpu0", "1 (", "1 )", "1 () S 1 2", "a: b\nc:"}) {
    for (const char* file :
         {"self/stat", "self/io", "stat", "meminfo", "pressure/cpu", "net/dev"}) {
      write(file, text);
    }
    EXPECT_THAT(read(), Not(Contains(Key("memory")))) << text;
  }
}

TEST(Machine, IsReadHere) {
  const auto now = by_name(MachineReader("/tmp").read());
  for (const char* name : {"cpu", "memory", "threads", "host_cpu", "host_memory", "disk_free"}) {
    EXPECT_THAT(now, Contains(Key(name)));
  }
}

class Gpus : public ::testing::Test {
 protected:
  Gpus() { ::setenv("FLOR_NVML", FLOR_FAKE_NVML, 1); }
  ~Gpus() override {
    ::unsetenv("FLOR_NVML");
    ::unsetenv("CUDA_VISIBLE_DEVICES");
  }
  static std::vector<std::string> seen(const char* visible) {
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    std::vector<std::string> ids;
    const auto library = Nvml::open();
    for (const Nvml::Gpu& gpu : library->gpus()) ids.push_back(gpu.uuid);
    return ids;
  }
};

TEST_F(Gpus, TellWhatTheyCan) {
  std::vector<Measure> measures;
  Nvml::open()->read(measures);
  EXPECT_THAT(by_name(measures),
              UnorderedElementsAre(Pair("gpu0", 75), Pair("gpu0_memory", 1 << 30),
                                   Pair("gpu0_power", 350), Pair("gpu0_temperature", 64),
                                   Pair("gpu1", 25), Pair("gpu1_memory", 2147483648.0)));
  EXPECT_EQ(Nvml::open()->gpus()[0].name, "NVIDIA Test");
  EXPECT_THAT(by_name(MachineReader("/tmp").read()), Contains(Pair("gpu0", 75)));
}

TEST_F(Gpus, AreThoseThatTheProcessSeesInItsOrder) {
  EXPECT_THAT(seen("1,0"), ElementsAre("GPU-one", "GPU-zero"));
  EXPECT_THAT(seen("GPU-one"), ElementsAre("GPU-one"));
  EXPECT_THAT(seen("0,7,1"), ElementsAre("GPU-zero")) << "the first word for no device ends it";
  EXPECT_THAT(seen("-1"), IsEmpty());
  EXPECT_THAT(seen(""), IsEmpty());
}

TEST_F(Gpus, AreNoneWithoutTheLibraryOrWithOneThatIsNoNvml) {
  for (const char* file : {"/nonexistent/libnvidia-ml.so.1", "libm.so.6", "/etc/passwd"}) {
    ::setenv("FLOR_NVML", file, 1);
    EXPECT_EQ(Nvml::open(), nullptr) << file;
  }
}

/// A machine in which one measure is a level and one grows.
class Samples : public ::testing::Test {
 protected:
  void tick(double second, std::int64_t epoch = 0, bool ends = false) {
    sampler_.tick(at(second), epoch, ends);
  }
  static MachineSampler::Time at(double second) {
    return MachineSampler::Time(
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * second)));
  }
  /// "NAME EPOCH SECOND NUMBER"
  std::vector<std::string> taken(bool all = true) {
    std::vector<std::string> lines;
    for (const store::Value& value : sampler_.take(all)) {
      EXPECT_TRUE(value.name.starts_with(store::kMachineSeries));
      lines.push_back(fmt::format("{} {} {} {:g}", value.name.substr(store::kMachineSeries.size()),
                                  value.place.epoch, value.place.step,
                                  std::get<double>(value.value)));
    }
    return lines;
  }
  /// The seconds in which a sample is taken until `end`, looking five times a second.
  std::vector<int> seconds_of_samples(double end) {
    std::vector<int> seconds;
    for (double now = 0; now <= end; now += 0.2) {
      const int before = reads_;
      tick(now);
      if (reads_ > before) seconds.push_back(static_cast<int>(now + 0.01));
    }
    return seconds;
  }

  double level_ = 100, counter_ = 0, cost_ = 0, used_ = 0;
  int reads_ = 0;
  MachineSampler sampler_{
      {.pause = 10,
       .share = 0.001,
       .read =
           [this] {
             ++reads_;
             used_ += cost_;
             return std::vector<Measure>{{"memory", level_}, {"cpu", counter_, true}};
           },
       .used = [this] { return used_; },
       .start = at(0),
       .run_seconds = 0}};
};

TEST_F(Samples, ComeSoonAtFirstAndThenAtTheirPace) {
  EXPECT_THAT(seconds_of_samples(40), ElementsAre(0, 1, 3, 7, 15, 25, 35));
}

TEST_F(Samples, AreLevelsAndGrowthPerSecondWithTheirTime) {
  tick(0, -1);
  EXPECT_THAT(taken(), IsEmpty()) << "of what grows a first look says nothing";
  counter_ = 50;
  tick(1, -1);
  level_ = 200;
  counter_ = 250;
  tick(3, 4);
  EXPECT_THAT(taken(),
              ElementsAre("memory -1 1 100", "cpu -1 1 50", "memory 4 3 200", "cpu 4 3 100"));
}

TEST_F(Samples, OfACounterThatBeganAgainSayNothingOfIt) {
  counter_ = 100;
  tick(0);
  counter_ = 10;
  tick(1);
  counter_ = 12;
  tick(3);
  EXPECT_THAT(taken(), ElementsAre("memory 0 1 100", "memory 0 3 100", "cpu 0 3 1"));
}

TEST_F(Samples, ThatTakeLongComeSeldom) {
  cost_ = 0.03;  // at a thousandth of the time: every 30 seconds
  EXPECT_THAT(seconds_of_samples(100), ElementsAre(0, 1, 31, 61, 91));
}

TEST_F(Samples, HaveALastOneAtTheEnd) {
  for (const double second : {0, 1, 3}) tick(second);
  tick(3.5, 0, true);
  EXPECT_EQ(reads_, 3) << "the one before is younger than a second";
  tick(4.5, -1, true);
  EXPECT_EQ(taken().back(), "cpu -1 4 0");
}

TEST_F(Samples, AreWrittenSixteenAtOnceButForTheFirst) {
  std::vector<std::size_t> writes;
  for (double now = 0; now < 1000; now += 0.2) {
    tick(now);
    if (const auto lines = taken(false); !lines.empty()) writes.push_back(lines.size() / 2);
  }
  ASSERT_GT(writes.size(), 8u);
  EXPECT_EQ(writes.front(), 1u);
  EXPECT_EQ(writes.back(), 16u);
  EXPECT_TRUE(std::ranges::is_sorted(writes)) << ::testing::PrintToString(writes);
}

TEST_F(Samples, AreRoundedToATenthOfAPercent) {
  level_ = 123'456'789;
  tick(0);
  tick(1);
  const auto values = sampler_.take(true);
  const double kept = std::get<double>(values.front().value);
  EXPECT_NEAR(kept / level_, 1, 1e-3);
  EXPECT_EQ(kept, static_cast<double>(static_cast<float>(kept)));
}

TEST_F(Samples, ThatAreNotTakenAreBounded) {
  tick(0);
  for (int i = 1; i < 100'000; ++i) tick(20.0 * i);
  EXPECT_THAT(sampler_.take(true), SizeIs(65'536));
}

}  // namespace
}  // namespace flor::detail::machine_test
