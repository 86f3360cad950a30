// Nothing but the headers that the tests share, compiled once.
int main() {}
