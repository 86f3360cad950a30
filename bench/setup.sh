# Sourced by the scripts that run whole programs: what the platform needs for steady times, and an
# empty FLOR_HOME in a temporary directory ($scratch) that goes with the script.
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export FLOR_HOME=$scratch/home

# A repository in $scratch, to stand in.
work_tree() {
  mkdir "$scratch/work"
  cd "$scratch/work"
  git init -q .
  echo 'int main() {}' > main.cpp
}
