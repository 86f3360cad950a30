// Loops whose iterations are counted: whatever flor instrument writes, they run as often as before.
// Names with backward and step make them loops that train.
#include <climits>
#include <cstdint>
#include <cstdio>
#include <vector>

struct Tape {
  int steps = 0;
  void backward() { ++steps; }
};
#define SKIP epoch += 1
#define LIMIT 5
#define MORE n += 1

int shared_limit = 4;
void raise_limit() { shared_limit += shared_limit < 8 ? 1 : 0; }
void skip(int& epoch) { ++epoch; }

void show(const char* name, long epoch) { std::printf("%s %ld\n", name, epoch); }

void step_that_doubles() {
  Tape tape;
  int stride = 1;
  for (int epoch = 0; epoch < 50; epoch += stride) {
    tape.backward();
    show("doubles", epoch);
    stride *= 2;
  }
}
void step_without_sign() {
  Tape tape;
  unsigned stride = 3;
  for (int epoch = 9; epoch > 0; epoch -= stride) {
    tape.backward();
    show("unsigned step", epoch);
  }
}
void fixed_steps() {
  Tape tape;
  const int stride = 3;
  for (int epoch = 10; epoch > 0; epoch -= stride) {
    tape.backward();
    show("fixed step", epoch);
  }
}
void shifted_limit(int k) {
  Tape tape;
  for (int epoch = 0; epoch <= 1 << k; ++epoch) {
    tape.backward();
    show("shifted", epoch);
  }
}
void masked_limit(int n, bool run) {
  Tape tape;
  for (int epoch = 0; epoch < n & run; ++epoch) {
    tape.backward();
    show("masked", epoch);
    run = epoch < 2;
  }
}
void limit_by_reference(int n) {
  Tape tape;
  int& m = n;
  for (int epoch = 0; epoch < n; ++epoch) {
    tape.backward();
    show("by reference", epoch);
    if (epoch == 1) m += 2;
  }
}
void counter_by_reference() {
  Tape tape;
  for (int epoch = 0; epoch < 6; ++epoch) {
    tape.backward();
    show("counter", epoch);
    int& e = epoch;
    if (e == 2) e = 3;
  }
}
void counter_by_function() {
  Tape tape;
  for (int epoch = 0; epoch < 6; ++epoch) {
    tape.backward();
    show("function", epoch);
    skip(epoch);
  }
}
void counter_by_lambda() {
  Tape tape;
  for (int epoch = 0; epoch < 6; ++epoch) {
    tape.backward();
    show("lambda", epoch);
    const auto jump = [&] { epoch += 2; };
    if (epoch == 1) jump();
  }
}
void counter_by_macro() {
  Tape tape;
  for (int epoch = 0; epoch < 6; ++epoch) {
    tape.backward();
    show("macro", epoch);
    SKIP;
  }
}
void limit_by_macro() {
  Tape tape;
  int n = 3;
  for (int epoch = 0; epoch < n; ++epoch) {
    tape.backward();
    show("limit by macro", epoch);
    if (epoch == 1) MORE;
  }
}
void limit_of_container() {
  Tape tape;
  std::vector<int> work(2);
  auto& more = work;
  for (std::size_t epoch = 0; epoch < work.size(); ++epoch) {
    tape.backward();
    show("work", static_cast<long>(epoch));
    if (epoch < 3) more.push_back(1);
  }
}
void limit_by_function() {
  Tape tape;
  for (int epoch = 0; epoch < shared_limit; ++epoch) {
    tape.backward();
    show("global", epoch);
    raise_limit();
  }
}
void limit_of_macro() {
  Tape tape;
  for (int epoch = 1; epoch <= LIMIT; ++epoch) {
    tape.backward();
    show("macro limit", epoch);
  }
}
void wrong_signs(std::size_t n) {
  Tape tape;
  for (int epoch = -1; epoch < n; ++epoch) {
    tape.backward();
    show("signs", epoch);
  }
}
void negative_limit(int n) {
  Tape tape;
  for (std::size_t epoch = 0; epoch < n; ++epoch) {
    tape.backward();
    show("negative", static_cast<long>(epoch));
    if (epoch == 4) break;
  }
}
void wraps_below_zero() {
  Tape tape;
  for (unsigned epoch = 10; epoch > 0; epoch -= 3) {
    tape.backward();
    show("wraps", epoch);
    if (epoch > 10) break;
  }
}
void never_ends(int n) {
  Tape tape;
  for (std::size_t epoch = 3; epoch >= 0; --epoch) {
    tape.backward();
    show("never ends", static_cast<long>(epoch));
    if (epoch > 3) break;
  }
}
void largest_limit() {
  Tape tape;
  const int n = INT_MAX;
  for (int epoch = 0; epoch <= n; ++epoch) {
    tape.backward();
    show("largest", epoch);
    if (epoch == 3) break;
  }
}
void narrow_counter() {
  Tape tape;
  int turns = 0;
  for (std::uint8_t epoch = 250; epoch < 300; ++epoch) {
    tape.backward();
    show("narrow", epoch);
    if (++turns == 9) break;
  }
}
void missed_limit(int n) {
  Tape tape;
  for (int epoch = 5; epoch != n; ++epoch) {
    tape.backward();
    show("missed", epoch);
    if (epoch == 8) break;
  }
}
void counting_down(std::size_t n) {
  Tape tape;
  for (std::size_t epoch = n; epoch > 0; --epoch) {
    tape.backward();
    show("down", static_cast<long>(epoch));
  }
}

int main() {
  step_that_doubles();
  step_without_sign();
  fixed_steps();
  shifted_limit(2);
  masked_limit(9, true);
  limit_by_reference(3);
  counter_by_reference();
  counter_by_function();
  counter_by_lambda();
  counter_by_macro();
  limit_by_macro();
  limit_of_container();
  limit_by_function();
  limit_of_macro();
  wrong_signs(3);
  negative_limit(-1);
  wraps_below_zero();
  never_ends(3);
  largest_limit();
  narrow_counter();
  missed_limit(3);
  counting_down(4);
}
