// Lets the ranks of one worker find each other on this machine, wherever they were recorded.
#pragma once

#include <flor/store/catalog.h>

#include <map>
#include <string>

namespace flor::cli {

class Meeting {
 public:
  /// Chooses a free port on the loopback interface. Throws Error if there is none. If another
  /// process takes it before the ranks do, the ranks fail, and are started again with another port.
  static Meeting arrange();

  /// The environment of a rank, with the variables that torchrun and Slurm set. A
  /// default-constructed Meeting has no port, for a rank alone; rank and number of ranks are set
  /// all the same.
  std::map<std::string, std::string> variables(const store::RankPlace& place) const;

 private:
  int port_ = 0;
};

}  // namespace flor::cli
