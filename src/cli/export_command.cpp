#include "commands.hpp"
