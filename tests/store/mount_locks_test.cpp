#include "file/mount_locks.h"

#include <gtest/gtest.h>

namespace flor::store {
namespace {

/// A line of /proc/self/mountinfo.
std::string mount(const std::string& number, const std::string& rest) {
  return "36 35 " + number + " / /home rw,noatime shared:1 - " + rest + "\n";
}

TEST(MountLocksTest, OptionsThatKeepLocksOnThisMachineAreSeen) {
  for (const auto& [rest, why] : {
           std::pair("nfs server:/home rw,vers=3,nolock,proto=tcp,local_lock=all", "nolock"),
           {"nfs4 server:/home rw,vers=4.2,local_lock=flock", "local_lock=flock"},
           {"cifs //server/home rw,vers=3.1.1,nobrl", "nobrl"},
           {"lustre 10.0.0.1@tcp:/home rw,localflock", "localflock"},
           {"fuse.sshfs user@server:/home rw,user_id=0", "sshfs"},
       }) {
    EXPECT_EQ(why_locks_are_local(mount("0:45", rest), "0:45"), why) << rest;
  }
}

TEST(MountLocksTest, OthersKeepOutOtherMachinesAsFarAsIsKnown) {
  for (const char* rest :
       {"nfs server:/home rw,vers=3,local_lock=none", "nfs4 server:/home rw,vers=4.2",
        "lustre 10.0.0.1@tcp:/home rw,flock", "ceph 10.0.0.1:/ rw", "ext4 /dev/sda1 rw,nolock"}) {
    EXPECT_EQ(why_locks_are_local(mount("0:45", rest), "0:45"), "") << rest;
  }
}

TEST(MountLocksTest, OnlyTheMountOfTheDirectoryCounts) {
  const std::string all = mount("0:44", "nfs server:/a rw,nolock") +
                          mount("0:45", "nfs server:/b rw,local_lock=none") + "torn line\n" +
                          "1 2 0:46 / /c rw - nfs\n";
  EXPECT_EQ(why_locks_are_local(all, "0:44"), "nolock");
  for (const char* device : {"0:45", "0:46", "0:47", ""}) {
    EXPECT_EQ(why_locks_are_local(all, device), "") << device;
  }
  EXPECT_EQ(why_locks_are_local(std::filesystem::temp_directory_path()), "");
  EXPECT_EQ(why_locks_are_local(std::filesystem::path("/no/such/directory")), "");
}

}  // namespace
}  // namespace flor::store
