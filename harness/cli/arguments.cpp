#include "cli/arguments.hpp"

#include "base/error.hpp"

#include <CLI/CLI.hpp>

namespace prenorm::harness {

Check is_member(std::vector<std::string> words) {
  return [member = CLI::IsMember(std::move(words))](const std::string& text) {
    std::string copy = text;
    return member(copy);
  };
}

Check in_range(std::int64_t least, std::int64_t most) {
  return [range = CLI::Range(least, most)](const std::string& text) {
    std::string copy = text;
    return range(copy);
  };
}

Check whole_number() {
  return [](const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return digits ? "" : "'" + text + "' must be a non-negative integer";
  };
}

Check non_negative() {
  return [](const std::string& text) {
    std::string copy = text;
    return CLI::NonNegativeNumber(copy);
  };
}

Check positive_seconds() {
  return [](const std::string& text) {
    double seconds = 0;
    const bool number = CLI::detail::lexical_cast(text, seconds);
    return number && seconds > 0 ? "" : "'" + text + "' must be a positive number";
  };
}

Option* Option::type_name(const std::string& word) {
  option_->type_name(word);
  return this;
}

Option* Option::check(const Check& check) {
  option_->check(CLI::Validator([check](const std::string& text) { return check(text); }, ""));
  return this;
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::description(const std::string& text) {
  option_->description(text);
  return this;
}

Option* Option::hidden() {
  option_->group("");
  return this;
}

Option* Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return this;
}

std::size_t Option::count() const { return option_->count(); }

Arguments::Arguments(const std::string& description, const std::string& name)
    : own_(std::make_unique<CLI::App>(description, name)), app_(own_.get()) {
  app_->get_formatter()->column_width(30);
}

Arguments::Arguments(CLI::App* app) : app_(app) {}
Arguments::~Arguments() = default;

Arguments* Arguments::add_subcommand(const std::string& name, const std::string& description) {
  return &commands_.emplace_back(app_->add_subcommand(name, description));
}

void Arguments::require_subcommand(int least, int most) {
  app_->require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
}

template <class T>
Option* Arguments::add_option(const std::string& name, T& variable,
                              const std::string& description) {
  return &options_.emplace_back(app_->add_option(name, variable, description));
}
template Option* Arguments::add_option(const std::string&, std::string&, const std::string&);
template Option* Arguments::add_option(const std::string&, std::vector<std::string>&,
                                       const std::string&);
template Option* Arguments::add_option(const std::string&, std::filesystem::path&,
                                       const std::string&);
template Option* Arguments::add_option(const std::string&, int&, const std::string&);
template Option* Arguments::add_option(const std::string&, unsigned&, const std::string&);
template Option* Arguments::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* Arguments::add_option(const std::string&, double&, const std::string&);
template Option* Arguments::add_option(const std::string&, std::optional<std::uint64_t>&,
                                       const std::string&);
template Option* Arguments::add_option(const std::string&, std::optional<double>&,
                                       const std::string&);
template Option* Arguments::add_option(const std::string&, std::optional<std::string>&,
                                       const std::string&);

Option* Arguments::add_flag(const std::string& name, bool& variable,
                            const std::string& description) {
  return &options_.emplace_back(app_->add_flag(name, variable, description));
}

Option* Arguments::add_flag_callback(const std::string& name, std::function<void()> call,
                                     const std::string& description) {
  return &options_.emplace_back(app_->add_flag_callback(name, std::move(call), description));
}

Option* Arguments::get_option(const std::string& name) {
  return &options_.emplace_back(app_->get_option(name));
}

void Arguments::footer(const std::string& text) { app_->footer(text); }

void Arguments::callback(std::function<void()> call) { app_->callback(std::move(call)); }

void Arguments::take_all_words() {
  app_->set_help_flag();
  app_->prefix_command();
}

std::vector<std::string> Arguments::remaining() const { return app_->remaining(); }

void Arguments::leave_words_after_dashes(std::vector<std::string>& words) {
  after_dashes_ = &words;
}

void Arguments::set_version(const std::string& text) { app_->set_version_flag("--version", text); }

std::string Arguments::help() const { return app_->help(); }

std::vector<std::string> Arguments::commands() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

const Arguments& Arguments::command(const std::string& name) const {
  return *std::ranges::find_if(
      commands_, [&](const Arguments& command) { return command.app_->get_name() == name; });
}

bool Arguments::takes_words() const {
  return !app_->get_options([](const CLI::Option* option) { return option->get_positional(); })
              .empty();
}

bool Arguments::subcommand_given() const { return !app_->get_subcommands().empty(); }

std::optional<int> Arguments::parse(int argc, const char* const* argv) {
  const auto names = commands();
  if (argc > 2 && std::ranges::find(names, argv[1]) != names.end()) {
    if (const auto words = command(argv[1]).after_dashes_; words != nullptr) {
      const auto end = argv + argc, dashes = std::find(argv, end, std::string_view("--"));
      words->assign(dashes + (dashes == end ? 0 : 1), end);
      argc = static_cast<int>(dashes - argv);
    }
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app_->exit(success);
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + " (see --help)");
  }
  return std::nullopt;
}

}  // namespace prenorm::harness
