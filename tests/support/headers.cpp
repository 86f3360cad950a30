// Includes only the headers that the tests share, to compile them once.
int main() {}
