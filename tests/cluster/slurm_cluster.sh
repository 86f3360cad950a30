#!/bin/bash
# A real Slurm on loopback: one controller, several nodes that are all this machine, and a munge of
# its own. As root, since slurmd starts the jobs of others.
#
#   slurm_cluster.sh up DIRECTORY PORT [NODES]  prints the path of slurm.conf when all nodes are
#                                               idle; status 77: not installed, or not root
#   slurm_cluster.sh kill DIRECTORY NODE        the node dies: slurmd and all that runs on it
#   slurm_cluster.sh revive DIRECTORY NODE      it boots again
#   slurm_cluster.sh down DIRECTORY             ends all that `up` began
#
# Takes the ports PORT to PORT+199. Each node has two processors and two GPUs that are /dev/null.
# Debian: slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge.
set -u
action=$1
directory=$(realpath -m "$2")
export SLURM_CONF=$directory/slurm.conf

# The processes that have this in their environment, and this directory's configuration.
processes_with() {
  local pid
  grep -lzFx -e "$@" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
    grep -qzFx "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
  done
}

# slurmd with the stepds that it has started, and what runs on the node.
processes_of() { processes_with "FLOR_TEST_NODE=$1" -e "SLURMD_NODENAME=$1"; }

end() {
  grep -qzFx "SLURM_CONF=$SLURM_CONF" "/proc/$1/environ" 2>/dev/null || return 0
  kill "$1" 2>/dev/null
  for _ in $(seq 50); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done
  kill -9 "$1" 2>/dev/null
}

configure() {
  local port=$1 nodes=$2 host
  host=$(hostname -s)
  cat >"$SLURM_CONF" <<END
ClusterName=flor
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$directory/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=$port
SrunPortRange=$((port + 100))-$((port + 199))
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.%n.pid
SlurmctldLogFile=$directory/log/slurmctld.log
SlurmdLogFile=$directory/log/slurmd.%n.log
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=${FLOR_TEST_SLURMD_TIMEOUT:-10}
KillWait=2
OverTimeLimit=0
MaxArraySize=101
GresTypes=gpu
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=2 RealMemory=2000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes=ALL MaxTime=60 State=DOWN
END
  : >"$directory/gres.conf"
  for i in $(seq "$nodes"); do
    for file in null zero; do
      echo "NodeName=n$i Name=gpu File=/dev/$file" >>"$directory/gres.conf"
    done
    mkdir -p "$directory/spool.n$i"
  done
}

start_node() {
  FLOR_TEST_NODE=$1 slurmd -N "$1"
}

start() {
  local port=$1 nodes=$2
  mkdir -p "$directory"/{state,log,munge}
  chmod 755 "$directory" "$directory/munge"
  configure "$port" "$nodes"
  head -c 1024 /dev/urandom >"$directory/munge/key"
  chmod 600 "$directory/munge/key"
  munged --force --key-file="$directory/munge/key" --socket="$directory/munge/socket" \
    --pid-file="$directory/munged.pid" --log-file="$directory/log/munged.log" \
    --seed-file="$directory/munge/seed" || return 1
  slurmctld || return 1
  for i in $(seq "$nodes"); do start_node "n$i" || return 1; done
  for _ in $(seq 100); do
    [ "$(sinfo -h -N -p main -t idle -o %N 2>/dev/null | wc -l)" = "$nodes" ] && return 0
    sleep 0.2
  done
  return 1
}

stop() {
  timeout 5 scancel --user=root 2>/dev/null
  for name in "$directory"/slurmd.*.pid "$directory/slurmctld.pid" "$directory/munged.pid"; do
    pid=$(cat "$name" 2>/dev/null) && end "$pid"
  done
  for spool in "$directory"/spool.*; do
    for pid in $(processes_of "${spool##*/spool.}"); do kill -9 "$pid" 2>/dev/null; done
  done
}

case $action in
up)
  for tool in slurmctld slurmd srun sbatch munged; do
    command -v "$tool" >/dev/null || {
      echo "no $tool: install slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge" >&2
      exit 77
    }
  done
  [ "$(id -u)" = 0 ] || { echo "a Slurm can only be started by root" >&2; exit 77; }
  mkdir -p "$directory"
  if start "$3" "${4:-2}" >"$directory/start.log" 2>&1; then
    echo "$SLURM_CONF"
  else
    grep -hE "fatal|error" "$directory/start.log" "$directory"/log/* | tail -n 5 >&2
    stop
    exit 1
  fi
  ;;
kill) for pid in $(processes_of "$3"); do kill -9 "$pid" 2>/dev/null; done ;;
revive) start_node "$3" ;;
down) stop ;;
*) echo "usage: slurm_cluster.sh up DIRECTORY PORT [NODES] | kill|revive DIRECTORY NODE | down DIRECTORY" >&2; exit 2 ;;
esac
