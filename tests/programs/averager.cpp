// A training by several processes, without libtorch: every rank draws gradients from an engine of
// its own, all average them over loopback, and all have the same weights. Like a program of
// libtorch it meets the others when it first needs them, gives up when one of them is gone, and so
// can run alone as long as it needs nobody.
//
// Variant HINDSIGHT logs more, outside and inside the training loop. --kwargs: `pause_ms` in every
// step, `alone=1` averages nothing, `evals` steps of a second nested loop. State that is registered
// nowhere, with a bit for each rank that has it: `forgets` a rate that changes with each epoch,
// `sums` a sum that the training loop leaves for what comes after it. PATIENCE: seconds after which
// others are gone.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::int64_t number_in_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Sums over all ranks, through rank 0, in the order of the ranks.
class Collective {
 public:
  Collective() = default;
  ~Collective() {
    for (const int socket : sockets_) ::close(socket);
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  void average(std::vector<double>& values) {
    if (world == 1) return;
    if (sockets_.empty()) meet();
    std::vector<double> other(values.size());
    if (rank != 0) {
      transfer(sockets_[0], values, ::send);
      transfer(sockets_[0], values, ::recv);
      return;
    }
    for (const int socket : sockets_) {
      transfer(socket, other, ::recv);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
    }
    for (double& value : values) value /= static_cast<double>(world);
    for (const int socket : sockets_) transfer(socket, values, ::send);
  }

  const std::int64_t rank = number_in_environment("RANK", 0);
  const std::int64_t world = number_in_environment("WORLD_SIZE", 1);

 private:
  static void give_up() { throw std::runtime_error("the other ranks are gone"); }

  static void limit_waiting(int socket) {
    const timeval limit{.tv_sec = number_in_environment("PATIENCE", 20), .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  template <typename Transfer>
  static void transfer(int socket, std::vector<double>& values, Transfer move) {
    auto* bytes = reinterpret_cast<char*>(values.data());
    const std::size_t size = values.size() * sizeof(double);
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = move(socket, bytes + done, size - done, MSG_NOSIGNAL);
      if (count <= 0) give_up();
      done += static_cast<std::size_t>(count);
    }
  }

  void meet() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(number_in_environment("MASTER_PORT", 0)));
    rank == 0 ? listen_to_all(address) : connect_to_first(address);
  }

  void listen_to_all(const sockaddr_in& address) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    limit_waiting(listener);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 16) != 0) {
      throw std::runtime_error("the port is taken");
    }
    sockets_.resize(static_cast<std::size_t>(world - 1));
    for (std::int64_t i = 1; i < world; ++i) {
      const int socket = ::accept(listener, nullptr, nullptr);
      if (socket < 0) give_up();
      limit_waiting(socket);
      std::vector<double> who(1);
      transfer(socket, who, ::recv);
      sockets_.at(static_cast<std::size_t>(who[0]) - 1) = socket;
    }
    ::close(listener);
  }

  void connect_to_first(const sockaddr_in& address) {
    for (std::int64_t i = 0; i < 100 * number_in_environment("PATIENCE", 20); ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
      if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        limit_waiting(socket);
        sockets_.push_back(socket);
        std::vector<double> who{static_cast<double>(rank)};
        transfer(socket, who, ::send);
        return;
      }
      ::close(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    give_up();
  }

  std::vector<int> sockets_;  ///< of rank 0: one for each other rank, in order
};

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// What a rank may have forgotten to register.
struct Forgotten {
  explicit Forgotten(std::int64_t rank)
      : sums((flor::arg("sums", 0) >> rank & 1) != 0),
        forgets((flor::arg("forgets", 0) >> rank & 1) != 0) {}

  void begin_epoch(int epoch) {
    sum = 0;
    if (forgets && epoch > 0) rate *= 0.9;
  }
  void add(double loss) {
    if (sums) sum += loss;
  }

  const bool sums, forgets;
  double rate = 0.1, sum = 0;
};

void evaluate(Collective& ranks, const std::vector<double>& weights, double sum, int steps) {
  if (steps == 0) return;
  flor::log("sum", sum);
  for (const int step : flor::loop("eval", steps)) {
    raise_when_due();
    std::vector<double> all = weights;
    ranks.average(all);
    show("eval", step, norm(all));
  }
  flor::log("mean", norm(weights) + sum);
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Collective ranks;
  const int epochs = flor::arg("epochs", 5);
  const int steps = flor::arg("steps", 4);
  const int pause_ms = flor::arg("pause_ms", 0);
  const int evals = flor::arg("evals", 0);
  const bool alone = flor::arg("alone", false);
  Forgotten forgotten(ranks.rank);
  std::vector<double> weights(flor::arg("size", std::size_t{1000}), 0.5), gradient(weights.size());
  std::mt19937_64 sampler(static_cast<std::uint64_t>(100 + ranks.rank));
  const auto state =
      flor::checkpoints(flor::named("weights", weights), flor::named("sampler", sampler));
  for (const int epoch : flor::loop("epoch", epochs)) {
    forgotten.begin_epoch(epoch);
    for (const int step : flor::loop("train", steps)) {
      raise_when_due();
      double loss = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        gradient[i] = weights[i] - static_cast<double>(sampler() >> 11) * 0x1p-53;
        loss += gradient[i] * gradient[i];
      }
      if (!alone) ranks.average(gradient);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= forgotten.rate * gradient[i];
      forgotten.add(loss);
      flor::log("loss", loss);
      show("step", epoch, step, loss);
#ifdef HINDSIGHT
      flor::log("gradient", norm(gradient));
#endif
      if (pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    evaluate(ranks, weights, forgotten.sum, evals);
    flor::log("norm", norm(weights));
    show("tail", epoch, norm(weights));
#ifdef HINDSIGHT
    flor::log("first", weights[0]);
#endif
  }
  show("end", norm(weights), sampler());
}
