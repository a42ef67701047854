// The program heddle.
#include <vector>

#include "main/program.h"

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  return program::run(arguments);
}
