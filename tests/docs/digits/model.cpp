double gradient(double weight, int step) { return 2.0 - weight + step % 2; }
