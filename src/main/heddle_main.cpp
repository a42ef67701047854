// The program heddle.
#include <vector>

#include "host/tensor.h"
#include "main/program.h"

int main(int count, char** values) {
  host::keep_freed_memory();
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  return program::run(arguments);
}
