#include "cli/command.hpp"

namespace prenorm::harness {

void add_fixtures(Arguments& app, Action& chosen) {
  Arguments& command = *app.add_subcommand(
      "fixtures", "Make fresh cases, check fixture files, derive tolerances, export cases");
  command.require_subcommand(1, 1);
  add_fixtures_make(command, chosen);
  add_fixtures_check(command, chosen);
  add_fixtures_calibrate(command, chosen);
  add_fixtures_export(command, chosen);
  command.footer(
      "Examples:\n"
      "  prenorm fixtures make mine.h5 --seed 1 --out fresh\n"
      "  prenorm fixtures check mine.h5\n"
      "  prenorm fixtures calibrate mine.h5\n"
      "  prenorm fixtures export mine.h5 --case NAME --to case.npz");
}

}  // namespace prenorm::harness
